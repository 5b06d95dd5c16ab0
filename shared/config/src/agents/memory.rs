//! The block `memory`: whether anything is remembered of users, and how (agent reference 7.4).

use std::time::Duration;

use super::{bounded, name, part};
use crate::reader::Reader;

/// The block.
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    /// Whether agents remember, and are told what is remembered. Default false: it costs calls of a model.
    pub enabled: bool,
    /// How they remember. Default [`MemoryMode::Middleware`].
    pub mode: MemoryMode,
    /// Whether what is remembered is told to agents. Default true.
    pub injection_enabled: bool,
    /// Which model finds what is worth remembering; none is the run's.
    pub model: Option<String>,
    /// How long a conversation must be quiet before anybody looks, 1 to 300 s. Default 30 s.
    pub debounce: Duration,
    /// Most facts of a user and agent, 10 to 500. Default 100.
    pub max_facts: usize,
    /// How sure a fact must be to be remembered, 0 to 1. Default 0.7.
    pub fact_confidence_threshold: f64,
    /// Most tokens that are told of it, 100 to 8000. Default 2000.
    pub max_injection_tokens: u64,
}

/// How agents remember.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryMode {
    /// A model looks through what was said when a conversation is quiet.
    Middleware,
    /// The agent has tools for it, and remembers what it wants to.
    Tool,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            enabled: false,
            mode: MemoryMode::Middleware,
            injection_enabled: true,
            model: None,
            debounce: Duration::from_secs(30),
            max_facts: 100,
            fact_confidence_threshold: 0.7,
            max_injection_tokens: 2000,
        }
    }
}

impl MemoryMode {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Middleware => "middleware",
            Self::Tool => "tool",
        }
    }
}

impl Memory {
    pub(super) fn read(top: &mut Reader<'_>) -> Self {
        let default = Self::default();
        let Some(mut block) = top.object("memory") else { return default };
        Self {
            enabled: block.bool("enabled", default.enabled),
            mode: mode(&mut block).unwrap_or(default.mode),
            injection_enabled: block.bool("injection_enabled", default.injection_enabled),
            model: name(&mut block, "model_name"),
            debounce: bounded(&mut block, "debounce_seconds", (1, 300))
                .map_or(default.debounce, Duration::from_secs),
            max_facts: bounded(&mut block, "max_facts", (10, 500)).unwrap_or(default.max_facts),
            fact_confidence_threshold: part(&mut block, "fact_confidence_threshold")
                .unwrap_or(default.fact_confidence_threshold),
            max_injection_tokens: bounded(&mut block, "max_injection_tokens", (100, 8000))
                .unwrap_or(default.max_injection_tokens),
        }
    }

    /// Whether a model looks through what was said.
    pub fn extracts(&self) -> bool {
        self.enabled && self.mode == MemoryMode::Middleware
    }

    /// Whether what is remembered is told.
    pub const fn tells(&self) -> bool {
        self.enabled && self.injection_enabled
    }
}

fn mode(block: &mut Reader<'_>) -> Option<MemoryMode> {
    if !block.map.contains_key("mode") {
        return None;
    }
    match block.text("mode")?.as_str() {
        "middleware" => Some(MemoryMode::Middleware),
        "tool" => Some(MemoryMode::Tool),
        _ => {
            block.rule("mode", "must be 'middleware' or 'tool'");
            None
        }
    }
}
