//! What a task of this driver remembers: the raw names of its tools.

use pudu_config::Toolset;
use serde_json::{Value, json};

const INPUT: &str = "input_tool";

/// The raw tool names of a toolset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DriverData {
    /// Starts the task.
    pub(super) submit: String,
    /// Asks for its status.
    pub(super) status: String,
    /// Cancels it.
    pub(super) cancel: String,
    /// Takes answers; tasks of before there were such tools, and of toolsets without one, have none.
    pub(super) input: Option<String>,
}

impl DriverData {
    /// What a task of this toolset remembers.
    pub(super) fn of(toolset: &Toolset) -> Self {
        Self {
            submit: toolset.submit_tool.clone(),
            status: toolset.status_tool.clone(),
            cancel: toolset.cancel_tool.clone(),
            input: toolset.input_tool.clone(),
        }
    }

    /// Its stored form.
    pub(super) fn to_value(&self) -> Value {
        let mut value = json!({
            "submit_tool": self.submit,
            "status_tool": self.status,
            "cancel_tool": self.cancel,
        });
        if let (Some(input), Some(fields)) = (&self.input, value.as_object_mut()) {
            fields.insert(INPUT.to_owned(), Value::from(input.as_str()));
        }
        value
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
            submit: name("submit_tool")?,
            status: name("status_tool")?,
            cancel: name("cancel_tool")?,
            input: name(INPUT).ok(),
        })
    }
}
