//! Routing hints: which tools a model should prefer for what (reference 3.5). Pure.

use pudu_config::{Mode, Routing};

use crate::function::escaped;

/// A tool with its routing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Routed {
    /// Its visible name.
    pub name: String,
    /// Its effective routing.
    pub routing: Routing,
}

impl Routed {
    /// Whether there is anything to hint at.
    pub fn is_preferred(&self) -> bool {
        self.routing.mode == Mode::Prefer && self.keywords().next().is_some()
    }

    /// Its keywords; blank ones would fit everything.
    pub fn keywords(&self) -> impl Iterator<Item = &str> {
        self.routing.keywords.iter().map(|keyword| keyword.trim()).filter(|keyword| !keyword.is_empty())
    }
}

/// The order of hints: priority, highest first, then name.
pub fn by_priority<'a>(tools: impl Iterator<Item = &'a Routed>) -> Vec<&'a Routed> {
    let mut tools: Vec<&Routed> = tools.collect();
    tools.sort_by(|a, b| b.routing.priority.cmp(&a.routing.priority).then_with(|| a.name.cmp(&b.name)));
    tools
}

/// The `<mcp_routing_hints>` block, which goes after that of the deferred tools; empty when there is nothing to hint at.
/// `is_deferred` says of a name whether its schema is withheld just now.
pub fn block(tools: &[Routed], is_deferred: impl Fn(&str) -> bool) -> String {
    let preferred = by_priority(tools.iter().filter(|tool| tool.is_preferred()));
    if preferred.is_empty() {
        return String::new();
    }
    let lines = preferred.into_iter().map(|tool| {
        let name = escaped(&tool.name);
        let topics = listed(tool.keywords().map(escaped).collect());
        if is_deferred(&tool.name) {
            format!("- For {topics}: fetch `{name}` with tool_search first (query `select:{name}`), then prefer it.")
        } else {
            format!("- For {topics}: prefer `{name}`.")
        }
    });
    format!("<mcp_routing_hints>\n{}\n</mcp_routing_hints>", lines.collect::<Vec<_>>().join("\n"))
}

/// `a`; `a, or b`; `a, b, or c`.
fn listed(mut words: Vec<String>) -> String {
    let last = words.pop().unwrap_or_default();
    if words.is_empty() { last } else { format!("{}, or {last}", words.join(", ")) }
}

#[cfg(test)]
mod tests;
