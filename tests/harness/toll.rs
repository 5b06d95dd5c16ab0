//! What an MCP server is asked: a door before one that counts, or a server that only answers what a test wrote.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode, header};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

/// A listener that writes down the JSON-RPC method of each request. It ends with this value.
pub struct Toll {
    /// Its endpoint.
    pub url: String,
    asked: Arc<Mutex<Vec<String>>>,
    held: watch::Sender<bool>,
    waiting: Arc<Notify>,
    _serving: JoinSet<()>,
}

#[derive(Clone)]
struct Door {
    asked: Arc<Mutex<Vec<String>>>,
    held: watch::Receiver<bool>,
    waiting: Arc<Notify>,
    behind: Behind,
}

/// Who answers.
#[derive(Clone)]
enum Behind {
    /// The server at this address.
    Server(String, reqwest::Client),
    /// A script: definitions, and results by name.
    Script { tools: Value, results: BTreeMap<String, Value>, stateless: bool },
}

impl Toll {
    /// Before the server at `url`.
    pub async fn before(url: String) -> Self {
        Self::open(Behind::Server(url, reqwest::Client::new())).await
    }

    /// A server with these tools, each with the result of its calls; a null is no answer. It speaks 2026-07-28, or what was before it.
    pub async fn answering(tools: &[(Value, Value)], stateless: bool) -> Self {
        let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
        let results = tools.iter().map(|(tool, result)| (name(tool), result.clone())).collect();
        let tools = tools.iter().map(|(tool, _)| tool.clone()).collect();
        Self::open(Behind::Script { tools, results, stateless }).await
    }

    async fn open(behind: Behind) -> Self {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (held, waiting) = (watch::Sender::new(false), Arc::new(Notify::new()));
        let door =
            Door { asked: Arc::clone(&asked), held: held.subscribe(), waiting: Arc::clone(&waiting), behind };
        let app = Router::new().fallback(answer).with_state(door);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { url, asked, held, waiting, _serving: serving }
    }

    /// From now on answers to calls of tools are held back, after the server behind has given them, or are let go.
    pub fn hold(&self, held: bool) {
        self.held.send_replace(held);
    }

    /// Waits until an answer is held back.
    pub async fn is_holding(&self) {
        self.waiting.notified().await;
    }

    /// The methods since the last look, in order.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

async fn answer(State(mut door): State<Door>, headers: HeaderMap, body: Bytes) -> Response {
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let method = message["method"].as_str().unwrap_or("no message").to_owned();
    door.asked.lock().unwrap().push(method.clone());
    match door.behind {
        Behind::Server(url, client) => {
            let answer = forward(&client, &url, headers, body).await;
            if method == "tools/call" && *door.held.borrow() {
                door.waiting.notify_one();
                door.held.wait_for(|held| !held).await.unwrap();
            }
            answer
        }
        Behind::Script { tools, results, stateless } => {
            let result = match method.as_str() {
                "server/discover" if stateless => {
                    json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}})
                }
                "initialize" if !stateless => json!({
                    "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                    "serverInfo": {"name": "scripted", "version": "1"},
                }),
                "tools/list" => json!({"tools": tools}),
                "tools/call" => match results[message["params"]["name"].as_str().unwrap()].clone() {
                    Value::Null => std::future::pending().await,
                    result => result,
                },
                _ if message.get("id").is_none() => return StatusCode::ACCEPTED.into_response(),
                _ => {
                    let error = json!({"code": -32601, "message": "no such method"});
                    return axum::Json(json!({"jsonrpc": "2.0", "id": message["id"], "error": error}))
                        .into_response();
                }
            };
            axum::Json(json!({"jsonrpc": "2.0", "id": message["id"], "result": result})).into_response()
        }
    }
}

async fn forward(client: &reqwest::Client, url: &str, mut headers: HeaderMap, body: Bytes) -> Response {
    for own in [header::HOST, header::CONTENT_LENGTH, header::CONNECTION] {
        headers.remove(own);
    }
    let answer = client.post(url).headers(headers).body(body).send().await.unwrap();
    let (status, kind) = (answer.status(), answer.headers().get(header::CONTENT_TYPE).cloned());
    let mut response = (status, answer.bytes().await.unwrap()).into_response();
    if let Some(kind) = kind {
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
    }
    response
}
