//! Deferred tools: a model sees names, and gets the schemas that it searches for (reference 3.6). Pure.
//!
//! What was found is promoted and stays visible as long as the tools are the same ([`CatalogHash`]). Tools whose keywords
//! are in the user's message are promoted without a search. That this comes before the choice of what is visible cannot be
//! forgotten: only [`Deferred::promoted`] makes the [`Visible`] that chooses.

mod message;
mod query;

use std::collections::BTreeSet;

use pudu_config::{ToolSearch, sha256_hex};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::function::{Function, escaped};
use crate::hints::{Routed, by_priority};

pub use message::{Message, Origin};
pub use query::{MAX_SEARCHED, MOST_RANKED, Query};

/// The name of the tool that searches.
pub const TOOL_SEARCH: &str = "tool_search";
/// Digits of a catalogue's hash.
const HASH_DIGITS: usize = 16;

/// What tools there are, in one word: the first 16 hex digits of a SHA-256 over names and schemas.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CatalogHash(String);

/// What a thread keeps of its searches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Promotion {
    /// Of which tools.
    pub catalog_hash: CatalogHash,
    /// Which are promoted, in the order in which they were.
    pub names: Vec<String>,
}

/// The tools whose schemas are withheld: never none, so that a search tool is offered exactly when it can find something.
#[derive(Debug, Clone)]
pub struct Deferred {
    functions: Vec<Function>,
    routed: Vec<Routed>,
    hash: CatalogHash,
}

/// What one model call may see of the deferred tools.
#[derive(Debug, Clone)]
pub struct Visible<'a> {
    deferred: &'a Deferred,
    names: BTreeSet<String>,
    /// What the message promoted, to be merged into the thread's own promotion; none when nothing fits.
    pub promotion: Option<Promotion>,
}

/// What a search brought.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// What the model is told: the whole functions as JSON, or that there are none.
    pub text: String,
    /// What is promoted by it; none when nothing was found.
    pub promotion: Option<Promotion>,
}

/// A call of a tool that the model has not searched for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "tool '{name}' is deferred: its arguments are not known yet. Call {TOOL_SEARCH} with the query 'select:{name}' first, then call it."
)]
pub struct NotPromoted {
    /// Which tool.
    pub name: String,
}

impl CatalogHash {
    /// The hash of `functions`, whatever their order.
    pub fn of(functions: &[Function]) -> Self {
        let mut sorted: Vec<&Function> = functions.iter().collect();
        sorted.sort_by(|a, b| a.name.cmp(&b.name));
        let pairs: Vec<Value> = sorted
            .into_iter()
            .map(|f| json!([f.name, {"description": f.description, "parameters": f.parameters}]))
            .collect();
        let mut hash = sha256_hex(&Value::Array(pairs));
        hash.truncate(HASH_DIGITS);
        Self(hash)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Promotion {
    /// `self` with `newer` merged in: of the same tools an ordered union, else only what is newer counts.
    #[must_use]
    pub fn merged(mut self, newer: Self) -> Self {
        if self.catalog_hash != newer.catalog_hash {
            return newer;
        }
        for name in newer.names {
            if !self.names.contains(&name) {
                self.names.push(name);
            }
        }
        self
    }
}

impl Deferred {
    /// Withholds the schemas of `tools`, if `search` says so and there are any.
    pub fn new(search: ToolSearch, tools: impl IntoIterator<Item = (Function, Routed)>) -> Option<Self> {
        if !search.enabled {
            return None;
        }
        let (functions, routed): (Vec<_>, Vec<_>) = tools.into_iter().unzip();
        let hash = CatalogHash::of(&functions);
        (!functions.is_empty()).then_some(Self { functions, routed, hash })
    }

    /// What tools there are, in one word.
    pub const fn hash(&self) -> &CatalogHash {
        &self.hash
    }

    /// Whether the tool of that name is one of them, promoted or not.
    pub fn has(&self, name: &str) -> bool {
        self.functions.iter().any(|function| function.name == name)
    }

    /// The `<available-deferred-tools>` block: every name, sorted, one a line.
    pub fn block(&self) -> String {
        let mut names: Vec<String> = self.functions.iter().map(|function| escaped(&function.name)).collect();
        names.sort_unstable();
        format!("<available-deferred-tools>\n{}\n</available-deferred-tools>", names.join("\n"))
    }

    /// A search by a model, and what it promotes.
    pub fn search(&self, query: &str) -> Found {
        let found = Query::parse(query).find(&self.functions);
        if found.is_empty() {
            return Found { text: "No deferred tool fits this query.".to_owned(), promotion: None };
        }
        let names = found.iter().map(|function| function.name.clone()).collect();
        let text = json!(found).to_string();
        Found { text, promotion: Some(Promotion { catalog_hash: self.hash.clone(), names }) }
    }

    /// What a model call may see: what the thread's searches promoted (`kept`), and what its user's latest message does.
    /// Of `messages`, oldest first, only the latest real one of the user counts.
    pub fn promoted<'m>(
        &self,
        search: ToolSearch,
        kept: Option<&Promotion>,
        messages: impl DoubleEndedIterator<Item = Message<'m>>,
    ) -> Visible<'_> {
        let promotion = message::latest_of_user(messages).and_then(|text| self.fitting(text, search));
        let kept = kept.into_iter().chain(&promotion).filter(|promotion| promotion.catalog_hash == self.hash);
        let names = kept.flat_map(|promotion| promotion.names.iter().cloned()).collect();
        Visible { deferred: self, names, promotion }
    }

    /// The tools with a keyword in `text`, the most important first. Only names are ever logged of it.
    fn fitting(&self, text: &str, search: ToolSearch) -> Option<Promotion> {
        let text = message::folded(text);
        let fits = |tool: &&Routed| {
            tool.is_preferred() && tool.keywords().any(|keyword| text.contains(&message::folded(keyword)))
        };
        let fitting = by_priority(self.routed.iter().filter(fits)).into_iter();
        let top: Vec<String> =
            fitting.take(search.auto_promote_top_k.into()).map(|tool| tool.name.clone()).collect();
        if top.is_empty() {
            return None;
        }
        tracing::debug!(tools = ?top, "tools were promoted by their keywords");
        Some(Promotion { catalog_hash: self.hash.clone(), names: top })
    }
}

impl Visible<'_> {
    /// The functions whose schemas the model gets.
    pub fn functions(&self) -> impl Iterator<Item = &Function> {
        self.deferred.functions.iter().filter(|function| self.names.contains(&function.name))
    }

    /// Whether the schema of this tool is withheld.
    pub fn is_deferred(&self, name: &str) -> bool {
        self.deferred.has(name) && !self.names.contains(name)
    }

    /// Whether the model may call this tool: one whose schema is withheld it may not. Other tools are not of our concern.
    pub fn admit(&self, name: &str) -> Result<(), NotPromoted> {
        if self.is_deferred(name) { Err(NotPromoted { name: name.to_owned() }) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests;
