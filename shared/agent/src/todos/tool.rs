//! The tool `write_todos`: the whole list, at once.

use async_trait::async_trait;
use pudu_app::ports::ToolDefinition;
use pudu_domain::chat::{Message, ToolCall, ToolStatus};
use pudu_domain::run::Notice;
use pudu_domain::state::{State, Todo, TodoStatus, Write};
use serde_json::{Value, json};

use super::{WRITE_TODOS, ids, items};
use crate::options::Options;
use crate::tool::{Bench, Brought, Tool};

/// The tool; there is one only in plan mode.
#[derive(Debug, Clone, Copy, Default)]
pub struct WriteTodos;

#[async_trait]
impl Tool for WriteTodos {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: WRITE_TODOS.to_owned(),
            description: "Writes the plan of this work: the whole list, in place of the one before. Use it for work of three \
                          steps or more, and whenever an item's status changes."
                .to_owned(),
            schema: json!({
                "type": "object",
                "properties": {
                    "todos": {
                        "type": "array",
                        "description": "Every item of the plan, done ones too.",
                        "items": {
                            "type": "object",
                            "properties": {
                                "content": {"type": "string", "description": "What is to be done."},
                                "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
                                "activeForm": {
                                    "type": "string",
                                    "description": "What is being done while the item is in_progress, for the user to read."
                                }
                            },
                            "required": ["content", "status"]
                        }
                    }
                },
                "required": ["todos"]
            }),
            server: None,
        }
    }

    fn is_offered(&self, options: &Options) -> bool {
        options.plan_mode
    }

    async fn call(&self, bench: Bench<'_>, call: &ToolCall) -> Brought {
        let error = |text: String| Brought::only(Message::tool(call, ToolStatus::Error, text));
        if !is_last(bench.state, call) {
            return error(format!(
                "Not written: this message calls {WRITE_TODOS} more than once, and only its last call counts, because each \
                 replaces the whole list. Call it once per message."
            ));
        }
        match items::read(&call.args) {
            Ok(todos) => {
                let text = format!("Updated todo list to {}", json!(todos));
                let before = bench.state.todos.as_deref().unwrap_or_default();
                let todos = ids::kept(before, todos, &call.id);
                Brought {
                    notices: vec![progress(&todos)],
                    writes: vec![Write::Todos(Some(todos))],
                    ..Brought::only(Message::tool(call, ToolStatus::Success, text))
                }
            }
            Err(problems) => error(format!(
                "The todo list was not changed. Send the whole list again without these mistakes:\n{}",
                problems.join("\n")
            )),
        }
    }
}

/// Whether no later call of the same message writes the list.
fn is_last(state: &State, call: &ToolCall) -> bool {
    let calls = state.last_answer().map(|answer| answer.tool_calls.as_slice()).unwrap_or_default();
    let mut writing = calls.iter().rev().filter(|call| call.name == WRITE_TODOS);
    writing.next().is_none_or(|last| last.id == call.id)
}

/// The frame by which a client shows how far the work is.
fn progress(todos: &[Todo]) -> Notice {
    let now = todos.iter().find(|todo| todo.status == TodoStatus::InProgress);
    let data = json!({
        "type": "todos_updated",
        "todos": todos,
        "completed": todos.iter().filter(|todo| todo.status == TodoStatus::Completed).count(),
        "total": todos.len(),
        "current": now.map_or(Value::Null, |now| json!(now.active_form.as_ref().unwrap_or(&now.content))),
    });
    Notice::Frame { event: "custom".to_owned(), data }
}
