//! Everything under "Bad input" of the issue, and what else a client can get wrong.

use std::sync::Arc;

use acceptance::{Answer, World, request, send};
use axum::Router;
use axum::body::Body;
use http::{Method, Request, header};
use pudu::engine::Engine;
use pudu::house::{House, Plan};
use pudu_testkit::ManualClock;
use serde_json::json;

use super::dead_url;

const MIB: usize = 1024 * 1024;

#[tokio::test]
async fn an_unknown_tool_is_404() {
    let world = World::new().await;
    for name in ["nobody_has_it", "example_no_such_tool", "example_get_report_status", "x"] {
        let detail = world.invoke("t1", name, &json!({})).await.refused(404);
        assert!(detail.contains(name), "{detail}");
    }
}

#[tokio::test]
async fn a_disabled_server_is_409() {
    let world = World::new().await;
    let entry = json!({"type": "http", "url": world.example.url(), "enabled": false});
    world.put_config(&json!({"example": entry})).await.expect(200);
    let detail = world.invoke("t1", "example_echo", &json!({"text": "x"})).await.refused(409);
    assert!(detail.contains("'example'") && detail.contains("disabled"), "{detail}");
}

#[tokio::test]
async fn wrong_arguments_are_422_and_reach_no_server() {
    let world = World::new().await;
    for arguments in [
        json!({}),
        json!({"title": 5}),
        json!({"title": "x", "duration_seconds": "long"}),
        json!({"title": "x", "more": 1}),
    ] {
        let detail = world.invoke("t1", "example_submit_report", &arguments).await.refused(422);
        assert!(detail.contains("example_submit_report"), "{detail}");
    }
    let secret =
        world.invoke("t1", "example_echo", &json!({"text": {"password": "s3cret"}})).await.refused(422);
    assert!(!secret.contains("s3cret"), "{secret}");
    assert_eq!(world.example.inside().reports().len(), 0);
    assert_eq!(world.rows().await.count("task#"), 0, "no intent was written");
    for body in
        [json!({"arguments": [1]}), json!({"arguments": "x"}), json!({"args": {}}), json!([]), json!(null)]
    {
        let answer = world.call(Method::POST, "/api/threads/t1/tools/example_echo", Some(&body)).await;
        answer.refused(422);
    }
}

#[tokio::test]
async fn a_server_that_is_down_is_502_with_its_name_and_no_secret() {
    let world = World::without_servers().await;
    let url = dead_url().await.replace("http://", "http://someone:s3cret-a@");
    let entry = json!({"type": "http", "url": url, "headers": {"Authorization": "Bearer s3cret-b"}});
    world.put_config(&json!({"dead": entry})).await.expect(200);
    let detail = world.invoke("t1", "dead_tool", &json!({})).await.refused(502);
    assert!(detail.contains("'dead'") && !detail.contains("s3cret"), "{detail}");
}

#[tokio::test]
async fn a_server_that_goes_down_between_listing_and_call_is_502_and_leaves_no_open_task() {
    let mut world = World::new().await;
    world.get("/api/tools").await;
    world.example.stop().await;
    let detail = world.invoke("t1", "example_echo", &json!({"text": "x"})).await.refused(502);
    assert!(detail.contains("'example'"), "{detail}");
    let detail = world.invoke("t1", "example_submit_report", &json!({"title": "x"})).await.refused(502);
    assert!(detail.contains("'example'"), "{detail}");
    // The thread hears of a submission that came to nothing.
    let tasks = world.get("/api/threads/t1/mcp-tasks").await;
    assert_eq!(tasks[0]["status"], "failed");
    world.tick_notifier().await;
    world.nothing_is_pending().await;
}

#[tokio::test]
async fn a_table_that_cannot_be_reached_is_503() {
    let folder = tempfile::tempdir().unwrap();
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(aws_sdk_dynamodb::config::BehaviorVersion::latest())
        .region(aws_sdk_dynamodb::config::Region::new("local"))
        .endpoint_url(dead_url().await)
        .credentials_provider(aws_sdk_dynamodb::config::Credentials::new(
            "a",
            "s3cret-key",
            None,
            None,
            "test",
        ));
    let client = aws_sdk_dynamodb::Client::from_conf(config.build());
    let plan = Plan::new(client, "pudu".to_owned(), folder.path().join("seal.key"));
    // A sleeper moves this clock, so that the pauses between attempts take no time.
    let house = House::new(Plan { clock: Arc::new(ManualClock::start()), no_auth: true, ..plan }).unwrap();
    let gateway = house.gateway();
    for (method, path, body) in [
        (Method::GET, "/healthz", None),
        (Method::GET, "/api/mcp/config", None),
        (Method::PUT, "/api/mcp/config", Some(json!({"mcp_servers": {}}))),
        (Method::GET, "/api/tools", None),
        (Method::POST, "/api/threads/t1/tools/example_echo", Some(json!({"arguments": {"text": "x"}}))),
        (Method::GET, "/api/threads/t1/mcp-tasks", None),
        (Method::GET, "/api/threads/t1/mcp-tasks/mcp-task-00000000000000000000000000000001", None),
        (Method::POST, "/api/threads/t1/mcp-tasks/mcp-task-00000000000000000000000000000001/cancel", None),
        (Method::GET, "/api/threads/t1/events", None),
        (Method::GET, "/api/mcp/dead-letters", None),
        (Method::GET, "/api/mcp/corrupt-rows", None),
        (
            Method::POST,
            "/api/mcp/dead-letters/replay",
            Some(
                json!({"thread": "t1", "task_id": "mcp-task-00000000000000000000000000000001", "version": 1}),
            ),
        ),
    ] {
        let detail = send(&gateway, request(method.clone(), path, body.as_ref())).await.refused(503);
        assert!(!detail.contains("s3cret"), "{method} {path}: {detail}");
    }
}

#[tokio::test]
async fn a_body_over_a_mebibyte_is_413() {
    let world = World::new().await;
    let text = "x".repeat(MIB);
    for (method, path) in
        [(Method::PUT, "/api/mcp/config"), (Method::POST, "/api/threads/t1/tools/example_echo")]
    {
        let body = json!({"arguments": {"text": text}});
        let detail = world.call(method, path, Some(&body)).await.refused(413);
        assert!(detail.contains("1048576"), "{detail}");
    }
    let fits = "x".repeat(MIB - 100);
    world.invoke("t1", "example_echo", &json!({"text": fits})).await.expect(200);
}

#[tokio::test]
async fn an_invalid_thread_id_is_422_everywhere() {
    let world = World::new().await;
    let long = "t".repeat(65);
    for thread in ["a%20b", "a%23b", "%C3%BC", "a.b", "%2e%2e", "a%00", long.as_str()] {
        for (method, rest, body) in [
            (Method::GET, "mcp-tasks", None),
            (Method::GET, "mcp-tasks/mcp-task-00000000000000000000000000000001", None),
            (Method::POST, "mcp-tasks/mcp-task-00000000000000000000000000000001/cancel", None),
            (Method::GET, "events", None),
            (Method::POST, "tools/example_echo", Some(json!({"arguments": {"text": "x"}}))),
        ] {
            let path = format!("/api/threads/{thread}/{rest}");
            let detail = world.call(method, &path, body.as_ref()).await.refused(422);
            assert!(detail.contains("thread id"), "{path}: {detail}");
        }
    }
}

#[tokio::test]
async fn a_limit_out_of_bounds_is_422() {
    let world = World::new().await;
    for limit in ["0", "101", "-1", "many", "1.5", ""] {
        for list in ["mcp-tasks", "events"] {
            let path = format!("/api/threads/t1/{list}?limit={limit}");
            world.call(Method::GET, &path, None).await.refused(422);
        }
        for list in ["dead-letters", "corrupt-rows"] {
            let path = format!("/api/mcp/{list}?limit={limit}");
            world.call(Method::GET, &path, None).await.refused(422);
        }
    }
}

/// A request with any body and headers.
async fn raw(
    gateway: &Router,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: &'static [u8],
) -> Answer {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    send(gateway, request.header(header::CONTENT_LENGTH, body.len()).body(Body::from(body)).unwrap()).await
}

const HOST: (&str, &str) = ("host", "127.0.0.1:8080");
const JSON: (&str, &str) = ("content-type", "application/json");
const TOOL: &str = "/api/threads/t1/tools/example_echo";

#[tokio::test]
async fn a_malformed_body_is_a_4xx_that_says_where() {
    let world = World::new().await;
    for body in [&b"{"[..], b"", b"\xff\xfe", b"{\"arguments\": {\"text\": \"\\ud800\"}}", b"nul", b"{} {}"] {
        for (method, path) in [(Method::PUT, "/api/mcp/config"), (Method::POST, TOOL)] {
            let answer = raw(&world.gateway, method, path, &[HOST, JSON], body).await;
            let detail = answer.refused(400);
            assert!(detail.contains("not JSON"), "{detail}");
        }
    }
    let deep: &'static str = Box::leak("[".repeat(10_000).into_boxed_str());
    raw(&world.gateway, Method::POST, TOOL, &[HOST, JSON], deep.as_bytes()).await.refused(400);
}

#[tokio::test]
async fn another_content_type_on_a_write_is_415() {
    let world = World::new().await;
    let body = b"{\"arguments\": {\"text\": \"x\"}}";
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""] {
        raw(&world.gateway, Method::POST, TOOL, &[HOST, ("content-type", kind)], body).await.refused(415);
        raw(&world.gateway, Method::PUT, "/api/mcp/config", &[HOST, ("content-type", kind)], body)
            .await
            .refused(415);
    }
    raw(&world.gateway, Method::POST, TOOL, &[HOST], body).await.refused(415);
    raw(
        &world.gateway,
        Method::POST,
        TOOL,
        &[HOST, ("content-type", "Application/JSON; charset=utf-8")],
        body,
    )
    .await
    .expect(200);
}

#[tokio::test]
async fn a_foreign_host_or_origin_is_403_before_anything_else() {
    let world = World::new().await;
    let body = b"{\"arguments\": {\"text\": \"x\"}}";
    for host in ["pudu.example", "127.0.0.1.evil.example", "10.1.2.3:8080", ""] {
        raw(&world.gateway, Method::POST, TOOL, &[("host", host), JSON], body).await.refused(403);
        raw(&world.gateway, Method::GET, "/healthz", &[("host", host)], b"").await.refused(403);
        raw(&world.gateway, Method::GET, "/nowhere", &[("host", host)], b"").await.refused(403);
    }
    for origin in ["https://evil.example", "null", "http://localhost.evil.example"] {
        raw(&world.gateway, Method::POST, TOOL, &[HOST, ("origin", origin), JSON], body).await.refused(403);
    }
    let own = [HOST, ("origin", "http://localhost:3000"), JSON];
    raw(&world.gateway, Method::POST, TOOL, &own, body).await.expect(200);
}

#[tokio::test]
async fn an_unknown_place_and_a_wrong_method_say_so() {
    let world = World::new().await;
    world.call(Method::GET, "/api/nothing/here", None).await.refused(404);
    world.call(Method::DELETE, "/api/mcp/config", None).await.refused(405);
    world.call(Method::GET, TOOL, None).await.refused(405);
    world.call(Method::GET, "/api/threads/t1/tools/%ff", None).await;
}

#[tokio::test]
async fn a_second_process_on_the_same_folder_is_told_so_and_the_first_keeps_running() {
    let world = World::new().await;
    let error = Engine::open(&world.data_dir()).unwrap_err().to_string();
    let folder = world.data_dir().display().to_string();
    let own = std::process::id().to_string();
    for word in [folder.as_str(), "in use", own.as_str(), "--data-dir"] {
        assert!(error.contains(word), "{word} is not in: {error}");
    }
    world.invoke("t1", "example_echo", &json!({"text": "still here"})).await.expect(200);
}
