//! The tools that make one kind of durable task (reference 1.7): three, and one more if it takes answers.

use std::collections::HashMap;

use super::{MAX_SERVER_NAME, MAX_TASK_NAME};
use crate::path::Path;
use crate::problem::Findings;
use crate::reader::Reader;

/// The field that not every toolset has.
const INPUT: &str = "input_tool";

/// One element of `task_toolsets`; tool names are raw, without the server's prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolset {
    /// Shown as the task's name.
    pub name: String,
    /// Starts the task.
    pub submit_tool: String,
    /// Asks for its status.
    pub status_tool: String,
    /// Cancels it.
    pub cancel_tool: String,
    /// Takes the answer to its question, if it asks any that can be answered.
    pub input_tool: Option<String>,
}

impl Toolset {
    /// The names of its tools.
    pub fn tools(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.submit_tool.as_str()).chain(self.hidden_tools())
    }

    /// Those that nobody but the task's driver calls: status, cancel, and the one that takes answers.
    pub fn hidden_tools(&self) -> impl Iterator<Item = &str> {
        let input = self.input_tool.as_deref();
        [self.status_tool.as_str(), self.cancel_tool.as_str()].into_iter().chain(input)
    }

    /// The toolsets of a server, with the rules across them.
    pub(super) fn read_all(server: &str, reader: &mut Reader<'_>) -> Vec<Self> {
        let path = reader.at("task_toolsets");
        let items = reader.list("task_toolsets");
        if !items.is_empty() {
            check_server_name(server, &reader.path, reader.found);
        }
        let mut claims = HashMap::new();
        let mut toolsets = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let Some(mut inner) = Reader::new(item, path.index(index), reader.found) else { continue };
            toolsets.extend(Self::read(&mut inner, index, &mut claims));
        }
        toolsets
    }

    fn read(reader: &mut Reader<'_>, index: usize, claims: &mut HashMap<String, String>) -> Option<Self> {
        reader.forbid_unknown(&["name", "submit_tool", "status_tool", "cancel_tool", "input_tool"]);
        let name = required(reader, "name");
        if let Some(name) = &name {
            if name.trim().is_empty() {
                reader.rule("name", "task toolset name must not be empty");
            } else if name.chars().count() > MAX_TASK_NAME {
                reader.rule("name", format!("must have at most {MAX_TASK_NAME} characters"));
            }
        }
        let mut role = |key: &str| {
            let tool = if key == INPUT { optional(reader, key)? } else { required(reader, key)? };
            if tool.is_empty() {
                reader.rule(key, "must not be empty");
            }
            let claimant = format!("task_toolsets[{index}].{key}");
            if let Some(first) = claims.get(&tool) {
                reader.rule(
                    key,
                    format!("tool '{tool}' must be unique across task_toolsets; {first} and {claimant} both claim it"),
                );
            } else {
                claims.insert(tool.clone(), claimant);
            }
            Some(tool)
        };
        // All are read before any is missed, so that one pass reports everything.
        let (submit, status, cancel) = (role("submit_tool"), role("status_tool"), role("cancel_tool"));
        let input_tool = role(INPUT);
        Some(Self {
            name: name?,
            submit_tool: submit?,
            status_tool: status?,
            cancel_tool: cancel?,
            input_tool,
        })
    }
}

fn required(reader: &mut Reader<'_>, key: &str) -> Option<String> {
    if !reader.map.contains_key(key) {
        reader.shape(key, "is required");
    }
    reader.text(key)
}

/// Absent and null both mean none.
fn optional(reader: &mut Reader<'_>, key: &str) -> Option<String> {
    reader.map.get(key).filter(|value| !value.is_null())?;
    reader.text(key)
}

fn check_server_name(name: &str, path: &Path, found: &mut Findings) {
    if name.chars().count() > MAX_SERVER_NAME {
        found.rule(
            path,
            format!("the name of a server with task_toolsets must have at most {MAX_SERVER_NAME} characters"),
        );
    }
}
