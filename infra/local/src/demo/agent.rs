//! The story goes on with an agent: a run with a plan delegates, submits a task and ends; a run of its own tells how that ended.

use anyhow::{Context, bail};
use http::Method;
use pudu_app::ports::{Clock, RunStore, TaskStore};
use pudu_domain::{Run, RunId, RunKey};
use pudu_lambda::clock::SystemClock;
use serde_json::{Value, json};

use super::stage::{LOOK, SERVER, Stage};
use super::steps::Steps;
use super::worker::{AGENT, Worker};
use crate::engine::Endpoint;

/// Seconds of the work that the agent submits: it goes on when the agent's run is over.
const DURATION: u32 = 4;
/// Steps that stand when the agent is killed.
const STAND: u32 = 2;

const FIRST: &str = "agent-1";
const SECOND: &str = "agent-2";

pub(super) async fn tell(stage: &Stage, steps: &Steps) -> anyhow::Result<()> {
    let run = ask(stage, steps).await?;

    steps.next("run ended");
    let ended = stage.watch_run(&run).await?;
    let totals = &ended.totals;
    steps.seen(&format!(
        "{} calls of the model, {} tokens, {} steps that stand",
        totals.calls, totals.tokens.total_tokens, ended.checkpoints
    ));
    plan(stage, steps).await?;
    delegation(stage, steps, &ended).await?;

    steps.next("task of the run");
    let tasks = TaskStore::list(&*stage.house.table, &stage.thread, 1, None).await?;
    let (task, _) = tasks.first().context("the run submitted no task")?;
    steps.seen(&format!("{} is {}, and nobody waits for it", task.key.id, task.status().as_str()));

    steps.next("event told by a run");
    let told = told(stage, &run).await?;
    steps.seen(&format!("{} began by itself when the task had ended, and succeeded", told.key.id));

    steps.next("answer in the thread");
    steps.seen(&answer(stage).await?);
    Ok(())
}

/// The same run, whose agent is killed in the middle of it.
pub(super) async fn crash(stage: &Stage, steps: &Steps, endpoint: &Endpoint) -> anyhow::Result<()> {
    steps.next("first agent");
    let mut first = Worker::start(stage, endpoint, AGENT, FIRST)?;
    steps.seen(&format!("process {}", first.pid()));
    let key = ask(stage, steps).await?;

    steps.next("agent killed");
    let before = loop {
        let run = stage.run(&key).await?;
        if run.end().is_some() {
            bail!("the run had ended before its agent could be killed");
        }
        if run.checkpoints >= STAND {
            break run;
        }
        SystemClock.sleep(LOOK / 10).await;
    };
    first.kill().await?;
    let left = stage.run(&key).await?;
    if left.end().is_some() {
        bail!("the run had ended when its agent was killed");
    }
    steps.seen(&format!("by SIGKILL; of its run {} steps stand", left.checkpoints.max(before.checkpoints)));

    steps.next("second agent");
    let mut second = Worker::start(stage, endpoint, AGENT, SECOND)?;
    let ended = stage.watch_run(&key).await?;
    if ended.durable.generation <= left.durable.generation {
        bail!("nobody claimed the run again: {:?}", ended.durable);
    }
    steps.seen(&format!("process {} went on behind them; {} steps stand", second.pid(), ended.checkpoints));
    plan(stage, steps).await?;
    delegation(stage, steps, &ended).await?;

    steps.next("exactly one task");
    let tasks = TaskStore::list(&*stage.house.table, &stage.thread, 10, None).await?;
    // The other one is the story's before.
    if tasks.len() != 2 {
        bail!("the thread has {} tasks", tasks.len());
    }
    steps.seen("no step that stood was done again: the run submitted one");
    second.kill().await
}

/// A run in plan mode that delegates, asked for as any client would.
async fn ask(stage: &Stage, steps: &Steps) -> anyhow::Result<RunKey> {
    steps.next("run asked for");
    let prompt = format!(
        "Delegate a look at how small a pudu is.\nThen call {SERVER}_submit_report title=\"How small is it?\" duration_seconds={DURATION}."
    );
    let body = json!({
        "assistant_id": "lead_agent",
        "input": { "messages": [{ "role": "user", "content": prompt }] },
        "context": { "is_plan_mode": true, "subagent_enabled": true },
    });
    let path = format!("/api/threads/{}/runs", stage.thread.thread);
    let answer = stage.call(Method::POST, &path, Some(&body)).await?;
    let id = answer.get("run_id").and_then(Value::as_str).context("the answer has no run_id")?;
    let key = RunKey { thread: stage.thread.clone(), id: RunId::parse(id)? };
    let run = stage.run(&key).await?;
    steps.seen(&format!("{id} is {}, on the built-in scripted model", run.phase.status()));
    Ok(key)
}

/// What the thread's state has under `name`.
async fn channel(stage: &Stage, name: &str) -> anyhow::Result<Value> {
    let path = format!("/api/threads/{}/state", stage.thread.thread);
    let state = stage.call(Method::GET, &path, None).await?;
    let channel = state.pointer(&format!("/values/{name}"));
    Ok(channel.with_context(|| format!("the thread's state has no {name}"))?.clone())
}

async fn plan(stage: &Stage, steps: &Steps) -> anyhow::Result<()> {
    steps.next("plan");
    let todos = channel(stage, "todos").await?;
    let todos = todos.as_array().filter(|todos| !todos.is_empty()).context("the run made no plan")?;
    let text = |todo: &Value, name: &str| todo.get(name).and_then(Value::as_str).unwrap_or("?").to_owned();
    if let Some(open) = todos.iter().find(|todo| text(todo, "status") != "completed") {
        bail!("the plan was not worked off: {open}");
    }
    let items: Vec<_> = todos.iter().map(|todo| text(todo, "content")).collect();
    steps.seen(&format!("{}: all done", items.join("; ")));
    Ok(())
}

async fn delegation(stage: &Stage, steps: &Steps, run: &Run) -> anyhow::Result<()> {
    steps.next("delegated");
    if run.children != 1 {
        bail!("the run began {} subagents instead of one", run.children);
    }
    let path = format!("/api/threads/{}/runs/{}/events", stage.thread.thread, run.key.id);
    let events = stage.call(Method::GET, &path, None).await?.to_string();
    for kind in ["subagent.start", "subagent.end"] {
        if !events.contains(kind) {
            bail!("the run's history has no {kind}: {events}");
        }
    }
    steps.seen("to a subagent in an invocation of its own, for which the run was parked");
    Ok(())
}

/// The run that tells an event, when it has ended.
async fn told(stage: &Stage, asked: &RunKey) -> anyhow::Result<Run> {
    loop {
        let runs = stage.house.table.runs(&stage.thread, 10, None).await?;
        let tells = runs
            .into_iter()
            .find(|(run, spec)| run.key != *asked && spec.metadata.contains_key("mcp_task_notification"));
        match tells {
            Some((run, _)) => return stage.watch_run(&run.key).await,
            None => SystemClock.sleep(LOOK).await,
        }
    }
}

/// The last message of the thread.
async fn answer(stage: &Stage) -> anyhow::Result<String> {
    let messages = channel(stage, "messages").await?;
    let last =
        messages.as_array().and_then(|messages| messages.last()).context("the thread has no message")?;
    let text = last.get("content").and_then(Value::as_str).unwrap_or_default();
    if last.get("type").and_then(Value::as_str) != Some("ai") || !text.contains("completed") {
        bail!("the thread's last word does not tell the end of the task: {last}");
    }
    Ok(text.to_owned())
}
