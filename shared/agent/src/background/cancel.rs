//! `cancel_background_task`: asks for a task to be ended. Its server is asked in the background, so that it has ended is news later.

use async_trait::async_trait;
use pudu_app::ports::ToolDefinition;
use pudu_app::tasks::{CancelError, Tasks};
use pudu_domain::Status;
use pudu_domain::chat::{ToolCall, ToolStatus};
use serde_json::{Value, json};

use super::{answered, failed, meant, news, shown, unread};
use crate::options::Options;
use crate::tool::{Bench, Brought, Tool};

/// The tool.
#[derive(Clone)]
pub struct CancelBackgroundTask(pub Tasks);

#[async_trait]
impl Tool for CancelBackgroundTask {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "cancel_background_task".to_owned(),
            description: "Asks for a task in the background of this conversation to be cancelled. It ends a little later, and that \
                          is told by itself. Only when the user wants it."
                .to_owned(),
            schema: json!({
                "type": "object",
                "properties": {
                    "task": {"type": "string", "description": "The task's id or name; not needed if only one is running."}
                }
            }),
            server: None,
        }
    }

    fn is_offered(&self, _options: &Options) -> bool {
        true
    }

    async fn call(&self, bench: Bench<'_>, call: &ToolCall) -> Brought {
        let named = call.args.get("task").and_then(Value::as_str);
        let active = |listed: &pudu_app::tasks::Listed| !listed.task.status().is_terminal();
        let key = match meant(&self.0, &bench, named, "running", active).await {
            Ok(key) => key,
            Err(message) => return failed(call, "cancelled", &message),
        };
        let listed = match self.0.cancel(&key).await {
            Ok(Some(detailed)) => detailed.listed,
            Ok(None) => return failed(call, "cancelled", "This conversation has no such task."),
            Err(CancelError::Store(error)) => return failed(call, "cancelled", &unread(&error)),
            Err(error) => return failed(call, "cancelled", &error.to_string()),
        };
        let status = listed.task.status();
        let message = match status {
            Status::Cancelled => "The task is cancelled.",
            Status::Completed | Status::Failed => "The task had ended before; nothing was cancelled.",
            _ => "The cancel was recorded, and its server is asked; the task's end will be told.",
        };
        let said =
            json!({ "cancelled": status == Status::Cancelled, "task": shown(&listed), "message": message });
        let writes = news(bench.state, std::slice::from_ref(&listed));
        Brought { writes, ..Brought::only(answered(call, ToolStatus::Success, &said)) }
    }
}
