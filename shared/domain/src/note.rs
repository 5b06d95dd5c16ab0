//! A notification: one event on its way to its thread, and [`decide`], the only place where it changes (reference 7.3).
//!
//! The event itself is not here: it is written once, with the task's commit, and never changes ([`Announced`]). So what the
//! reference calls freezing needs no step of its own, and a newer event is another notification with a life of its own.
//! Whether an event is still worth telling is judged at delivery, against the task's current attention version; a task's
//! commit only ever puts a new note, it never touches an old one.

mod decide;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use decide::{Command, Rejected, decide};

use crate::durable::{Due, Durable, Expect, Lane};
use crate::event::Event;
use crate::ids::{RunId, TaskKey};
use crate::policy::Policy;
use crate::snapshot::Status;
use crate::task::{Delivery, Task};
use crate::text::Snippet;
use crate::time::Timestamp;

/// How much longer than [`Policy::retention`] an event is kept: as much later may it be delivered, and be read for the whole
/// retention after that.
const LATE: Duration = Duration::from_hours(24);

/// What the idempotency keys of deliveries begin with; nobody else's do.
pub const DELIVERY_KEYS: &str = "mcp-task:";

/// Where a notification stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// To be delivered.
    Pending,
    /// A run was started with it, whose end is not known yet.
    Dispatched {
        /// Which run.
        run: RunId,
    },
    /// Delivered.
    Delivered {
        /// When.
        at: Timestamp,
    },
    /// Not delivered: what it told was no longer true, or its thread is gone.
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
    /// Where the task stood when the event was made: an end is true for ever.
    pub status: Status,
    /// Where it stands.
    pub state: State,
    /// Lane, due time, lease, generation.
    pub durable: Durable,
    /// Deliveries that failed in a row.
    pub attempts: u32,
    /// Runs that were started and came to nothing; it tells their idempotency keys apart.
    pub dispatch: u32,
    /// Why the last delivery failed.
    pub last_error: Option<Snippet>,
    /// When the event was made.
    pub created_at: Timestamp,
    /// The event, of a note from the time when its row carried it; none when it has a row of its own.
    pub carried: Option<Box<Event>>,
}

/// A new notification with its event: what a task's commit writes when it has news.
#[derive(Debug, Clone, PartialEq)]
pub struct Announced {
    /// The notification.
    pub note: Note,
    /// What it tells; written once.
    pub event: Event,
    /// Until when the event is kept.
    pub kept_until: Timestamp,
}

/// What happens to the time until which the event is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// It stays as it is.
    AsItIs,
    /// Until then.
    Until(Timestamp),
    /// As long as its thread: somebody may still replay it.
    Always,
}

/// One change of a note: everything that becomes true together.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// What the row must be.
    pub expect: Expect,
    /// The new row.
    pub note: Note,
    /// Whether the event shows in its thread from now on, in the same transaction.
    pub deliver: bool,
    /// Until when the row is kept, and what shows in the thread; none for a note that is not at its end.
    pub expires: Option<Timestamp>,
    /// The same for the event.
    pub keep: Keep,
}

impl State {
    /// The state's name in rows and messages.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Dispatched { .. } => "dispatched",
            Self::Delivered { .. } => "delivered",
            Self::Withdrawn => "withdrawn",
            Self::Superseded => "superseded",
            Self::Dead => "dead_letter",
        }
    }
}

impl Announced {
    /// The news that `event` is version `version` of what `task` has to tell.
    pub fn new(task: &Task, version: u32, event: Event, now: Timestamp, policy: &Policy) -> Self {
        let note = Note::new(task.key.clone(), version, task.delivery, event.status, now);
        Self { note, event, kept_until: kept_until(now, policy) }
    }
}

impl Note {
    /// A new note, due at once.
    pub fn new(task: TaskKey, version: u32, delivery: Delivery, status: Status, now: Timestamp) -> Self {
        let durable = Durable::waiting(Due { lane: Lane::Notify, at: now });
        Self {
            task,
            version,
            delivery,
            status,
            state: State::Pending,
            durable,
            attempts: 0,
            dispatch: 0,
            last_error: None,
            created_at: now,
            carried: None,
        }
    }

    /// Why it is not delivered, if it is not, when the task's current version is `attention`. An event that tells the end is
    /// true for ever, also when the task's row has left.
    pub fn stale(&self, attention: u32) -> Option<State> {
        match attention {
            _ if self.status.is_terminal() => None,
            0 => Some(State::Withdrawn),
            current if current != self.version => Some(State::Superseded),
            _ => None,
        }
    }

    /// By what its run is known to be this very delivery (reference 7.5). The same key gives the same run, so that a launch
    /// whose answer was lost is repeated without a second run.
    pub fn idempotency_key(&self) -> String {
        format!("{DELIVERY_KEYS}{}:{}:{}", self.task.id, self.version, self.dispatch)
    }
}

/// Until when an event is kept from `now` on.
fn kept_until(now: Timestamp, policy: &Policy) -> Timestamp {
    now + policy.retention + LATE
}
