//! A call that was answered with a task.

use pudu_app::ports::{Submission, SubmitError};
use pudu_domain::{RemoteTaskId, Snapshot, Status};
use serde_json::Value;

use crate::told::Told;

/// The task in the answer to a call that asked for one; none when the server answered with the result.
pub(super) fn task(result: &Value) -> Option<&Value> {
    result.get("task").filter(|task| task.is_object())
}

/// Reads it: a handle, one of the five statuses, and when to ask first.
pub(super) fn read(task: &Value) -> Result<Submission, SubmitError> {
    let told = Told::of("tools/call", task).map_err(SubmitError::Unknown)?;
    let handle = told.handle().map_err(SubmitError::Unknown)?;
    let violation = |message: String| SubmitError::Violation { handle: Some(handle.to_owned()), message };
    told.status().map_err(violation)?;
    let poll_after = told.pause("pollInterval", "ttl").map_err(violation)?;
    let remote = RemoteTaskId::parse(handle).map_err(|invalid| {
        violation(format!("the server started a task that cannot be tracked: {invalid}"))
    })?;
    Ok(Submission { remote, snapshot: Snapshot { poll_after, ..Snapshot::bare(Status::Submitted) } })
}
