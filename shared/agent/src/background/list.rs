//! `list_background_tasks`: the newest tasks of the conversation, with the questions that they ask.

use async_trait::async_trait;
use pudu_app::framing::inert;
use pudu_app::ports::{StoreError, ToolDefinition};
use pudu_app::tasks::{Listed, Tasks};
use pudu_domain::Status;
use pudu_domain::chat::{Message, ToolCall, ToolStatus};
use serde_json::{Value, json};

use super::{LISTED, answered, news, shown, unread, visible};
use crate::options::Options;
use crate::tool::{Bench, Brought, Tool};

/// The tool.
#[derive(Clone)]
pub struct ListBackgroundTasks(pub Tasks);

#[async_trait]
impl Tool for ListBackgroundTasks {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "list_background_tasks".to_owned(),
            description: "Lists the tasks that run, or ran, in the background of this conversation, newest first, each with its \
                          status. A task that waits for an answer is shown with its question. Not needed to wait for a task: \
                          its news come by themselves."
                .to_owned(),
            schema: json!({
                "type": "object",
                "properties": {"active_only": {"type": "boolean", "description": "Only tasks that have not ended."}}
            }),
            server: None,
        }
    }

    fn is_offered(&self, _options: &Options) -> bool {
        true
    }

    async fn call(&self, bench: Bench<'_>, call: &ToolCall) -> Brought {
        let active_only = call.args.get("active_only").and_then(Value::as_bool).unwrap_or(false);
        let listed = match visible(&self.0, &bench).await {
            Ok(listed) => listed,
            Err(error) => return Brought::only(Message::tool(call, ToolStatus::Error, unread(&error))),
        };
        let writes = news(bench.state, &listed);
        let wanted = listed.iter().filter(|listed| !active_only || !listed.task.status().is_terminal());
        let mut tasks = Vec::new();
        for listed in wanted.take(LISTED) {
            match self.with_question(listed).await {
                Ok(task) => tasks.push(task),
                Err(error) => return Brought::only(Message::tool(call, ToolStatus::Error, unread(&error))),
            }
        }
        let said = json!({ "count": tasks.len(), "tasks": tasks });
        Brought { writes, ..Brought::only(answered(call, ToolStatus::Success, &said)) }
    }
}

impl ListBackgroundTasks {
    /// A task, and of one that waits for an answer what it asks and what an answer looks like.
    async fn with_question(&self, listed: &Listed) -> Result<Value, StoreError> {
        let mut task = shown(listed);
        if listed.task.status() != Status::InputRequired {
            return Ok(task);
        }
        let Some(detailed) = self.0.get(&listed.task.key).await? else { return Ok(task) };
        let schema = self.0.question(&detailed);
        let question = detailed.payload.input_required.unwrap_or_default();
        if let Some(task) = task.as_object_mut() {
            task.insert("question".to_owned(), inert(question));
            match schema {
                Ok(schema) => task.insert("answer_schema".to_owned(), inert(schema)),
                Err(why) => task.insert("cannot_be_answered".to_owned(), inert(json!(why.to_string()))),
            };
        }
        Ok(task)
    }
}
