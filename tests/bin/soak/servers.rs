//! The servers: the example server many times, each on a port of its own, with its own ledger. The first one can hang.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::serve::ListenerExt;
use pudu::example::{Example, PATH};
use pudu::machine::listen_anywhere;
use pudu_config::Document;
use pudu_lambda::clock::SystemClock;
use pudu_lambda::random::OsRandom;
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

/// All servers; they end with this value.
pub(crate) struct Servers {
    all: Vec<Example>,
    entries: Map<String, Value>,
    hangs: Arc<AtomicBool>,
    _serving: JoinSet<std::io::Result<()>>,
}

impl Servers {
    /// Starts `count` of them, with their state files in `folder`.
    pub(crate) async fn start(count: usize, folder: &Path) -> anyhow::Result<Self> {
        let (hangs, mut serving) = (Arc::new(AtomicBool::new(false)), JoinSet::new());
        let (mut all, mut entries) = (Vec::new(), Map::new());
        for number in 0..count {
            let state = folder.join(format!("{}.reports", name(number)));
            let example = Example::open(&state, Arc::new(SystemClock), Arc::new(OsRandom))?;
            let listener = listen_anywhere().await?;
            let url = format!("http://{}{PATH}", listener.local_addr()?);
            let (hangs, first) = (Arc::clone(&hangs), number == 0);
            let door = move |request: Request, next: Next| {
                let hung = first && hangs.load(Ordering::SeqCst);
                async move { if hung { std::future::pending().await } else { next.run(request).await } }
            };
            let app = example.router().layer(from_fn(door));
            let listener = listener.tap_io(|stream| {
                let _ = stream.set_nodelay(true);
            });
            serving.spawn(async move { axum::serve(listener, app).await });
            all.push(example);
            entries.insert(name(number), entry(&url));
        }
        Ok(Self { all, entries, hangs, _serving: serving })
    }

    /// Whether the first one accepts calls and never answers. Those that it has not answered stay so.
    pub(crate) fn hang(&self, hangs: bool) {
        self.hangs.store(hangs, Ordering::SeqCst);
    }

    /// The config that has all of them.
    pub(crate) fn config(&self) -> anyhow::Result<Document> {
        Document::parse(json!({ "mcpServers": self.entries }))
            .map_err(|problems| anyhow::anyhow!("the config is wrong: {problems:?}"))
    }

    /// Their ledgers.
    pub(crate) fn all(&self) -> &[Example] {
        &self.all
    }

    /// Status calls that they answered.
    pub(crate) fn status_calls(&self) -> u64 {
        self.all.iter().map(|server| server.log().status_calls).sum()
    }
}

/// The visible name of a server's submit tool.
pub(crate) fn submit_tool(server: usize) -> String {
    format!("{}_submit_report", name(server))
}

fn name(number: usize) -> String {
    format!("s{number:02}")
}

fn entry(url: &str) -> Value {
    json!({
        "type": "http",
        "url": url,
        "task_toolsets": [{
            "name": "report",
            "submit_tool": "submit_report",
            "status_tool": "get_report_status",
            "cancel_tool": "cancel_report",
        }],
    })
}
