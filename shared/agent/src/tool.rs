//! A tool of this house, and what calling one brings.

use async_trait::async_trait;
use pudu_app::ports::ToolDefinition;
use pudu_domain::chat::{Message, ToolCall};
use pudu_domain::run::Notice;
use pudu_domain::state::{State, Write};

use crate::options::Options;

/// What a tool sees of the run that calls it.
#[derive(Debug, Clone, Copy)]
pub struct Bench<'a> {
    /// The run.
    pub run: &'a pudu_domain::Run,
    /// What was settled when it was wanted.
    pub spec: &'a pudu_domain::RunSpec,
    /// Its options.
    pub options: &'a Options,
    /// The state before the calls of this message.
    pub state: &'a State,
    /// When the call began.
    pub now: pudu_domain::Timestamp,
}

/// What a call brought.
#[derive(Debug, Clone, PartialEq)]
pub struct Brought {
    /// What the model is told, as a tool's message.
    pub message: Message,
    /// What else it writes.
    pub writes: Vec<Write>,
    /// What it tells.
    pub notices: Vec<Notice>,
    /// Whether the run ends with it: the user is asked.
    pub ends: bool,
}

impl Brought {
    /// Only a message.
    pub const fn only(message: Message) -> Self {
        Self { message, writes: Vec::new(), notices: Vec::new(), ends: false }
    }
}

/// A tool.
#[async_trait]
pub trait Tool: Send + Sync {
    /// How a model is offered it; the same for the whole run.
    fn definition(&self) -> ToolDefinition;

    /// Whether the run has it at all.
    fn is_offered(&self, options: &Options) -> bool;

    /// Calls it. Every failure is a message too, with status `error`.
    async fn call(&self, bench: Bench<'_>, call: &ToolCall) -> Brought;
}
