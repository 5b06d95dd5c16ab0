//! How a task looks: its state as the extension has it, its question as requests of a server, its result as that of its call.

mod question;

use std::time::Duration;

use pudu_app::drivers::ORDINARY_TOOLS;
use pudu_app::tasks::Detailed;
use pudu_domain::task::State;
use pudu_domain::text::Snippet;
use pudu_domain::{Payload, Status, Timestamp};
use serde_json::{Map, Value, json};

pub(super) use crate::answer::moment;
use crate::mcp::greet;

pub(super) use question::Question;

/// The error of a task that failed: what its server called it by is not kept.
const FAILED: i64 = -32603;

/// A task with everything it brought.
pub(super) fn shown(
    id: &str,
    row: &Detailed,
    question: Option<Question>,
    retention: Duration,
) -> Map<String, Value> {
    let (task, payload) = (&row.listed.task, &row.payload);
    let mut fields = greet::object(json!({
        "resultType": "complete",
        "taskId": id,
        "createdAt": moment(task.created_at),
        "lastUpdatedAt": moment(task.updated_at),
        "ttlMs": ttl(&task.state, task.created_at, retention),
        "pollIntervalMs": millis(task.pace()),
    }));
    let status = match task.status() {
        Status::Submitted | Status::Working => "working",
        // A question that has its answer, or that nobody could answer, waits for nobody.
        Status::InputRequired if question.is_none() => "working",
        status => status.as_str(),
    };
    fields.insert("status".to_owned(), status.into());
    let said = message(row, question.is_some());
    fields.extend(said.map(|said| ("statusMessage".to_owned(), said.into())));
    match task.status() {
        Status::Completed => {
            let mut result = result(payload, row.spec.driver == ORDINARY_TOOLS);
            if let Value::Object(result) = &mut result {
                // Clients read it as the answer that the call itself would have had.
                result.entry("resultType").or_insert_with(|| "complete".into());
            }
            fields.insert("result".to_owned(), result);
        }
        Status::Failed => {
            let message = payload.error.as_deref().unwrap_or("the task failed");
            fields.insert("error".to_owned(), json!({"code": FAILED, "message": message}));
        }
        _ => fields.extend(question.map(|question| ("inputRequests".to_owned(), question.requests()))),
    }
    fields
}

/// What a person would want to know beside the status.
fn message(row: &Detailed, asks: bool) -> Option<String> {
    let task = &row.listed.task;
    if row.listed.degraded {
        let why = task.tracking.last_error.as_ref().map(Snippet::as_str).unwrap_or_default();
        return Some(format!("its server does not answer at the moment: {why}"));
    }
    if task.cancel.is_some() && !task.status().is_terminal() {
        return Some("it is being cancelled".to_owned());
    }
    let stuck = task.status() == Status::InputRequired && !asks && task.answer.is_none();
    stuck.then(|| "it waits for input that cannot be given here".to_owned())
}

/// What its call would have been answered with. A toolset's status tool tells a value of its own, which becomes one.
fn result(payload: &Payload, is_value: bool) -> Value {
    let text = |text: String| json!({"type": "text", "text": text});
    if let (Some(result), false) = (&payload.result, is_value) {
        return result.clone();
    }
    let mut content = Vec::new();
    if let Some(preview) = &payload.result_preview {
        content.push(text(preview.clone()));
        content.push(text("The result is longer than what is kept here; this is its beginning.".to_owned()));
    }
    if let Some(result) = &payload.result {
        content.push(text(result.as_str().map_or_else(|| result.to_string(), str::to_owned)));
    }
    if let Some(artifact) = &payload.result_artifact {
        content.push(json!({"type": "resource_link", "uri": artifact.uri, "name": "result", "mimeType": artifact.mime_type}));
    }
    let mut fields = greet::object(json!({"content": content, "isError": false}));
    let structured = payload.result.as_ref().filter(|result| result.is_object()).cloned();
    fields.extend(structured.map(|structured| ("structuredContent".to_owned(), structured)));
    Value::Object(fields)
}

/// How long after its birth it may go; without limit as long as it runs.
fn ttl(state: &State, created_at: Timestamp, retention: Duration) -> Option<u64> {
    let State::Ended { at, .. } = state else { return None };
    u64::try_from((at.since(created_at) + retention).as_millis()).ok()
}

/// A pause as a hint, at least a quarter of a second: nothing changes faster.
pub(super) fn millis(pace: Option<Duration>) -> u64 {
    let pace = pace.unwrap_or(Duration::from_secs(1)).max(Duration::from_millis(250));
    u64::try_from(pace.as_millis()).unwrap_or(u64::MAX)
}
