//! Tasks of this endpoint (extension `io.modelcontextprotocol/tasks`): `tasks/get`, `tasks/update` and `tasks/cancel`, answered from
//! the table by consistent reads under the caller's own user, whichever instance is asked.

mod shape;

use std::fmt::Display;
use std::time::Duration;

use pudu_app::tasks::{CancelError, Detailed, InputError};
use pudu_app::tools::Submitted;
use pudu_domain::task::{Answer, Rejected};
use pudu_domain::{Principal, TaskId, TaskKey, ThreadId, ThreadKey};
use serde_json::{Map, Value, json};

use super::error::RpcError;
use super::revision::TASKS;
use super::{Asked, greet};
use crate::state::Gateway;
use shape::Question;

/// Between two looks at a question whose first answers are on their way.
const AGAIN: Duration = Duration::from_millis(200);
/// How often it is looked at: some seconds more than it takes to hand an answer over.
const LOOKS: u32 = 75;

/// The task's id as clients see it: its thread is in it, so that one read finds it.
pub(super) fn shown_id(who: &Principal, id: impl Display) -> String {
    format!("{}~{id}", who.own_thread())
}

/// A call that became a task, for a client that takes it in the place of a result.
pub(super) fn created(who: &Principal, task: &Submitted) -> Map<String, Value> {
    greet::object(json!({
        "resultType": "task",
        "taskId": shown_id(who, &task.task_id),
        "status": "working",
        "createdAt": shape::moment(task.created_at),
        "lastUpdatedAt": shape::moment(task.updated_at),
        // Without limit as long as it runs.
        "ttlMs": null,
        "pollIntervalMs": shape::millis(task.pace),
    }))
}

/// Answers `tasks/get`.
pub(super) async fn get(asked: &Asked<'_>) -> Result<Map<String, Value>, RpcError> {
    state(asked.gateway, &key(asked).await?).await
}

/// A task with everything it brought, as `tasks/get` tells it.
pub(super) async fn state(gateway: &Gateway, key: &TaskKey) -> Result<Map<String, Value>, RpcError> {
    let row = gateway.tasks.get(key).await?.ok_or_else(no_such_task)?;
    let question = question(gateway, key, &row).await?;
    let id = format!("{}~{}", key.thread.thread, key.id);
    Ok(shape::shown(&id, &row, question, gateway.tasks.settle.policy.retention))
}

/// What a task still asks, if that can be answered here.
async fn question(gateway: &Gateway, key: &TaskKey, row: &Detailed) -> Result<Option<Question>, RpcError> {
    // Only an answer that is not handed over yet is kept.
    let waits = row.listed.task.answer.as_ref().is_some_and(Answer::is_waiting);
    let given = if waits { gateway.tasks.settle.tasks.answer(key).await? } else { None };
    Ok(Question::of(row, &gateway.tasks, given.as_ref()))
}

/// Answers `tasks/cancel`: heard, whatever the task is doing. How it ends is seen by asking for it.
pub(super) async fn cancel(asked: &Asked<'_>) -> Result<Map<String, Value>, RpcError> {
    match asked.gateway.tasks.cancel(&key(asked).await?).await {
        Ok(Some(_)) => Ok(acknowledged()),
        Ok(None) => Err(no_such_task()),
        Err(CancelError::Store(error)) => Err(error.into()),
        Err(error @ (CancelError::Busy | CancelError::Unattended { .. })) => {
            Err(RpcError::internal(error.to_string()))
        }
    }
}

/// Answers `tasks/update`.
pub(super) async fn update(asked: &Asked<'_>) -> Result<Map<String, Value>, RpcError> {
    let key = key(asked).await?;
    let given = asked.request.params.get("inputResponses").and_then(Value::as_object);
    let given = given.ok_or_else(|| RpcError::invalid_params("\"inputResponses\" must be an object"))?;
    answer(asked.gateway, &key, given).await.map(|()| acknowledged())
}

/// Takes answers to what a task asks. Answers to what it does not ask (any more) are passed over, as the extension wants it.
pub(super) async fn answer(
    gateway: &Gateway,
    key: &TaskKey,
    given: &Map<String, Value>,
) -> Result<(), RpcError> {
    // Answers to a part of a question come one after the other: the next is taken when the one before is handed over.
    for _ in 0..LOOKS {
        let row = gateway.tasks.get(key).await?.ok_or_else(no_such_task)?;
        let Some(question) = question(gateway, key, &row).await? else { return Ok(()) };
        let Some(input) = question.input(given)? else { return Ok(()) };
        match gateway.tasks.answer(key, &input, None).await {
            Ok(None) => return Err(no_such_task()),
            Err(InputError::Rejected(Rejected::Answered) | InputError::Busy) => {
                gateway.tasks.settle.clock.sleep(AGAIN).await;
            }
            // Taken; or it went on meanwhile, and there is nothing that this would answer.
            Ok(Some(_)) | Err(InputError::Rejected(_)) => return Ok(()),
            Err(InputError::Store(error)) => return Err(error.into()),
            Err(error) => return Err(RpcError::invalid_params(error.to_string())),
        }
    }
    Err(RpcError::internal("the answer before this one is not handed over yet; try again"))
}

fn acknowledged() -> Map<String, Value> {
    greet::object(json!({"resultType": "complete"}))
}

/// Which task is meant, of a client that may mean one.
async fn key(asked: &Asked<'_>) -> Result<TaskKey, RpcError> {
    if !asked.client.takes_tasks() {
        return Err(RpcError::missing_capability(&json!({"extensions": {TASKS: {}}})));
    }
    let id = asked.request.params.get("taskId").and_then(Value::as_str);
    let id = id.ok_or_else(|| RpcError::invalid_params("\"taskId\" must be a text"))?;
    task_of(asked, id).await
}

/// The task of that id. Of a thread that is being deleted nothing is shown.
pub(super) async fn task_of(asked: &Asked<'_>, id: &str) -> Result<TaskKey, RpcError> {
    let key = key_of(asked.who, id).ok_or_else(no_such_task)?;
    if asked.gateway.threads.is_going(&key.thread).await? {
        return Err(no_such_task());
    }
    Ok(key)
}

/// The task of that id, which is one of the caller's own user's or nobody's.
fn key_of(who: &Principal, id: &str) -> Option<TaskKey> {
    let (thread, id) = id.split_once('~')?;
    let thread = ThreadKey { user: who.user.clone(), thread: ThreadId::parse(thread).ok()? };
    Some(TaskKey { thread, id: TaskId::parse(id).ok()? })
}

/// The same words for a task that is not there and one of somebody else's.
fn no_such_task() -> RpcError {
    RpcError::invalid_params("there is no such task")
}
