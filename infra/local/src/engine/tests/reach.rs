//! The folder and its lock, the HTTP endpoint, and the removal of expired rows.

use std::net::SocketAddr;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::types::TimeToLiveSpecification;

use super::{create_table, get, n, put, s};
use crate::engine::{Endpoint, EndpointError, Engine, LockError, OpenError};

const FREE_PORT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

/// The SDK with its own HTTP stack, as another process would have it.
fn ordinary_client(endpoint: &Endpoint, access_key: &str) -> Client {
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("local"))
        .endpoint_url(endpoint.url())
        .credentials_provider(Credentials::new(access_key, "any", None, None, "test"))
        .retry_config(RetryConfig::disabled())
        .build();
    Client::from_conf(config)
}

#[tokio::test]
async fn a_reopened_folder_has_what_was_written() {
    let folder = tempfile::tempdir().unwrap();
    {
        let engine = Engine::open(folder.path()).unwrap();
        create_table(&engine.client()).await;
        put(&engine.client(), &[("pk", s("p")), ("sk", s("a")), ("n", n(3))]).await;
    }
    let engine = Engine::open(folder.path()).unwrap();
    assert_eq!(get(&engine.client(), "p", "a").await.unwrap().get("n"), Some(&n(3)));
}

#[tokio::test]
async fn a_second_opener_is_told_who_holds_the_folder_and_the_first_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let first = Engine::open(folder.path()).unwrap();
    create_table(&first.client()).await;

    let error = Engine::open(folder.path()).unwrap_err();
    let OpenError::Lock(LockError::Held { pid, .. }) = &error else { panic!("{error:?}") };
    assert_eq!(*pid, Some(std::process::id()));
    let text = error.to_string();
    assert!(text.contains(folder.path().to_str().unwrap()), "{text}");
    assert!(text.contains(&std::process::id().to_string()) && text.contains("--data-dir"), "{text}");

    put(&first.client(), &[("pk", s("p")), ("sk", s("a"))]).await;
    assert!(get(&first.client(), "p", "a").await.is_some());
}

#[tokio::test]
async fn a_client_alone_keeps_the_folder_held() {
    let folder = tempfile::tempdir().unwrap();
    let client = Engine::open(folder.path()).unwrap().client();
    assert!(matches!(Engine::open(folder.path()), Err(OpenError::Lock(LockError::Held { .. }))));
    drop(client);
    Engine::open(folder.path()).unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn a_new_folder_is_readable_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("data");
    let _engine = Engine::open(&folder).unwrap();
    assert_eq!(std::fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
}

#[cfg(unix)]
#[test]
fn a_table_in_a_folder_that_is_open_to_all_is_not() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let _engine = Engine::open(folder.path()).unwrap();
    let mode = std::fs::metadata(folder.path().join("table.sqlite")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let error = Engine::open(&file.join("data")).unwrap_err();
    assert!(matches!(&error, OpenError::Lock(LockError::Io { .. })), "{error:?}");
    assert!(error.to_string().contains("file/data"), "{error}");
}

#[tokio::test]
async fn an_ordinary_client_and_the_embedded_one_see_one_table() {
    let engine = Engine::in_memory().unwrap();
    create_table(&engine.client()).await;
    let endpoint = engine.serve(FREE_PORT, "key-1").await.unwrap();
    let client = ordinary_client(&endpoint, "key-1");

    put(&client, &[("pk", s("p")), ("sk", s("a")), ("n", n(1))]).await;
    assert_eq!(get(&engine.client(), "p", "a").await.unwrap().get("n"), Some(&n(1)));

    let error = client
        .put_item()
        .table_name("table")
        .item("pk", s("p"))
        .item("sk", s("a"))
        .condition_expression("attribute_not_exists(pk)")
        .send()
        .await
        .unwrap_err()
        .into_service_error();
    assert!(error.is_conditional_check_failed_exception(), "{error:?}");
    endpoint.stop().await;
    assert!(client.list_tables().send().await.is_err(), "a stopped endpoint answers nothing");
}

#[tokio::test]
async fn the_endpoint_answers_only_who_knows_its_key_and_no_browser() {
    let engine = Engine::in_memory().unwrap();
    create_table(&engine.client()).await;
    let endpoint = engine.serve(FREE_PORT, "key-1").await.unwrap();
    for wrong in ["key-2", "key", "1"] {
        let error =
            ordinary_client(&endpoint, wrong).list_tables().send().await.unwrap_err().into_service_error();
        assert_eq!(error.code(), Some("UnrecognizedClientException"));
    }
    let post = |origin: Option<&str>| {
        let mut request = reqwest::Client::new()
            .post(endpoint.url())
            .header("x-amz-target", "DynamoDB_20120810.ListTables")
            .header("authorization", "AWS4-HMAC-SHA256 Credential=key-1/20260101/local/dynamodb/aws4_request")
            .body("{}");
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        request.send()
    };
    assert_eq!(post(None).await.unwrap().status(), 200);
    assert_eq!(post(Some("http://localhost")).await.unwrap().status(), 403);
    let debug = format!("{endpoint:?}");
    assert!(!debug.contains("key-1"), "{debug}");
}

#[tokio::test]
async fn the_endpoint_is_not_served_beyond_this_machine_nor_on_a_taken_port() {
    let engine = Engine::in_memory().unwrap();
    let everywhere = SocketAddr::from(([0, 0, 0, 0], 0));
    let error = engine.serve(everywhere, "k").await.unwrap_err();
    assert!(matches!(error, EndpointError::NotLoopback { .. }), "{error:?}");

    let first = engine.serve(FREE_PORT, "k").await.unwrap();
    let error = engine.serve(first.addr(), "k").await.unwrap_err();
    assert!(matches!(error, EndpointError::Bind { .. }), "{error:?}");
    assert!(error.to_string().contains(&first.addr().to_string()), "{error}");
}

#[tokio::test]
async fn a_sweep_removes_expired_rows_only() {
    let engine = Engine::in_memory().unwrap();
    let client = engine.client();
    create_table(&client).await;
    client
        .update_time_to_live()
        .table_name("table")
        .time_to_live_specification(
            TimeToLiveSpecification::builder().attribute_name("expires").enabled(true).build().unwrap(),
        )
        .send()
        .await
        .unwrap();
    // Not 1970: DynamoDB leaves alone what expired more than five years ago (the engine does not).
    let now = i64::try_from(std::time::UNIX_EPOCH.elapsed().unwrap().as_secs()).unwrap();
    put(&client, &[("pk", s("p")), ("sk", s("old")), ("expires", n(now - 60))]).await;
    put(&client, &[("pk", s("p")), ("sk", s("new")), ("expires", n(now + 3600))]).await;
    put(&client, &[("pk", s("p")), ("sk", s("kept"))]).await;
    assert_eq!(engine.sweep_ttl().await.unwrap(), 1);
    assert_eq!(get(&client, "p", "old").await, None);
    assert!(get(&client, "p", "new").await.is_some() && get(&client, "p", "kept").await.is_some());
}
