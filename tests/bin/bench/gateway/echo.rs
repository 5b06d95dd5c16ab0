//! An echo server that costs as little as one can, so that what is measured is what stands before it: this program again, as a
//! process of its own, which reads a message and answers it.

use std::io;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Context;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use axum::{Json, Router};
use http::{HeaderMap, StatusCode};
use pudu::machine::listen_anywhere;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::task::spawn_blocking;

use crate::call::Speaks;

const SESSION: &str = "mcp-session-id";

/// A running one; it ends with this value, and with this process.
pub(super) struct Echo {
    pub(super) url: String,
    http: reqwest::Client,
    _stdin: ChildStdin,
    _child: Child,
}

impl Echo {
    pub(super) async fn start(speaks: Speaks) -> anyhow::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["echo", "--speaks", speaks.name()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let stdin = child.stdin.take().context("a pipe")?;
        let mut lines = BufReader::new(child.stdout.take().context("a pipe")?).lines();
        let url = lines.next_line().await?.context("the echo server did not start")?;
        let http = reqwest::Client::builder().no_proxy().build()?;
        Ok(Self { url, http, _stdin: stdin, _child: child })
    }

    /// How many requests have reached it.
    pub(super) async fn requests(&self) -> anyhow::Result<u64> {
        let url = self.url.replace("/mcp", "/requests");
        Ok(self.http.get(url).send().await?.error_for_status()?.text().await?.parse()?)
    }
}

/// What it speaks, and how often it was asked.
struct Server {
    newest: bool,
    requests: AtomicU64,
}

/// Is the server of this revision, until its stdin closes; tells its URL.
pub(crate) async fn serve(revision: &str, tell: impl FnOnce(&str)) -> anyhow::Result<()> {
    let eras = [Speaks::Newest, Speaks::Sessions];
    let speaks = eras.into_iter().find(|era| era.name() == revision);
    let newest = speaks.context("a revision that the echo server speaks")? == Speaks::Newest;
    let server = Arc::new(Server { newest, requests: AtomicU64::new(0) });
    let counted = Arc::clone(&server);
    let app = Router::new()
        .route("/mcp", post(answer).delete(async || StatusCode::NO_CONTENT))
        .route("/requests", get(async move || counted.requests.load(Ordering::Relaxed).to_string()))
        .with_state(server);
    let listener = listen_anywhere().await?;
    tell(&format!("http://{}/mcp", listener.local_addr()?));
    let listener = listener.tap_io(|connection| {
        let _ = connection.set_nodelay(true);
    });
    tokio::select! {
        served = axum::serve(listener, app) => served?,
        closed = spawn_blocking(|| io::copy(&mut io::stdin().lock(), &mut io::sink())) => drop(closed??),
    }
    Ok(())
}

async fn answer(State(server): State<Arc<Server>>, headers: HeaderMap, body: Bytes) -> Response {
    server.requests.fetch_add(1, Ordering::Relaxed);
    let Ok(mut message) = serde_json::from_slice::<Value>(&body) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let Some(id) = message.get("id").cloned() else { return StatusCode::ACCEPTED.into_response() };
    let said = |result: Value| Json(json!({"jsonrpc": "2.0", "id": id, "result": result}));
    let about = json!({"name": "echo", "version": "1"});
    let method = message.get("method").and_then(Value::as_str).unwrap_or_default();
    match (method, server.newest) {
        ("initialize", false) => {
            let hello = json!({
                "protocolVersion": Speaks::Sessions.name(),
                "capabilities": {"tools": {}},
                "serverInfo": about,
            });
            ([(SESSION, "one")], said(hello)).into_response()
        }
        ("server/discover", true) => said(json!({
            "resultType": "complete",
            "supportedVersions": [Speaks::Newest.name()],
            "capabilities": {"tools": {}},
            "ttlMs": 3_600_000,
            "cacheScope": "public",
            "_meta": {"io.modelcontextprotocol/serverInfo": about},
        }))
        .into_response(),
        // A session that nobody opened is none.
        (_, false) if !headers.contains_key(SESSION) => StatusCode::BAD_REQUEST.into_response(),
        ("tools/list", newest) => {
            let schema =
                json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
            let mut list =
                json!({"tools": [{"name": "echo", "description": "Says it back", "inputSchema": schema}]});
            if let (true, Some(list)) = (newest, list.as_object_mut()) {
                list.insert("resultType".to_owned(), "complete".into());
                list.insert("ttlMs".to_owned(), 3_600_000.into());
                list.insert("cacheScope".to_owned(), "public".into());
            }
            said(list).into_response()
        }
        ("tools/call", newest) => {
            let arguments = message.pointer_mut("/params/arguments").map(Value::take).unwrap_or_default();
            let content = json!([{"type": "text", "text": arguments.to_string()}]);
            let mut result = json!({"content": content, "structuredContent": arguments});
            if let (true, Some(result)) = (newest, result.as_object_mut()) {
                result.insert("resultType".to_owned(), "complete".into());
            }
            said(result).into_response()
        }
        // Of the other era, or nothing that an echo has.
        (_, true) => {
            let error = json!({"code": -32601, "message": "there is no such method"});
            let message = Json(json!({"jsonrpc": "2.0", "id": id, "error": error}));
            (StatusCode::NOT_FOUND, message).into_response()
        }
        (_, false) => {
            let error = json!({"code": -32601, "message": "there is no such method"});
            Json(json!({"jsonrpc": "2.0", "id": id, "error": error})).into_response()
        }
    }
}
