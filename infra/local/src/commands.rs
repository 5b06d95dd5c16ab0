//! `pudu config`, `tools`, `tasks`, `events`: one GET each, to the Pudu that holds the folder, or else to the same router
//! in this process.
//!
//! The folder's lock decides which: while nobody holds it, a run file in it is what a killed process left, and whatever
//! listens on that port now is not asked.

use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use axum::body::{Body, to_bytes};
use http::{Request, StatusCode};
use pudu_app::ports::Clock;
use pudu_domain::ThreadId;
use pudu_lambda::clock::SystemClock;
use serde_json::Value;
use tower::ServiceExt;

use crate::cli::{StoreArgs, ThreadArgs};
use crate::folder::{DataFolder, RunFile};
use crate::house::{House, Plan};
use crate::say;
use crate::store::Store;

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

/// Shows the config, masked.
pub async fn config(store: &StoreArgs) -> anyhow::Result<()> {
    show(store, "/api/mcp/config").await
}

/// Shows the tools and the servers.
pub async fn tools(store: &StoreArgs) -> anyhow::Result<()> {
    show(store, "/api/tools").await
}

/// Shows a thread's tasks.
pub async fn tasks(args: &ThreadArgs) -> anyhow::Result<()> {
    let thread = ThreadId::parse(args.thread.as_str())?;
    show(&args.store, &format!("/api/threads/{thread}/mcp-tasks")).await
}

/// Shows what a thread was told.
pub async fn events(args: &ThreadArgs) -> anyhow::Result<()> {
    let thread = ThreadId::parse(args.thread.as_str())?;
    show(&args.store, &format!("/api/threads/{thread}/events")).await
}

async fn show(store: &StoreArgs, path: &str) -> anyhow::Result<()> {
    let Answer { status, body } = ask(store, path).await?;
    if !status.is_success() {
        let detail = body.get("detail").and_then(Value::as_str).unwrap_or("it did not say why");
        bail!("{detail} (status {})", status.as_u16());
    }
    say::answer(&serde_json::to_string_pretty(&body)?).context("the answer cannot be written")
}

async fn ask(args: &StoreArgs, path: &str) -> anyhow::Result<Answer> {
    let folder = DataFolder::new(&args.data_dir);
    if !folder.path().is_dir() {
        bail!(
            "there is no data folder {}: start Pudu first, or name its folder with --data-dir",
            folder.path().display()
        );
    }
    // What is asked for is behind that endpoint, whatever table the holder of the folder uses.
    if let Some(store) = Store::beside(args).await? {
        return in_process(store, path).await;
    }
    let mut unanswered = None;
    for _ in 0..TRIES {
        let held = match Store::open(args).await {
            Ok(store) => return in_process(store, path).await,
            Err(error) if error.is_held() => error,
            Err(error) => return Err(error.into()),
        };
        if let Some(run) = folder.announced() {
            match over_http(&run, path).await {
                Ok(answer) if answer.status != StatusCode::UNAUTHORIZED => return Ok(answer),
                Ok(_) => unanswered = Some(anyhow!("another Pudu listens on {}", run.address)),
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

async fn over_http(run: &RunFile, path: &str) -> anyhow::Result<Answer> {
    // Never through a proxy: the key is for this machine.
    let client = reqwest::Client::builder().no_proxy().timeout(LIMIT).build()?;
    let sent = client.get(format!("http://{}{path}", run.address)).bearer_auth(&run.key).send().await?;
    let status = sent.status();
    Ok(Answer { status, body: sent.json().await.context("what listens there is no Pudu")? })
}

async fn in_process(store: Store, path: &str) -> anyhow::Result<Answer> {
    // The door's key is asked of nobody here: the request shows no token.
    let plan = Plan::new(store.client.clone(), store.table.clone(), store.folder.seal_key(), String::new());
    let house = House::new(plan)?;
    house.create_table().await?;
    let request = Request::get(format!("http://localhost{path}")).body(Body::empty())?;
    let response = house.gateway().oneshot(request).await?;
    let status = response.status();
    let bytes = to_bytes(response.into_body(), MAX_ANSWER).await?;
    Ok(Answer { status, body: serde_json::from_slice(&bytes)? })
}

#[cfg(test)]
mod tests;
