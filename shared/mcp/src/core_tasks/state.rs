//! The answers to `tasks/get` and `tasks/cancel`, and what a task's call brought.

use pudu_domain::text::first_chars;
use pudu_domain::{Snapshot, Status};
use serde_json::{Value, json};

use crate::redact::Redactor;
use crate::told::Told;

/// Most characters of a tool's own error text, as of an ordinary task's (reference 6.10).
const DETAIL_CHARS: usize = 500;

/// Reads a task; an error is what breaks the protocol. What it brought is not in there.
pub(super) fn read(method: &'static str, said: &Value, handle: &str) -> Result<Snapshot, String> {
    let told = Told::of(method, said)?;
    let status = told.status()?;
    let poll_after = told.pause("pollInterval", "ttl")?;
    let message = told.text("statusMessage")?;
    told.same_task(handle)?;
    // What it asks for is on a stream that nobody holds; what it says about it is all there is.
    let question = (status == Status::InputRequired).then(|| json!({ "message": message }));
    Ok(Snapshot { poll_after, input_required: question, ..Snapshot::bare(status) })
}

/// The end of a task, with the result of its call. The whole of it: also that of a tool that failed says how.
pub(super) fn ended(status: Status, result: Value, redactor: &Redactor) -> Snapshot {
    let error = (status == Status::Failed).then(|| detail(&result, redactor));
    Snapshot { result: Some(result), error, ..Snapshot::bare(status) }
}

/// The first text of a failed tool.
fn detail(result: &Value, redactor: &Redactor) -> String {
    let blocks = result.get("content").and_then(Value::as_array).into_iter().flatten();
    let mut texts = blocks.filter_map(|block| block.get("text")?.as_str()).map(str::trim);
    let text = texts.find(|text| !text.is_empty()).map(|text| redactor.masked(text));
    text.map_or_else(|| "the tool failed".to_owned(), |text| first_chars(&text, DETAIL_CHARS).to_owned())
}
