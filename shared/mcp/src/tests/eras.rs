//! Each revision that the SDK's server side speaks, and what a call costs in each.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::http::StatusCode;
use axum::response::IntoResponse;
use rmcp::model::ProtocolVersion as V;

use super::host::{Host, json_body, refused, result};
use super::sdk_peer::SdkPeer;
use super::*;

fn old_revisions() -> [V; 4] {
    [V::V_2024_11_05, V::V_2025_03_26, V::V_2025_06_18, V::V_2025_11_25]
}

async fn lists_and_calls(client: &Client, server: &Server) {
    let tools = client.list_tools(server, LONG).await.expect("tools").tools;
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["echo", "second", "third"]);
    assert_eq!(tools[0].definition["inputSchema"]["properties"]["text"]["type"], "string");
    let result = call(client, server, LONG).await.expect("a result");
    assert_eq!(result["structuredContent"], json!({"text": "hi"}));
}

#[tokio::test]
async fn every_old_revision_is_spoken_with_and_without_sessions_and_streams() {
    for version in old_revisions() {
        for (sessions, json) in [(true, false), (false, true), (false, false)] {
            let host = SdkPeer { versions: vec![version.clone()], sessions, json }.start().await;
            lists_and_calls(&client(), &http(&host.url)).await;
            assert_eq!(host.count("tools/call"), 1, "{version} {sessions} {json}: {:?}", host.asked());
        }
    }
}

#[tokio::test]
async fn the_stateless_revision_is_spoken_as_json_and_as_a_stream() {
    for json in [true, false] {
        let host = SdkPeer { versions: vec![V::V_2026_07_28], sessions: false, json }.start().await;
        lists_and_calls(&client(), &http(&host.url)).await;
        assert_eq!(host.count("initialize"), 0);
    }
}

#[tokio::test]
async fn a_peer_of_both_eras_is_met_in_the_stateless_one() {
    let host = SdkPeer { versions: V::KNOWN_VERSIONS.to_vec(), sessions: true, json: true }.start().await;
    lists_and_calls(&client(), &http(&host.url)).await;
    assert_eq!(host.count("initialize"), 0);
}

#[tokio::test]
async fn a_stateless_call_is_exactly_one_post_once_the_era_is_known() {
    let host = SdkPeer { versions: V::KNOWN_VERSIONS.to_vec(), sessions: true, json: true }.start().await;
    let (client, server) = (client(), http(&host.url));
    call(&client, &server, LONG).await.expect("a first call");
    assert_eq!(host.asked(), ["server/discover", "tools/call"]);
    call(&client, &server, LONG).await.expect("a second call");
    assert_eq!(host.asked(), ["server/discover", "tools/call", "tools/call"]);
    let last = host.seen().pop().expect("a request");
    assert_eq!(last.headers["mcp-method"], "tools/call");
    assert_eq!(last.headers["mcp-name"], "echo");
    assert_eq!(last.headers["mcp-protocol-version"], "2026-07-28");
    assert_eq!(last.message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
}

#[tokio::test]
async fn a_request_about_a_task_is_routed_by_its_id() {
    use pudu_app::ports::{TaskMethod, TaskReply, TaskRequest};
    let host = Host::of_era(Era::Stateless, |seen| async move {
        match seen.what().as_str() {
            "tasks/cancel" => refused(&seen.message, -32602, "no such task").into_response(),
            _ => result(&seen.message, json!({"taskId": "r 1é", "status": "working"})),
        }
    })
    .await;
    let (client, server) = (client(), http(&host.url));
    let ask = async |method| {
        let params = Map::from_iter([("taskId".to_owned(), json!("r 1é"))]);
        let request = TaskRequest { method, params, tool: "research".to_owned() };
        client.ask_task(&server, &caller(), request, LONG).await.expect("an answer of the server")
    };
    assert_eq!(ask(TaskMethod::Get).await, TaskReply::Said(json!({"taskId": "r 1é", "status": "working"})));
    let sent = host.seen().pop().expect("the request");
    assert_eq!(
        (sent.what().as_str(), &sent.headers["mcp-method"]),
        ("tasks/get", &"tasks/get".parse().unwrap())
    );
    // SEP-2663: by its id, wrapped where a header could not carry it, and with the extension declared.
    assert_eq!(sent.headers["mcp-name"], "=?base64?ciAxw6k=?=");
    assert_eq!(sent.message["params"]["taskId"], "r 1é");
    let declared = &sent.message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    assert!(declared["extensions"]["io.modelcontextprotocol/tasks"].is_object(), "{declared}");
    match ask(TaskMethod::Cancel).await {
        TaskReply::Error { code, error } => {
            assert_eq!((code, error.fault), (-32602, pudu_app::ports::CallFault::Refused));
        }
        said @ TaskReply::Said(_) => panic!("{said:?}"),
    }
    assert_eq!(host.count("server/discover"), 1, "an unknown task is no sign of another era");
}

/// A moment's trouble with `server/discover` costs a moment without tasks, not as long as a list holds.
#[tokio::test]
async fn a_list_whose_server_did_not_say_what_it_can_do_holds_for_a_moment() {
    let asked = Arc::new(AtomicUsize::new(0));
    let host = Host::scripted(move |seen| {
        let asked = Arc::clone(&asked);
        async move {
            if seen.what() == "tools/list" {
                return result(&seen.message, json!({"tools": [], "ttlMs": 600_000}));
            }
            if asked.fetch_add(1, Ordering::SeqCst) == 1 {
                return StatusCode::INTERNAL_SERVER_ERROR.into_response();
            }
            let capabilities = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
            result(&seen.message, json!({"supportedVersions": ["2026-07-28"], "capabilities": capabilities}))
        }
    })
    .await;
    let (client, server) = (client(), http(&host.url));
    let mut lists = Vec::new();
    for _ in 0..3 {
        let list = client.list_tools(&server, LONG).await.expect("a list");
        lists.push((list.tasks.is_some(), list.ttl.map(|ttl| ttl.as_secs())));
    }
    assert_eq!(lists, [(true, Some(600)), (false, Some(15)), (true, Some(600))]);
}

#[tokio::test]
async fn what_a_list_says_of_tasks_is_what_the_server_says_that_it_can_do() {
    use pudu_app::ports::TaskProtocol;
    let tools = |message: &Value| result(message, json!({"tools": []}));
    for (capabilities, expected) in [
        (json!({"extensions": {"io.modelcontextprotocol/tasks": {}}}), Some(TaskProtocol::Extension)),
        (json!({"extensions": {"io.modelcontextprotocol/tasks": true}}), None),
        (json!({"extensions": {"io.modelcontextprotocol/ui": {}}}), None),
        // Core tasks have no place here.
        (json!({"tasks": {"requests": {"tools": {"call": {}}}}}), None),
        (json!(null), None),
    ] {
        let host = Host::scripted(move |seen| {
            let capabilities = capabilities.clone();
            async move {
                if seen.what() == "tools/list" {
                    return tools(&seen.message);
                }
                let found = json!({"supportedVersions": ["2026-07-28"], "capabilities": capabilities});
                result(&seen.message, found)
            }
        })
        .await;
        let (client, server) = (client(), http(&host.url));
        assert_eq!(client.list_tools(&server, LONG).await.expect("a list").tasks, expected);
        assert_eq!(host.asked(), ["server/discover", "tools/list"], "what the probe brought is used");
        assert_eq!(client.list_tools(&server, LONG).await.expect("a list").tasks, expected);
        assert_eq!(
            host.count("server/discover"),
            2,
            "the era is known, what the server can do may have changed"
        );
    }
    for (capabilities, expected) in [
        (json!({"tools": {}, "tasks": {"requests": {"tools": {"call": {}}}}}), Some(TaskProtocol::Core)),
        (json!({"tasks": {"requests": {"elicitation": {"create": {}}}}}), None),
        (json!({"extensions": {"io.modelcontextprotocol/tasks": {}}}), None),
    ] {
        let host = Host::scripted(move |seen| {
            let capabilities = capabilities.clone();
            async move {
                match seen.what().as_str() {
                    "initialize" => {
                        let server = json!({"name": "old", "version": "1"});
                        let answer = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": server});
                        result(&seen.message, answer)
                    }
                    "tools/list" => tools(&seen.message),
                    "server/discover" => refused(&seen.message, -32601, "unknown").into_response(),
                    _ => json_body(String::new()),
                }
            }
        })
        .await;
        let listed = client().list_tools(&http(&host.url), LONG).await.expect("a list");
        assert_eq!(listed.tasks, expected);
    }
}

#[tokio::test]
async fn a_call_says_that_it_takes_a_task_only_if_it_does_and_in_the_words_of_its_era() {
    use pudu_app::ports::TaskProtocol;
    for era in [Era::Stateless, Era::Session] {
        for tasks in [None, Some(TaskProtocol::Extension), Some(TaskProtocol::Core)] {
            let host =
                Host::of_era(era, |seen| async move { result(&seen.message, json!({"content": []})) }).await;
            let call = ToolCall { tasks, ..tool("echo", json!({})) };
            client().call_tool(&http(&host.url), &caller(), call, LONG).await.expect("a result");
            let sent = host.seen().into_iter().find(|seen| seen.what() == "tools/call").expect("the call");
            let params = &sent.message["params"];
            let declared = &params["_meta"]["io.modelcontextprotocol/clientCapabilities"]["extensions"];
            let (stateless, core) = (era == Era::Stateless, tasks == Some(TaskProtocol::Core));
            let extension = stateless && tasks == Some(TaskProtocol::Extension);
            assert_eq!(declared.is_object(), extension, "{era:?} {tasks:?}: {params}");
            assert_eq!(params["task"] == json!({}), core && !stateless, "{era:?} {tasks:?}: {params}");
            assert_eq!(params.get("task").is_some(), core && !stateless, "{era:?} {tasks:?}: {params}");
        }
    }
}

#[tokio::test]
async fn a_tool_name_that_no_header_can_carry_reaches_its_tool() {
    let host = SdkPeer { versions: vec![V::V_2026_07_28], sessions: false, json: true }.start().await;
    let result = client()
        .call_tool(&http(&host.url), &caller(), tool("écho", json!({})), LONG)
        .await
        .expect("a result");
    assert_eq!(result["structuredContent"], json!({}));
}

#[tokio::test]
async fn an_old_call_is_a_handshake_one_call_and_a_close() {
    let host =
        Host::of_era(Era::Session, |seen| async move { result(&seen.message, json!({"content": []})) }).await;
    let (client, server) = (client(), http(&host.url));
    call(&client, &server, LONG).await.expect("a first call");
    call(&client, &server, LONG).await.expect("a second call");
    assert_eq!(host.count("server/discover"), 1, "the era is found once");
    for once_per_call in ["initialize", "notifications/initialized", "tools/call", "DELETE"] {
        assert_eq!(host.count(once_per_call), 2, "{once_per_call}");
    }
    let sent = host.seen().into_iter().find(|seen| seen.what() == "tools/call").expect("the call");
    assert_eq!(sent.headers["mcp-session-id"], "s-1");
    assert_eq!(sent.headers["mcp-protocol-version"], "2025-06-18");
}

#[tokio::test]
async fn concurrent_calls_share_what_is_known() {
    let host = SdkPeer { versions: vec![V::V_2026_07_28], sessions: false, json: true }.start().await;
    let (client, server) = (client(), http(&host.url));
    call(&client, &server, LONG).await.expect("a first call");
    let calls = (0..32).map(|_| call(&client, &server, LONG));
    for answer in futures_util::future::join_all(calls).await {
        assert_eq!(answer.expect("a result")["structuredContent"], json!({"text": "hi"}));
    }
    assert_eq!(host.asked().len(), 34);
}

#[tokio::test]
async fn a_peer_that_left_the_remembered_era_is_asked_again_on_the_next_call() {
    use pudu_app::ports::CallFault::{Broken, NotSent, Refused};
    for (real, believed, status, code, fault) in [
        (Era::Session, Era::Stateless, StatusCode::OK, -32601, Refused),
        (Era::Session, Era::Stateless, StatusCode::BAD_REQUEST, -32000, Broken),
        (Era::Stateless, Era::Session, StatusCode::OK, -32601, Refused),
        (Era::Stateless, Era::Session, StatusCode::OK, -32603, NotSent),
    ] {
        let host = Host::of_era(real, move |seen| async move {
            if seen.what() != "tools/call"
                || seen.headers.contains_key("mcp-method") != (real == Era::Stateless)
            {
                return (status, refused(&seen.message, code, "not in this era")).into_response();
            }
            result(&seen.message, json!({"content": []}))
        })
        .await;
        let server = http(&host.url);
        let client = knowing(&server, believed);
        let error = call(&client, &server, LONG).await.expect_err("the wrong era");
        assert_eq!(error.fault, fault, "{error}");
        call(&client, &server, LONG).await.expect("the right era");
    }
}

#[tokio::test]
async fn a_probe_that_is_never_answered_leaves_time_for_the_handshake() {
    let host = Host::scripted(|seen| async move {
        match seen.what().as_str() {
            "server/discover" => std::future::pending().await,
            "initialize" => result(
                &seen.message,
                json!({"protocolVersion": "2024-11-05", "capabilities": {}, "serverInfo": {"name": "old", "version": "1"}}),
            ),
            "tools/call" => result(&seen.message, json!({"content": [], "isError": false})),
            _ => json_body(String::new()),
        }
    })
    .await;
    let result = call(&client(), &http(&host.url), Duration::from_secs(3)).await.expect("a result");
    assert_eq!(result["isError"], false);
}

/// What a server can do is asked for beside its list: its silence costs the list nothing but time.
#[tokio::test]
async fn a_server_that_does_not_say_what_it_can_do_lists_its_tools_all_the_same() {
    let host = Host::scripted(|seen| async move {
        match seen.what().as_str() {
            "tools/list" => result(&seen.message, json!({"tools": []})),
            _ => std::future::pending().await,
        }
    })
    .await;
    let server = http(&host.url);
    let listed = knowing(&server, Era::Stateless).list_tools(&server, Duration::from_secs(3)).await;
    assert_eq!(listed.expect("a list").tasks, None);
    assert_eq!(host.asked(), ["server/discover", "tools/list"]);
}

#[tokio::test]
async fn a_refused_probe_that_lists_the_stateless_revision_is_an_answer() {
    for (supported, count) in
        [(json!(["2025-11-25", "2026-07-28"]), 0), (json!(["2025-11-25"]), 1), (json!(null), 1)]
    {
        let host = Host::scripted(move |seen| {
            let supported = supported.clone();
            async move {
                match seen.what().as_str() {
                    "server/discover" => {
                        let error =
                            json!({"code": -32022, "message": "no", "data": {"supported": supported}});
                        let body = json!({"jsonrpc": "2.0", "id": seen.message["id"], "error": error});
                        (StatusCode::BAD_REQUEST, json_body(body.to_string())).into_response()
                    }
                    "tools/call" => result(&seen.message, json!({"content": []})),
                    _ => refused(&seen.message, -32601, "no such method"),
                }
            }
        })
        .await;
        let called = call(&client(), &http(&host.url), LONG).await;
        assert_eq!((host.count("initialize"), called.is_ok()), (count, count == 0), "{:?}", host.asked());
    }
}

#[tokio::test]
async fn an_error_about_arguments_is_no_sign_of_another_era() {
    for code in [-32602, -32020] {
        let host = Host::of_era(Era::Stateless, move |seen| async move {
            (StatusCode::BAD_REQUEST, refused(&seen.message, code, "no such region")).into_response()
        })
        .await;
        let (client, server) = (client(), http(&host.url));
        for _ in 0..2 {
            call(&client, &server, LONG).await.expect_err("a refusal");
        }
        assert_eq!(host.asked(), ["server/discover", "tools/call", "tools/call"], "{code}");
    }
}

/// The answer to a probe may have been lost, and a server may be upgraded: nothing else would ever find that out.
#[tokio::test(start_paused = true)]
async fn an_older_era_is_asked_for_again_after_a_day() {
    let eras = crate::client::era::Eras::default();
    for (era, day_after) in [(Era::Session, false), (Era::Events, false), (Era::Stateless, true)] {
        eras.keep("k", era);
        for (hours, known) in [(23, true), (2, day_after)] {
            tokio::time::advance(Duration::from_secs(hours * 60 * 60)).await;
            let recalled = eras.recall("k").await;
            assert_eq!(matches!(recalled, crate::client::era::Recalled::Known(_)), known, "{era:?} {hours}");
        }
    }
}
