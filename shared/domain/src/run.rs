//! A run: one execution of an agent in a thread. A durable item like a task, worked on in steps.
//!
//! Whoever holds a run does one step after the other under one claim: each step is a commit that keeps the lease and writes
//! the step's checkpoint and events with it, so that another invocation goes on behind the last step that stands
//! (DESIGN section 7). A run that waits is parked: its row has a due time and nobody holds it. [`admit`] begins runs,
//! [`decide`] changes them, both return one [`Change`]: everything that becomes true together.

mod admit;
mod aside;
mod decide;
mod operation;
mod spec;
mod subagent;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use admit::{Admission, Refused, admit};
pub use aside::{Aside, PATIENCE};
pub use decide::{ATTEMPTS, Child, Command, Ending, Rejected, Seen, Step, decide};
pub use operation::{Compacted, Compaction, Keep, Operation, Untouched};
pub use spec::RunSpec;
pub use subagent::Subagent;

use crate::chat::Usage;
use crate::conversation::{Head, Kept};
use crate::durable::{Durable, Expect, Generation};
use crate::ids::{IdempotencyKey, RunId, ThreadKey};
use crate::state::{State, Write};
use crate::text::Snippet;
use crate::time::Timestamp;

/// Steps between two checkpoints that hold the whole state.
pub const SNAPSHOT_EVERY: u32 = 10;

/// A run, addressed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RunKey {
    /// Where it belongs.
    pub thread: ThreadKey,
    /// Which run.
    pub id: RunId,
}

/// Who wanted it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A caller of the thread, or an event of one of its tasks. It has the thread.
    Lead,
    /// A run of the same thread that delegated; it waits for this one.
    Child {
        /// Which run.
        parent: RunId,
        /// By which of its calls.
        call: String,
    },
    /// Born by the end of the run of its ordinal: it looks back at what was said, beside the conversation.
    Aside,
}

/// What happens when a thread has an active run already (agent reference 2.5).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// The new one is refused.
    #[default]
    Reject,
    /// The active one is interrupted, what it did stays.
    Interrupt,
    /// The active one is interrupted, and the thread is as it was before it.
    Rollback,
    /// The new one waits for its turn.
    Enqueue,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Well.
    Success,
    /// It failed, or was rolled back.
    Error,
    /// It took too long.
    Timeout,
    /// Somebody ended it.
    Interrupted,
}

/// What cut a run short (agent reference 2.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It repeated itself.
    LoopCapped,
    /// It used up its tokens.
    TokenCapped,
    /// The provider refused what it wrote.
    SafetyCapped,
    /// It wanted more subagents than it may have.
    SubagentLimitCapped,
    /// The model's answer was cut at its length.
    ModelLengthCapped,
    /// It used up its turns.
    TurnCapped,
}

/// A run's end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// How.
    pub outcome: Outcome,
    /// What cut it short, if anything did.
    pub stop_reason: Option<StopReason>,
    /// Why it failed.
    pub error: Option<Snippet>,
    /// When.
    pub at: Timestamp,
}

/// Where a run stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// It waits for its turn in the thread.
    Queued,
    /// It has its turn, and nothing was done yet.
    Pending,
    /// It is being worked on, or will be at once.
    Running,
    /// It waits, and nobody is paid for it: for these children, or only for its due time.
    Parked {
        /// Children that have not ended.
        open: BTreeSet<RunId>,
    },
    /// It has ended.
    Ended(End),
}

/// What a run took.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Totals {
    /// Calls of models.
    pub calls: u32,
    /// All tokens.
    pub tokens: Usage,
    /// Tokens of the agent itself.
    pub lead: u64,
    /// Tokens of its subagents.
    pub subagent: u64,
    /// Tokens of middlewares: summaries, titles.
    pub middleware: u64,
    /// Tokens by model.
    pub by_model: BTreeMap<String, Usage>,
    /// Messages that it added.
    pub messages: u32,
}

/// The row of a run: written with every step, so it holds nothing of size.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Its address.
    pub key: RunKey,
    /// Who wanted it.
    pub origin: Origin,
    /// Which of the thread's runs it is, from 1; a child has its parent's.
    pub ordinal: u32,
    /// Where it stands.
    pub phase: Phase,
    /// Lane, due time, lease, generation.
    pub durable: Durable,
    /// Checkpoints that it has; the newest is one less.
    pub checkpoints: u32,
    /// Events that it has told.
    pub told: u64,
    /// Children that it has begun, ever.
    pub children: u32,
    /// The generation in which it last got on: claims since then came to nothing.
    pub progressed: Generation,
    /// When it is to be ended for taking too long.
    pub until: Option<Timestamp>,
    /// What it took.
    pub totals: Totals,
    /// When it was wanted.
    pub created_at: Timestamp,
    /// When it was last written.
    pub updated_at: Timestamp,
}

/// A checkpoint: what a step has changed, or the whole state.
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoint {
    /// Whose chain.
    pub run: RunKey,
    /// Which of it, from 0; the first holds the whole state.
    pub number: u32,
    /// When it was written.
    pub at: Timestamp,
    /// What made it: `input`, `loop` or `update`.
    pub source: Source,
    /// From where its chain goes on, of the first of one; what comes before any other is the one before it.
    pub parent: Option<Head>,
    /// What it holds.
    pub body: Body,
}

/// What made a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// The beginning of a run.
    Input,
    /// A step.
    Loop,
    /// A caller's write.
    Update,
}

/// What a checkpoint holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// The whole state.
    Snapshot(Box<State>),
    /// What was written since the one before.
    Delta(Vec<Write>),
    /// Either of them, in the blob store under its SHA-256 in hex.
    Blob {
        /// Which blob.
        digest: String,
        /// Whether it is a whole state.
        snapshot: bool,
    },
}

/// One thing that a run tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    /// A frame of its stream, as it is sent.
    Frame {
        /// The event's name.
        event: String,
        /// Its data.
        data: Value,
    },
    /// The state as of a checkpoint, sent as a frame `values`.
    Values {
        /// Which checkpoint.
        number: u32,
        /// The one whose state was told before it, in this run: what lies between the two is one step to whoever follows. None of
        /// the first one, and of what was written before this was kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        behind: Option<u32>,
    },
    /// A record for the thread's history (agent reference 2.7); it is no frame.
    Record {
        /// Its type, for example `llm.ai.response`.
        event_type: String,
        /// `trace`, `message`, `error`, `subagent`, ….
        category: String,
        /// What happened.
        content: Value,
        /// What is noted beside it.
        metadata: Value,
    },
}

/// A notice with its place in the run that tells it.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    /// Who tells it; a child tells some things in its parent's name.
    pub run: RunKey,
    /// That run's ordinal in its thread.
    pub ordinal: u32,
    /// Its number in that run, from 1, without gaps.
    pub seq: u64,
    /// When.
    pub at: Timestamp,
    /// What.
    pub notice: Notice,
}

/// One row of a run in a change.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    /// What must be there.
    pub expect: Expect,
    /// The new row.
    pub run: Run,
    /// Until when its rows are kept, of a run that has ended.
    pub expires: Option<Timestamp>,
}

/// A run that begins with a change.
#[derive(Debug, Clone, PartialEq)]
pub struct Birth {
    /// Which run.
    pub run: RunId,
    /// What was settled.
    pub spec: RunSpec,
    /// The sealed secrets of its caller.
    pub secrets: Option<String>,
    /// The key that stands for it from now on, with the digest of the request.
    pub key: Option<(IdempotencyKey, String)>,
}

/// Everything that becomes true together.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The run that it is about.
    pub run: Written,
    /// Other runs of the thread: one that is replaced, one that has its turn now, the parent, children.
    pub others: Vec<Written>,
    /// What was settled of runs that begin.
    pub born: Vec<Birth>,
    /// The conversation.
    pub conversation: Option<Kept>,
    /// A checkpoint.
    pub checkpoint: Option<Checkpoint>,
    /// What is told.
    pub told: Vec<Told>,
    /// Runs whose secrets go.
    pub forget: Vec<RunId>,
    /// Until when the records that are told and the keys of runs that begin are kept. Not the rows of what has ended
    /// ([`Written::expires`]), and not checkpoints: they are the thread's state and its history, and go with the thread.
    pub kept_until: Timestamp,
}

impl Outcome {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Error => "error",
            Self::Timeout => "timeout",
            Self::Interrupted => "interrupted",
        }
    }
}

impl StopReason {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::LoopCapped => "loop_capped",
            Self::TokenCapped => "token_capped",
            Self::SafetyCapped => "safety_capped",
            Self::SubagentLimitCapped => "subagent_limit_capped",
            Self::ModelLengthCapped => "model_length_capped",
            Self::TurnCapped => "turn_capped",
        }
    }
}

impl Phase {
    /// The status as callers see it (agent reference 2.4).
    pub const fn status(&self) -> &'static str {
        match self {
            Self::Queued | Self::Pending => "pending",
            Self::Running | Self::Parked { .. } => "running",
            Self::Ended(end) => end.outcome.as_str(),
        }
    }
}

impl Run {
    /// Its end, if it has ended.
    pub const fn end(&self) -> Option<&End> {
        match &self.phase {
            Phase::Ended(end) => Some(end),
            _ => None,
        }
    }

    /// Its newest checkpoint.
    pub fn head(&self) -> Option<Head> {
        let number = self.checkpoints.checked_sub(1)?;
        Some(Head { run: self.key.id.clone(), number })
    }

    /// How often it was claimed since it last got on, this claim included.
    pub const fn attempts(&self) -> u64 {
        self.durable.generation.number().saturating_sub(self.progressed.number())
    }
}

impl RunKey {
    /// Another run of the same thread.
    #[must_use]
    pub fn beside(&self, id: RunId) -> Self {
        Self { thread: self.thread.clone(), id }
    }
}
