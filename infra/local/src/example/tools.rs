//! The tools: what they are called, what they take and give, and how their arguments are read.
//!
//! Answers have the form of reference 6.10. Wrong arguments are a tool error, so that a model sees what was wrong.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool, ToolAnnotations};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::report::{Order, Question, Report, State};

pub(super) const ECHO: &str = "echo";
pub(super) const SUBMIT: &str = "submit_report";
pub(super) const STATUS: &str = "get_report_status";
pub(super) const CANCEL: &str = "cancel_report";
pub(super) const ANSWER: &str = "answer_report";

/// Longest time an argument may name: 30 days, in seconds.
const MAX_SECONDS: f64 = 2_592_000.0;
/// Longest time that a status answer may be held back, in seconds: within the shortest call limit of the demo's lease.
const MAX_STATUS_DELAY: f64 = 2.0;
/// Longest title, question or failure text, in characters.
const MAX_TEXT: usize = 1_000;
/// Longest report id in a call, in characters (reference 6.10).
const MAX_ID: usize = 255;

/// Seconds of work when a submit names none.
const DEFAULT_DURATION: f64 = 3.0;
/// Seconds of waiting with a question when a submit names none.
const DEFAULT_ANSWER_AFTER: f64 = 5.0;

/// The tool list, made once.
#[derive(Debug)]
pub(super) struct Catalogue {
    tools: Vec<Tool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EchoArguments {
    pub(super) text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct IdArguments {
    pub(super) task_id: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerArguments {
    task_id: String,
    input: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SubmitArguments {
    title: String,
    duration_seconds: Option<f64>,
    #[serde(default)]
    fail: bool,
    fail_message: Option<String>,
    ask: Option<String>,
    answer_after_seconds: Option<f64>,
    poll_after_seconds: Option<f64>,
    status_delay_seconds: Option<f64>,
}

impl Catalogue {
    pub(super) fn new() -> Self {
        let reading = ToolAnnotations::new().read_only(true).idempotent(true).open_world(false);
        let ordering = ToolAnnotations::new().read_only(false).destructive(false).open_world(false);
        let ending =
            ToolAnnotations::new().read_only(false).destructive(true).idempotent(true).open_world(false);
        let answering = ordering.clone();
        let tools = vec![
            tool(ECHO, "Returns the text it is given.", echo_input(), echo_output(), reading.clone()),
            tool(
                SUBMIT,
                "Starts a report that takes time and returns its id at once.",
                submit_input(),
                submit_output(),
                ordering,
            ),
            tool(STATUS, "Says how far a report is.", id_input(), status_output(), reading),
            tool(CANCEL, "Ends a report that has not ended.", id_input(), cancel_output(), ending),
            tool(
                ANSWER,
                "Answers the question that a report waits with.",
                answer_input(),
                answer_given_output(),
                answering,
            ),
        ];
        Self { tools }
    }

    pub(super) fn all(&self) -> &[Tool] {
        &self.tools
    }

    pub(super) fn get(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.name == name)
    }
}

impl IdArguments {
    pub(super) fn check(self) -> Result<Self, String> {
        if (1..=MAX_ID).contains(&self.task_id.chars().count()) {
            Ok(self)
        } else {
            Err(format!("task_id must have 1 to {MAX_ID} characters"))
        }
    }
}

impl AnswerArguments {
    pub(super) fn check(self) -> Result<(String, String), String> {
        let IdArguments { task_id } = IdArguments { task_id: self.task_id }.check()?;
        Ok((task_id, text("input", self.input)?))
    }
}

impl SubmitArguments {
    pub(super) fn into_order(self) -> Result<Order, String> {
        let time =
            |name: &str, value: Option<f64>, default| seconds(name, value.unwrap_or(default), MAX_SECONDS);
        let duration = time("duration_seconds", self.duration_seconds, DEFAULT_DURATION)?;
        let answer_after = time("answer_after_seconds", self.answer_after_seconds, DEFAULT_ANSWER_AFTER)?;
        let status_delay =
            seconds("status_delay_seconds", self.status_delay_seconds.unwrap_or(0.0), MAX_STATUS_DELAY)?;
        if self.poll_after_seconds.is_some_and(|hint| hint <= 0.0 || hint > MAX_SECONDS) {
            return Err(format!("poll_after_seconds must be more than 0 and at most {MAX_SECONDS}"));
        }
        let failure = match (self.fail, self.fail_message) {
            (true, message) => Some(text("fail_message", message.unwrap_or("the report failed".to_owned()))?),
            (false, None) => None,
            (false, Some(_)) => return Err("fail_message needs fail to be true".to_owned()),
        };
        let question = match self.ask {
            Some(ask) => Some(Question { text: text("ask", ask)?, answer_after }),
            None => None,
        };
        let title = text("title", self.title)?;
        Ok(Order {
            title,
            duration,
            failure,
            question,
            poll_after_seconds: self.poll_after_seconds,
            status_delay,
        })
    }
}

/// Reads a call's arguments; the error says what is wrong with them.
pub(super) fn read<T: DeserializeOwned>(arguments: Option<JsonObject>) -> Result<T, String> {
    serde_json::from_value(Value::Object(arguments.unwrap_or_default())).map_err(|error| error.to_string())
}

pub(super) fn tool_error(message: impl Into<String>) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(message.into())])
}

pub(super) fn echoed(text: String) -> CallToolResult {
    let mut result = CallToolResult::structured(json!({ "text": text }));
    // What a reader wants of an echo is the text, not the JSON around it.
    result.content = vec![ContentBlock::text(text)];
    result
}

pub(super) fn submitted(report: &Report) -> CallToolResult {
    CallToolResult::structured(json!({ "task_id": report.id, "status": State::Running.as_str() }))
}

/// The status payload. Constant while the state is: a client that compares answers sees no change where none is.
pub(super) fn status(report: &Report, state: State) -> CallToolResult {
    let mut payload = end(report, state);
    let order = &report.order;
    if let (State::InputRequired, Some(question)) = (state, &order.question) {
        payload.insert(
            "input_required".to_owned(),
            json!({
                "question": question.text,
                "answer_after_seconds": question.answer_after.as_secs_f64(),
                "schema": answer_schema(),
            }),
        );
    }
    if let (false, Some(hint)) = (state.is_final(), order.poll_after_seconds) {
        payload.insert("poll_after_seconds".to_owned(), json!(hint));
    }
    CallToolResult::structured(Value::Object(payload))
}

/// The answer was taken.
pub(super) fn answered(id: &str) -> CallToolResult {
    CallToolResult::structured(json!({ "task_id": id }))
}

/// The cancel payload: how the report ended.
pub(super) fn cancelled(report: &Report, state: State) -> CallToolResult {
    CallToolResult::structured(Value::Object(end(report, state)))
}

/// For an id this server does not know. A final status on a cancel too: reference 6.10 knows no error code there.
pub(super) fn not_found(id: &str) -> CallToolResult {
    CallToolResult::structured(json!({
        "task_id": id,
        "status": State::Failed.as_str(),
        "error": "no report has this id",
        "error_code": "task_not_found",
    }))
}

fn end(report: &Report, state: State) -> JsonObject {
    let mut payload = JsonObject::new();
    payload.insert("task_id".to_owned(), json!(report.id));
    payload.insert("status".to_owned(), json!(state.as_str()));
    let order = &report.order;
    if state == State::Completed {
        let took = order.duration.as_secs_f64();
        let mut result =
            json!({ "title": order.title, "summary": format!("Report after {took} s of work.") });
        if let (Some(answer), Some(result)) = (&report.answer, result.as_object_mut()) {
            result.insert("answer".to_owned(), json!(answer.text));
        }
        payload.insert("result".to_owned(), result);
        payload.insert(
            "result_artifact".to_owned(),
            json!({ "uri": format!("report:///{}", report.id), "mime_type": "text/markdown" }),
        );
    }
    if let (State::Failed, Some(failure)) = (state, &order.failure) {
        payload.insert("error".to_owned(), json!(failure));
    }
    payload
}

fn seconds(name: &str, value: f64, most: f64) -> Result<Duration, String> {
    let refused = || format!("{name} must be between 0 and {most}");
    if value > most {
        return Err(refused());
    }
    Duration::try_from_secs_f64(value).map_err(|_| refused())
}

fn text(name: &str, value: String) -> Result<String, String> {
    if (1..=MAX_TEXT).contains(&value.chars().count()) {
        Ok(value)
    } else {
        Err(format!("{name} must have 1 to {MAX_TEXT} characters"))
    }
}

fn tool(
    name: &'static str,
    description: &'static str,
    input: Value,
    output: Value,
    annotations: ToolAnnotations,
) -> Tool {
    Tool::new(name, description, object(input))
        .with_raw_output_schema(object(output))
        .with_annotations(annotations)
}

fn object(schema: Value) -> Arc<JsonObject> {
    match schema {
        Value::Object(object) => Arc::new(object),
        _ => Arc::default(),
    }
}

fn echo_input() -> Value {
    json!({
        "type": "object",
        "properties": { "text": { "type": "string", "description": "What to return." } },
        "required": ["text"],
        "additionalProperties": false,
    })
}

fn echo_output() -> Value {
    json!({
        "type": "object",
        "properties": { "text": { "type": "string" } },
        "required": ["text"],
    })
}

fn submit_input() -> Value {
    let text = |description: &str| json!({ "type": "string", "minLength": 1, "maxLength": MAX_TEXT, "description": description });
    let seconds = |description: &str, default: f64| {
        json!({
            "type": "number", "minimum": 0, "maximum": MAX_SECONDS, "default": default, "description": description,
        })
    };
    json!({
        "type": "object",
        "properties": {
            "title": text("What the report is about."),
            "duration_seconds": seconds("How long the work takes.", DEFAULT_DURATION),
            "fail": { "type": "boolean", "default": false, "description": "Whether the report fails at its end." },
            "fail_message": text("The error text of a report that fails."),
            "ask": text("A question that the report asks at half of its work."),
            "answer_after_seconds":
                seconds("How long it waits with the question before it goes on by itself.", DEFAULT_ANSWER_AFTER),
            "poll_after_seconds": {
                "type": "number", "exclusiveMinimum": 0, "maximum": MAX_SECONDS,
                "description": "The hint when to ask again that each unfinished status carries.",
            },
            "status_delay_seconds": {
                "type": "number", "minimum": 0, "maximum": MAX_STATUS_DELAY, "default": 0,
                "description": "How long each answer about its status is held back.",
            },
        },
        "required": ["title"],
        "additionalProperties": false,
    })
}

fn submit_output() -> Value {
    json!({
        "type": "object",
        "properties": {
            "task_id": { "type": "string", "minLength": 1, "maxLength": MAX_ID },
            "status": { "const": "running" },
        },
        "required": ["task_id", "status"],
    })
}

fn id_input() -> Value {
    json!({
        "type": "object",
        "properties": {
            "task_id": {
                "type": "string", "minLength": 1, "maxLength": MAX_ID, "description": "The id that the submit returned.",
            },
        },
        "required": ["task_id"],
        "additionalProperties": false,
    })
}

/// What an answer looks like.
fn answer_schema() -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": MAX_TEXT })
}

fn answer_input() -> Value {
    let mut schema = id_input();
    if let Some(schema) = schema.as_object_mut() {
        if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            properties.insert("input".to_owned(), answer_schema());
        }
        schema.insert("required".to_owned(), json!(["task_id", "input"]));
    }
    schema
}

fn answer_given_output() -> Value {
    json!({
        "type": "object",
        "properties": { "task_id": { "type": "string", "minLength": 1, "maxLength": MAX_ID } },
        "required": ["task_id"],
    })
}

fn status_output() -> Value {
    let statuses = json!(["running", "input_required", "completed", "failed", "cancelled"]);
    answer_output(
        &statuses,
        &json!({
            "input_required": {
                "type": "object",
                "properties": {
                    "question": { "type": "string" },
                    "answer_after_seconds": { "type": "number" },
                    "schema": { "type": "object" },
                },
                "required": ["question"],
            },
            "poll_after_seconds": { "type": "number", "exclusiveMinimum": 0 },
        }),
    )
}

fn cancel_output() -> Value {
    answer_output(&json!(["completed", "failed", "cancelled"]), &json!({}))
}

fn answer_output(statuses: &Value, more: &Value) -> Value {
    let mut schema = json!({
        "type": "object",
        "properties": {
            "task_id": { "type": "string", "minLength": 1, "maxLength": MAX_ID },
            "status": { "enum": statuses },
            "result": {
                "type": "object",
                "properties": {
                    "title": { "type": "string" },
                    "summary": { "type": "string" },
                    "answer": { "type": "string" },
                },
                "required": ["title", "summary"],
            },
            "result_artifact": {
                "type": "object",
                "properties": {
                    "uri": { "type": "string", "minLength": 1 },
                    "mime_type": { "type": "string", "minLength": 1 },
                },
                "required": ["uri", "mime_type"],
            },
            "error": { "type": "string" },
            "error_code": { "enum": ["task_not_found"] },
        },
        "required": ["task_id", "status"],
    });
    if let (Some(properties), Some(more)) =
        (schema.get_mut("properties").and_then(Value::as_object_mut), more.as_object())
    {
        properties.extend(more.clone());
    }
    schema
}
