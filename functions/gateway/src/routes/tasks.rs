//! `GET /api/threads/{thread}/mcp-tasks`, `GET …/{id}`, `POST …/{id}/cancel` (reference 8.2), `POST …/{id}/input`.

use axum::Json;
use axum::extract::State;
use pudu_app::ports::{NoteKey, StoreError};
use pudu_app::tasks::Detailed;
use pudu_domain::{TaskKey, ThreadKey};
use serde::Deserialize;
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use crate::answer::{Notified, TaskDetail, TaskRow};
use crate::error::{Conflict, Failure, Missing, Unfit};
use crate::guard::Who;
use crate::input::{Body, Params, Shape, Task, Thread};
use crate::state::Gateway;

/// How much of a list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Page {
    /// How many at most: 1 to 100.
    #[serde(default = "default_limit")]
    #[param(minimum = 1, maximum = 100, default = 50)]
    limit: usize,
}

const fn default_limit() -> usize {
    50
}

impl Page {
    /// The limit, checked.
    pub(super) fn limit(&self) -> Result<usize, Failure> {
        if (1..=100).contains(&self.limit) {
            return Ok(self.limit);
        }
        Err(Failure::unprocessable("limit must be a number from 1 to 100"))
    }
}

/// The tasks of a thread, the newest first.
#[utoipa::path(
    get,
    path = "/api/threads/{thread}/mcp-tasks",
    operation_id = "list_tasks",
    tag = "tasks",
    params(Thread, Page),
    responses((status = OK, description = "The newest tasks", body = [TaskRow]), Missing, Unfit, Failure)
)]
pub(super) async fn list(
    State(gateway): State<Gateway>,
    Who(who): Who,
    Thread(thread): Thread,
    Params(page): Params<Page>,
) -> Result<Json<Vec<TaskRow>>, Failure> {
    let thread = ThreadKey { user: who.user.clone(), thread };
    let rows = gateway.tasks.list(&thread, page.limit()?, None).await?;
    Ok(Json(rows.into_iter().map(TaskRow::from).collect()))
}

/// A task with everything that it brought.
#[utoipa::path(
    get,
    path = "/api/threads/{thread}/mcp-tasks/{id}",
    operation_id = "get_task",
    tag = "tasks",
    params(Thread, Task),
    responses((status = OK, description = "The task", body = TaskDetail), Missing, Unfit, Failure)
)]
pub(super) async fn get(
    State(gateway): State<Gateway>,
    Who(who): Who,
    Thread(thread): Thread,
    Task(id): Task,
) -> Result<Json<TaskDetail>, Failure> {
    let key = TaskKey { thread: ThreadKey { user: who.user.clone(), thread }, id };
    let row = gateway.tasks.get(&key).await?;
    detail(&gateway, row).await
}

/// Asks for the end of a task.
///
/// Answers at once; the server is asked in the background. A repeat changes nothing.
#[utoipa::path(
    post,
    path = "/api/threads/{thread}/mcp-tasks/{id}/cancel",
    operation_id = "cancel_task",
    tag = "tasks",
    params(Thread, Task),
    responses((status = OK, description = "The task as it is now", body = TaskDetail), Missing, Conflict, Unfit, Failure)
)]
pub(super) async fn cancel(
    State(gateway): State<Gateway>,
    Who(who): Who,
    Thread(thread): Thread,
    Task(id): Task,
) -> Result<Json<TaskDetail>, Failure> {
    let key = TaskKey { thread: ThreadKey { user: who.user.clone(), thread }, id };
    let row = gateway.tasks.cancel(&key).await?;
    detail(&gateway, row).await
}

/// An answer to a task's question.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"input": "2026", "version": 1}))]
pub(super) struct Input {
    /// What the question asks for: any JSON, also null, of at most 64 KB.
    input: Value,
    /// The version of the event that the caller answers; any when absent.
    version: Option<u32>,
}

impl Shape for Input {
    const EXPECTED: &'static str = "an object with \"input\", the answer to the task's question, and perhaps \"version\", the version of the event that it answers";
}

/// Answers a task's question.
///
/// Answers at once; the server gets it in the background, and `input_answered` says how far it got.
#[utoipa::path(
    post,
    path = "/api/threads/{thread}/mcp-tasks/{id}/input",
    operation_id = "answer_task",
    tag = "tasks",
    params(Thread, Task),
    request_body = Input,
    responses((status = OK, description = "The task as it is now", body = TaskDetail), Missing, Conflict, Unfit, Failure)
)]
pub(super) async fn input(
    State(gateway): State<Gateway>,
    Who(who): Who,
    Thread(thread): Thread,
    Task(id): Task,
    Body(given): Body<Input>,
) -> Result<Json<TaskDetail>, Failure> {
    let key = TaskKey { thread: ThreadKey { user: who.user.clone(), thread }, id };
    let row = gateway.tasks.answer(&key, &given.input, given.version).await?;
    detail(&gateway, row).await
}

async fn detail(gateway: &Gateway, row: Option<Detailed>) -> Result<Json<TaskDetail>, Failure> {
    let row = row.ok_or_else(Failure::no_such_task)?;
    let task = &row.listed.task;
    let version = task.attention.last;
    let loaded = match version {
        0 => Ok(None),
        _ => gateway.notes.load(&NoteKey { task: task.key.clone(), version }).await,
    };
    // The notification's trouble is not the task's.
    let notified = match loaded {
        Ok(note) => note.map_or(Notified::None, |note| Notified::As(Box::new(note))),
        Err(StoreError::Corrupt { .. }) => Notified::Unreadable,
        Err(error) => return Err(error.into()),
    };
    Ok(Json(TaskDetail::new(row, &notified)))
}
