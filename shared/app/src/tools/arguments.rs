//! Arguments against the tool's own schema, before anything is sent.
//!
//! The schema is a stranger's. What it takes to check is estimated first, and a schema that would take too much is not
//! checked here: its server judges the arguments, as it does anyway. What remains takes milliseconds.

mod budget;

use serde_json::{Map, Value};

use crate::catalog::Tool;

/// Most findings that are listed.
const LISTED: usize = 5;

/// Arguments that the tool's schema does not allow. Names paths and rules, not values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the arguments do not fit tool '{tool}': {}", findings.join("; "))]
pub struct InvalidArguments {
    /// The tool.
    pub tool: String,
    /// A JSON path and what is wrong there, at most five.
    pub findings: Vec<String>,
}

/// Checks against `inputSchema`. A schema that is itself not valid, or too much to check, refuses nothing.
pub(super) fn check(tool: &Tool, arguments: &Map<String, Value>) -> Result<(), InvalidArguments> {
    let Some(schema) = tool.definition.get("inputSchema") else { return Ok(()) };
    if !budget::allows(schema, arguments) {
        tracing::debug!(tool.name = %tool.name, "the tool's input schema is too much to check; its server checks the arguments");
        return Ok(());
    }
    let Ok(validator) = jsonschema::validator_for(schema) else {
        tracing::debug!(tool.name = %tool.name, "the tool's input schema is not valid; its server checks the arguments");
        return Ok(());
    };
    let instance = Value::Object(arguments.clone());
    let errors = validator.iter_errors(&instance).take(LISTED);
    // The masked text names the rule without repeating the value, which may be a secret.
    let findings: Vec<String> =
        errors.map(|error| format!("arguments{}: {}", error.instance_path(), error.masked())).collect();
    if findings.is_empty() { Ok(()) } else { Err(InvalidArguments { tool: tool.name.clone(), findings }) }
}
