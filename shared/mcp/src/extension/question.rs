//! What may be answered to the questions of a task: one answer for each, by its key, all at once or some of them.
//!
//! Only forms can be answered through us. A request for a model's words, for folders or for a visit to a page needs somebody who
//! is there while it is asked.

use pudu_app::ports::Unanswerable;
use serde_json::{Map, Value, json};

const FORM: &str = "elicitation/create";

/// The JSON Schema of the answer to `asked` (the `inputRequests` of the task).
pub(super) fn schema(asked: &Value) -> Result<Value, Unanswerable> {
    let asked = asked.as_object().filter(|asked| !asked.is_empty());
    let asked =
        asked.ok_or_else(|| Unanswerable("the task's question names nothing that it asks".to_owned()))?;
    let mut properties = Map::new();
    for (key, request) in asked {
        properties.insert(key.clone(), one(key, request)?);
    }
    Ok(json!({
        "type": "object",
        "properties": properties,
        "minProperties": 1,
        "additionalProperties": false,
    }))
}

fn one(key: &str, request: &Value) -> Result<Value, Unanswerable> {
    let method = request.get("method").and_then(Value::as_str).unwrap_or_default();
    if method != FORM {
        return Err(Unanswerable(format!(
            "the question '{key}' is a request '{method}'; only forms ('{FORM}') can be answered here"
        )));
    }
    let params = request.get("params");
    let mode = params.and_then(|params| params.get("mode")).and_then(Value::as_str);
    if mode.is_some_and(|mode| mode != "form") {
        return Err(Unanswerable(format!(
            "the question '{key}' is to be answered at another place than here (mode '{}'); only forms can be answered here",
            mode.unwrap_or_default()
        )));
    }
    let form = params.and_then(|params| params.get("requestedSchema")).filter(|schema| schema.is_object());
    let form = form.ok_or_else(|| {
        Unanswerable(format!("the question '{key}' does not say what an answer looks like"))
    })?;
    let accept = json!({
        "type": "object",
        "properties": {"action": {"const": "accept"}, "content": form},
        "required": ["action", "content"],
        "additionalProperties": false,
    });
    let refuse = json!({
        "type": "object",
        "properties": {"action": {"enum": ["decline", "cancel"]}},
        "required": ["action"],
        "additionalProperties": false,
    });
    // By the action, so that what does not fit is told of the form and not of the choice.
    Ok(json!({
        "type": "object",
        "properties": {"action": {"enum": ["accept", "decline", "cancel"]}},
        "required": ["action"],
        "if": {"properties": {"action": {"const": "accept"}}},
        "then": accept,
        "else": refuse,
    }))
}
