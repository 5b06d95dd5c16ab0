//! What passes through unchanged between a client and a server, both ways.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use acceptance::{Answer, World};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use http::{StatusCode, header};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::{Client, NEWEST, OLDER, error};

/// A server of the newest revision that is written down to the bytes: it answers each call with what it got.
struct Mirror {
    url: String,
    inside: Arc<Inside>,
    _serving: JoinSet<()>,
}

#[derive(Default)]
struct Inside {
    /// The parameters of its calls.
    got: Mutex<Vec<Value>>,
    /// A call that hangs has come.
    hangs: Notify,
    /// It has gone.
    gone: Notify,
}

/// Says when a call that hangs is dropped.
struct Hanging(Arc<Inside>);

impl Drop for Hanging {
    fn drop(&mut self) {
        self.0.gone.notify_one();
    }
}

impl Mirror {
    async fn start() -> Self {
        let inside = Arc::<Inside>::default();
        let router = Router::new().route("/mcp", post(serve)).with_state(Arc::clone(&inside));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, inside, _serving: serving }
    }

    /// The parameters of its last call.
    fn last(&self) -> Value {
        self.inside.got.lock().unwrap().last().unwrap().clone()
    }
}

/// A definition with fields that nobody knows, and an order of its own.
fn definition(name: &str) -> Value {
    json!({
        "x-first": [1, {"z": 1.0, "a": null}], "name": name, "title": "T", "inputSchema": {"type": "object", "x-own": {"b": 1, "a": 2}},
        "annotations": {"readOnlyHint": true, "x": 1e-7}, "_meta": {"own/key": 12_345_678_901_234_567_890_u64}, "icons": [{"src": "data:,"}],
    })
}

async fn serve(State(inside): State<Arc<Inside>>, Json(message): Json<Value>) -> Response {
    let answer = |result: Value| json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    let params = &message["params"];
    match message["method"].as_str().unwrap() {
        "server/discover" => Json(answer(json!({
            "resultType": "complete", "supportedVersions": [NEWEST], "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private",
        })))
        .into_response(),
        "tools/list" => {
            let tools = ["mirror", "needy", "picky", "slow", "hang"].map(definition);
            Json(answer(json!({"resultType": "complete", "tools": tools, "ttlMs": 60_000, "cacheScope": "public"}))).into_response()
        }
        "tools/call" => {
            inside.got.lock().unwrap().push(params.clone());
            match params["name"].as_str().unwrap() {
                "needy" => {
                    let data = json!({"requiredCapabilities": {"sampling": {}}});
                    let error = json!({"code": -32021, "message": "sampling, please", "data": data});
                    (StatusCode::BAD_REQUEST, Json(json!({"jsonrpc": "2.0", "id": message["id"], "error": error}))).into_response()
                }
                "picky" => {
                    let error = json!({"code": -32602, "message": "not like this"});
                    Json(json!({"jsonrpc": "2.0", "id": message["id"], "error": error})).into_response()
                }
                "hang" => {
                    let _hanging = Hanging(Arc::clone(&inside));
                    inside.hangs.notify_one();
                    std::future::pending().await
                }
                "slow" => {
                    let told = |n: u64| {
                        let params = json!({"progressToken": params["_meta"]["progressToken"], "progress": n, "x": [n]});
                        json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
                    };
                    let all = [told(1), told(2), answer(json!({"resultType": "complete", "content": []}))];
                    let events: Vec<String> =
                        all.iter().map(|message| format!("data: {message}\n\n")).collect();
                    ([(header::CONTENT_TYPE, "text/event-stream")], events.concat()).into_response()
                }
                _ => Json(answer(json!({
                    "content": [{"type": "x-unknown", "deep": {"b": 1, "a": [1.5, 2.0, 1e300]}}], "x-own": {"z": 1, "a": null},
                    "resultType": "complete", "_meta": {"own": "ä"}, "structuredContent": params["arguments"],
                })))
                .into_response(),
            }
        }
        method => panic!("nobody asks for {method}"),
    }
}

async fn before() -> (World, Mirror) {
    let world = World::without_servers().await;
    let mirror = Mirror::start().await;
    world.put_config(&json!({"m": {"type": "http", "url": mirror.url}})).await.expect(200);
    (world, mirror)
}

/// The messages of a stream of events.
fn events(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.headers["content-type"], "text/event-stream", "{}", answer.text);
    let data = answer.text.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).unwrap()).collect()
}

#[tokio::test]
async fn definitions_arguments_and_results_pass_unchanged() {
    let (world, mirror) = before().await;
    let client = Client::newest(&world);
    let list = client.ask("tools/list", json!({})).await;
    let mut expected = definition("mirror");
    expected["name"] = json!("m_mirror");
    assert!(list.text.contains(&expected.to_string()), "also in its order: {}", list.text);
    let arguments = json!({"z": [1, 2.0, null, "ü\u{1f98c}"], "a": {"deep": {"b": 1e-300, "a": 18_446_744_073_709_551_615_u64}}});
    let result = client.call("m_mirror", arguments.clone()).await;
    assert_eq!(mirror.last()["arguments"].to_string(), arguments.to_string());
    let expected = json!({
        "content": [{"type": "x-unknown", "deep": {"b": 1, "a": [1.5, 2.0, 1e300]}}], "x-own": {"z": 1, "a": null},
        "resultType": "complete", "_meta": {"own": "ä"}, "structuredContent": arguments,
    });
    assert_eq!(result.to_string(), expected.to_string());
}

#[tokio::test]
async fn what_a_call_says_beside_its_arguments_reaches_the_server_and_what_is_ours_does_not() {
    let (world, mirror) = before().await;
    let client =
        Client { capabilities: json!({"elicitation": {}, "sampling": {"x": 1}}), ..Client::newest(&world) };
    let params = json!({
        "name": "m_mirror", "arguments": {}, "inputResponses": {"k": {"action": "accept"}}, "requestState": "opaque", "task": {"ttl": 1},
        "_meta": {"own/key": [1], "pudu/secrets": {"TOKEN": "canary-in-meta"}},
    });
    client.result("tools/call", params).await;
    let got = mirror.last();
    assert_eq!(
        (&got["inputResponses"], &got["requestState"]),
        (&json!({"k": {"action": "accept"}}), &json!("opaque"))
    );
    assert_eq!(got["_meta"]["own/key"], json!([1]));
    assert_eq!(
        got["_meta"]["io.modelcontextprotocol/clientCapabilities"],
        json!({"elicitation": {}, "sampling": {"x": 1}})
    );
    assert_eq!(got["_meta"]["io.modelcontextprotocol/clientInfo"]["name"], "pudu");
    assert!(!got.to_string().contains("canary-in-meta") && got.get("task").is_none(), "{got}");
}

#[tokio::test]
async fn what_the_server_requires_of_the_client_is_told_as_the_revision_has_it() {
    let (world, _mirror) = before().await;
    let said = Client::newest(&world)
        .ask("tools/call", json!({"name": "m_needy", "arguments": {}}))
        .await
        .expect(400);
    assert_eq!(error(&said).0, -32021);
    assert_eq!(said["error"]["data"]["requiredCapabilities"], json!({"sampling": {}}));
    let older = Client::older(&world, OLDER[0]).call("m_needy", json!({})).await;
    assert_eq!(older["isError"], true, "{older}");
}

#[tokio::test]
async fn an_error_of_the_server_is_an_error_with_its_code_and_its_name() {
    let (world, _mirror) = before().await;
    for client in [Client::newest(&world), Client::older(&world, OLDER[0])] {
        let (code, text) =
            client.refused(200, "tools/call", json!({"name": "m_picky", "arguments": {}})).await;
        assert_eq!(code, -32602);
        assert!(text.contains("server 'm'") && text.contains("not like this"), "{text}");
    }
}

#[tokio::test]
async fn progress_is_heard_while_the_call_runs_by_whoever_asked_for_it() {
    let (world, mirror) = before().await;
    for client in [Client::newest(&world), Client::older(&world, OLDER[1])] {
        let asking = json!({"name": "m_slow", "arguments": {}, "_meta": {"progressToken": "mine"}});
        let heard = events(&client.ask("tools/call", asking.clone()).await);
        assert_eq!(heard.len(), 3, "{heard:?}");
        for (n, told) in heard[..2].iter().enumerate() {
            assert_eq!(told["method"], "notifications/progress");
            assert_eq!(told["params"], json!({"progressToken": "mine", "progress": n + 1, "x": [n + 1]}));
        }
        assert_eq!((&heard[2]["id"], &heard[2]["result"]["content"]), (&json!(7), &json!([])));
        let silent = client.ask("tools/call", json!({"name": "m_slow", "arguments": {}})).await;
        assert_eq!(silent.headers["content-type"], "application/json", "nobody asked");
        assert!(mirror.last()["_meta"].get("progressToken").is_none());
    }
    let client = Client::newest(&world);
    let quick = json!({"name": "m_mirror", "arguments": {}, "_meta": {"progressToken": 1}});
    assert_eq!(
        client.ask("tools/call", quick).await.headers["content-type"],
        "application/json",
        "nothing is said"
    );
}

#[tokio::test]
async fn a_client_that_closes_its_call_ends_it_at_the_server() {
    let (world, mirror) = before().await;
    let client = Client::newest(&world);
    tokio::select! {
        biased;
        answer = client.ask("tools/call", json!({"name": "m_hang", "arguments": {}})) => panic!("{answer:?}"),
        () = mirror.inside.hangs.notified() => {}
    }
    let gone = timeout(Duration::from_secs(30), mirror.inside.gone.notified());
    gone.await.expect("the call ends at its server");
}
