//! A server's tools as they were listed, ready for use.

use std::collections::HashMap;
use std::sync::Arc;

use jsonschema::ValidationError;
use pudu_domain::Timestamp;
use serde_json::Value;

use crate::ports::{StoredListing, TaskProtocol, ToolCall};
use crate::schema::{Schema, Verdict};

/// A list. One per answer of a server: whoever holds the same one has seen the same answer.
#[derive(Debug)]
pub struct Listed {
    /// The tools, each name once, in the server's order.
    pub tools: Vec<Arc<ListedTool>>,
    /// As what calls of them may become tasks, if they may.
    pub tasks: Option<TaskProtocol>,
    /// When they were asked for.
    pub listed_at: Timestamp,
    /// Until when they are taken as they are.
    pub fresh_until: Timestamp,
    by_name: HashMap<String, usize>,
}

/// A tool as its server describes it.
#[derive(Debug)]
pub struct ListedTool {
    /// Its server's name for it.
    pub name: String,
    /// Its whole definition, unchanged.
    pub definition: Arc<Value>,
    input: Schema,
    output: Schema,
}

impl Listed {
    /// The list of `server`. Of two tools with one name the first counts: which one a call would reach is the server's secret.
    pub(super) fn of(server: &str, stored: StoredListing) -> Self {
        let StoredListing { tools, tasks, listed_at, fresh_until } = stored;
        let mut listed = Self { tools: Vec::new(), tasks, listed_at, fresh_until, by_name: HashMap::new() };
        let mut doubles = 0_usize;
        for tool in tools {
            if listed.by_name.contains_key(&tool.name) {
                doubles += 1;
                continue;
            }
            listed.by_name.insert(tool.name.clone(), listed.tools.len());
            listed.tools.push(Arc::new(ListedTool {
                name: tool.name,
                definition: Arc::new(tool.definition),
                input: Schema::default(),
                output: Schema::default(),
            }));
        }
        if doubles > 0 {
            // One line: how many there are is the server's choice.
            tracing::warn!(server, doubles, "a server lists tools twice; each time the first counts");
        }
        listed
    }

    /// The tool of that name.
    pub fn tool(&self, name: &str) -> Option<&Arc<ListedTool>> {
        self.by_name.get(name).and_then(|at| self.tools.get(*at))
    }

    /// Whether `other` says the same of the server, whenever it was asked.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let definitions = |list: &Self| -> Vec<Arc<Value>> {
            list.tools.iter().map(|tool| Arc::clone(&tool.definition)).collect()
        };
        self.tasks == other.tasks && definitions(self) == definitions(other)
    }
}

impl ListedTool {
    /// A text field of the definition; empty when it has none.
    pub fn text(&self, field: &str) -> &str {
        self.definition.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether it runs as a core task (`execution.taskSupport`): `required`, `optional` or `forbidden`, which is also what a
    /// tool means that says nothing.
    pub(crate) fn task_support(&self) -> Option<&str> {
        self.definition.pointer("/execution/taskSupport")?.as_str()
    }

    /// Arguments against the `inputSchema`.
    pub(crate) fn judge_arguments<T>(
        &self,
        arguments: &Value,
        findings: impl FnOnce(&mut dyn Iterator<Item = ValidationError<'_>>) -> T,
    ) -> Verdict<T> {
        match self.definition.get("inputSchema") {
            Some(schema) => self.input.judge(schema, arguments, findings),
            None => Verdict::Fits,
        }
    }

    /// What is wrong with the structured content of a result, by the `outputSchema`; none when nothing is, when none is
    /// declared, or when what is declared cannot be checked. Names the place and the rule, never the value.
    ///
    /// A result that is an error, or is not complete, owes no structured content.
    pub(crate) fn misfit(&self, result: &Value) -> Option<String> {
        let schema = self.definition.get("outputSchema").filter(|schema| !schema.is_null())?;
        let is_error = result.get("isError").and_then(Value::as_bool).unwrap_or(false);
        let kind = result.get("resultType").and_then(Value::as_str).unwrap_or(COMPLETE);
        if is_error || kind != COMPLETE {
            return None;
        }
        let content = result.get("structuredContent");
        let verdict = self.output.judge(schema, content.unwrap_or(&Value::Null), |errors| {
            let place = |error: ValidationError<'_>| {
                let path: String = error.instance_path().to_string().chars().take(PATH_CHARS).collect();
                format!("structuredContent{path} breaks the rule '{}'", error.kind().keyword())
            };
            errors.next().map(place).unwrap_or_default()
        });
        match verdict {
            Verdict::Invalid => None,
            _ if content.is_none() => Some("there is no structuredContent".to_owned()),
            Verdict::Fits | Verdict::Heavy => None,
            Verdict::Unfit(place) => Some(place),
        }
    }

    /// `call` with this definition, if it has none.
    pub(crate) fn declare(&self, call: ToolCall) -> ToolCall {
        let definition = call.definition.or_else(|| Some(Arc::clone(&self.definition)));
        ToolCall { definition, ..call }
    }
}

/// The `resultType` of an answer that is the end of its request; what older revisions do not say.
const COMPLETE: &str = "complete";
/// Most characters of a path in a message: its names are the server's.
const PATH_CHARS: usize = 200;
