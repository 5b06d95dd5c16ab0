//! Credentials reach the server they are for, and no text.

use std::collections::HashMap;

use axum::http::StatusCode;
use axum::response::IntoResponse;
use pudu_app::ports::CallFault;
use pudu_config::Secrets;
use secrecy::SecretString;

use super::host::{Host, refused, result};
use super::*;

const CANARY: &str = "canary-7f3a9c";

struct Vars(HashMap<&'static str, String>);

impl Secrets for Vars {
    fn get(&self, name: &str) -> Option<SecretString> {
        self.0.get(name).cloned().map(SecretString::from)
    }
}

fn client_with(name: &'static str, value: String) -> Client {
    Client::new(Arc::new(Vars(HashMap::from([(name, value)]))), Egress::machine(), token_ports())
        .expect("a client")
}

/// User info, query, header by variable and header by literal, all with a canary.
fn guarded(url: &str) -> Server {
    let url = url.replace("http://", &format!("http://user:{CANARY}u@"));
    entry(json!({
        "type": "http",
        "url": format!("{url}?key={CANARY}q"),
        "headers": {"authorization": "$TOKEN", "X-Api-Key": format!("{CANARY}k"), "Accept": "text/html"},
    }))
}

#[tokio::test]
async fn static_headers_reach_every_request_of_both_eras() {
    for era in [Era::Stateless, Era::Session] {
        let host =
            Host::of_era(era, |seen| async move { result(&seen.message, json!({"content": []})) }).await;
        let client = client_with("TOKEN", format!("Bearer {CANARY}"));
        call(&client, &guarded(&host.url), LONG).await.expect("a result");
        for seen in host.seen() {
            assert_eq!(seen.headers["authorization"], format!("Bearer {CANARY}").as_str(), "{}", seen.what());
            assert_eq!(seen.headers["x-api-key"], format!("{CANARY}k").as_str());
            assert_eq!(seen.headers.get_all("authorization").iter().count(), 1);
            assert_eq!(seen.headers["accept"], "application/json, text/event-stream");
        }
    }
}

/// Hosted servers often have the credential in the path; a variable is then the whole URL.
#[tokio::test]
async fn a_path_that_came_from_a_variable_is_in_no_text() {
    let host = Host::scripted(|seen| async move {
        let last = seen.path.rsplit('/').nth(1).unwrap_or_default().to_owned();
        refused(&seen.message, -32602, &format!("nothing at {}, nor for {last}", seen.path))
    })
    .await;
    let url = host.url.replace("/mcp", &format!("/s/{CANARY}%20x/mcp"));
    let secret = entry(json!({"type": "http", "url": "$URL"}));
    let error = call(&client_with("URL", url.clone()), &secret, LONG).await.expect_err("a refusal");
    assert!(error.message.contains("nothing at ***, nor for ***"), "{error}");
    // What stands in the file is shown as it is.
    let error = call(&client(), &http(&url), LONG).await.expect_err("a refusal");
    assert!(error.message.contains(CANARY), "{error}");
}

#[tokio::test]
async fn url_user_info_is_used_where_no_header_says_otherwise() {
    let host = Host::of_era(Era::Stateless, |seen| async move { result(&seen.message, json!({})) }).await;
    let server = http(&host.url.replace("http://", "http://user:pass@"));
    call(&client(), &server, LONG).await.expect("a result");
    assert_eq!(host.seen()[0].headers["authorization"], "Basic dXNlcjpwYXNz");
}

/// The server puts all that it was sent into its refusal, in every way a refusal can come.
#[tokio::test]
async fn a_server_that_echoes_credentials_leaks_none() {
    let ways: [fn(&Value, &str) -> axum::response::Response; 4] = [
        |request, all| refused(request, -32000, all),
        |request, all| (StatusCode::UNAUTHORIZED, refused(request, -32001, all)).into_response(),
        |_, all| (StatusCode::INTERNAL_SERVER_ERROR, all.to_owned()).into_response(),
        |_, all| ([("content-type", all.replace(['\n', '"'], " "))], "x").into_response(),
    ];
    for era in [Era::Stateless, Era::Session] {
        for (at, way) in ways.into_iter().enumerate() {
            let host = Host::of_era(era, move |seen| async move {
                let sent: Vec<_> = seen.headers.values().filter_map(|value| value.to_str().ok()).collect();
                let all = format!("bad: {} user:{CANARY}u key={CANARY}q \u{7}", sent.join(" ")).repeat(3);
                way(&seen.message, &all)
            })
            .await;
            let client = client_with("TOKEN", format!("Bearer {CANARY}"));
            let error = call(&client, &guarded(&host.url), LONG).await.expect_err("a refusal");
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains("canary"), "{era:?} way {at}: {shown}");
            assert!(error.message.chars().count() <= 500 && shown.contains("peer"), "{shown}");
        }
    }
}

#[tokio::test]
async fn an_unreachable_server_is_named_without_its_address() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    drop(listener);
    let client = client_with("TOKEN", format!("Bearer {CANARY}"));
    let error = call(&client, &guarded(&url), LONG).await.expect_err("nobody there");
    assert_eq!(error.fault, CallFault::NotSent, "{error}");
    assert!(!error.to_string().contains("canary") && error.to_string().contains("'peer'"), "{error}");
}

#[tokio::test]
async fn an_entry_that_cannot_be_used_is_a_config_fault_that_names_the_place() {
    let cases = [
        (
            json!({"type": "http", "url": "http://localhost/", "headers": {"X-Key": "$UNSET_NAME"}}),
            "UNSET_NAME",
        ),
        (json!({"type": "http", "url": "http://localhost/", "headers": {"X-Key": "$UNSET_NAME"}}), "X-Key"),
        (json!({"type": "http", "url": "http://localhost/", "headers": {"X-Key": "$TOKEN"}}), "X-Key"),
        (json!({"type": "http", "url": ""}), "requires 'url' field"),
        (json!({"type": "sse"}), "requires 'url' field"),
        (json!({"type": "carrier-pigeon", "url": "http://localhost/"}), "use type 'http', 'sse' or 'stdio'"),
        (json!({"type": "stdio", "command": "x"}), "starting processes is off here"),
    ];
    let client = client_with("TOKEN", format!("{CANARY}\nx"));
    for (fields, part) in cases {
        let error = call(&client, &entry(fields), LONG).await.expect_err("unusable");
        assert_eq!(error.fault, CallFault::Config, "{error}");
        assert!(error.message.contains(part) && !error.message.contains(CANARY), "{error}");
    }
}

#[tokio::test]
async fn a_redirect_to_another_origin_takes_no_credential_along() {
    for era in [Era::Stateless, Era::Session] {
        let other = Host::scripted(|seen| async move { result(&seen.message, json!({})) }).await;
        let to = other.url.clone();
        let host = Host::of_era(era, move |_| {
            let to = to.clone();
            async move { (StatusCode::TEMPORARY_REDIRECT, [("location", to)]).into_response() }
        })
        .await;
        let client = client_with("TOKEN", format!("Bearer {CANARY}"));
        let error = call(&client, &guarded(&host.url), LONG).await.expect_err("a redirect");
        assert_eq!(error.fault, CallFault::Refused, "{era:?}: {error}");
        assert!(other.seen().is_empty());
    }
}

#[tokio::test]
async fn a_redirect_at_home_is_followed_once_the_call_is_its_target() {
    let host = Host::of_era(Era::Stateless, |seen| async move {
        let moved =
            seen.headers.contains_key("mcp-method") && seen.message["params"]["arguments"]["text"] == "hi";
        if moved && !seen.path.ends_with('/') {
            return (StatusCode::TEMPORARY_REDIRECT, [("location", "/mcp/")]).into_response();
        }
        result(&seen.message, json!({"content": []}))
    })
    .await;
    call(&client(), &http(&host.url), LONG).await.expect("a result");
}
