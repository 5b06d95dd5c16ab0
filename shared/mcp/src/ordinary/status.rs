//! The answer to a status call.

use std::time::Duration;

use pudu_app::ports::DriverError;
use pudu_domain::snapshot::poll_hint;
use pudu_domain::{RemoteTaskId, Snapshot, Status};
use serde_json::Value;

use super::answer::{Fields, content};
use crate::redact::Redactor;

const NOT_FOUND: &str = "the remote task was not found";

/// Maps a `tools/call` result (reference 6.10). Every field is judged first, then the handle, then `task_not_found`,
/// then whether a question comes with its text.
pub(super) fn read(
    tool: &str,
    result: &Value,
    handle: &str,
    redactor: &Redactor,
) -> Result<Snapshot, DriverError> {
    let fields = content(tool, result, redactor)?;
    snapshot(&Fields::new(tool, fields), handle, redactor).map_err(DriverError::Violation)
}

fn snapshot(fields: &Fields<'_>, handle: &str, redactor: &Redactor) -> Result<Snapshot, String> {
    let answered = fields.text("task_id")?.unwrap_or_default();
    RemoteTaskId::parse(answered)
        .map_err(|_| fields.wrong("task_id", "must be a string of 1 to 255 characters"))?;
    let status = status(fields)?;
    let artifact = fields.artifact()?;
    let error = fields.text("error")?.map(|text| redactor.masked(text));
    let code = fields.text("error_code")?;
    let input_required = fields.object("input_required")?.cloned();
    let poll_after = hint(fields)?;
    fields.same_task(handle)?;
    if code == Some("task_not_found") {
        let error = error.filter(|text| !text.is_empty()).unwrap_or_else(|| NOT_FOUND.to_owned());
        return Ok(Snapshot { error: Some(error), ..Snapshot::bare(Status::Failed) });
    }
    if status == Status::InputRequired && input_required.is_none() {
        return Err(
            fields.wrong("input_required", "is missing: this status requires an input_required payload")
        );
    }
    Ok(Snapshot {
        status,
        result: fields.given("result").cloned(),
        artifact,
        error,
        input_required,
        poll_after,
    })
}

fn status(fields: &Fields<'_>) -> Result<Status, String> {
    match fields.text("status")? {
        Some("running") => Ok(Status::Working),
        Some("input_required") => Ok(Status::InputRequired),
        Some("completed") => Ok(Status::Completed),
        Some("failed") => Ok(Status::Failed),
        Some("cancelled") => Ok(Status::Cancelled),
        _ => Err(fields.wrong("status", "must be running, input_required, completed, failed or cancelled")),
    }
}

/// A number and nothing that only looks like one (vector 69).
fn hint(fields: &Fields<'_>) -> Result<Option<Duration>, String> {
    let Some(value) = fields.given("poll_after_seconds") else { return Ok(None) };
    let seconds = match value {
        Value::Number(number) => number.as_f64(),
        _ => None,
    };
    let hint = seconds.and_then(|seconds| poll_hint(seconds).ok());
    hint.map(Some).ok_or_else(|| fields.wrong("poll_after_seconds", "must be a finite positive number"))
}

#[cfg(test)]
mod tests;
