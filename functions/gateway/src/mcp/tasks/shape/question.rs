//! A task's question as requests of a server, and answers to them as the input that its driver takes.

use pudu_app::drivers::MCP_TASKS;
use pudu_app::tasks::{Detailed, Tasks};
use pudu_domain::Status;
use pudu_domain::task::Answer;
use serde_json::{Map, Value, json};

use crate::mcp::error::RpcError;

/// The key of a question that is not a map of requests.
const ONE: &str = "input";
/// The field of a form for an answer that is no form.
const ANSWER: &str = "answer";

/// What a task asks, as far as it is still open.
#[derive(Debug, PartialEq)]
pub(in crate::mcp::tasks) enum Question {
    /// The requests of its server, as they came, without those that have an answer on its way.
    Requests(Map<String, Value>),
    /// A toolset's question: the form for it, and where the answer is in it.
    Form {
        /// What it says.
        message: String,
        /// The form.
        schema: Value,
        /// Where.
        answer: Place,
    },
}

/// Where in a form the answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mcp::tasks) enum Place {
    /// The form is the answer.
    Whole,
    /// It is the one field.
    Field,
    /// It is in the one field, as text.
    Text,
}

impl Question {
    /// The open question of a task, if it can be answered here.
    /// `given` is the answer that is on its way.
    pub(in crate::mcp::tasks) fn of(row: &Detailed, tasks: &Tasks, given: Option<&Value>) -> Option<Self> {
        let task = &row.listed.task;
        if task.status() != Status::InputRequired || task.cancel.is_some() {
            return None;
        }
        let asked = row.payload.input_required.as_ref()?;
        let counts = task.answer.as_ref().is_some_and(Answer::counts);
        if row.spec.driver == MCP_TASKS {
            let answered = given.and_then(Value::as_object);
            let mut open = asked.as_object()?.clone();
            match answered {
                Some(answered) => open.retain(|key, _| !answered.contains_key(key)),
                None if counts => open.clear(),
                None => {}
            }
            return (!open.is_empty()).then_some(Self::Requests(open));
        }
        if counts {
            return None;
        }
        let schema = tasks.question(row).ok()?;
        let text = ["message", "question", "prompt"].iter().find_map(|key| asked.get(key)?.as_str());
        let message = text.or(asked.as_str()).map_or_else(|| asked.to_string(), str::to_owned);
        let (field, answer) = match &schema {
            form if is_form(form) => return Some(Self::Form { message, schema, answer: Place::Whole }),
            field if is_primitive(field) => (field.clone(), Place::Field),
            _ => {
                let description = "The answer: JSON, or a text as it is";
                (json!({"type": "string", "title": "Answer", "description": description}), Place::Text)
            }
        };
        let schema = json!({"type": "object", "properties": {ANSWER: field}, "required": [ANSWER]});
        Some(Self::Form { message, schema, answer })
    }

    /// The question as requests.
    pub(in crate::mcp::tasks) fn requests(self) -> Value {
        match self {
            Self::Requests(open) => Value::Object(open),
            Self::Form { message, schema, .. } => {
                let params = json!({"mode": "form", "message": message, "requestedSchema": schema});
                json!({ONE: {"method": "elicitation/create", "params": params}})
            }
        }
    }

    /// What these responses are to it; nothing when none of them answers it.
    pub(in crate::mcp::tasks) fn input(&self, given: &Map<String, Value>) -> Result<Option<Value>, RpcError> {
        match self {
            Self::Requests(open) => {
                let known = given.iter().filter(|(key, _)| open.contains_key(*key));
                let known: Map<String, Value> =
                    known.map(|(key, value)| (key.clone(), value.clone())).collect();
                Ok((!known.is_empty()).then_some(Value::Object(known)))
            }
            Self::Form { answer, .. } => {
                let Some(response) = given.get(ONE) else { return Ok(None) };
                if response.get("action").and_then(Value::as_str) != Some("accept") {
                    let rule = "this question must be answered (\"action\": \"accept\"); cancel the task to refuse it";
                    return Err(RpcError::invalid_params(rule));
                }
                let content = response.get("content").cloned().unwrap_or_else(|| json!({}));
                if *answer == Place::Whole {
                    return Ok(Some(content));
                }
                let field = content.get(ANSWER).cloned();
                let field = field
                    .ok_or_else(|| RpcError::invalid_params(format!("\"content\" must have \"{ANSWER}\"")))?;
                Ok(Some(match field {
                    Value::String(text) if *answer == Place::Text => {
                        serde_json::from_str(&text).unwrap_or(Value::String(text))
                    }
                    other => other,
                }))
            }
        }
    }
}

/// Whether a schema is what a client can show as a form: an object of primitive fields.
fn is_form(schema: &Value) -> bool {
    let fields = schema.get("properties").and_then(Value::as_object);
    schema.get("type").and_then(Value::as_str) == Some("object")
        && fields.is_some_and(|fields| !fields.is_empty() && fields.values().all(is_primitive))
}

/// Whether a schema is of what a client can show as one field.
fn is_primitive(schema: &Value) -> bool {
    matches!(schema.get("type").and_then(Value::as_str), Some("string" | "number" | "integer" | "boolean"))
}
