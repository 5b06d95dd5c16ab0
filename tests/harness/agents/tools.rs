//! A tool of the house that looks whether it is called for nothing.

use async_trait::async_trait;
use pudu_agent::options::Options;
use pudu_agent::tool::{Bench, Brought, Tool};
use pudu_app::ports::ToolDefinition;
use pudu_domain::chat::{Message, ToolCall, ToolStatus};
use serde_json::json;

use super::witness::Witness;

/// Its name.
pub(super) const COUNT: &str = "count";

/// The tool.
pub(super) struct Count(pub(super) Witness);

#[async_trait]
impl Tool for Count {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: COUNT.into(),
            description: "counts".into(),
            schema: json!({"type": "object"}),
            server: None,
        }
    }

    fn is_offered(&self, _: &Options) -> bool {
        true
    }

    async fn call(&self, bench: Bench<'_>, call: &ToolCall) -> Brought {
        self.0.tool_is_called(bench.run, &call.id).await;
        Brought::only(Message::tool(call, ToolStatus::Success, "counted"))
    }
}
