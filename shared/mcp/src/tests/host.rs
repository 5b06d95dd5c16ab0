//! A scripted server: answers each JSON-RPC message as a test says, and remembers what it was asked.

use std::future::Future;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use pudu_app::ports::Era;

/// One request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) http: Method,
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) message: Value,
    pub(crate) body: String,
}

impl Seen {
    /// The JSON-RPC method, or the HTTP one where there is no message.
    pub(crate) fn what(&self) -> String {
        self.message["method"].as_str().map_or_else(|| self.http.to_string(), str::to_owned)
    }
}

type Script = Arc<dyn Fn(Seen) -> BoxFuture<'static, Response> + Send + Sync>;

/// A running server; it ends when dropped.
pub(crate) struct Host {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    _tasks: JoinSet<()>,
}

impl Host {
    pub(crate) async fn scripted<F>(script: impl Fn(Seen) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Response> + Send + 'static,
    {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let script: Script = Arc::new(move |request| script(request).boxed());
        let app = Router::new().fallback(answer).with_state((script, Arc::clone(&seen)));
        Self::serving(app, seen).await
    }

    /// A peer of one era that does `act` for each `tools/call` and all else by the rules.
    pub(crate) async fn of_era<F>(era: Era, act: impl Fn(Seen) -> F + Clone + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Response> + Send + 'static,
    {
        Self::scripted(move |seen| {
            let act = act.clone();
            async move {
                match lifecycle(era, &seen) {
                    Some(response) => response,
                    None => act(seen).await,
                }
            }
        })
        .await
    }

    pub(crate) async fn serving(app: Router, seen: Arc<Mutex<Vec<Seen>>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { axum::serve(listener, app).await.expect("serving") });
        Self { url, seen, _tasks: tasks }
    }

    /// What was asked so far, in order.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.seen().iter().map(Seen::what).collect()
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub(crate) fn count(&self, what: &str) -> usize {
        self.asked().iter().filter(|asked| *asked == what).count()
    }
}

async fn answer(
    State((script, log)): State<(Script, Arc<Mutex<Vec<Seen>>>)>,
    http: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let message = serde_json::from_slice(&body).unwrap_or_default();
    let body = String::from_utf8_lossy(&body).into_owned();
    let seen = Seen { http, path: uri.path().to_owned(), headers, message, body };
    log.lock().unwrap().push(seen.clone());
    script(seen).await
}

/// What a correct peer of that era says to everything but a call.
fn lifecycle(era: Era, seen: &Seen) -> Option<Response> {
    match (seen.what().as_str(), era) {
        ("server/discover", Era::Stateless) => Some(result(
            &seen.message,
            json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {},
                   "ttlMs": 0, "cacheScope": "private"}),
        )),
        ("server/discover", Era::Session) => Some(refused(&seen.message, -32601, "no such method")),
        ("initialize", Era::Session) => {
            let info = json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                              "serverInfo": {"name": "scripted", "version": "1"}});
            Some(([("mcp-session-id", "s-1")], result(&seen.message, info)).into_response())
        }
        ("notifications/initialized", Era::Session) => Some(StatusCode::ACCEPTED.into_response()),
        ("GET", _) => Some(StatusCode::METHOD_NOT_ALLOWED.into_response()),
        ("DELETE", Era::Session) => Some(StatusCode::NO_CONTENT.into_response()),
        _ => None,
    }
}

pub(crate) fn json_body(body: String) -> Response {
    ([("content-type", "application/json")], body).into_response()
}

pub(crate) fn result(request: &Value, result: Value) -> Response {
    let mut answer = json!({"jsonrpc": "2.0", "id": request["id"]});
    answer["result"] = result;
    json_body(answer.to_string())
}

pub(crate) fn refused(request: &Value, code: i64, message: &str) -> Response {
    let error = json!({"code": code, "message": message});
    json_body(json!({"jsonrpc": "2.0", "id": request["id"], "error": error}).to_string())
}

/// A stream of these messages as events.
pub(crate) fn events(messages: &[Value]) -> Response {
    let text = messages.iter().fold(String::new(), |text, message| text + &format!("data: {message}\n\n"));
    ([("content-type", "text/event-stream")], Body::from(text)).into_response()
}
