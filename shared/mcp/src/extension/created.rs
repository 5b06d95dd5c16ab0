//! A call that was answered with a task.

use pudu_app::ports::{Submission, SubmitError};
use pudu_domain::{RemoteTaskId, Snapshot, Status};
use serde_json::Value;

use crate::told::Told;

/// Whether the answer to a call is a task and not its result.
pub(super) fn is_task(result: &Value) -> bool {
    result.get("resultType").and_then(Value::as_str) == Some("task")
}

/// Reads it: a handle, one of the five statuses, and when to ask first. What the status is at birth is not kept: only an answer
/// to `tasks/get` brings what belongs to it.
pub(super) fn read(result: &Value) -> Result<Submission, SubmitError> {
    let told = Told::of("tools/call", result).map_err(SubmitError::Unknown)?;
    let handle = told.handle().map_err(SubmitError::Unknown)?;
    let violation = |message: String| SubmitError::Violation { handle: Some(handle.to_owned()), message };
    told.status().map_err(violation)?;
    let poll_after = told.pause("pollIntervalMs", "ttlMs").map_err(violation)?;
    let remote = RemoteTaskId::parse(handle).map_err(|invalid| {
        violation(format!("the server started a task that cannot be tracked: {invalid}"))
    })?;
    Ok(Submission { remote, snapshot: Snapshot { poll_after, ..Snapshot::bare(Status::Submitted) } })
}
