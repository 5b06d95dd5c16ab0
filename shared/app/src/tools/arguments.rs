//! Arguments against the tool's own schema, before anything is sent.

use serde_json::{Map, Value};

use crate::catalog::Tool;
use crate::schema::Verdict;

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

/// Checks against `inputSchema`. A schema that is itself not valid, or too much to check, refuses nothing. Gives the
/// arguments back.
pub(super) fn check(
    tool: &Tool,
    arguments: Map<String, Value>,
) -> Result<Map<String, Value>, InvalidArguments> {
    let instance = Value::Object(arguments);
    let verdict = tool.listed.judge_arguments(&instance, |errors| {
        // The masked text names the rule without repeating the value, which may be a secret.
        let told = errors.map(|error| format!("arguments{}: {}", error.instance_path(), error.masked()));
        told.take(LISTED).collect::<Vec<_>>()
    });
    match verdict {
        Verdict::Unfit(findings) => return Err(InvalidArguments { tool: tool.name.clone(), findings }),
        Verdict::Fits => {}
        Verdict::Invalid | Verdict::Heavy => {
            tracing::debug!(tool.name = %tool.name, "the tool's input schema is not valid or too much to check; its server checks the arguments");
        }
    }
    match instance {
        Value::Object(arguments) => Ok(arguments),
        _ => Ok(Map::new()),
    }
}
