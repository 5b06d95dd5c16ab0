//! The story without a crash: config, tools, submit, working, completed, event.

use anyhow::{Context, bail};
use http::Method;
use pudu_domain::Task;
use pudu_domain::snapshot::Status;
use serde_json::{Value, json};

use super::stage::{SERVER, Stage};
use super::steps::Steps;

/// What the report is about.
pub(super) const TITLE: &str = "The smallest deer";

/// Seconds of the report's work: long enough to be seen at work, at one poll a second.
const DURATION: u32 = 4;

pub(super) async fn tell(stage: &mut Stage, steps: &Steps) -> anyhow::Result<()> {
    let task = begin(stage, steps, json!({ "title": TITLE, "duration_seconds": DURATION })).await?;
    steps.next("working");
    stage
        .watch(&task.key, |task| match task.status() {
            Status::Submitted => Ok(None),
            Status::Working => Ok(Some(())),
            other => bail!("the task became {} before it was seen working", other.as_str()),
        })
        .await?;
    steps.seen("the poller asked the server and wrote the answer down");
    steps.next("completed");
    let generation = stage.watch(&task.key, completed).await?;
    steps.seen(&format!("the poller wrote the end down, generation {generation}"));
    steps.next("event delivered");
    finish(stage, steps, &task).await
}

/// The beginning of every story: config stored, tools listed, report submitted.
pub(super) async fn begin(stage: &Stage, steps: &Steps, arguments: Value) -> anyhow::Result<Task> {
    steps.next("config stored");
    let revision = stage.store_config().await?;
    steps.seen(&format!("revision {revision} names the example server at {}", stage.example_url));

    steps.next("tools listed");
    let listed = stage.call(Method::GET, "/api/tools", None).await?;
    let tools = listed.get("tools").and_then(Value::as_array).context("the answer has no tools")?;
    let names: Vec<_> = tools.iter().filter_map(|tool| tool.get("name")?.as_str()).collect();
    for tool in ["echo", "submit_report"].map(|tool| format!("{SERVER}_{tool}")) {
        if !names.contains(&tool.as_str()) {
            bail!("the tool {tool} is not among them: {}", names.join(", "));
        }
    }
    steps.seen(&names.join(", "));

    steps.next("report submitted");
    let task = stage.submit(arguments).await?;
    steps.seen(&format!("{} is {}", task.key.id, task.status().as_str()));
    Ok(task)
}

/// The generation of a task that has completed; an error if it ended otherwise.
pub(super) fn completed(task: &Task) -> anyhow::Result<Option<u64>> {
    match task.status() {
        Status::Completed => Ok(Some(task.durable.generation.number())),
        Status::Failed | Status::Cancelled => bail!("the task ended as {}", task.status().as_str()),
        _ => Ok(None),
    }
}

/// The end of every story: the event is in the thread.
pub(super) async fn finish(stage: &Stage, steps: &Steps, task: &Task) -> anyhow::Result<()> {
    let event = stage.event().await?;
    if event.event.task_id != task.key.id || event.event.status != Status::Completed {
        bail!("the thread was told something else: {:?}", event.event);
    }
    let result = event.event.result.as_ref().map(ToString::to_string).unwrap_or_default();
    steps.seen(&format!("the thread was told: completed, {result}"));
    Ok(())
}
