//! A notification: one event on its way to its thread, and [`decide`], the only place where it changes.
//!
//! The event is frozen when the note is made. Whether it is still worth telling is judged at delivery, against the task's
//! current attention version; a task's commit only ever puts a new note, it never touches an old one.

#[cfg(test)]
mod tests;

use crate::backoff;
use crate::durable::{Due, Durable, Expect, Lane};
use crate::event::Event;
use crate::ids::TaskKey;
use crate::policy::Policy;
use crate::task::Delivery;
use crate::text::Snippet;
use crate::time::Timestamp;

/// Where a notification stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// To be delivered.
    Pending,
    /// Delivered.
    Delivered {
        /// When.
        at: Timestamp,
    },
    /// Not delivered: what it told was no longer true.
    Withdrawn,
    /// Not delivered: a newer event tells more.
    Superseded,
    /// Given up; an operator may replay it.
    Dead,
}

/// The row of a notification.
#[derive(Debug, Clone, PartialEq)]
pub struct Note {
    /// Whose event it is.
    pub task: TaskKey,
    /// Which version of it, from 1.
    pub version: u32,
    /// How it is delivered.
    pub delivery: Delivery,
    /// What it tells.
    pub event: Event,
    /// Where it stands.
    pub state: State,
    /// Lane, due time, lease, generation.
    pub durable: Durable,
    /// Deliveries that failed in a row.
    pub attempts: u32,
    /// Why the last one failed.
    pub last_error: Option<Snippet>,
    /// When the event was made.
    pub created_at: Timestamp,
}

/// What the holder of a claimed note wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Deliver it, or end it if the task has moved on; `attention` is the task's current version, read after the claim.
    Deliver {
        /// The version that is true now; 0 when nothing needs attention.
        attention: u32,
    },
    /// A delivery failed; it is tried again, up to the policy's number of attempts.
    RecordFailure(String),
}

/// One change of a note: everything that becomes true together.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// What the row must be.
    pub expect: Expect,
    /// The new row.
    pub note: Note,
    /// Whether the event is appended to its thread in the same transaction.
    pub deliver: bool,
}

/// A command for a note that has reached its end, or that nobody holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a notification in state {state} cannot take this command: it is not pending under a lease")]
pub struct Rejected {
    /// Where it stands.
    pub state: &'static str,
}

impl State {
    /// The state's name in rows and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Delivered { .. } => "delivered",
            Self::Withdrawn => "withdrawn",
            Self::Superseded => "superseded",
            Self::Dead => "dead_letter",
        }
    }
}

impl Note {
    /// A new note, due at once.
    pub fn new(task: TaskKey, version: u32, delivery: Delivery, event: Event, now: Timestamp) -> Self {
        let durable = Durable::waiting(Due { lane: Lane::Notify, at: now });
        let state = State::Pending;
        Self {
            task,
            version,
            delivery,
            event,
            state,
            durable,
            attempts: 0,
            last_error: None,
            created_at: now,
        }
    }
}

/// What becomes of `note` by `command` at `now`.
pub fn decide(note: &Note, command: Command, now: Timestamp, policy: &Policy) -> Result<Change, Rejected> {
    if note.state != State::Pending || note.durable.lease.is_none() {
        return Err(Rejected { state: note.state.as_str() });
    }
    let mut after = note.clone();
    let mut due = None;
    match command {
        Command::Deliver { attention } => {
            after.state = match attention {
                v if v == note.version => State::Delivered { at: now },
                0 => State::Withdrawn,
                _ => State::Superseded,
            };
            after.last_error = None;
        }
        Command::RecordFailure(error) => {
            after.attempts = note.attempts.saturating_add(1);
            after.last_error = Some(Snippet::of(&error));
            if after.attempts >= policy.notification_attempts {
                after.state = State::Dead;
                due = Some(Due { lane: Lane::Dead, at: now });
            } else {
                due =
                    Some(Due { lane: Lane::Notify, at: now + backoff::after_failure(policy, note.attempts) });
            }
        }
    }
    after.durable = note.durable.committed(due);
    let deliver = matches!(after.state, State::Delivered { .. });
    Ok(Change { expect: note.durable.held(), note: after, deliver })
}
