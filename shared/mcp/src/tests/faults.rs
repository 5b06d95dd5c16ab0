//! Each way in which a call goes wrong, in both eras: what it is called, that it ends in time, that the call was sent at
//! most once, and what a submission makes of it.

use std::io;

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use pudu_app::ports::{CallFault, SubmitError, TaskDriver};
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::host::{Host, Seen, events, json_body, refused, result};
use super::*;
use crate::OrdinaryTools;

/// Long for loopback, short for a test that must wait for it.
const SHORT: Duration = Duration::from_millis(500);

type Act = fn(Seen) -> BoxFuture<'static, Response>;

fn cut(kind: &'static str, text: &'static str) -> Response {
    let parts = [Ok(Bytes::from_static(text.as_bytes())), Err(io::Error::other("cut"))];
    ([("content-type", kind)], Body::from_stream(futures_util::stream::iter(parts))).into_response()
}

/// More than the limit, without end.
fn flood(kind: &'static str, start: &'static str) -> Response {
    let start =
        futures_util::stream::once(async move { Ok::<_, io::Error>(Bytes::from_static(start.as_bytes())) });
    let more = futures_util::stream::repeat_with(|| Ok(Bytes::from(vec![b'x'; 64 * 1024])));
    ([("content-type", kind)], Body::from_stream(start.chain(more))).into_response()
}

fn moved(status: StatusCode) -> Response {
    (status, [("location", "http://127.0.0.1:1/")]).into_response()
}

const JSON: &str = "application/json";
const SSE: &str = "text/event-stream";

fn cases() -> Vec<(&'static str, CallFault, Act)> {
    use CallFault::{Broken, Protocol, Refused, Timeout};
    vec![
        ("no answer", Timeout, |_| Box::pin(std::future::pending())),
        ("a body that stalls", Timeout, |_| {
            Box::pin(async {
                let body = Body::from_stream(futures_util::stream::pending::<Result<Bytes, io::Error>>());
                ([("content-type", JSON)], body).into_response()
            })
        }),
        ("a stream that stalls", Timeout, |_| {
            Box::pin(async {
                let body = Body::from_stream(futures_util::stream::pending::<Result<Bytes, io::Error>>());
                ([("content-type", SSE)], body).into_response()
            })
        }),
        ("a body cut off", Broken, |_| Box::pin(async { cut(JSON, "{\"jsonrpc\":") })),
        ("a stream cut off", Broken, |_| Box::pin(async { cut(SSE, "data: {\"json") })),
        ("a stream that ends without the answer", Broken, |_| Box::pin(async { events(&[]) })),
        ("401", Refused, |_| Box::pin(async { StatusCode::UNAUTHORIZED.into_response() })),
        ("404", Refused, |_| Box::pin(async { StatusCode::NOT_FOUND.into_response() })),
        ("429", Refused, |_| Box::pin(async { StatusCode::TOO_MANY_REQUESTS.into_response() })),
        ("a 400 whose error is cut off", Broken, |_| {
            Box::pin(async { (StatusCode::BAD_REQUEST, cut(JSON, "{\"error\":")).into_response() })
        }),
        ("a 400 with an endless error", Broken, |_| {
            Box::pin(async { (StatusCode::BAD_REQUEST, flood(JSON, "{\"error\":\"")).into_response() })
        }),
        ("an error without a code", Broken, |seen| {
            Box::pin(async move {
                let error = json!({"message": "bad"});
                json_body(json!({"jsonrpc": "2.0", "id": seen.message["id"], "error": error}).to_string())
            })
        }),
        ("302", Refused, |_| Box::pin(async { moved(StatusCode::FOUND) })),
        ("303", Broken, |_| Box::pin(async { moved(StatusCode::SEE_OTHER) })),
        ("307 to another place", Refused, |_| Box::pin(async { moved(StatusCode::TEMPORARY_REDIRECT) })),
        ("400", Refused, |_| Box::pin(async { StatusCode::BAD_REQUEST.into_response() })),
        ("408", Broken, |_| Box::pin(async { StatusCode::REQUEST_TIMEOUT.into_response() })),
        ("500", Broken, |_| Box::pin(async { StatusCode::INTERNAL_SERVER_ERROR.into_response() })),
        ("502 with HTML", Broken, |_| {
            Box::pin(async { (StatusCode::BAD_GATEWAY, "<html>").into_response() })
        }),
        ("garbage", Protocol, |_| Box::pin(async { json_body("{{{".into()) })),
        ("JSON that is no message", Protocol, |_| Box::pin(async { json_body("[1]".into()) })),
        ("a page", Protocol, |_| {
            Box::pin(async { ([("content-type", "text/html")], "<html>").into_response() })
        }),
        ("202", Protocol, |_| Box::pin(async { StatusCode::ACCEPTED.into_response() })),
        ("an empty 200", Protocol, |_| Box::pin(async { StatusCode::OK.into_response() })),
        ("a huge body", Protocol, |_| Box::pin(async { flood(JSON, "\"") })),
        ("a huge event", Protocol, |_| Box::pin(async { flood(SSE, "data: ") })),
        ("another id", Protocol, |_| Box::pin(async { result(&json!({"id": 4711}), json!({})) })),
        ("another id as an event", Protocol, |_| {
            Box::pin(async { events(&[json!({"jsonrpc": "2.0", "id": 4711, "result": {}})]) })
        }),
        ("a result that is no object", Protocol, |seen| {
            Box::pin(async move { result(&seen.message, json!(7)) })
        }),
    ]
}

#[tokio::test]
async fn every_fault_of_a_call_has_its_name_and_its_end() {
    for era in [Era::Stateless, Era::Session] {
        for (name, fault, act) in cases() {
            let host = Host::of_era(era, act).await;
            let server = http(&host.url);
            let client = knowing(&server, era);
            let limit = if fault == CallFault::Timeout { SHORT } else { LONG };
            let bounded = tokio::time::timeout(LONG, call(&client, &server, limit)).await;
            let error = bounded.expect("an end").expect_err(name);
            assert_eq!(error.fault, fault, "{era:?}, {name}: {error}");
            assert!(error.to_string().contains("'peer'"), "{error}");
            // A session that is not known is the one case in which nothing was done for certain.
            let sendings = if era == Era::Session && name == "404" { 2 } else { 1 };
            assert_eq!(host.count("tools/call"), sendings, "{era:?}, {name}: sent once");
        }
    }
}

/// What a JSON-RPC error says with each HTTP status that it comes with: the codes that are a refusal, and those that
/// may come from a server that acted.
const ERRORS: [(&[u16], &[i64], CallFault); 7] = [
    (&[200, 400, 404, 422], &[-32700, -32600, -32601, -32602, -32020, -32021, -32022], CallFault::Refused),
    (&[200, 400, 409, 422], &[-32603, -32000, -32001, -32002, -32099, -1, 0, 7], CallFault::Broken),
    (&[404], &[-32000, -32001], CallFault::Refused),
    (&[404], &[-32603, -32002, 7], CallFault::Broken),
    (&[401, 403, 429], &[-32603, -32000, -32001, -32602], CallFault::Refused),
    (&[408], &[-32603, -32000, -32602], CallFault::Broken),
    (
        &[500, 502, 503, 504],
        &[-32700, -32600, -32601, -32602, -32603, -32000, -32020, -32022],
        CallFault::Broken,
    ),
];

/// An error of a server is heard as what it is; its words are kept, and a submission follows the fault.
async fn error_is(
    client: &Arc<Client>,
    era: Era,
    fault: CallFault,
    what: &str,
    act: impl Fn(Seen) -> Response + Clone + Send + Sync + 'static,
) {
    let host = Host::of_era(era, move |seen| std::future::ready(act(seen))).await;
    let server = http(&host.url);
    let error = call(client, &server, LONG).await.expect_err(what);
    assert_eq!(error.fault, fault, "{era:?}, {what}: {error}");
    assert!(error.message.contains("disk is full"), "{era:?}, {what}: {error}");
    assert_eq!(error.message.starts_with("refused"), fault == CallFault::Refused, "{era:?}, {what}: {error}");
    assert_eq!(submit_refused(client, &server).await, fault == CallFault::Refused, "{era:?}, {what}");
}

/// Submits to a server that fails; whether that counts as refused, or as unknown.
async fn submit_refused(client: &Arc<Client>, server: &Server) -> bool {
    let driver = OrdinaryTools::new(Arc::<Client>::clone(client), Arc::new(NoSecrets));
    let data = json!({"submit_tool": "begin", "status_tool": "ask", "cancel_tool": "stop"});
    match driver.submit(server, &caller(), &data, Map::new(), LONG).await {
        Err(SubmitError::Refused(_)) => true,
        Err(SubmitError::Unknown(_)) => false,
        other => panic!("neither refused nor unknown: {other:?}"),
    }
}

#[tokio::test]
async fn an_error_is_a_refusal_only_where_the_server_cannot_have_acted() {
    let client = Arc::new(client());
    for era in [Era::Stateless, Era::Session] {
        for (statuses, codes, fault) in ERRORS {
            for status in statuses {
                for &code in codes {
                    let status = StatusCode::from_u16(*status).expect("a status");
                    error_is(&client, era, fault, &format!("{status} with {code}"), move |seen| {
                        (status, refused(&seen.message, code, "disk is full")).into_response()
                    })
                    .await;
                }
            }
        }
    }
}

#[tokio::test]
async fn an_error_in_a_stream_is_judged_by_its_code() {
    let client = Arc::new(client());
    for era in [Era::Stateless, Era::Session] {
        for (code, fault) in [
            (-32602, CallFault::Refused),
            (-32601, CallFault::Refused),
            (-32603, CallFault::Broken),
            (-32000, CallFault::Broken),
            (-32001, CallFault::Broken),
        ] {
            error_is(&client, era, fault, &format!("an event with {code}"), move |seen| {
                let error = json!({"code": code, "message": "disk is full"});
                events(&[json!({"jsonrpc": "2.0", "id": seen.message["id"], "error": error})])
            })
            .await;
        }
    }
}

#[tokio::test]
async fn a_submission_whose_answer_is_lost_is_unknown() {
    let client = Arc::new(client());
    for era in [Era::Stateless, Era::Session] {
        for (name, fault, act) in cases().into_iter().filter(|(_, fault, _)| *fault != CallFault::Timeout) {
            let host = Host::of_era(era, act).await;
            let refused = submit_refused(&client, &http(&host.url)).await;
            assert_eq!(refused, fault == CallFault::Refused, "{era:?}, {name}");
        }
    }
}

#[tokio::test]
async fn what_fails_before_the_call_is_sent_is_not_sent() {
    for (name, _, act) in cases().into_iter().filter(|(_, fault, _)| *fault != CallFault::Refused) {
        let host = Host::scripted(act).await;
        let server = http(&host.url);
        let client = knowing(&server, Era::Session);
        let error = call(&client, &server, SHORT).await.expect_err(name);
        assert_eq!(error.fault, CallFault::NotSent, "{name}: {error}");
        assert_eq!(host.count("tools/call"), 0, "{name}");
    }
}

#[tokio::test]
async fn refused_credentials_are_a_refusal_at_the_first_request() {
    let host = Host::scripted(|_| async { StatusCode::UNAUTHORIZED.into_response() }).await;
    let error = call(&client(), &http(&host.url), LONG).await.expect_err("refused");
    assert_eq!(error.fault, CallFault::Refused);
    assert!(error.message.contains("401"), "{error}");
    assert_eq!(host.asked(), ["server/discover"]);
}

#[tokio::test]
async fn a_server_that_never_answers_anything_ends_within_the_limit() {
    let host = Host::scripted(|_| std::future::pending::<Response>()).await;
    let error = call(&client(), &http(&host.url), SHORT).await.expect_err("silence");
    assert_eq!(error.fault, CallFault::NotSent, "{error}");
    assert!(error.message.contains("timed out"), "{error}");
}

#[tokio::test]
async fn a_connection_closed_after_the_request_may_have_acted() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut some = [0; 512];
            let _ = socket.read(&mut some).await;
        }
    });
    let server = http(&url);
    let client = knowing(&server, Era::Stateless);
    let error = call(&client, &server, LONG).await.expect_err("closed");
    assert_eq!(error.fault, CallFault::Broken, "{error}");
}

#[tokio::test]
async fn one_broken_call_does_not_disturb_another() {
    let host = Host::of_era(Era::Stateless, |seen| async move {
        match seen.message["params"]["name"].as_str() {
            Some("bad") => cut(JSON, "{"),
            _ => result(&seen.message, json!({"content": []})),
        }
    })
    .await;
    let (client, server) = (client(), http(&host.url));
    let caller = caller();
    let bad = client.call_tool(&server, &caller, tool("bad", json!({})), LONG);
    let (good, bad, again) = tokio::join!(call(&client, &server, LONG), bad, call(&client, &server, LONG));
    assert!(good.is_ok() && again.is_ok());
    assert_eq!(bad.expect_err("cut").fault, CallFault::Broken);
    call(&client, &server, LONG).await.expect("a call after it");
}

#[tokio::test]
async fn a_limit_beyond_all_clocks_is_no_panic() {
    let host = Host::of_era(Era::Stateless, |seen| async move { result(&seen.message, json!({})) }).await;
    assert_eq!(call(&client(), &http(&host.url), Duration::MAX).await, Ok(json!({})));
}
