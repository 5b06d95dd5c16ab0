//! `memory_add`: remembers a fact.

use async_trait::async_trait;
use pudu_app::memories::Memories;
use pudu_app::ports::ToolDefinition;
use pudu_domain::chat::ToolCall;
use pudu_domain::memory::NewFact;
use serde_json::{Value, json};

use super::{SPENT, answered, failed, has_tools, is_spent, key, refused, shown, text};
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
        if is_spent(&bench, call) {
            return failed(call, SPENT);
        }
        let Some(content) = text(call, "content") else { return failed(call, "content must be a text") };
        let new = NewFact {
            content: content.to_owned(),
            category: text(call, "category").unwrap_or_default().to_owned(),
            confidence: call.args.get("confidence").and_then(Value::as_f64).unwrap_or(CONFIDENCE),
        };
        let most = bench.options.house.agents.memory.max_facts;
        let source = bench.run.key.thread.thread.as_str();
        match self.0.add(&key(bench.run, bench.options), None, (&new, source), most).await {
            Ok((memory, id)) => answered(call, json!({ "done": true, "fact": memory.fact(&id).map(shown) })),
            Err(error) => refused(call, &error),
        }
    }
}
