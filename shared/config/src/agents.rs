//! What agents do beside answering, and where they are held: the blocks `subagents`, `summarization`, `title`, `memory`,
//! `loop_detection`, `token_budget` and `tool_output` at the top of the config (agent reference 3.2, 7.1, 7.5, 7.4, 1.6, 1.4; there they
//! are in `config.yaml`). Keys that are not known are kept and not read.

mod loop_detection;
mod memory;
mod subagents;
mod summarization;
#[cfg(test)]
mod tests;
mod token_budget;
mod tool_output;

use std::collections::BTreeMap;

use crate::reader::Reader;

pub use loop_detection::{Limits, LoopDetection};
pub use memory::{Memory, MemoryMode};
pub use subagents::{BUILT_IN, CustomAgent, Override, Subagents};
pub use summarization::{Keep, Summarization, Trigger};
pub use token_budget::TokenBudget;
pub use tool_output::{Ends, ToolOutput};

/// The blocks, read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Agents {
    /// Types of subagents and their limits.
    pub subagents: Subagents,
    /// When a conversation is summarized.
    pub summarization: Summarization,
    /// How a conversation gets its title.
    pub title: Title,
    /// When a run that makes the same calls again and again is stopped.
    pub loop_detection: LoopDetection,
    /// Most tokens of a run.
    pub token_budget: TokenBudget,
    /// How long a tool's result may be.
    pub tool_output: ToolOutput,
    /// What is remembered of users.
    pub memory: Memory,
}

/// How a conversation gets its title.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Title {
    /// Whether a model is asked for one. Default true; else it is the beginning of what the user said.
    pub enabled: bool,
    /// Most characters, 10 to 200. Default 60.
    pub max_chars: usize,
    /// Which model is asked; none is the run's.
    pub model: Option<String>,
}

impl Default for Title {
    fn default() -> Self {
        Self { enabled: true, max_chars: 60, model: None }
    }
}

impl Agents {
    pub(crate) fn read(top: &mut Reader<'_>) -> Self {
        Self {
            subagents: Subagents::read(top),
            summarization: Summarization::read(top),
            title: Title::read(top),
            loop_detection: top.tolerant(LoopDetection::read),
            token_budget: top.tolerant(TokenBudget::read),
            tool_output: top.tolerant(ToolOutput::read),
            memory: top.tolerant(Memory::read),
        }
    }
}

impl Title {
    fn read(top: &mut Reader<'_>) -> Self {
        let default = Self::default();
        let Some(mut block) = top.object("title") else { return default };
        Self {
            enabled: block.bool("enabled", default.enabled),
            max_chars: bounded(&mut block, "max_chars", (10, 200)).unwrap_or(default.max_chars),
            model: name(&mut block, "model_name"),
        }
    }
}

/// A name; absent, null and blank mean none.
fn name(block: &mut Reader<'_>, key: &str) -> Option<String> {
    if block.map.get(key)?.is_null() {
        return None;
    }
    block.text(key).filter(|text| !text.trim().is_empty())
}

/// A whole number inside its bounds; outside it is clamped with a warning. Absent and null mean none.
fn bounded<T: TryFrom<i64>>(block: &mut Reader<'_>, key: &str, (least, most): (i64, i64)) -> Option<T> {
    if block.map.get(key)?.is_null() {
        return None;
    }
    let given = block.integer(key)?;
    let clamped = given.clamp(least, most);
    if clamped != given {
        block.warn(key, &format!("is outside {least}..{most} and is clamped to it"));
    }
    T::try_from(clamped).ok()
}

/// The entries of a map of objects.
fn each<T>(block: &mut Reader<'_>, key: &str, read: impl Fn(&mut Reader<'_>) -> T) -> BTreeMap<String, T> {
    let Some(inner) = block.object(key) else { return BTreeMap::new() };
    let Reader { map, path, found } = inner;
    let mut entries = BTreeMap::new();
    for (name, value) in map {
        if let Some(mut entry) = Reader::new(value, path.key(name), found) {
            entries.insert(name.clone(), read(&mut entry));
        }
    }
    entries
}

/// A part of something, 0 to 1; absent and null mean none.
fn part(block: &mut Reader<'_>, key: &str) -> Option<f64> {
    let value = block.map.get(key).filter(|value| !value.is_null())?;
    let part = value.as_f64().filter(|part| (0.0..=1.0).contains(part));
    if part.is_none() {
        block.rule(key, "must be a number from 0 to 1");
    }
    part
}
