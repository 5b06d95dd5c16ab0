//! The tools for durable tasks of a conversation (MCP reference 3.4): list them, ask for a cancel, answer a question. A model names a
//! task by its local id or its name, or not at all where only one can be meant.
//!
//! What a server wrote is shown as data: nothing in it can open or close a block of ours.

mod answer;
mod cancel;
mod list;
#[cfg(test)]
mod tests;

use pudu_app::framing::inert;
use pudu_app::ports::StoreError;
use pudu_app::tasks::{Listed, Tasks};
use pudu_domain::chat::{Message, ToolCall, ToolStatus};
use pudu_domain::state::{BackgroundTask, State, Write};
use pudu_domain::{TaskId, TaskKey};
use serde_json::{Value, json};

use crate::tool::{Bench, Brought};
use pudu_app::moments::moment;

pub use answer::AnswerBackgroundTask;
pub use cancel::CancelBackgroundTask;
pub use list::ListBackgroundTasks;

/// How many tasks are listed.
const LISTED: usize = 20;
/// Among how many a task is looked for.
const LOOKED_AT: usize = 50;
/// How many names are told when several can be meant.
const NAMED: usize = 5;

/// A task as a model sees it.
fn shown(listed: &Listed) -> Value {
    let task = &listed.task;
    inert(json!({
        "task_id": task.key.id.as_str(),
        "task_name": listed.name.as_str(),
        "status": task.status().as_str(),
        "created_at": moment(task.created_at),
        "updated_at": moment(task.updated_at),
        "error": task.error.as_ref().map(pudu_domain::text::Snippet::as_str),
        "cancel_requested": task.cancel.is_some(),
    }))
}

/// The newest tasks of the conversation, of servers that the run may use.
async fn visible(tasks: &Tasks, bench: &Bench<'_>) -> Result<Vec<Listed>, StoreError> {
    let listed = tasks.list(&bench.run.key.thread, LOOKED_AT, None).await?;
    Ok(listed.into_iter().filter(|listed| bench.spec.scope.has(listed.server.as_str())).collect())
}

/// The task that is meant: by its id; else, of those that `fit`, by its name, or the only one. Errors: a sentence for the model.
async fn meant(
    tasks: &Tasks,
    bench: &Bench<'_>,
    named: Option<&str>,
    what: &str,
    fit: fn(&Listed) -> bool,
) -> Result<TaskKey, String> {
    let thread = &bench.run.key.thread;
    let key = |id: TaskId| TaskKey { thread: thread.clone(), id };
    let named = named.map(str::trim).filter(|named| !named.is_empty());
    if let Some(id) = named.and_then(|named| TaskId::parse(named).ok()) {
        let found = tasks.get(&key(id.clone())).await.map_err(|error| unread(&error))?;
        let found = found.filter(|found| bench.spec.scope.has(found.listed.server.as_str()));
        return found.map(|_| key(id)).ok_or_else(|| "This conversation has no such task.".to_owned());
    }
    let listed = visible(tasks, bench).await.map_err(|error| unread(&error))?;
    let fitting: Vec<Listed> = listed.into_iter().filter(fit).collect();
    one_of(&fitting, named, what).map(key)
}

fn one_of(fitting: &[Listed], named: Option<&str>, what: &str) -> Result<TaskId, String> {
    let folded = |text: &str| text.trim().to_lowercase();
    let is_named = |listed: &&Listed| named.is_none_or(|named| folded(listed.name.as_str()) == folded(named));
    let found: Vec<&Listed> = fitting.iter().filter(is_named).collect();
    match found.as_slice() {
        [one] => Ok(one.task.key.id.clone()),
        [] => Err(match named {
            Some(_) => format!("No {what} task of this conversation has that id or name. {}", told(fitting)),
            None => format!("No task of this conversation is {what}."),
        }),
        several => Err(format!(
            "Several {what} tasks can be meant; name one by its task_id. {}",
            told(several.iter().copied())
        )),
    }
}

fn told<'a>(tasks: impl IntoIterator<Item = &'a Listed>) -> String {
    let names = tasks.into_iter().take(NAMED).map(|listed| {
        let name = inert(json!(listed.name.as_str()));
        format!("{} ({})", name.as_str().unwrap_or_default(), listed.task.key.id)
    });
    let names: Vec<String> = names.collect();
    if names.is_empty() { String::new() } else { format!("There are: {}.", names.join(", ")) }
}

/// What is done is told as JSON, and so is what is not.
fn answered(call: &ToolCall, status: ToolStatus, said: &Value) -> Message {
    Message::tool(call, status, said.to_string())
}

/// The tasks of the conversation's state whose status is another by now.
fn news(state: &State, seen: &[Listed]) -> Vec<Write> {
    let known = state.background_tasks.as_deref().unwrap_or_default();
    let changed = known.iter().filter_map(|known| {
        let task = &seen.iter().find(|listed| listed.task.key.id.as_str() == known.task_id)?.task;
        let (status, updated_at) = (task.status().as_str(), moment(task.updated_at));
        (known.status != status).then(|| {
            Write::BackgroundTask(BackgroundTask { status: status.to_owned(), updated_at, ..known.clone() })
        })
    });
    changed.collect()
}

fn unread(error: &StoreError) -> String {
    tracing::warn!(error = %pudu_app::chain::Chain(error), "an agent could not look at the tasks of its conversation");
    "The tasks of this conversation cannot be looked at right now; try again later.".to_owned()
}

/// A failure without anything beside it.
fn failed(call: &ToolCall, done: &str, message: &str) -> Brought {
    Brought::only(answered(call, ToolStatus::Error, &json!({ done: false, "message": message })))
}
