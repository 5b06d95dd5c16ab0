//! What is settled of a subagent when it begins.

use serde::{Deserialize, Serialize};

/// Which subagent a child is: what its type said when it began, so that no change of the config reaches into its work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subagent {
    /// Its type's name.
    pub name: String,
    /// The label of the call.
    pub description: String,
    /// Most turns.
    pub max_turns: u32,
    /// Most tokens.
    pub token_budget: u64,
    /// Its part of the system's message.
    pub instructions: String,
    /// The tools that it has; none is all of its parent's.
    pub tools: Option<Vec<String>>,
    /// Of those, the tools that it does not have.
    pub without: Vec<String>,
}

impl Subagent {
    /// Whether it has the tool of that visible name, if its parent has it.
    pub fn has(&self, tool: &str) -> bool {
        let named = self.tools.as_ref().is_none_or(|tools| tools.iter().any(|name| name == tool));
        named && !self.without.iter().any(|name| name == tool)
    }
}
