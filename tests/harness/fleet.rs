//! Many servers: the example server again and again, each on a port of its own and with its own ledger. The first one can
//! hang, all of them can say when they were asked for a status, and some may speak the tasks extension instead of having tools
//! for their tasks.

mod extension;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt;
use http::StatusCode;
use pudu::example::{Example, PATH};
use pudu::machine::listen_anywhere;
use pudu_config::Document;
use pudu_lambda::clock::SystemClock;
use pudu_lambda::random::OsRandom;
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;
use tokio::time::Instant;

/// Largest body of a call, in bytes.
const MAX_BODY: usize = 1_048_576;

/// The tool that starts a task, in every protocol.
const TOOL: &str = "submit_report";
/// Of so many servers of a mixed fleet one speaks the tasks extension.
const MIXED: usize = 3;

/// Running servers; they end with this value.
pub struct Fleet {
    all: Vec<Example>,
    entries: Map<String, Value>,
    door: Door,
    _serving: JoinSet<std::io::Result<()>>,
}

/// When a task's status was asked for, and when the answer was ready.
pub type StatusCall = (Instant, Instant);

/// What stands before every server.
#[derive(Clone, Default)]
struct Door {
    hangs: Arc<AtomicBool>,
    watched: Arc<AtomicBool>,
    /// Status calls that were answered in the tasks extension.
    asked: Arc<AtomicU64>,
    /// By the server's handle of the task, in the order of the calls.
    calls: Arc<Mutex<BTreeMap<String, Vec<StatusCall>>>>,
}

impl Fleet {
    /// Starts `count` servers with ordinary toolsets, with their state files in `folder`.
    pub async fn start(count: usize, folder: &Path) -> anyhow::Result<Self> {
        Self::open(count, folder, |_| false).await
    }

    /// The same, but every third one speaks the tasks extension.
    pub async fn mixed(count: usize, folder: &Path) -> anyhow::Result<Self> {
        Self::open(count, folder, |number| number % MIXED == MIXED - 1).await
    }

    async fn open(count: usize, folder: &Path, extended: impl Fn(usize) -> bool) -> anyhow::Result<Self> {
        let (door, mut serving) = (Door::default(), JoinSet::new());
        let (mut all, mut entries) = (Vec::new(), Map::new());
        for number in 0..count {
            let state = folder.join(format!("{}.reports", name(number)));
            let example = Example::open(&state, Arc::new(SystemClock), Arc::new(OsRandom))?;
            let listener = listen_anywhere().await?;
            let url = format!("http://{}{PATH}", listener.local_addr()?);
            let (router, entry) = if extended(number) {
                let router = extension::router(example.clone(), Arc::clone(&door.asked));
                (router, json!({ "type": "http", "url": url }))
            } else {
                (example.router(), with_toolset(&url))
            };
            entries.insert(name(number), entry);
            let own = door.clone();
            let pass = move |request, next| own.clone().pass(number, request, next);
            let app = router.layer(from_fn(pass));
            let listener = listener.tap_io(|stream| {
                let _ = stream.set_nodelay(true);
            });
            serving.spawn(async move { axum::serve(listener, app).await });
            all.push(example);
        }
        Ok(Self { all, entries, door, _serving: serving })
    }

    /// Whether the first one accepts calls and never answers. Those that it has not answered stay so.
    pub fn hang(&self, hangs: bool) {
        self.door.hangs.store(hangs, Ordering::SeqCst);
    }

    /// Writes down every status call from now on.
    pub fn watch(&self) {
        self.door.watched.store(true, Ordering::SeqCst);
    }

    /// The calls of ordinary status tools that were answered since [`Fleet::watch`], by the server's handle of the task.
    pub fn status_calls(&self) -> BTreeMap<String, Vec<StatusCall>> {
        std::mem::take(&mut *self.door.calls.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The config that has all of them.
    pub fn config(&self) -> anyhow::Result<Document> {
        Document::parse(json!({ "mcpServers": self.entries }))
            .map_err(|problems| anyhow::anyhow!("the config is wrong: {problems:?}"))
    }

    /// The servers, with their ledgers.
    pub fn all(&self) -> &[Example] {
        &self.all
    }

    /// Status calls that they answered since they were started.
    pub fn answered(&self) -> u64 {
        let ordinary: u64 = self.all.iter().map(|server| server.log().status_calls).sum();
        ordinary + self.door.asked.load(Ordering::SeqCst)
    }

    /// The visible name of a server's submit tool.
    pub fn submit_tool(server: usize) -> String {
        format!("{}_{TOOL}", name(server))
    }
}

impl Door {
    async fn pass(self, number: usize, request: Request, next: Next) -> Response {
        if number == 0 && self.hangs.load(Ordering::SeqCst) {
            return std::future::pending().await;
        }
        if !self.watched.load(Ordering::SeqCst) {
            return next.run(request).await;
        }
        let began = Instant::now();
        let (head, body) = request.into_parts();
        let Ok(bytes) = to_bytes(body, MAX_BODY).await else {
            return StatusCode::BAD_REQUEST.into_response();
        };
        let asked = handle(&bytes);
        let answer = next.run(Request::from_parts(head, Body::from(bytes))).await;
        if let Some(asked) = asked {
            let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
            calls.entry(asked).or_default().push((began, Instant::now()));
        }
        answer
    }
}

/// The handle of the task whose status is asked for; none of another request.
fn handle(body: &[u8]) -> Option<String> {
    let message: Value = serde_json::from_slice(body).ok()?;
    if message.pointer("/params/name")?.as_str()? != "get_report_status" {
        return None;
    }
    message.pointer("/params/arguments/task_id")?.as_str().map(str::to_owned)
}

fn name(number: usize) -> String {
    format!("s{number:02}")
}

fn with_toolset(url: &str) -> Value {
    json!({
        "type": "http",
        "url": url,
        "task_toolsets": [{
            "name": "report",
            "submit_tool": TOOL,
            "status_tool": "get_report_status",
            "cancel_tool": "cancel_report",
        }],
    })
}
