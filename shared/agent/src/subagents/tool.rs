//! How a model is offered delegation. Its calls are no calls of a tool: whoever runs the step begins children for them.

use pudu_app::ports::ToolDefinition;
use serde_json::json;

use super::{TASK, Types, prompts};

/// The tool `task`, with the types that can be used.
pub fn definition(types: &Types) -> ToolDefinition {
    let names: Vec<&str> = types.usable().map(|kind| kind.name.as_str()).collect();
    ToolDefinition {
        name: TASK.to_owned(),
        description: format!(
            "Gives a piece of work to a subagent and brings its report. The types:\n{}",
            prompts::listed(types)
        ),
        schema: json!({
            "type": "object",
            "properties": {
                "description": {"type": "string", "description": "What it is about, in three to five words."},
                "prompt": {"type": "string", "description": "What is to be done, with everything that has to be known for it."},
                "subagent_type": {"type": "string", "enum": names, "description": "Which type of subagent."},
                "max_turns": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "Most turns, if that is to be fewer than the type allows."
                },
                "timeout_seconds": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "How long it may take, if that is to be less than the type allows."
                }
            },
            "required": ["description", "prompt", "subagent_type"]
        }),
        server: None,
    }
}
