//! Arguments against the tool's own schema, before anything is sent.

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

/// Checks against `inputSchema`. A schema that is itself not valid refuses nothing: its server judges.
pub(super) fn check(tool: &Tool, arguments: &Map<String, Value>) -> Result<(), InvalidArguments> {
    let Some(schema) = tool.definition.get("inputSchema") else { return Ok(()) };
    let Ok(validator) = jsonschema::validator_for(schema) else {
        tracing::debug!(tool.name = %tool.name, "the tool's input schema is not valid; its server checks the arguments");
        return Ok(());
    };
    let instance = Value::Object(arguments.clone());
    let findings: Vec<String> = validator
        .iter_errors(&instance)
        .take(LISTED)
        .map(|error| {
            let at = error.instance_path().to_string();
            // The masked text names the rule without repeating the value, which may be a secret.
            format!("arguments{at}: {}", error.masked())
        })
        .collect();
    if findings.is_empty() { Ok(()) } else { Err(InvalidArguments { tool: tool.name.clone(), findings }) }
}
