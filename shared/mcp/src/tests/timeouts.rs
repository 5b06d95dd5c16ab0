//! One limit over connecting and the handshake, one for the call, both inside the caller's (reference 2.4; vector 25: the
//! timeout of the entry applies on every transport).

use axum::response::Response;
use pudu_app::ports::CallFault;

use super::host::Host;
use super::*;

/// Of the entry: short for a test that must wait for it.
const ENTRY: f64 = 0.3;

fn timed(url: &str, field: &str) -> Server {
    let mut fields = json!({"type": "http", "url": url});
    fields[field] = json!(ENTRY);
    entry(fields)
}

async fn ended(client: &Client, server: &Server, limit: Duration) -> CallError {
    let bounded = tokio::time::timeout(LONG, call(client, server, limit)).await;
    bounded.expect("an end").expect_err("silence")
}

#[tokio::test]
async fn the_limit_for_connecting_covers_the_probe_and_the_handshake() {
    let host = Host::scripted(|_| std::future::pending::<Response>()).await;
    for client in [client(), knowing(&http(&host.url), Era::Session), knowing(&http(&host.url), Era::Events)]
    {
        let error = ended(&client, &timed(&host.url, "session_init_timeout"), LONG * 10).await;
        assert_eq!(error.fault, CallFault::NotSent, "{error}");
        assert!(error.message.contains("0.3 s"), "{error}");
    }
    assert_eq!(host.count("tools/call"), 0);
}

#[tokio::test]
async fn vector_25_the_limit_for_a_call_applies_over_http() {
    for era in [Era::Stateless, Era::Session] {
        let host = Host::of_era(era, |_| std::future::pending::<Response>()).await;
        let error = ended(&client(), &timed(&host.url, "tool_call_timeout"), LONG * 10).await;
        assert_eq!((error.fault, host.count("tools/call")), (CallFault::Timeout, 1), "{era:?}: {error}");
        assert!(error.message.contains("0.3 s"), "{error}");
    }
}

#[tokio::test]
async fn the_limit_of_a_discovery_covers_all_its_pages() {
    let host = Host::of_era(Era::Stateless, |_| std::future::pending::<Response>()).await;
    let server = timed(&host.url, "session_init_timeout");
    let client = client();
    let bounded = tokio::time::timeout(LONG, client.list_tools(&server, LONG * 10)).await;
    let error = bounded.expect("an end").expect_err("silence");
    assert_eq!((error.fault, host.count("tools/list")), (CallFault::Timeout, 1), "{error}");
}

#[tokio::test]
async fn the_callers_limit_is_over_both() {
    let host = Host::of_era(Era::Session, |_| std::future::pending::<Response>()).await;
    let fields =
        json!({"type": "http", "url": host.url, "session_init_timeout": 900, "tool_call_timeout": 900});
    let error = ended(&client(), &entry(fields), Duration::from_millis(900)).await;
    assert_eq!((error.fault, host.count("tools/call")), (CallFault::Timeout, 1), "{error}");
}
