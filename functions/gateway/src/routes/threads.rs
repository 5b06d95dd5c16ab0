//! `DELETE /api/threads/{thread}`.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use pudu_domain::ThreadKey;
use serde_json::{Value, json};

use crate::error::Failure;
use crate::guard::Who;
use crate::input::AnyThread;
use crate::state::Gateway;

/// Answers at once, and the same again while there is something left to delete: what it takes is done in the background.
pub(super) async fn delete(
    State(gateway): State<Gateway>,
    Who(who): Who,
    AnyThread(thread): AnyThread,
) -> Result<(StatusCode, Json<Value>), Failure> {
    let key = ThreadKey { user: who.user.clone(), thread };
    let deleted = gateway.threads.delete(&key).await?.ok_or_else(Failure::no_such_thread)?;
    let answer = json!({
        "thread_id": deleted.key.thread,
        "status": "deleting",
        "message": "The thread's tasks are being cancelled; what is stored of it goes when they have ended.",
    });
    Ok((StatusCode::ACCEPTED, Json(answer)))
}
