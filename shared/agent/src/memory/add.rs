//! `memory_add`: remembers a fact.

use async_trait::async_trait;
use pudu_app::memories::{Memories, NewFact};
use pudu_app::ports::ToolDefinition;
use pudu_domain::chat::ToolCall;
use serde_json::{Value, json};

use super::{answered, failed, has_tools, key, refused, shown, text};
use crate::options::Options;
use crate::tool::{Bench, Brought, Tool};

/// How sure a fact is of which the model does not say it.
const CONFIDENCE: f64 = 0.8;

/// The tool.
#[derive(Clone)]
pub struct MemoryAdd(pub Memories);

#[async_trait]
impl Tool for MemoryAdd {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "memory_add".to_owned(),
            description: "Remembers one fact of this user for later conversations.".to_owned(),
            schema: json!({
                "type": "object",
                "properties": {
                    "content": {"type": "string", "description": "The fact, in one sentence of at most 500 characters."},
                    "category": {"type": "string", "description": "preference, knowledge, context, behavior, goal or correction."},
                    "confidence": {"type": "number", "minimum": 0, "maximum": 1, "description": "How sure it is."}
                },
                "required": ["content"]
            }),
            server: None,
        }
    }

    fn is_offered(&self, options: &Options) -> bool {
        has_tools(options)
    }

    async fn call(&self, bench: Bench<'_>, call: &ToolCall) -> Brought {
        let Some(content) = text(call, "content") else { return failed(call, "content must be a text") };
        let new = NewFact {
            content: content.to_owned(),
            category: text(call, "category").unwrap_or_default().to_owned(),
            confidence: call.args.get("confidence").and_then(Value::as_f64).unwrap_or(CONFIDENCE),
            source: Some(bench.run.key.thread.thread.as_str().to_owned()),
        };
        let most = bench.options.house.agents.memory.max_facts;
        match self.0.add(&key(bench.run, bench.options), None, &new, most).await {
            Ok((memory, id)) => answered(call, json!({ "done": true, "fact": memory.fact(&id).map(shown) })),
            Err(error) => refused(call, &error),
        }
    }
}
