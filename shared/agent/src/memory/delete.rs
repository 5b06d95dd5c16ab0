//! `memory_delete`: forgets a fact.

use async_trait::async_trait;
use pudu_app::memories::Memories;
use pudu_app::ports::ToolDefinition;
use pudu_domain::chat::ToolCall;
use serde_json::json;

use super::{NO_FACT, SPENT, answered, fact, failed, has_tools, is_spent, key, refused};
use crate::options::Options;
use crate::tool::{Bench, Brought, Tool};

/// The tool.
#[derive(Clone)]
pub struct MemoryDelete(pub Memories);

#[async_trait]
impl Tool for MemoryDelete {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "memory_delete".to_owned(),
            description:
                "Forgets a fact that is remembered of this user. Only when it is wrong, or the user wants it."
                    .to_owned(),
            schema: json!({
                "type": "object",
                "properties": {"fact_id": {"type": "string", "description": "The fact's id, from memory_search."}},
                "required": ["fact_id"]
            }),
            server: None,
        }
    }

    fn is_offered(&self, options: &Options) -> bool {
        has_tools(options)
    }

    async fn call(&self, bench: Bench<'_>, call: &ToolCall) -> Brought {
        if is_spent(&bench, call) {
            return failed(call, SPENT);
        }
        let Some(id) = fact(call) else { return failed(call, NO_FACT) };
        match self.0.remove(&key(bench.run, bench.options), None, &id).await {
            Ok(_) => answered(call, json!({ "done": true })),
            Err(error) => refused(call, &error),
        }
    }
}
