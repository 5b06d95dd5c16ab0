//! Only for tests: a run, its spec, and messages, without a table.

use async_trait::async_trait;
use pudu_domain::chat::{Message, Speaker, ToolCall};
use pudu_domain::run::{Admission, Seen, admit};
use pudu_domain::state::State;
use pudu_domain::{Policy, Run, RunId, RunSpec, ThreadId, ThreadKey, Timestamp, UserId};
use serde_json::Value;

use crate::middleware::Aside;
use crate::options::Options;
use crate::tool::Bench;
use crate::turn::Turn;

/// When tests happen.
pub(crate) const NOW: Timestamp = Timestamp::from_millis(1_000_000);

/// A run `r` of a thread, with everything that a turn needs beside it.
pub(crate) struct World {
    pub(crate) run: Run,
    pub(crate) spec: RunSpec,
    pub(crate) options: Options,
}

impl World {
    /// A run with these options.
    pub(crate) fn new(options: &Value) -> Self {
        let options = options.as_object().cloned().unwrap();
        let spec = RunSpec { options: options.clone(), ..RunSpec::of("lead_agent") };
        let thread = ThreadKey {
            user: UserId::parse("local:default").unwrap(),
            thread: ThreadId::parse("t").unwrap(),
        };
        let run = RunId::parse("r").unwrap();
        let wanted = Admission { thread, run, spec: spec.clone(), secrets: None, key: None };
        let run = admit(wanted, &Seen::default(), NOW, &Policy::default()).unwrap().run.run;
        Self { run, spec, options: Options::read(&options) }
    }

    /// A step of it.
    pub(crate) fn turn(&self, state: State) -> Turn<'_> {
        Turn::new(&self.run, &self.spec, &self.options, state, NOW)
    }

    /// What its tools see.
    pub(crate) fn bench<'a>(&'a self, state: &'a State) -> Bench<'a> {
        Bench { run: &self.run, spec: &self.spec, options: &self.options, state, now: NOW }
    }
}

/// A state in which this was said.
pub(crate) fn said(messages: impl IntoIterator<Item = Message>) -> State {
    State { messages: messages.into_iter().collect(), ..State::default() }
}

/// A user's message.
pub(crate) fn human(id: &str, text: &str) -> Message {
    Message::new(Speaker::Human, id, text)
}

/// A model's message with these calls.
pub(crate) fn ai(id: &str, text: &str, calls: impl IntoIterator<Item = ToolCall>) -> Message {
    Message { tool_calls: calls.into_iter().collect(), ..Message::new(Speaker::Ai, id, text) }
}

/// A call.
pub(crate) fn call(id: &str, name: &str, args: &Value) -> ToolCall {
    ToolCall::new(id, name, args.as_object().cloned().unwrap())
}

/// Answers every question beside the conversation with the same text, or none.
pub(crate) struct Says(pub(crate) Option<&'static str>);

#[async_trait]
impl Aside for Says {
    async fn ask(&self, _: &mut Turn<'_>, _: Option<&str>, _: String) -> Option<String> {
        self.0.map(str::to_owned)
    }
}
