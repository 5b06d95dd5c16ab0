//! Credentials of a user and of a request, from the gateway's door to the server.

use std::sync::{Arc, Mutex, PoisonError};

use acceptance::{Answer, Logs, World};
use axum::extract::State;
use axum::{Json, Router};
use http::{HeaderMap, Method};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

type Calls = Arc<Mutex<Vec<(String, HeaderMap)>>>;

/// A server with a plain tool and a toolset, which keeps the headers of each call.
struct Recorder {
    url: String,
    calls: Calls,
    _tasks: JoinSet<()>,
}

impl Recorder {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let calls = Calls::default();
        let router = Router::new().fallback(answer).with_state(Arc::clone(&calls));
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, calls, _tasks: tasks }
    }

    /// The value of a header in each call of a tool so far.
    fn values(&self, tool: &str, header: &str) -> Vec<Option<String>> {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let of_tool = calls.iter().filter(|(name, _)| name == tool);
        of_tool
            .map(|(_, headers)| headers.get(header).map(|value| value.to_str().unwrap().to_owned()))
            .collect()
    }
}

async fn answer(State(calls): State<Calls>, headers: HeaderMap, Json(message): Json<Value>) -> Json<Value> {
    let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
    let result = match message["method"].as_str().unwrap() {
        "server/discover" => {
            json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {}, "ttlMs": 0, "cacheScope": "private"})
        }
        "tools/list" => json!({"tools": [tool("plain"), tool("submit"), tool("status"), tool("cancel")]}),
        _ => {
            let name = message["params"]["name"].as_str().unwrap().to_owned();
            let seen: Vec<&str> = headers.values().filter_map(|value| value.to_str().ok()).collect();
            let failed = message["params"]["arguments"]["fail"] == true;
            let said = json!([{"type": "text", "text": format!("headers: {}", seen.join(" "))}]);
            let status = if name == "status" { "completed" } else { "running" };
            calls.lock().unwrap().push((name, headers));
            json!({"content": said, "isError": failed, "structuredContent": {"task_id": "r-1", "status": status}})
        }
    };
    Json(json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
}

fn guarded(url: &str) -> Value {
    let set =
        json!({"name": "job", "submit_tool": "submit", "status_tool": "status", "cancel_tool": "cancel"});
    json!({"guarded": {
        "type": "http", "url": url, "headers": {"authorization": "static"}, "task_toolsets": [set],
        "user_auth": {"users": {"local:default": "Bearer canary-owner-51d2"}},
        "headers_from_context": {"headers": {"X-Request-Key": "REQUEST_KEY"}},
    }})
}

async fn world() -> (World, Recorder) {
    let world = World::without_servers().await;
    let recorder = Recorder::start().await;
    world.put_config(&guarded(&recorder.url)).await.expect(200);
    (world, recorder)
}

async fn invoke(world: &World, tool: &str, body: &Value) -> Answer {
    world.call(Method::POST, &format!("/api/threads/t1/tools/guarded_{tool}"), Some(body)).await
}

fn with(secrets: &Value) -> Value {
    json!({"arguments": {}, "context": {"secrets": secrets}})
}

fn some(values: &[&str]) -> Vec<Option<String>> {
    values.iter().map(|value| Some((*value).to_owned())).collect()
}

#[tokio::test]
async fn a_call_carries_its_users_and_its_requests_credential() {
    let (world, recorder) = world().await;
    invoke(&world, "plain", &with(&json!({"REQUEST_KEY": "of-the-request", "other": 1}))).await.expect(200);
    assert_eq!(recorder.values("plain", "x-request-key"), some(&["of-the-request"]));
    assert_eq!(recorder.values("plain", "authorization"), some(&["Bearer canary-owner-51d2"]));
}

#[tokio::test]
async fn a_call_without_its_credential_is_forbidden_and_sent_nowhere() {
    let (world, recorder) = world().await;
    for body in
        [json!({}), with(&json!({})), with(&json!({"REQUEST_KEY": 7})), with(&json!({"REQUEST_KEY": ""}))]
    {
        for tool in ["plain", "submit"] {
            let detail = invoke(&world, tool, &body).await.refused(403);
            assert!(detail.contains("'guarded'") && detail.contains("REQUEST_KEY"), "{detail}");
        }
    }
    let mut servers = guarded(&recorder.url);
    servers["guarded"]["user_auth"]["users"] = json!({"local:default": "$NOT_SET_ANYWHERE"});
    world.put_config(&servers).await.expect(200);
    let detail = invoke(&world, "plain", &with(&json!({"REQUEST_KEY": "x"}))).await.refused(403);
    assert!(detail.contains("user id 'local:default'"), "{detail}");
    assert!(recorder.calls.lock().unwrap().is_empty());
}

/// Whom a server would deny each call does not learn of it.
#[tokio::test]
async fn a_server_that_denies_the_user_is_as_unknown_as_one_that_is_not_there() {
    let (world, recorder) = world().await;
    let listed = world.get("/api/tools").await;
    assert_eq!(listed["servers"]["guarded"]["state"], "ok");
    let mut servers = guarded(&recorder.url);
    servers["guarded"]["user_auth"]["users"] = json!({"key:else": "x"});
    world.put_config(&servers).await.expect(200);
    let listed = world.get("/api/tools").await;
    assert_eq!((&listed["servers"], &listed["tools"]), (&json!({}), &json!([])));
    assert_eq!(world.get("/api/tools/search?query=plain").await["tools"], json!([]));
    let path = |server: &str| format!("/api/threads/t1/tools/{server}_plain");
    let call = async |server: &str| {
        world.call(Method::POST, &path(server), Some(&json!({}))).await.refused(404).replace(server, "it")
    };
    assert_eq!(call("guarded").await, call("nowhere").await);
    assert!(recorder.calls.lock().unwrap().is_empty());
}

#[tokio::test]
async fn vector_57_a_poll_in_the_background_is_the_owners_and_brings_nothing_of_the_request() {
    let (world, recorder) = world().await;
    let body = with(&json!({"REQUEST_KEY": "of-the-request"}));
    let id = invoke(&world, "submit", &body).await.expect(200)["task_id"].as_str().unwrap().to_owned();
    world.advance(10);
    world.tick_poller().await;
    assert_eq!(world.task("t1", &id).await["status"], "completed");
    assert_eq!(recorder.values("submit", "x-request-key"), some(&["of-the-request"]));
    assert_eq!(recorder.values("status", "x-request-key"), [None]);
    for tool in ["submit", "status"] {
        assert_eq!(recorder.values(tool, "authorization"), some(&["Bearer canary-owner-51d2"]));
    }
}

#[tokio::test]
async fn what_a_request_brings_is_bounded_and_of_one_shape() {
    let (world, recorder) = world().await;
    let many: serde_json::Map<String, Value> =
        (0..65).map(|n| (format!("K{n}"), json!("canary-much-51d2"))).collect();
    for context in [
        json!({"secrets": many}),
        json!({"secrets": {"REQUEST_KEY": "canary-long-51d2".repeat(600)}}),
        json!({"secrets": ["canary-list-51d2"]}),
        json!({"secret": {"REQUEST_KEY": "canary-typo-51d2"}}),
        json!("canary-text-51d2"),
    ] {
        let detail =
            invoke(&world, "plain", &json!({"arguments": {}, "context": context})).await.refused(422);
        assert!(detail.contains("context") && !detail.contains("canary"), "{detail}");
    }
    assert!(recorder.calls.lock().unwrap().is_empty());
}

#[tokio::test]
async fn nothing_that_a_request_brought_is_stored_logged_or_told() {
    let logs = Logs::capture();
    let (world, recorder) = world().await;
    let secrets = json!({"REQUEST_KEY": "canary-used-51d2", "OTHER": "canary-unused-51d2"});
    let mut failing = with(&secrets);
    failing["arguments"] = json!({"fail": true});
    let refused = invoke(&world, "submit", &failing).await;
    assert!(refused.refused(502).contains("***"), "{}", refused.text);
    invoke(&world, "submit", &with(&secrets)).await.expect(200);
    let denied = invoke(&world, "plain", &with(&json!({"REQUEST_KEY": "canary-illegal-51d2\n"}))).await;
    denied.refused(403);
    assert_eq!(recorder.values("submit", "x-request-key").len(), 2);
    let shown = world.get("/api/mcp/config").await.to_string();
    let listed = world.get("/api/threads/t1/mcp-tasks").await.to_string();
    for text in [&refused.text, &denied.text, &shown, &listed, &world.rows().await.text(), &logs.text()] {
        assert!(!text.contains("canary-used") && !text.contains("canary-unused"), "{text}");
        assert!(!text.contains("canary-illegal") && !text.contains("canary-owner-51d2"), "{text}");
    }
}
