//! What the three answers have in common: the structured content of a result, and fields read strictly.

use pudu_app::ports::DriverError;
use pudu_domain::snapshot::Artifact;
use pudu_domain::text::first_chars;
use serde_json::{Map, Value};

use crate::redact::Redactor;

/// Most characters of a tool's own error text (reference 6.10).
const DETAIL_CHARS: usize = 500;

/// Why a result holds no answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unusable {
    /// The tool says that it failed: worth another try.
    Failed(String),
    /// Not what a task tool answers.
    Wrong(String),
}

impl From<Unusable> for DriverError {
    fn from(unusable: Unusable) -> Self {
        match unusable {
            Unusable::Failed(message) => Self::Retry(message),
            Unusable::Wrong(message) => Self::Violation(message),
        }
    }
}

/// The structured content of a `tools/call` result.
pub(super) fn content<'r>(
    tool: &str,
    result: &'r Value,
    redactor: &Redactor,
) -> Result<&'r Map<String, Value>, Unusable> {
    if result.get("isError") == Some(&Value::Bool(true)) {
        let said = detail(result).map(|text| redactor.masked(text));
        let said = said.as_deref().map_or("no details", |text| first_chars(text, DETAIL_CHARS));
        return Err(Unusable::Failed(format!("MCP tool '{tool}' returned an error: {said}")));
    }
    match result.get("structuredContent") {
        None | Some(Value::Null) => Err(Unusable::Wrong(format!(
            "MCP tool '{tool}' answered without structuredContent, which a task tool must give"
        ))),
        Some(Value::Object(fields)) => Ok(fields),
        Some(_) => Err(Unusable::Wrong(format!(
            "MCP tool '{tool}' answered with structuredContent that is not an object"
        ))),
    }
}

/// The first text block that is not blank, trimmed.
fn detail(result: &Value) -> Option<&str> {
    let blocks = result.get("content")?.as_array()?;
    let texts = blocks.iter().filter(|block| block.get("type").and_then(Value::as_str) == Some("text"));
    texts.filter_map(|block| block.get("text")?.as_str()).map(str::trim).find(|text| !text.is_empty())
}

/// The fields of an answer, with the tool's name for errors. Errors are messages that never repeat a value.
pub(super) struct Fields<'r> {
    tool: &'r str,
    fields: &'r Map<String, Value>,
}

impl<'r> Fields<'r> {
    pub(super) fn new(tool: &'r str, fields: &'r Map<String, Value>) -> Self {
        Self { tool, fields }
    }

    /// A message about one field: `rule` goes on from its name.
    pub(super) fn wrong(&self, field: &str, rule: &str) -> String {
        format!("MCP tool '{}' answered against the task protocol: {field} {rule}", self.tool)
    }

    /// A field; null counts as missing.
    pub(super) fn given(&self, field: &str) -> Option<&'r Value> {
        self.fields.get(field).filter(|value| !value.is_null())
    }

    pub(super) fn text(&self, field: &str) -> Result<Option<&'r str>, String> {
        match self.given(field) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.wrong(field, "must be a string")),
        }
    }

    pub(super) fn object(&self, field: &str) -> Result<Option<&'r Value>, String> {
        match self.given(field) {
            Some(value) if !value.is_object() => Err(self.wrong(field, "must be an object")),
            given => Ok(given),
        }
    }

    /// The artifact: extra keys are dropped (reference 6.10).
    pub(super) fn artifact(&self) -> Result<Option<Artifact>, String> {
        const FIELD: &str = "result_artifact";
        let Some(value) = self.object(FIELD)? else { return Ok(None) };
        let part = |key: &str| value.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        match (part("uri"), part("mime_type")) {
            (Some(uri), Some(mime_type)) => {
                Ok(Some(Artifact { uri: uri.to_owned(), mime_type: mime_type.to_owned() }))
            }
            _ => Err(self.wrong(FIELD, "must have a non-empty uri and mime_type")),
        }
    }

    /// The handle must be the one that was asked about, exactly.
    pub(super) fn same_task(&self, handle: &str) -> Result<(), String> {
        match self.text("task_id")? {
            None => Err(self.wrong("task_id", "is missing")),
            Some(given) if given == handle => Ok(()),
            Some(_) => Err(format!(
                "MCP tool '{}' answered for another task: its task_id does not match the task's",
                self.tool
            )),
        }
    }
}
