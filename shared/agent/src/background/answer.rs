//! `answer_background_task`: gives a task the answer that it waits for.

use async_trait::async_trait;
use pudu_app::framing::inert;
use pudu_app::ports::ToolDefinition;
use pudu_app::tasks::{InputError, Tasks};
use pudu_domain::Status;
use pudu_domain::chat::{ToolCall, ToolStatus};
use serde_json::{Value, json};

use super::{answered, failed, meant, news, shown, unread};
use crate::options::Options;
use crate::tool::{Bench, Brought, Tool};

/// The tool.
#[derive(Clone)]
pub struct AnswerBackgroundTask(pub Tasks);

#[async_trait]
impl Tool for AnswerBackgroundTask {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "answer_background_task".to_owned(),
            description: "Answers the question that a task in the background of this conversation waits with; the task then goes on. \
                          `list_background_tasks` shows the question and what an answer must look like. Only with what the user \
                          said, or what follows from it."
                .to_owned(),
            schema: json!({
                "type": "object",
                "properties": {
                    "task": {"type": "string", "description": "The task's id or name; not needed if only one is waiting."},
                    "input": {"description": "The answer, as the question's answer_schema wants it."}
                },
                "required": ["input"]
            }),
            server: None,
        }
    }

    fn is_offered(&self, _options: &Options) -> bool {
        true
    }

    async fn call(&self, bench: Bench<'_>, call: &ToolCall) -> Brought {
        let Some(input) = call.args.get("input") else {
            return failed(call, "answered", "'input' is missing; it is the answer.");
        };
        let named = call.args.get("task").and_then(Value::as_str);
        let waits = |listed: &pudu_app::tasks::Listed| listed.task.status() == Status::InputRequired;
        let key = match meant(&self.0, &bench, named, "waiting", waits).await {
            Ok(key) => key,
            Err(message) => return failed(call, "answered", &message),
        };
        let listed = match self.0.answer(&key, input, None).await {
            Ok(Some(detailed)) => detailed.listed,
            Ok(None) => return failed(call, "answered", "This conversation has no such task."),
            Err(InputError::Store(error)) => return failed(call, "answered", &unread(&error)),
            // What a schema says is its server's.
            Err(error) => {
                let text = inert(json!(error.to_string()));
                return failed(call, "answered", text.as_str().unwrap_or_default());
            }
        };
        let message =
            "The answer was recorded and is being sent; the task goes on, and its news will be told.";
        let said = json!({ "answered": true, "task": shown(&listed), "message": message });
        let writes = news(bench.state, std::slice::from_ref(&listed));
        Brought { writes, ..Brought::only(answered(call, ToolStatus::Success, &said)) }
    }
}
