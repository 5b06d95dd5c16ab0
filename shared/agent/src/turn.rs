//! A step in the making: the state that it sees, what it writes, what it tells.

use pudu_domain::run::{Notice, Run, RunSpec, StopReason, Totals};
use pudu_domain::state::{State, Write};
use pudu_domain::{Timestamp, chat::Message};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::options::Options;

/// Most bytes of what one record or frame holds, as JSON: it is a row.
pub(crate) const TOLD: usize = 100 * 1024;

/// One step. What is written is seen at once ([`Turn::state`]) and committed with the step.
#[derive(Debug)]
pub struct Turn<'a> {
    /// The run, as it was claimed or last committed.
    pub run: &'a Run,
    /// What was settled when it was wanted.
    pub spec: &'a RunSpec,
    /// Its options, read.
    pub options: &'a Options,
    /// The time of the step.
    pub now: Timestamp,
    /// What the run took so far, this step included.
    pub totals: Totals,
    state: State,
    writes: Vec<Write>,
    notices: Vec<Notice>,
    stopped: Option<StopReason>,
    failed: Option<String>,
}

/// What a step comes to: everything that its commit takes.
#[derive(Debug)]
pub struct Outcome {
    /// The state after it.
    pub state: State,
    /// What it wrote.
    pub writes: Vec<Write>,
    /// What it tells.
    pub notices: Vec<Notice>,
    /// What the run took so far.
    pub totals: Totals,
}

impl<'a> Turn<'a> {
    /// A step from `state` on.
    pub fn new(run: &'a Run, spec: &'a RunSpec, options: &'a Options, state: State, now: Timestamp) -> Self {
        Self {
            run,
            spec,
            options,
            now,
            totals: run.totals.clone(),
            state,
            writes: Vec::new(),
            notices: Vec::new(),
            stopped: None,
            failed: None,
        }
    }

    /// The state with what was written so far.
    pub const fn state(&self) -> &State {
        &self.state
    }

    /// Writes; what a channel does not take is left out and logged.
    pub fn write(&mut self, write: Write) {
        match self.state.apply(write.clone()) {
            Ok(()) => self.writes.push(write),
            Err(error) => {
                tracing::error!(run.id = %self.run.key.id, %error, "a write to the state was left out");
            }
        }
    }

    /// Says a message.
    pub fn say(&mut self, message: Message) {
        self.write(Write::message(message));
    }

    /// Tells something.
    pub fn tell(&mut self, notice: Notice) {
        self.notices.push(notice);
    }

    /// Tells a frame `custom`, whose data is an object with a `type`.
    pub fn custom(&mut self, data: Value) {
        self.tell(Notice::Frame { event: "custom".to_owned(), data });
    }

    /// What the middleware of that name has counted; its default if that is nothing, or nothing that it understands.
    pub fn counters<T: DeserializeOwned + Default>(&self, name: &str) -> T {
        let counted = self.state.counters.get(name).cloned();
        counted.and_then(|value| serde_json::from_value(value).ok()).unwrap_or_default()
    }

    /// Keeps what it has counted, in the checkpoint.
    pub fn count(&mut self, name: &'static str, counters: &impl Serialize) {
        let value = serde_json::to_value(counters).unwrap_or_default();
        self.write(Write::Counters { name: name.to_owned(), value });
    }

    /// Whether there is anything to commit.
    pub fn has_changed(&self) -> bool {
        !self.writes.is_empty() || !self.notices.is_empty() || self.totals != self.run.totals
    }

    /// Notes what cuts the run short; the first reason stays.
    pub fn stop(&mut self, reason: StopReason) {
        self.stopped.get_or_insert(reason);
    }

    /// What cuts the run short so far.
    pub const fn stopped(&self) -> Option<StopReason> {
        self.stopped
    }

    /// Notes that the run has failed, and why; it ends as soon as its model wants nothing more. The first reason stays.
    pub fn fail(&mut self, why: impl Into<String>) {
        self.failed.get_or_insert_with(|| why.into());
    }

    /// Why the run has failed, if it has.
    pub fn failed(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// Everything that the step's commit takes.
    pub fn finish(self) -> Outcome {
        Outcome { state: self.state, writes: self.writes, notices: self.notices, totals: self.totals }
    }
}

/// A record for the thread's history. One that is too large for a row says so in place of what happened; the checkpoint has it.
pub(crate) fn record(event_type: &str, category: &str, content: Value, metadata: Value) -> Notice {
    let size = content.to_string().len();
    let content = if size <= TOLD { content } else { json!({ "truncated": true, "bytes": size }) };
    Notice::Record { event_type: event_type.to_owned(), category: category.to_owned(), content, metadata }
}
