//! What waits for an operator: `GET /api/mcp/dead-letters`, `POST /api/mcp/dead-letters/replay`, `GET /api/mcp/corrupt-rows`.

use axum::Json;
use axum::extract::State;
use pudu_app::ports::NoteKey;
use pudu_domain::{TaskId, TaskKey, ThreadId, ThreadKey, UserId};
use serde::Deserialize;
use serde_json::Value;

use super::tasks::Page;
use crate::answer;
use crate::error::Failure;
use crate::guard::Admin;
use crate::input::{Body, Params, Shape};
use crate::state::Gateway;

/// Which dead letter; a letter names itself so in its list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Which {
    /// Whose thread; the caller's own when absent.
    user: Option<UserId>,
    thread: ThreadId,
    task_id: TaskId,
    version: u32,
}

impl Shape for Which {
    const EXPECTED: &'static str =
        r#"{"thread": text, "task_id": text, "version": number, "user": text (optional)}"#;
}

/// The dead letters that have waited longest, the oldest first.
pub(super) async fn dead_letters(
    State(gateway): State<Gateway>,
    _: Admin,
    Params(page): Params<Page>,
) -> Result<Json<Vec<Value>>, Failure> {
    let letters = gateway.dead_letters.list(page.limit()?).await?;
    Ok(Json(letters.iter().map(answer::dead_letter).collect()))
}

/// Makes a dead letter pending again, with all its attempts.
pub(super) async fn replay(
    State(gateway): State<Gateway>,
    Admin(who): Admin,
    Body(which): Body<Which>,
) -> Result<Json<Value>, Failure> {
    let Which { user, thread, task_id, version } = which;
    let thread = ThreadKey { user: user.unwrap_or_else(|| who.user.clone()), thread };
    let key = NoteKey { task: TaskKey { thread, id: task_id }, version };
    let note = gateway.dead_letters.replay(&key).await?;
    Ok(Json(answer::dead_letter(&note)))
}

/// The addresses of rows that do not decode, those that have waited longest first. The rows stay as they are: they are
/// evidence.
pub(super) async fn corrupt_rows(
    State(gateway): State<Gateway>,
    _: Admin,
    Params(page): Params<Page>,
) -> Result<Json<Vec<Value>>, Failure> {
    let rows = gateway.dead_letters.corrupt(page.limit()?).await?;
    Ok(Json(rows.iter().map(answer::corrupt_row).collect()))
}
