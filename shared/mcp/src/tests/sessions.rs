//! Sessions that a server forgets in the middle of a call.

use std::sync::atomic::{AtomicUsize, Ordering};

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use pudu_app::ports::{CallFault, TaskMethod, TaskReply, TaskRequest};

use super::host::{Host, Seen, events, refused, result};
use super::*;

/// A server whose sessions are numbered; `answer` gets each `tools/call` with how many came before it.
async fn forgetful(
    sessions: bool,
    answer: impl Fn(&Seen, usize) -> Response + Clone + Send + Sync + 'static,
) -> Host {
    let (opened, called) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    Host::scripted(move |seen| {
        let response = match seen.what().as_str() {
            "server/discover" => refused(&seen.message, -32601, "no such method"),
            "initialize" => {
                let info = json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                                  "serverInfo": {"name": "forgetful", "version": "1"}});
                let session = format!("s-{}", opened.fetch_add(1, Ordering::Relaxed) + 1);
                let answer = result(&seen.message, info);
                if sessions { ([("mcp-session-id", session)], answer).into_response() } else { answer }
            }
            "tools/call" => answer(&seen, called.fetch_add(1, Ordering::Relaxed)),
            "GET" => StatusCode::METHOD_NOT_ALLOWED.into_response(),
            _ => StatusCode::ACCEPTED.into_response(),
        };
        std::future::ready(response)
    })
    .await
}

fn good(seen: &Seen) -> Response {
    result(&seen.message, json!({"session": seen.headers["mcp-session-id"].to_str().unwrap()}))
}

#[tokio::test]
async fn an_expired_session_is_opened_again_once_and_the_call_goes_with_it() {
    let unknown: [fn(&Seen) -> Response; 3] = [
        |_| StatusCode::NOT_FOUND.into_response(),
        |seen| (StatusCode::NOT_FOUND, refused(&seen.message, -32001, "Session not found")).into_response(),
        |seen| (StatusCode::NOT_FOUND, refused(&seen.message, -32000, "no session")).into_response(),
    ];
    for unknown in unknown {
        let host =
            forgetful(true, move |seen, before| if before == 0 { unknown(seen) } else { good(seen) }).await;
        let answer = call(&client(), &http(&host.url), LONG).await;
        assert_eq!(answer, Ok(json!({"session": "s-2"})));
        assert_eq!((host.count("initialize"), host.count("tools/call")), (2, 2));
    }
}

#[tokio::test]
async fn a_session_that_expires_again_is_not_opened_a_third_time() {
    let host = forgetful(true, |_, _| StatusCode::NOT_FOUND.into_response()).await;
    let error = call(&client(), &http(&host.url), LONG).await.expect_err("no session");
    assert_eq!(error.fault, CallFault::Refused, "{error}");
    assert_eq!((host.count("initialize"), host.count("tools/call")), (2, 2));
}

#[tokio::test]
async fn an_expired_session_that_cannot_be_opened_again_means_that_nothing_was_done() {
    let opened = Arc::new(AtomicUsize::new(0));
    let host = Host::scripted(move |seen| {
        let again = seen.what() == "initialize" && opened.fetch_add(1, Ordering::Relaxed) > 0;
        let response = match seen.what().as_str() {
            _ if again => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
            "initialize" => {
                let info = json!({"protocolVersion": "2025-06-18", "capabilities": {},
                                  "serverInfo": {"name": "x", "version": "1"}});
                ([("mcp-session-id", "s-1")], result(&seen.message, info)).into_response()
            }
            "notifications/initialized" => StatusCode::ACCEPTED.into_response(),
            _ => StatusCode::NOT_FOUND.into_response(),
        };
        std::future::ready(response)
    })
    .await;
    let error = call(&client(), &http(&host.url), LONG).await.expect_err("no session");
    assert_eq!((error.fault, host.count("tools/call")), (CallFault::NotSent, 1), "{error}");
}

/// Everything else may have been carried out, or will not get better: it is sent once.
#[tokio::test]
async fn nothing_else_is_ever_sent_again() {
    type Answer = fn(&Seen) -> Response;
    let cases: [(&str, bool, Answer); 7] = [
        ("a 404 without a session", false, |_| StatusCode::NOT_FOUND.into_response()),
        ("a 404 with another error", true, |seen| {
            (StatusCode::NOT_FOUND, refused(&seen.message, -32603, "disk is full")).into_response()
        }),
        ("a 404 for a method", true, |seen| {
            (StatusCode::NOT_FOUND, refused(&seen.message, -32601, "no such method")).into_response()
        }),
        ("a 400", true, |_| StatusCode::BAD_REQUEST.into_response()),
        ("a 500", true, |_| StatusCode::INTERNAL_SERVER_ERROR.into_response()),
        ("an error of a session in a 200", true, |seen| refused(&seen.message, -32001, "Session not found")),
        ("a 410", true, |_| StatusCode::GONE.into_response()),
    ];
    for (name, sessions, answer) in cases {
        let host = forgetful(sessions, move |seen, _| answer(seen)).await;
        call(&client(), &http(&host.url), LONG).await.expect_err(name);
        assert_eq!((host.count("initialize"), host.count("tools/call")), (1, 1), "{name}");
    }
}

/// A server that complains about a notification on the session's own stream, while it carries out a call whose answer is
/// then lost: whether it acted is not known, whatever it complained about.
#[tokio::test]
async fn what_a_session_s_own_stream_says_is_not_the_end_of_a_call() {
    let read = Arc::new(tokio::sync::Notify::new());
    let host = Host::scripted(move |seen| {
        let read = Arc::clone(&read);
        async move {
            match seen.what().as_str() {
                "server/discover" => refused(&seen.message, -32601, "no such method"),
                "initialize" => {
                    let info = json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                                      "serverInfo": {"name": "grumpy", "version": "1"}});
                    ([("mcp-session-id", "s-1")], result(&seen.message, info)).into_response()
                }
                "GET" => events(&[
                    json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32601, "message": "no such method"}}),
                    // The SDK answers it when it has read what came before.
                    json!({"jsonrpc": "2.0", "id": "p", "method": "ping"}),
                ]),
                "tools/call" => {
                    read.notified().await;
                    events(&[])
                }
                _ => {
                    if seen.message["id"] == "p" {
                        read.notify_one();
                    }
                    StatusCode::ACCEPTED.into_response()
                }
            }
        }
    })
    .await;
    let error = call(&client(), &http(&host.url), LONG).await.expect_err("no answer");
    assert_eq!((error.fault, host.count("tools/call")), (CallFault::Broken, 1), "{error}");
}

/// The code is that of a task that is not there, but nothing was asked of any task.
#[tokio::test]
async fn a_refused_handshake_says_nothing_of_a_task() {
    for (handshake, known) in [(false, false), (true, true)] {
        let host = Host::scripted(move |seen| {
            let response = match seen.what().as_str() {
                "initialize" if handshake => {
                    let info = json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                                      "serverInfo": {"name": "peer", "version": "1"}});
                    result(&seen.message, info)
                }
                "initialize" => refused(&seen.message, -32602, "Unsupported protocol version"),
                "tasks/get" => refused(&seen.message, -32602, "no such task"),
                "server/discover" => refused(&seen.message, -32601, "no such method"),
                "GET" => StatusCode::METHOD_NOT_ALLOWED.into_response(),
                _ => StatusCode::ACCEPTED.into_response(),
            };
            std::future::ready(response)
        })
        .await;
        let params = Map::from_iter([("taskId".to_owned(), json!("r1"))]);
        let request = TaskRequest { method: TaskMethod::Get, params, tool: "research".to_owned() };
        let reply = client().ask_task(&http(&host.url), &caller(), request, LONG).await;
        assert_eq!(matches!(reply, Ok(TaskReply::Error { code: -32602, .. })), known, "{reply:?}");
        assert_eq!(reply.is_err(), !known, "a handshake may do better the next time");
        assert_eq!(host.count("tasks/get"), usize::from(known));
    }
}
