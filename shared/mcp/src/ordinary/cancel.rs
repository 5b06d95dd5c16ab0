//! The answer to a cancel call.

use pudu_app::ports::DriverError;
use pudu_domain::{Snapshot, Status};
use serde_json::Value;

use super::answer::{Fields, content};
use crate::redact::Redactor;

/// Maps a `tools/call` result (reference 6.10): only an end counts. `error_code` has no meaning here.
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
    let status = match fields.text("status")? {
        Some("completed") => Status::Completed,
        Some("failed") => Status::Failed,
        Some("cancelled") => Status::Cancelled,
        _ => return Err(fields.wrong("status", "must be cancelled, completed or failed after a cancel")),
    };
    let artifact = fields.artifact()?;
    let error = fields.text("error")?.map(|text| redactor.masked(text));
    fields.same_task(handle)?;
    Ok(Snapshot { result: fields.given("result").cloned(), artifact, error, ..Snapshot::bare(status) })
}

#[cfg(test)]
mod tests;
