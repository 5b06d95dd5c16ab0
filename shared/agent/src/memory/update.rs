//! `memory_update`: changes a fact that is remembered.

use async_trait::async_trait;
use pudu_app::memories::Memories;
use pudu_app::ports::ToolDefinition;
use pudu_domain::chat::ToolCall;
use pudu_domain::memory::Edit;
use serde_json::{Value, json};

use super::{NO_FACT, SPENT, answered, fact, failed, has_tools, is_spent, key, refused, shown, text};
use crate::options::Options;
use crate::tool::{Bench, Brought, Tool};

/// The tool.
#[derive(Clone)]
pub struct MemoryUpdate(pub Memories);

#[async_trait]
impl Tool for MemoryUpdate {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "memory_update".to_owned(),
            description: "Changes a fact that is remembered of this user; what is not given stays."
                .to_owned(),
            schema: json!({
                "type": "object",
                "properties": {
                    "fact_id": {"type": "string", "description": "The fact's id, from memory_search."},
                    "content": {"type": "string", "description": "What it says now."},
                    "category": {"type": "string"},
                    "confidence": {"type": "number", "minimum": 0, "maximum": 1}
                },
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
        let edit = Edit {
            content: text(call, "content").map(str::to_owned),
            category: text(call, "category").map(str::to_owned),
            confidence: call.args.get("confidence").and_then(Value::as_f64),
        };
        match self.0.edit(&key(bench.run, bench.options), None, &id, &edit).await {
            Ok(memory) => answered(call, json!({ "done": true, "fact": memory.fact(&id).map(shown) })),
            Err(error) => refused(call, &error),
        }
    }
}
