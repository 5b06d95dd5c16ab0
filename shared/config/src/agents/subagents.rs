//! The block `subagents`: types of one's own, and what is said otherwise of those that there are.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{bounded, each, name};
use crate::reader::Reader;

/// Types that there always are; no type of one's own has their names.
pub const BUILT_IN: [&str; 2] = ["general-purpose", "bash"];
/// Most turns that a type can be given.
const MOST_TURNS: i64 = 1000;
/// Longest that a type can be given, in seconds: a day.
const LONGEST: i64 = 86_400;
/// Tokens that can be said at all.
const MOST_TOKENS: i64 = 1_000_000_000;

/// The block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subagents {
    /// How long a built-in type may take: 1 s to a day. Default 1800 s.
    pub timeout: Duration,
    /// Most turns of the built-in types, 1 to 1000; none is as each has it.
    pub max_turns: Option<u32>,
    /// Most subagents of a run, 1 to 50. Default 6.
    pub max_total_per_run: u32,
    /// Most tokens of a subagent; none is 2 000 000, or half of that where conversations are summarized.
    pub token_budget: Option<u64>,
    /// Types of one's own, by name.
    pub custom: BTreeMap<String, CustomAgent>,
    /// What is said otherwise of a type, by its name.
    pub overrides: BTreeMap<String, Override>,
}

/// A type of one's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomAgent {
    /// When it is to be used, for the model that delegates.
    pub description: String,
    /// Its part of the system's message.
    pub system_prompt: String,
    /// The tools that it has; none is all of its parent's.
    pub tools: Option<Vec<String>>,
    /// Of those, the tools that it does not have; none is what no subagent has.
    pub disallowed_tools: Option<Vec<String>>,
    /// Its model; none is its parent's.
    pub model: Option<String>,
    /// Most turns, 1 to 1000. Default 50.
    pub max_turns: u32,
    /// How long it may take: 1 s to a day. Default 900 s.
    pub timeout: Duration,
}

/// What is said otherwise of a type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Override {
    /// How long it may take.
    pub timeout: Option<Duration>,
    /// Most turns.
    pub max_turns: Option<u32>,
    /// Its model.
    pub model: Option<String>,
    /// Most tokens.
    pub token_budget: Option<u64>,
}

impl Default for Subagents {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(1800),
            max_turns: None,
            max_total_per_run: 6,
            token_budget: None,
            custom: BTreeMap::new(),
            overrides: BTreeMap::new(),
        }
    }
}

impl Subagents {
    pub(super) fn read(top: &mut Reader<'_>) -> Self {
        let default = Self::default();
        let Some(mut block) = top.object("subagents") else { return default };
        Self {
            timeout: timeout(&mut block).unwrap_or(default.timeout),
            max_turns: turns(&mut block),
            max_total_per_run: bounded(&mut block, "max_total_per_run", (1, 50))
                .unwrap_or(default.max_total_per_run),
            token_budget: tokens(&mut block),
            custom: custom(&mut block),
            overrides: each(&mut block, "agents", Override::read),
        }
    }
}

impl CustomAgent {
    fn read(block: &mut Reader<'_>) -> Self {
        Self {
            description: name(block, "description").unwrap_or_default(),
            system_prompt: name(block, "system_prompt").unwrap_or_default(),
            tools: names(block, "tools"),
            disallowed_tools: names(block, "disallowed_tools"),
            model: model(block),
            max_turns: turns(block).unwrap_or(50),
            timeout: timeout(block).unwrap_or(Duration::from_secs(900)),
        }
    }
}

impl Override {
    fn read(block: &mut Reader<'_>) -> Self {
        Self {
            timeout: timeout(block),
            max_turns: turns(block),
            model: model(block),
            token_budget: tokens(block),
        }
    }
}

fn custom(block: &mut Reader<'_>) -> BTreeMap<String, CustomAgent> {
    let mut custom = each(block, "custom_agents", CustomAgent::read);
    let path = block.at("custom_agents");
    for name in BUILT_IN {
        if custom.remove(name).is_some() {
            block.found.warn(
                &path.key(name),
                "has the name of a built-in type and is ignored; use 'agents' to change that one",
            );
        }
    }
    custom
}

fn timeout(block: &mut Reader<'_>) -> Option<Duration> {
    bounded(block, "timeout_seconds", (1, LONGEST)).map(Duration::from_secs)
}

fn turns(block: &mut Reader<'_>) -> Option<u32> {
    bounded(block, "max_turns", (1, MOST_TURNS))
}

fn tokens(block: &mut Reader<'_>) -> Option<u64> {
    bounded(block, "token_budget", (1, MOST_TOKENS))
}

/// `inherit` is the parent's.
fn model(block: &mut Reader<'_>) -> Option<String> {
    name(block, "model").filter(|name| name != "inherit")
}

/// A list of names; absent and null mean none.
fn names(block: &mut Reader<'_>, key: &str) -> Option<Vec<String>> {
    let given = block.map.get(key).is_some_and(|value| !value.is_null());
    given.then(|| block.texts(key))
}
