//! The block `summarization`: when old messages give way to a summary, and how many stay.

use super::{bounded, name};
use crate::reader::Reader;

/// Tokens and messages that can be said at all.
const MOST: i64 = 100_000_000;

/// The block.
#[derive(Clone, Debug, PartialEq)]
pub struct Summarization {
    /// Whether it is done. Default false.
    pub enabled: bool,
    /// When: as soon as one of them says so. Default 32 000 tokens.
    pub triggers: Vec<Trigger>,
    /// What stays as it was. Default 20 messages.
    pub keep: Keep,
    /// Most tokens of the old messages that are summed up; the newest of them. Default 4000; none is all.
    pub trim_tokens: Option<u64>,
    /// Which model is asked; none is the run's.
    pub model: Option<String>,
}

/// A size of the conversation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trigger {
    /// So many tokens.
    Tokens(u64),
    /// So many messages.
    Messages(u64),
    /// That part of what the model can take, 0 to 1.
    Fraction(f64),
}

/// What stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// So many messages.
    Messages(u64),
    /// Messages of so many tokens.
    Tokens(u64),
}

impl Default for Summarization {
    fn default() -> Self {
        Self {
            enabled: false,
            triggers: vec![Trigger::Tokens(32_000)],
            keep: Keep::Messages(20),
            trim_tokens: Some(4000),
            model: None,
        }
    }
}

impl Summarization {
    pub(super) fn read(top: &mut Reader<'_>) -> Self {
        let default = Self::default();
        let Some(mut block) = top.object("summarization") else { return default };
        let trim = "trim_tokens_to_summarize";
        let untrimmed = block.map.get(trim).is_some_and(serde_json::Value::is_null);
        Self {
            enabled: block.bool("enabled", default.enabled),
            triggers: triggers(&mut block).unwrap_or(default.triggers),
            keep: block.object("keep").and_then(|mut keep| Keep::read(&mut keep)).unwrap_or(default.keep),
            trim_tokens: bounded(&mut block, trim, (1, MOST)).or(if untrimmed {
                None
            } else {
                default.trim_tokens
            }),
            model: name(&mut block, "model_name"),
        }
    }
}

/// One trigger, or a list of them; none that can be used is none.
fn triggers(block: &mut Reader<'_>) -> Option<Vec<Trigger>> {
    let Some(serde_json::Value::Array(items)) = block.map.get("trigger") else {
        return block.object("trigger").and_then(|mut one| Trigger::read(&mut one)).map(|one| vec![one]);
    };
    let path = block.at("trigger");
    let mut triggers = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let entry = Reader::new(item, path.index(index), block.found);
        triggers.extend(entry.and_then(|mut entry| Trigger::read(&mut entry)));
    }
    (!triggers.is_empty()).then_some(triggers)
}

impl Trigger {
    fn read(entry: &mut Reader<'_>) -> Option<Self> {
        match entry.text("type").as_deref() {
            Some("tokens") => bounded(entry, "value", (1, MOST)).map(Self::Tokens),
            Some("messages") => bounded(entry, "value", (1, MOST)).map(Self::Messages),
            Some("fraction") => {
                let part = entry.map.get("value").and_then(serde_json::Value::as_f64);
                let part = part.filter(|part| (0.0..=1.0).contains(part));
                if part.is_none() {
                    entry.rule("value", "must be a number from 0 to 1");
                }
                part.map(Self::Fraction)
            }
            _ => {
                entry.rule("type", "must be 'tokens', 'messages' or 'fraction'");
                None
            }
        }
    }
}

impl Keep {
    fn read(entry: &mut Reader<'_>) -> Option<Self> {
        match entry.text("type").as_deref() {
            Some("messages") => bounded(entry, "value", (0, MOST)).map(Self::Messages),
            Some("tokens") => bounded(entry, "value", (0, MOST)).map(Self::Tokens),
            _ => {
                entry.rule("type", "must be 'messages' or 'tokens'");
                None
            }
        }
    }
}
