//! The answer to a submit.

use pudu_app::ports::{Submission, SubmitError};
use pudu_domain::{RemoteTaskId, Snapshot, Status};
use serde_json::Value;

use super::answer::{Fields, Unusable, content};
use crate::redact::Redactor;

/// Maps a `tools/call` result (reference 6.10): a handle and the status `running`. No poll hint is taken here.
pub(super) fn read(tool: &str, result: &Value, redactor: &Redactor) -> Result<Submission, SubmitError> {
    let fields = content(tool, result, redactor).map_err(|unusable| match unusable {
        Unusable::Failed(message) => SubmitError::Refused(message),
        Unusable::Wrong(message) => SubmitError::Unknown(message),
    })?;
    let fields = Fields::new(tool, fields);
    let handle = match fields.text("task_id") {
        Ok(Some(handle)) if !handle.is_empty() => handle,
        Ok(_) => return Err(SubmitError::Unknown(fields.wrong("task_id", "must be a non-empty string"))),
        Err(message) => return Err(SubmitError::Unknown(message)),
    };
    let violation = |message: String| SubmitError::Violation { handle: Some(handle.to_owned()), message };
    match fields.text("status") {
        Ok(Some("running")) => {}
        Ok(_) => return Err(violation(fields.wrong("status", "must be 'running' for a submitted task"))),
        Err(message) => return Err(violation(message)),
    }
    match RemoteTaskId::parse(handle) {
        Ok(remote) => Ok(Submission { remote, snapshot: Snapshot::bare(Status::Submitted) }),
        Err(invalid) => {
            Err(violation(format!("MCP tool '{tool}' started a task that cannot be tracked: {invalid}")))
        }
    }
}

/// The handle in a result that breaks what its tool declares: it can be read where the rest cannot be trusted.
pub(super) fn handle(result: &Value) -> Option<String> {
    let handle = result.pointer("/structuredContent/task_id")?.as_str()?;
    (!handle.is_empty()).then(|| handle.to_owned())
}

#[cfg(test)]
mod tests;
