//! `pudu config`, `tools`, `tasks`, `events`: one request each, to the Pudu that holds the folder, or else to the same
//! router in this process. `config check` and `openapi` ask nobody.
//!
//! The folder's lock decides which: while nobody holds it, a run file in it is what a killed process left, and whatever
//! listens on that port now is not asked.

mod check;
mod connect;
mod import;
mod keys;

use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use axum::body::{Body, to_bytes};
use http::{Method, Request, StatusCode, header};
use pudu_app::ports::Clock;
use pudu_domain::ThreadId;
use pudu_lambda::clock::SystemClock;
use serde_json::Value;
use tower::ServiceExt;

use crate::cli::{ShowArgs, SourceArgs, StoreArgs, ThreadArgs};
use crate::folder::{DataFolder, RunFile};
use crate::house::{House, Plan};
use crate::operator::HELLO;
use crate::run::keeps_its_key;
use crate::say;
use crate::store::Store;

pub use check::check;
pub use connect::connect;
pub use import::import;
pub use keys::keys;

/// How often a folder is tried whose holder does not answer: it may be starting, stopping, or another command.
const TRIES: u32 = 20;
/// Pause between two tries.
const PAUSE: Duration = Duration::from_millis(150);
/// How long a running Pudu may take: longer than it waits for servers that do not answer.
const LIMIT: Duration = Duration::from_secs(60);
/// Largest answer, in bytes.
const MAX_ANSWER: usize = 64 * 1024 * 1024;

/// What a gateway answered.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) body: Value,
}

/// What a gateway is asked.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub(crate) method: Method,
    pub(crate) path: String,
    /// JSON, perhaps with secrets.
    pub(crate) body: Option<String>,
}

impl Question {
    /// What is at `path`.
    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self { method: Method::GET, path: path.into(), body: None }
    }
}

/// Shows the config, masked.
pub async fn config(args: &ShowArgs) -> anyhow::Result<()> {
    show(&args.store, &args.source, "/api/mcp/config").await
}

/// Shows the tools and the servers.
pub async fn tools(args: &ShowArgs) -> anyhow::Result<()> {
    show(&args.store, &args.source, "/api/tools").await
}

/// Shows a thread's tasks.
pub async fn tasks(args: &ThreadArgs) -> anyhow::Result<()> {
    let thread = ThreadId::parse(args.thread.as_str())?;
    show(&args.store, &SourceArgs::table(), &format!("/api/threads/{thread}/mcp-tasks")).await
}

/// Shows what a thread was told.
pub async fn events(args: &ThreadArgs) -> anyhow::Result<()> {
    let thread = ThreadId::parse(args.thread.as_str())?;
    show(&args.store, &SourceArgs::table(), &format!("/api/threads/{thread}/events")).await
}

/// Shows the contract, byte for byte as it is served.
pub fn openapi() -> anyhow::Result<()> {
    say::answer(pudu_gateway::contract().trim_end()).context("the contract cannot be written")
}

async fn show(store: &StoreArgs, source: &SourceArgs, path: &str) -> anyhow::Result<()> {
    let body = succeeded(ask(store, source, &Question::get(path)).await?)?;
    say::answer(&serde_json::to_string_pretty(&body)?).context("the answer cannot be written")
}

fn succeeded(answer: Answer) -> anyhow::Result<Value> {
    let Answer { status, body } = answer;
    if status.is_success() {
        return Ok(body);
    }
    let detail = body.get("detail").and_then(Value::as_str).unwrap_or("it did not say why");
    bail!("{detail} (status {})", status.as_u16());
}

/// Asks whoever holds the folder; a running Pudu has chosen its config already, `source` is for this process.
async fn ask(args: &StoreArgs, source: &SourceArgs, question: &Question) -> anyhow::Result<Answer> {
    let folder = DataFolder::new(&args.data_dir);
    // What is stored may be the first thing in a folder; what is shown is not.
    if question.body.is_none() {
        exists(&folder)?;
    }
    // What is asked for is behind that endpoint, whatever table the holder of the folder uses.
    if let Some(store) = Store::beside(args).await? {
        return in_process(store, source, question).await;
    }
    let mut unanswered = None;
    for _ in 0..TRIES {
        let held = match Store::open(args).await {
            Ok(store) => return in_process(store, source, question).await,
            Err(error) if error.is_held() => error,
            Err(error) => return Err(error.into()),
        };
        if let Some(run) = folder.announced() {
            match over_http(&run, question).await {
                Ok(answer) => return Ok(answer),
                Err(error) => unanswered = Some(error),
            }
        } else {
            unanswered = Some(held.into());
        }
        SystemClock.sleep(PAUSE).await;
    }
    let why = unanswered.unwrap_or_else(|| anyhow!("it did not say why"));
    Err(why.context(format!("the Pudu that holds {} does not answer", folder.path().display())))
}

/// For what only looks: it must not make a folder.
fn exists(folder: &DataFolder) -> anyhow::Result<()> {
    if folder.path().is_dir() {
        return Ok(());
    }
    bail!(
        "there is no data folder {}: start Pudu first, or name its folder with --data-dir",
        folder.path().display()
    );
}

async fn over_http(run: &RunFile, question: &Question) -> anyhow::Result<Answer> {
    // Whoever listens there must know the key before it is told anything.
    let known = once_over_http(run, &Question::get(HELLO)).await?;
    if !known.status.is_success() {
        bail!("another Pudu listens on {}", run.address);
    }
    once_over_http(run, question).await
}

async fn once_over_http(run: &RunFile, question: &Question) -> anyhow::Result<Answer> {
    // Never through a proxy: the key is for this machine.
    let client = reqwest::Client::builder().no_proxy().timeout(LIMIT).build()?;
    let url = format!("http://{}{}", run.address, question.path);
    let mut request = client.request(question.method.clone(), url).bearer_auth(&run.key);
    if let Some(body) = &question.body {
        request = request.header(header::CONTENT_TYPE, "application/json").body(body.clone());
    }
    let sent = request.send().await?;
    let status = sent.status();
    Ok(Answer { status, body: sent.json().await.context("what listens there is no Pudu")? })
}

async fn in_process(store: Store, source: &SourceArgs, question: &Question) -> anyhow::Result<Answer> {
    let plan = Plan::new(store.client.clone(), store.table.clone(), store.folder.seal_key());
    let house = House::new(Plan { config_file: source.find()?, ..plan })?;
    house.create_table().await?;
    // A look must not make a new key in the place of one that is only missing.
    keeps_its_key(&house, &store.folder.seal_key()).await?;
    let request = Request::builder()
        .method(question.method.clone())
        .uri(format!("http://localhost{}", question.path))
        .header(header::AUTHORIZATION, format!("Bearer {}", house.key().expose()))
        .header(header::CONTENT_TYPE, "application/json")
        .body(question.body.clone().map_or_else(Body::empty, Body::from))?;
    let response = house.gateway().oneshot(request).await?;
    let status = response.status();
    let bytes = to_bytes(response.into_body(), MAX_ANSWER).await?;
    Ok(Answer { status, body: serde_json::from_slice(&bytes)? })
}

#[cfg(test)]
mod tests;
