//! `DELETE /api/threads/{thread}`.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use pudu_domain::{ThreadId, ThreadKey};
use serde::Serialize;
use utoipa::ToSchema;

use crate::error::{Failure, Missing, Unfit};
use crate::guard::Who;
use crate::input::AnyThread;
use crate::state::Gateway;

/// That a thread is being deleted.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Deleting {
    #[schema(value_type = String)]
    thread_id: ThreadId,
    /// `deleting`.
    status: &'static str,
    /// For people.
    message: &'static str,
}

/// Deletes a thread.
///
/// Answers at once, and the same again while there is something left to delete: what it takes is done in the background.
#[utoipa::path(
    delete,
    path = "/api/threads/{thread}",
    operation_id = "delete_thread",
    tag = "threads",
    params(AnyThread),
    responses((status = ACCEPTED, description = "It is being deleted", body = Deleting), Missing, Unfit, Failure)
)]
pub(super) async fn delete(
    State(gateway): State<Gateway>,
    Who(who): Who,
    AnyThread(thread): AnyThread,
) -> Result<(StatusCode, Json<Deleting>), Failure> {
    let key = ThreadKey { user: who.user.clone(), thread };
    let deleted = gateway.threads.delete(&key).await?.ok_or_else(Failure::no_such_thread)?;
    gateway.streams.changed(&key);
    let answer = Deleting {
        thread_id: deleted.key.thread,
        status: "deleting",
        message: "The thread's tasks are being cancelled; what is stored of it goes when they have ended.",
    };
    Ok((StatusCode::ACCEPTED, Json(answer)))
}
