//! The older HTTP+SSE transport.

use axum::http::StatusCode;
use axum::response::IntoResponse;
use pudu_app::changes::ListChanges;
use pudu_app::ports::CallFault;

use super::host::Host;
use super::sse_peer::{Act, SsePeer};
use super::*;

/// Long for loopback, short for a test that must wait for it.
const SHORT: Duration = Duration::from_millis(500);

fn with(act: Act) -> SsePeer {
    SsePeer { act, ..SsePeer::default() }
}

async fn failed(host: &Host, limit: Duration) -> CallError {
    call(&client(), &sse(&host.url), limit).await.expect_err("a failure")
}

#[tokio::test]
async fn a_call_over_sse_is_one_stream_a_handshake_and_one_post() {
    let host = SsePeer::default().start().await;
    let (client, server) = (client(), sse(&host.url));
    let result = call(&client, &server, LONG).await.expect("a result");
    assert_eq!(result, json!({"content": [], "x": 1}), "unchanged");
    assert_eq!(host.asked(), ["GET", "initialize", "notifications/initialized", "tools/call"]);
    call(&client, &server, LONG).await.expect("a second call");
    assert_eq!(host.count("GET"), 2, "a session per call");
    let posts: Vec<_> = host.seen().into_iter().filter(|seen| seen.http == "POST").collect();
    assert!(posts.iter().take(3).all(|seen| seen.path == "/messages/1"), "{posts:?}");
    assert!(posts.iter().skip(3).all(|seen| seen.path == "/messages/2"), "{posts:?}");
    let get = &host.seen()[0];
    assert_eq!(get.headers["accept"], "text/event-stream");
}

#[tokio::test]
async fn tools_are_listed_over_sse_unchanged() {
    let host = SsePeer::default().start().await;
    let tools = client().list_tools(&sse(&host.url), LONG).await.expect("tools").tools;
    assert_eq!(tools[0].definition, json!({"name": "echo", "x-new": 1}));
}

#[tokio::test]
async fn every_revision_with_a_handshake_is_spoken_over_sse() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let host = SsePeer { version, ..SsePeer::default() }.start().await;
        call(&client(), &sse(&host.url), LONG).await.expect(version);
    }
}

#[tokio::test]
async fn static_headers_and_user_info_go_with_the_stream_and_with_every_message() {
    let host = SsePeer::default().start().await;
    let server = entry(json!({
        "type": "sse", "url": host.url.replace("http://", "http://user:pass@"), "headers": {"X-Key": "canary"},
    }));
    call(&client(), &server, LONG).await.expect("a result");
    for seen in host.seen() {
        assert_eq!(seen.headers["x-key"], "canary", "{}", seen.what());
        assert_eq!(seen.headers["authorization"], "Basic dXNlcjpwYXNz", "{}", seen.what());
    }
}

/// The table of endpoints: what a server names, and whether messages go there.
#[tokio::test]
async fn the_endpoint_is_of_the_same_origin_or_nothing_is_sent() {
    let other = SsePeer::default().start().await;
    let elsewhere: &'static str =
        Box::leak(format!("event: endpoint\ndata: {}/messages/1\n\n", other.url.replace("/mcp", "")).into());
    for (greeting, good) in [
        ("event: endpoint\ndata: /messages/{n}\n\n", true),
        ("event: endpoint\ndata: messages/{n}\n\n", true),
        ("event: endpoint\ndata: ./messages/{n}?a=b#c\n\n", true),
        ("event: endpoint\ndata: http://{home}/messages/{n}\n\n", true),
        ("event: endpoint\ndata: http://evil:other@{home}/messages/{n}\n\n", true),
        ("event: endpoint\ndata: //{home}/messages/{n}\n\n", true),
        (": a comment\n\nevent: ping\ndata: x\n\nevent: endpoint\ndata:  /messages/{n} \n\n", true),
        (elsewhere, false),
        ("event: endpoint\ndata: https://{home}/messages/{n}\n\n", false),
        ("event: endpoint\ndata: http://localhost/messages/{n}\n\n", false),
        ("event: endpoint\ndata: http://169.254.169.254/latest/meta-data\n\n", false),
        ("event: endpoint\ndata: http://[::ffff:169.254.169.254]/\n\n", false),
        ("event: endpoint\ndata: file:///etc/passwd\n\n", false),
        ("event: endpoint\ndata: http://\n\n", false),
    ] {
        let host = SsePeer { greeting, ..SsePeer::default() }.start().await;
        let answer = call(&client(), &sse(&host.url), LONG).await;
        assert_eq!(answer.is_ok(), good, "{greeting}: {answer:?}");
        if let Err(error) = answer {
            assert_eq!((error.fault, host.asked()), (CallFault::NotSent, vec!["GET".to_owned()]), "{error}");
        }
    }
    assert!(other.seen().is_empty(), "{:?}", other.asked());
}

#[tokio::test]
async fn the_egress_rule_holds_for_the_stream() {
    let host = SsePeer::default().start().await;
    let client =
        Client::new(Arc::new(NoSecrets), Egress::cloud("", None).unwrap(), token_ports()).expect("a client");
    let error = call(&client, &sse(&host.url), LONG).await.expect_err("refused");
    assert_eq!(error.fault, CallFault::Config, "{error}");
    assert!(host.seen().is_empty());
}

#[tokio::test]
async fn the_stream_is_not_followed_to_another_origin() {
    let other = SsePeer::default().start().await;
    let to = other.url.clone();
    let host = Host::scripted(move |_| {
        std::future::ready((StatusCode::TEMPORARY_REDIRECT, [("location", to.clone())]).into_response())
    })
    .await;
    let error = failed(&host, LONG).await;
    assert_eq!(error.fault, CallFault::Refused, "{error}");
    assert!(other.seen().is_empty());
}

#[tokio::test]
async fn a_relative_endpoint_counts_from_where_the_stream_was_at_last() {
    let peer = SsePeer { greeting: "event: endpoint\ndata: ../messages/{n}\n\n", ..SsePeer::default() };
    let inner = peer.start().await;
    // The peer answers a GET anywhere; the redirect goes through a host of its own in front of it.
    let url = inner.url.replace("/mcp", "/deep/er/sse");
    let result = call(&client(), &sse(&url), LONG).await;
    assert!(result.is_err(), "'../messages' from there is no place of the peer's");
    let url = inner.url.replace("/mcp", "/deep/sse");
    call(&client(), &sse(&url), LONG).await.expect("a result");
}

/// ⚠ of reference 2.4: a stream that never says where to send is inside the limit for connecting, which may be far
/// shorter than the call's.
#[tokio::test]
async fn an_endpoint_that_never_comes_ends_with_the_limit_for_connecting() {
    for greeting in ["", ": waiting\n\n", "event: ping\ndata: 1\n\n"] {
        let host = SsePeer { greeting, ..SsePeer::default() }.start().await;
        let server = entry(json!({"type": "sse", "url": host.url, "session_init_timeout": 0.2}));
        let ended = tokio::time::timeout(LONG, call(&client(), &server, LONG * 10)).await;
        let error = ended.expect("an end").expect_err("no endpoint");
        assert_eq!(error.fault, CallFault::NotSent, "{error}");
        assert!(error.message.contains("0.2 s"), "{error}");
    }
}

#[tokio::test]
async fn a_call_that_is_never_answered_ends_with_its_own_limit() {
    let host = with(Act::Nothing).start().await;
    let server = entry(json!({"type": "sse", "url": host.url, "tool_call_timeout": 0.2}));
    let ended = tokio::time::timeout(LONG, call(&client(), &server, LONG * 10)).await;
    let error = ended.expect("an end").expect_err("no answer");
    assert_eq!((error.fault, host.count("tools/call")), (CallFault::Timeout, 1), "{error}");
}

#[tokio::test]
async fn each_way_to_fail_over_sse_has_its_name_and_the_call_is_sent_once() {
    use CallFault::{Broken, Protocol, Refused};
    let rpc = |code: i64| {
        Act::Say(vec![
            json!({"jsonrpc": "2.0", "id": "?", "error": {"code": code, "message": "disk is full"}}),
        ])
    };
    let large = format!("data: {}", "x".repeat(crate::wire::MAX_ANSWER_BYTES + 1));
    for (name, act, fault) in [
        ("the stream closes", Act::Close, Broken),
        ("400", Act::Refuse(StatusCode::BAD_REQUEST), Refused),
        ("401", Act::Refuse(StatusCode::UNAUTHORIZED), Refused),
        ("404", Act::Refuse(StatusCode::NOT_FOUND), Refused),
        ("500", Act::Refuse(StatusCode::INTERNAL_SERVER_ERROR), Broken),
        ("-32602", rpc(-32602), Refused),
        ("-32603", rpc(-32603), Broken),
        ("a huge event", Act::Write(large), Protocol),
        ("events that are none", Act::Write("no colon\n\n".to_owned()), Protocol),
        (
            "a result that is no object",
            Act::Say(vec![json!({"jsonrpc": "2.0", "id": "?", "result": 7})]),
            Protocol,
        ),
    ] {
        let host = with(act).start().await;
        let error = failed(&host, LONG).await;
        assert_eq!((error.fault, host.count("tools/call")), (fault, 1), "{name}: {error}");
    }
}

#[tokio::test]
async fn what_is_not_the_answer_is_passed_over() {
    let host = with(Act::Say(vec![
        json!({"jsonrpc": "2.0", "id": 4711, "result": {}}),
        json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}}),
        json!("garbage"),
        json!({"jsonrpc": "2.0", "id": "?", "result": {"ok": true}}),
    ]))
    .start()
    .await;
    assert_eq!(call(&client(), &sse(&host.url), LONG).await, Ok(json!({"ok": true})));
}

#[tokio::test]
async fn a_server_that_is_none_of_this_transport_is_told_apart() {
    let host =
        Host::scripted(|_| async { ([("content-type", "text/html")], "<html>").into_response() }).await;
    let error = failed(&host, SHORT).await;
    assert!(error.message.contains("type is 'http'"), "{error}");
}

/// The specification's rule for servers older than Streamable HTTP: a POST that is refused with 400, 404 or 405, then
/// a GET. What was found is remembered.
#[tokio::test]
async fn a_server_that_only_speaks_sse_is_found_behind_type_http() {
    for posted in [StatusCode::BAD_REQUEST, StatusCode::NOT_FOUND, StatusCode::METHOD_NOT_ALLOWED] {
        let host = SsePeer { posted, ..SsePeer::default() }.start().await;
        let (client, server) = (client(), http(&host.url));
        call(&client, &server, LONG).await.expect("a result");
        let first = host.asked();
        assert_eq!(
            first.get(..3),
            Some(["server/discover", "initialize", "GET"].map(str::to_owned).as_slice())
        );
        call(&client, &server, LONG).await.expect("a second call");
        let again = ["GET", "initialize", "notifications/initialized", "tools/call"];
        assert_eq!(host.asked().get(first.len()..), Some(again.map(str::to_owned).as_slice()), "{posted}");
    }
}

#[tokio::test]
async fn a_refusal_stays_what_it_is_where_there_is_no_stream_either() {
    for (posted, get) in [(405, true), (404, true), (500, false), (403, false)] {
        let posted = StatusCode::from_u16(posted).unwrap();
        let host = Host::scripted(move |seen| {
            let status = if seen.http == "GET" { StatusCode::NOT_FOUND } else { posted };
            std::future::ready(status.into_response())
        })
        .await;
        let error = call(&client(), &http(&host.url), LONG).await.expect_err("nobody speaks");
        assert!(error.message.contains(posted.as_str()), "{error}");
        assert_eq!(host.count("GET"), usize::from(get), "{posted}");
    }
}

#[tokio::test]
async fn a_list_that_changed_is_reported_from_a_stream() {
    let host = with(Act::Say(vec![
        json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}),
        json!({"jsonrpc": "2.0", "id": "?", "result": {}}),
    ]))
    .start()
    .await;
    let changes = ListChanges::default();
    let (client, server) = (client().with_changes(changes.clone()), sse(&host.url));
    let (before, other) = (changes.mark(&server.digest), changes.mark("other"));
    call(&client, &server, LONG).await.expect("a result");
    assert_ne!(changes.mark(&server.digest), before);
    assert_eq!(changes.mark("other"), other);
}
