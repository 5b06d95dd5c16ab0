//! A thread: it exists from its first task on. Once it is to be deleted it is a durable item until nothing of it is left, and
//! [`decide`] is the only place where it changes.
//!
//! The tombstone comes first: from then on nothing new starts in the thread, so whatever ends in it has ended for good. What
//! it waits for is not counted here; whoever holds it looks.

#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::backoff;
use crate::durable::{Due, Durable, Expect, Generation, Lane};
use crate::ids::ThreadKey;
use crate::policy::Policy;
use crate::time::Timestamp;

/// Longest pause between two looks at what still has to end.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// Where a thread stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Tasks are submitted in it. It is no durable item: nobody has to do anything with it.
    Open,
    /// It is being deleted: to its callers it is not there any more.
    Deleting {
        /// Since when.
        since: Timestamp,
        /// How often it was looked at in vain.
        looks: u32,
    },
}

/// The row of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    /// Its address.
    pub key: ThreadKey,
    /// When its first task was submitted.
    pub created_at: Timestamp,
    /// Where it stands.
    pub state: State,
    /// Lane, due time, lease, generation.
    pub durable: Durable,
}

/// What somebody wants of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// It is to be deleted. By anybody.
    RequestDelete,
    /// Something in it has not ended yet: look again later. By the holder.
    Wait,
    /// The holder has no time left; there is more to do at once. By the holder.
    GiveBack,
    /// Nothing is left but this row, and it goes. By the holder.
    Finish,
}

/// One change of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What the row must be.
    pub expect: Expect,
    /// The new row, or the last one.
    pub thread: Thread,
    /// Whether the row goes.
    pub removed: bool,
}

/// A command for a thread that is not being deleted, or that nobody holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a thread takes this command only from who holds it while it is being deleted")]
pub struct Rejected;

impl Thread {
    /// A thread with its first task. Its generations begin at the moment of its birth: whoever still holds an earlier thread by
    /// the same name has an old one, and writes nothing over this one.
    pub fn open(key: ThreadKey, created_at: Timestamp) -> Self {
        let generation = Generation::new(created_at.as_millis());
        Self { key, created_at, state: State::Open, durable: Durable { generation, ..Durable::default() } }
    }

    /// Whether it is being deleted.
    pub const fn is_going(&self) -> bool {
        matches!(self.state, State::Deleting { .. })
    }
}

/// What becomes of `thread` by `command` at `now`; none when nothing changes.
pub fn decide(
    thread: &Thread,
    command: Command,
    now: Timestamp,
    policy: &Policy,
) -> Result<Option<Change>, Rejected> {
    let mut after = thread.clone();
    let (since, looks) = match thread.state {
        State::Open if command == Command::RequestDelete => {
            after.state = State::Deleting { since: now, looks: 0 };
            after.durable = thread.durable.fenced(Some(Due { lane: Lane::Delete, at: now }));
            return Ok(Some(Change { expect: thread.durable.unchanged(), thread: after, removed: false }));
        }
        State::Deleting { .. } if command == Command::RequestDelete => return Ok(None),
        State::Deleting { since, looks } if thread.durable.lease.is_some() => (since, looks),
        State::Open | State::Deleting { .. } => return Err(Rejected),
    };
    let pause = match command {
        Command::Wait => {
            after.state = State::Deleting { since, looks: looks.saturating_add(1) };
            backoff::after_failure(policy, looks).min(LONGEST_PAUSE)
        }
        Command::RequestDelete | Command::GiveBack | Command::Finish => Duration::ZERO,
    };
    let removed = command == Command::Finish;
    let due = Due { lane: Lane::Delete, at: now + pause };
    after.durable = thread.durable.committed(Some(due).filter(|_| !removed));
    Ok(Some(Change { expect: thread.durable.held(), thread: after, removed }))
}
