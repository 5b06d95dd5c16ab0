//! A durable task: what is stored of it, and [`decide`], the only place where it changes.
//!
//! The *hot row* is [`Task`]: small, written on every poll. [`TaskSpec`] is what was settled at submission, written once
//! more when the remote handle is known. [`Payload`] is what the task brought back, written only when it changes.

mod answer;
mod cancel;
mod decide;
mod poll;
mod recover;
mod submit;
#[cfg(test)]
mod tests;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use answer::{Answer, AnswerWrite, Given, Heard, Sent, Stand, question_digest};
pub use decide::{Command, Context, Rejected, decide, put_aside};
pub use submit::{Intent, Refusal, intend};

use crate::durable::{Due, Durable, Expect, Lane};
use crate::event::Fingerprint;
use crate::ids::{RemoteTaskId, ServerName, ServerTag, TaskKey, TaskName};
use crate::note::Announced;
use crate::payload::Payload;
use crate::policy::Policy;
use crate::snapshot::Status;
use crate::text::Snippet;
use crate::time::Timestamp;

/// Where a task stands, with what belongs to that stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Written down before the server is called; the server's handle is not known.
    Intent {
        /// When its submitter's time is over and recovery takes it.
        deadline: Timestamp,
    },
    /// Tracked at the server.
    Active {
        /// What the server last said.
        phase: Phase,
        /// When it is asked again.
        next_poll_at: Timestamp,
    },
    /// At its end; nothing changes any more.
    Ended {
        /// How.
        outcome: Outcome,
        /// When.
        at: Timestamp,
    },
}

/// What a tracked task does at its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Handed over, not yet polled.
    Submitted,
    /// Running.
    Working,
    /// Waiting for an answer.
    InputRequired,
}

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Well.
    Completed,
    /// Badly.
    Failed,
    /// On request.
    Cancelled,
}

/// A request to cancel, and how far it got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cancel {
    /// When it was asked for; never changes.
    pub requested_at: Timestamp,
    /// When the server's word is waited for no longer; never changes. Past it the task ends as cancelled.
    pub until: Timestamp,
    /// Attempts that did not end the task.
    pub attempts: u32,
    /// When the server is asked (again); none before the handle is known, once the server has acknowledged it, and after
    /// the end.
    pub next_at: Option<Timestamp>,
    /// Why the last attempt did not end it.
    pub last_error: Option<Snippet>,
}

/// How well the server answers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tracking {
    /// When a poll last succeeded.
    pub last_polled_at: Option<Timestamp>,
    /// Failed polls in a row.
    pub errors: u32,
    /// Why the last one failed; cleared by a success.
    pub last_error: Option<Snippet>,
}

/// Which event is current.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attention {
    /// The version of the event that is true now; 0 when nothing needs attention.
    pub version: u32,
    /// The highest version ever made.
    pub last: u32,
    /// What the current event says.
    pub fingerprint: Option<Fingerprint>,
}

/// Who is told when the task needs attention; settled at submission.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// The event is appended to the thread.
    #[default]
    Event,
    /// A run of the thread's agent is started with it. Only a task that an agent submitted has this.
    Run,
}

/// The hot row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Its address.
    pub key: TaskKey,
    /// Its server, as the due index knows it.
    pub server: ServerTag,
    /// How its events are delivered.
    pub delivery: Delivery,
    /// Where it stands.
    pub state: State,
    /// Lane, due time, lease, generation.
    pub durable: Durable,
    /// The request to cancel it, if any.
    pub cancel: Option<Cancel>,
    /// The answer to the question that it waits with, if somebody gave one.
    pub answer: Option<Answer>,
    /// How well its server answers.
    pub tracking: Tracking,
    /// Its current event.
    pub attention: Attention,
    /// The beginning of the server's error.
    pub error: Option<Snippet>,
    /// Digest of the payload row; none when there is no such row.
    pub payload: Option<String>,
    /// When it was submitted.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// By what a repetition of a submission is recognised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeatable {
    /// The digest of the caller's key ([`crate::IdempotencyKey::digest`]).
    pub key: String,
    /// The digest of what was asked for: the same key with another one is a mistake of the caller's.
    pub request: String,
}

/// What was settled at submission.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskSpec {
    /// The toolset's name: what the user calls the task.
    pub name: TaskName,
    /// Its server in the config.
    pub server: ServerName,
    /// Transport and origin of that server at submission; another identity today is not this server (DESIGN section 4).
    pub identity: String,
    /// Which driver speaks for it.
    pub driver: String,
    /// What that driver needs to remember; nobody else looks inside.
    pub driver_data: Value,
    /// The server's handle, once it is known.
    pub remote: Option<RemoteTaskId>,
    /// By what its submission is recognised, if its caller may repeat it.
    pub repeatable: Option<Repeatable>,
}

/// What happens to the payload row.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one per change, moved once; a box would only cost its readers"
)]
pub enum PayloadWrite {
    /// It stays as it is.
    Keep,
    /// It is written.
    Put(Payload),
    /// It is removed.
    Clear,
}

/// One change of a task: everything that becomes true together, in one write or one transaction.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// What the row must be for the change to apply.
    pub expect: Expect,
    /// The new hot row.
    pub task: Task,
    /// The spec: at birth, when the handle becomes known, and at the end, when every row of the task gets its time to go.
    pub spec: Option<TaskSpec>,
    /// The payload row.
    pub payload: PayloadWrite,
    /// The row of an answer that is to be sent.
    pub answer: AnswerWrite,
    /// The event that this change makes and the notification that brings it to its thread, so that no caller can forget
    /// either.
    pub note: Option<Announced>,
    /// When all rows of the task go, the remote handle's too: set by the change that ends it, and by no other.
    pub expires: Option<Timestamp>,
    /// There was no task after all: every row that its birth wrote goes now, and `task` is what it was. The thread stays.
    pub erased: bool,
}

impl Task {
    /// The status word of the reference.
    pub const fn status(&self) -> Status {
        match &self.state {
            State::Intent { .. } | State::Active { phase: Phase::Submitted, .. } => Status::Submitted,
            State::Active { phase: Phase::Working, .. } => Status::Working,
            State::Active { phase: Phase::InputRequired, .. } => Status::InputRequired,
            State::Ended { outcome: Outcome::Completed, .. } => Status::Completed,
            State::Ended { outcome: Outcome::Failed, .. } => Status::Failed,
            State::Ended { outcome: Outcome::Cancelled, .. } => Status::Cancelled,
        }
    }

    /// Whether the server has failed to answer `degraded_after` times in a row.
    pub const fn is_degraded(&self, policy: &Policy) -> bool {
        self.tracking.errors >= policy.degraded_after && !matches!(self.state, State::Ended { .. })
    }

    /// The time between two looks at its server, as the last one settled it: what is stored changes no faster.
    pub fn pace(&self) -> Option<Duration> {
        let State::Active { next_poll_at, .. } = self.state else { return None };
        Some(next_poll_at.since(self.tracking.last_polled_at.unwrap_or(self.created_at)))
    }

    /// Lane and due time: derived here and nowhere else, from the earlier of the next poll and the next cancel; the
    /// cancel goes first on a tie. Never later than the moment up to which a cancel is waited for, whatever a hint or a
    /// backoff says.
    pub fn wants(&self) -> Option<Due> {
        match self.state {
            State::Intent { deadline } => Some(Due { lane: Lane::Intent, at: deadline }),
            State::Active { next_poll_at, .. } => {
                let poll = Due { lane: Lane::Poll, at: next_poll_at };
                let Some(Cancel { next_at, until, .. }) = self.cancel else { return Some(poll) };
                let next = match next_at {
                    Some(at) if at <= next_poll_at => Due { lane: Lane::Cancel, at },
                    _ => poll,
                };
                Some(if next.at <= until { next } else { Due { lane: Lane::Cancel, at: until } })
            }
            State::Ended { .. } => None,
        }
    }
}
