//! What a task of this driver remembers: the raw names of its three tools.

use pudu_config::Toolset;
use serde_json::{Value, json};

/// The raw tool names of a toolset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriverData {
    /// Starts the task.
    pub submit_tool: String,
    /// Asks for its status.
    pub status_tool: String,
    /// Cancels it.
    pub cancel_tool: String,
}

impl DriverData {
    /// What a task of this toolset remembers.
    pub fn of(toolset: &Toolset) -> Self {
        Self {
            submit_tool: toolset.submit_tool.clone(),
            status_tool: toolset.status_tool.clone(),
            cancel_tool: toolset.cancel_tool.clone(),
        }
    }

    /// Its stored form.
    pub fn to_value(&self) -> Value {
        json!({
            "submit_tool": self.submit_tool,
            "status_tool": self.status_tool,
            "cancel_tool": self.cancel_tool,
        })
    }

    /// Reads the stored form. The error says which name is missing or empty.
    pub(super) fn read(data: &Value) -> Result<Self, String> {
        let name = |key: &str| match data.get(key).and_then(Value::as_str) {
            Some(name) if !name.is_empty() => Ok(name.to_owned()),
            _ => {
                Err(format!("driver data has no '{key}'; check the server's task_toolsets and submit again"))
            }
        };
        Ok(Self {
            submit_tool: name("submit_tool")?,
            status_tool: name("status_tool")?,
            cancel_tool: name("cancel_tool")?,
        })
    }
}
