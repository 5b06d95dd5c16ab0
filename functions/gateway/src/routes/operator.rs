//! What waits for an operator: `GET /api/mcp/dead-letters`, `POST /api/mcp/dead-letters/replay`, `GET /api/mcp/corrupt-rows`.

use axum::Json;
use axum::extract::State;
use pudu_app::ports::NoteKey;
use pudu_domain::{TaskId, TaskKey, ThreadId, ThreadKey, UserId};
use serde::Deserialize;
use utoipa::ToSchema;

use super::tasks::Page;
use crate::answer::{CorruptRow, DeadLetter};
use crate::error::{Conflict, Failure, Forbidden, Missing, Unfit};
use crate::guard::Admin;
use crate::input::{Body, Params, Shape, number};
use crate::state::Gateway;

/// Which dead letter; a letter names itself so in its list.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"thread": "hello", "task_id": "mcp-task-0193a1b2c3d400112233445566778899", "version": 1}))]
pub(super) struct Which {
    /// Whose thread; the caller's own when absent.
    #[schema(value_type = Option<String>, pattern = "^[^:]+:.+$", example = "local:default")]
    user: Option<UserId>,
    #[schema(value_type = String, pattern = "^[A-Za-z0-9_-]{1,64}$")]
    thread: ThreadId,
    #[schema(value_type = String, pattern = "^mcp-task-[0-9a-f]{32}$")]
    task_id: TaskId,
    #[serde(deserialize_with = "number::whole")]
    #[schema(maximum = 4_294_967_295_u32)]
    version: u32,
}

impl Shape for Which {
    const EXPECTED: &'static str =
        r#"{"thread": text, "task_id": text, "version": number, "user": text (optional)}"#;
}

/// The dead letters that have waited longest, the oldest first.
#[utoipa::path(
    get,
    path = "/api/mcp/dead-letters",
    operation_id = "list_dead_letters",
    tag = "operator",
    params(Page),
    security(("bearer" = ["admin"])),
    responses((status = OK, description = "The oldest letters", body = [DeadLetter]), Forbidden, Unfit, Failure)
)]
pub(super) async fn dead_letters(
    State(gateway): State<Gateway>,
    _: Admin,
    Params(page): Params<Page>,
) -> Result<Json<Vec<DeadLetter>>, Failure> {
    let letters = gateway.dead_letters.list(page.limit()?).await?;
    Ok(Json(letters.into_iter().map(DeadLetter::from).collect()))
}

/// Makes a dead letter pending again, with all its attempts.
#[utoipa::path(
    post,
    path = "/api/mcp/dead-letters/replay",
    operation_id = "replay_dead_letter",
    tag = "operator",
    request_body = Which,
    security(("bearer" = ["admin"])),
    responses(
        (status = OK, description = "The letter as it is now", body = DeadLetter),
        Forbidden, Missing, Conflict, Unfit, Failure
    )
)]
pub(super) async fn replay(
    State(gateway): State<Gateway>,
    Admin(who): Admin,
    Body(which): Body<Which>,
) -> Result<Json<DeadLetter>, Failure> {
    let Which { user, thread, task_id, version } = which;
    let thread = ThreadKey { user: user.unwrap_or_else(|| who.user.clone()), thread };
    let key = NoteKey { task: TaskKey { thread, id: task_id }, version };
    let TaskKey { thread: ThreadKey { user, thread }, id } = &key.task;
    let target = format!("version {} of {id} in thread {thread} of {user}", key.version);
    let change = gateway.dead_letters.replay(&key);
    let note = gateway.audit.change(&who, "dead-letters.replay", &target, change).await?;
    Ok(Json(note.into()))
}

/// The addresses of rows that do not decode, those that have waited longest first.
///
/// The rows stay as they are: they are evidence.
#[utoipa::path(
    get,
    path = "/api/mcp/corrupt-rows",
    operation_id = "list_corrupt_rows",
    tag = "operator",
    params(Page),
    security(("bearer" = ["admin"])),
    responses((status = OK, description = "Their addresses", body = [CorruptRow]), Forbidden, Unfit, Failure)
)]
pub(super) async fn corrupt_rows(
    State(gateway): State<Gateway>,
    _: Admin,
    Params(page): Params<Page>,
) -> Result<Json<Vec<CorruptRow>>, Failure> {
    let rows = gateway.dead_letters.corrupt(page.limit()?).await?;
    Ok(Json(rows.into_iter().map(CorruptRow::from).collect()))
}
