//! `GET /api/threads/{thread}/mcp-tasks`, `GET …/{id}`, `POST …/{id}/cancel` (reference 8.2), `POST …/{id}/input`.

use axum::Json;
use axum::extract::{FromRequestParts, Query, State};
use http::Uri;
use http::request::Parts;
use pudu_app::ports::{NoteKey, StoreError};
use pudu_app::tasks::{Detailed, Part};
use pudu_domain::snapshot::Status;
use pudu_domain::{TaskId, TaskKey, ThreadKey};
use serde::Deserialize;
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use crate::answer::{Notified, TaskDetail, TaskRow, TaskStatus};
use crate::error::{Conflict, Failure, Missing, Unfit};
use crate::guard::Who;
use crate::input::{Body, List, Paged, Shape, Task, Thread, limit, number, wrong_cursor};
use crate::state::Gateway;

/// How much of a list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Page {
    /// How many at most: 1 to 100.
    #[serde(default = "limit::usual")]
    #[param(minimum = 1, maximum = 100, default = 50)]
    limit: usize,
}

impl Page {
    /// The limit, checked.
    pub(super) fn limit(&self) -> Result<usize, Failure> {
        limit::checked(self.limit)
    }
}

/// Which of a thread's tasks.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Which {
    /// How many at most: 1 to 100.
    #[param(minimum = 1, maximum = 100, default = 50)]
    limit: usize,
    /// Where an earlier page said that the next one begins: its `Pudu-Next-Cursor`.
    cursor: Option<String>,
    /// Only tasks that stand so; several may be given, in one value with commas or in several.
    #[param(value_type = Vec<TaskStatus>)]
    status: Vec<Status>,
}

impl FromRequestParts<Gateway> for Which {
    type Rejection = Failure;

    // By hand: a form's fields are read into a struct only once each.
    async fn from_request_parts(parts: &mut Parts, gateway: &Gateway) -> Result<Self, Failure> {
        let pairs = Query::<Vec<(String, String)>>::from_request_parts(parts, gateway).await;
        let Query(pairs) = pairs.map_err(|error| Failure::unprocessable(error.body_text()))?;
        let once = |name: &str| {
            let mut given = pairs.iter().filter(|(key, _)| key == name).map(|(_, value)| value.as_str());
            match (given.next(), given.next()) {
                (_, Some(_)) => Err(Failure::unprocessable(format!("{name} is given more than once"))),
                (first, None) => Ok(first),
            }
        };
        let limit = once("limit")?.map_or_else(|| Ok(limit::usual()), limit::read)?;
        let cursor = once("cursor")?.map(str::to_owned);
        let words = pairs.iter().filter(|(key, _)| key == "status").flat_map(|(_, value)| value.split(','));
        let status = words.map(status).collect::<Result<_, _>>()?;
        Ok(Self { limit, cursor, status })
    }
}

fn status(word: &str) -> Result<Status, Failure> {
    let known = Status::ALL.into_iter().find(|status| status.as_str() == word);
    known.ok_or_else(|| {
        let all: Vec<&str> = Status::ALL.into_iter().map(Status::as_str).collect();
        Failure::unprocessable(format!("status must be one or more of {}", all.join(", ")))
    })
}

/// The tasks of a thread, the newest first.
///
/// Where more follow, `Link` has the address of the next page and `Pudu-Next-Cursor` its cursor. With a status a page may have
/// fewer tasks than asked for, or none, although more follow.
#[utoipa::path(
    get,
    path = "/api/threads/{thread}/mcp-tasks",
    operation_id = "list_tasks",
    tag = "tasks",
    params(Thread, Which),
    responses(
        (
            status = OK, description = "The newest tasks", body = [TaskRow],
            headers(
                ("Link" = Option<String>, description = "The next page, as rel=\"next\", if there is one"),
                ("Pudu-Next-Cursor" = Option<String>, description = "Its cursor"),
            ),
        ),
        Missing, Unfit, Failure,
    )
)]
pub(super) async fn list(
    State(gateway): State<Gateway>,
    Who(who): Who,
    Thread(thread): Thread,
    uri: Uri,
    which: Which,
) -> Result<Paged<Vec<TaskRow>>, Failure> {
    let list = List::new("tasks", &[who.user.as_str(), thread.as_str()]);
    let before = which.cursor.as_deref().map(|cursor| list.place(cursor)).transpose()?;
    let before = before.map(|id| TaskId::parse(id).map_err(|_| wrong_cursor())).transpose()?;
    let part = Part { limit: which.limit, before, statuses: which.status };
    let page = gateway.tasks.page(&ThreadKey { user: who.user, thread }, &part).await?;
    let next = page.next.map(|id| list.cursor(id.as_str()));
    Ok(Paged::new(page.rows.into_iter().map(TaskRow::from).collect(), &uri, next))
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
    gateway.streams.changed(&key.thread);
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
    #[serde(default, deserialize_with = "number::optional")]
    #[schema(maximum = 4_294_967_295_u32)]
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
    gateway.streams.changed(&key.thread);
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
