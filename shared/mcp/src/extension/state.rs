//! The answer to `tasks/get`.

use pudu_domain::{Snapshot, Status};
use serde_json::Value;

use crate::redact::Redactor;
use crate::told::{Told, error_text};

/// Reads it; an error is what breaks the protocol. Every field is judged first, then the handle, then whether what belongs to the
/// status is there.
pub(super) fn read(said: &Value, handle: &str, redactor: &Redactor) -> Result<Snapshot, String> {
    let told = Told::of("tasks/get", said)?;
    // A task is told as a complete answer; "task" would be a new one (SEP-2663).
    if told.text("resultType")?.is_some_and(|kind| kind != "complete") {
        return Err(told.wrong("resultType", "must be 'complete'"));
    }
    let status = told.status()?;
    let poll_after = told.pause("pollIntervalMs", "ttlMs")?;
    told.text("statusMessage")?;
    told.same_task(handle)?;
    let bare = Snapshot { poll_after, ..Snapshot::bare(status) };
    Ok(match status {
        Status::Completed => {
            let result = told.object("result", "is missing: a completed task brings its result")?;
            Snapshot { result: Some(Value::Object(result.clone())), ..bare }
        }
        Status::Failed => {
            let error = told.object("error", "is missing: a failed task brings its error")?;
            let text = error_text(error, redactor).map_err(|rule| told.wrong("error", rule))?;
            Snapshot { error: Some(text), ..bare }
        }
        Status::InputRequired => {
            let asked = told.object("inputRequests", "is missing: this status requires its questions")?;
            if asked.is_empty() {
                // Everything is answered, and the server has not gone on yet.
                return Ok(Snapshot { status: Status::Working, ..bare });
            }
            Snapshot { input_required: Some(Value::Object(asked.clone())), ..bare }
        }
        Status::Submitted | Status::Working | Status::Cancelled => bare,
    })
}
