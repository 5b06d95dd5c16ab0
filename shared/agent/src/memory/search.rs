//! `memory_search`: facts that are remembered, those that fit best first.

use async_trait::async_trait;
use pudu_app::memories::Memories;
use pudu_app::ports::ToolDefinition;
use pudu_domain::chat::ToolCall;
use pudu_domain::memory::Fact;
use serde_json::{Value, json};

use super::{answered, has_tools, key, refused, shown, text};
use crate::options::Options;
use crate::tool::{Bench, Brought, Tool};

/// Most facts of an answer, and how many there are where nobody says.
const MOST: u64 = 50;
const USUAL: u64 = 10;

/// The tool.
#[derive(Clone)]
pub struct MemorySearch(pub Memories);

#[async_trait]
impl Tool for MemorySearch {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "memory_search".to_owned(),
            description: "Looks for facts that are remembered of this user from earlier conversations; each with its id. Without a \
                          query the surest and newest ones."
                .to_owned(),
            schema: json!({
                "type": "object",
                "properties": {
                    "query": {"type": "string", "description": "Words that the facts have in them."},
                    "category": {"type": "string", "description": "Only facts of that category."},
                    "top_k": {"type": "integer", "minimum": 1, "maximum": MOST, "description": "How many at most."}
                }
            }),
            server: None,
        }
    }

    fn is_offered(&self, options: &Options) -> bool {
        has_tools(options)
    }

    async fn call(&self, bench: Bench<'_>, call: &ToolCall) -> Brought {
        let memory = match self.0.read(&key(bench.run, bench.options)).await {
            Ok(memory) => memory,
            Err(error) => return refused(call, &error.into()),
        };
        let category = text(call, "category");
        let ranked = memory.ranked();
        let ranked =
            ranked.into_iter().filter(|fact| category.is_none_or(|category| fact.category == category));
        let found = fitting(ranked, text(call, "query").unwrap_or_default());
        let most = call.args.get("top_k").and_then(Value::as_u64).unwrap_or(USUAL).clamp(1, MOST);
        let most = usize::try_from(most).unwrap_or_default();
        let shown: Vec<Value> = found.iter().take(most).map(|fact| shown(fact)).collect();
        answered(call, json!({ "facts": shown, "found": found.len() }))
    }
}

/// Those with a word of the query in them, those with the most first; all of them, if there is no query.
fn fitting<'a>(ranked: impl Iterator<Item = &'a Fact>, query: &str) -> Vec<&'a Fact> {
    let query = query.to_lowercase();
    let words: Vec<&str> =
        query.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let hits = |fact: &Fact| {
        let content = fact.content.to_lowercase();
        words.iter().filter(|word| content.contains(**word)).count()
    };
    let mut found: Vec<(usize, &Fact)> =
        ranked.map(|fact| (hits(fact), fact)).filter(|(hits, _)| words.is_empty() || *hits > 0).collect();
    // Stable: of those with as many the order stays.
    found.sort_by_key(|(hits, _)| std::cmp::Reverse(*hits));
    found.into_iter().map(|(_, fact)| fact).collect()
}
