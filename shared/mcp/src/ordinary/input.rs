//! Answers to a task's question: what may be answered, and what the tool that takes answers says.

use pudu_app::ports::AnswerError;
use serde_json::Value;

use super::answer::{Fields, Unusable, content};
use super::data::DriverData;
use crate::redact::Redactor;

/// Where a question may say what its answer looks like.
const SCHEMAS: [&str; 2] = ["schema", "requestedSchema"];

/// The tool that takes the answers of this task, or a sentence why there is none.
pub(super) fn tool(data: &Value) -> Result<String, String> {
    DriverData::read(data)?.input.ok_or_else(|| {
        "this question cannot be answered here: when the task was submitted, its toolset named no input_tool".to_owned()
    })
}

/// The schema of an answer: the question's own, or any JSON.
pub(super) fn schema(asked: &Value) -> Value {
    let own = SCHEMAS.iter().filter_map(|key| asked.get(key)).find(|schema| schema.is_object());
    own.cloned().unwrap_or(Value::Bool(true))
}

/// Maps a `tools/call` result. Its content is optional; an error, and an answer about another task, mean that this task's
/// question is still open.
pub(super) fn read(tool: &str, result: &Value, handle: &str, redactor: &Redactor) -> Result<(), AnswerError> {
    let fields = match content(tool, result, redactor) {
        Ok(fields) => Fields::new(tool, fields),
        Err(Unusable::Failed(message)) => return Err(AnswerError::Refused(message)),
        Err(Unusable::Wrong(_)) => return Ok(()),
    };
    if fields.given("task_id").is_some() {
        fields.same_task(handle).map_err(AnswerError::Refused)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
