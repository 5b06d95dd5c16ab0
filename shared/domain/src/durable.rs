//! The one mechanism for everything durable: lane, due time, lease and generation (DESIGN section 3).
//!
//! A worker *claims* an item (lease, generation +1), works, and *commits* (new state, lease gone) only while it still owns
//! the claim. A *fence* (generation +1, lease gone) makes every result in flight worthless. The generation is what protects;
//! the clock only decides who may try. The stores write exactly what these functions return, under exactly [`Expect`].

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// What an item waits for; together with a shard it is the partition of the due index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lane {
    /// A task whose server is asked for its status.
    Poll,
    /// A task whose server is asked to cancel it.
    Cancel,
    /// A submission whose outcome is not known yet; due when its submitter's time is over.
    Intent,
    /// A notification to deliver.
    Notify,
    /// An agent's run that has a step to do.
    Run,
    /// A thread to delete.
    Delete,
    /// A notification given up; waits for an operator.
    Dead,
    /// A row that cannot be decoded; waits for an operator.
    Corrupt,
}

impl Lane {
    /// Every lane.
    pub const ALL: [Self; 8] = [
        Self::Poll,
        Self::Cancel,
        Self::Intent,
        Self::Notify,
        Self::Run,
        Self::Delete,
        Self::Dead,
        Self::Corrupt,
    ];

    /// The lane's name in stored keys.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Poll => "poll",
            Self::Cancel => "cancel",
            Self::Intent => "intent",
            Self::Notify => "notify",
            Self::Run => "run",
            Self::Delete => "delete",
            Self::Dead => "dead",
            Self::Corrupt => "corrupt",
        }
    }
}

/// When an item wants attention, and whose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// Which lane serves it.
    pub lane: Lane,
    /// Not before this moment.
    pub at: Timestamp,
}

/// Counts claims and fences of one item; a write with an older one is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Generation(u64);

impl Generation {
    /// The generation with this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Its number.
    pub const fn number(self) -> u64 {
        self.0
    }

    /// The one after it.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// Who holds a lease: the worker and a nonce that is fresh for each claim, so that a claim whose answer was lost can
/// recognise itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Owner(String);

impl Owner {
    /// The owner for one claim by `worker`.
    pub fn new(worker: &str, nonce: u64) -> Self {
        Self(format!("{}:{nonce:016x}", worker.get(..32).unwrap_or(worker)))
    }

    /// An owner as it was stored.
    pub fn stored(text: String) -> Self {
        Self(text)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The right to work on an item until a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Who has it.
    pub owner: Owner,
    /// Until when: at this very moment the holder may still write and nobody else may claim (reference 6.5).
    pub until: Timestamp,
}

/// The part that every durable row has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Durable {
    /// When it wants attention; none for an item at its end.
    pub due: Option<Due>,
    /// Who works on it.
    pub lease: Option<Lease>,
    /// How often it was claimed or fenced.
    pub generation: Generation,
    /// How often somebody wrote to it without fencing its holder (a wake-up, or the cancel of an intent).
    pub wake: u64,
}

impl Durable {
    /// Whether a worker of `lane` may claim the item at `now`.
    pub fn claimable(&self, lane: Lane, now: Timestamp) -> bool {
        let wanted = self.due.is_some_and(|due| due.lane == lane && due.at <= now);
        wanted && self.lease.as_ref().is_none_or(|lease| lease.until < now)
    }

    /// Whether somebody works on the item or will: it is neither at its end nor left to an operator.
    pub fn is_live(&self) -> bool {
        let waits = |due: Due| !matches!(due.lane, Lane::Dead | Lane::Corrupt);
        self.lease.is_some() || self.due.is_some_and(waits)
    }

    /// A new item, born under a lease.
    pub fn leased(due: Due, lease: Lease) -> Self {
        Self { due: Some(due), lease: Some(lease), generation: Generation(1), wake: 0 }
    }

    /// A new item that waits for its first claim.
    pub const fn waiting(due: Due) -> Self {
        Self { due: Some(due), lease: None, generation: Generation(0), wake: 0 }
    }

    /// The item after a claim. Lane and due time stay, so that a claim does not touch the index.
    #[must_use]
    pub fn claimed(&self, lease: Lease) -> Self {
        Self { due: self.due, lease: Some(lease), generation: self.generation.next(), wake: self.wake }
    }

    /// The item after its holder's commit.
    #[must_use]
    pub const fn committed(&self, due: Option<Due>) -> Self {
        Self { due, lease: None, generation: self.generation, wake: self.wake }
    }

    /// The item after a commit by its holder, who goes on with it until then. The wake counter moves, so that a repetition whose
    /// answer was lost is not applied twice; the holder then finds its own write in the row.
    #[must_use]
    pub fn kept(&self, until: Timestamp) -> Self {
        let lease = self.lease.clone().map(|lease| Lease { until, ..lease });
        Self { lease, wake: self.wake + 1, ..self.clone() }
    }

    /// The item after a fence.
    #[must_use]
    pub const fn fenced(&self, due: Option<Due>) -> Self {
        Self { due, lease: None, generation: self.generation.next(), wake: self.wake }
    }

    /// The item after a write beside its holder.
    #[must_use]
    pub fn woken(&self) -> Self {
        Self { wake: self.wake + 1, ..self.clone() }
    }

    /// What a commit by the holder of this image must find.
    pub const fn held(&self) -> Expect {
        Expect::Held { generation: self.generation, wake: self.wake }
    }

    /// What a write by somebody who only read this image must find.
    pub const fn unchanged(&self) -> Expect {
        Expect::Unchanged { generation: self.generation, wake: self.wake, leased: self.lease.is_some() }
    }
}

/// The condition of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expect {
    /// There is no such row. The owner recognises its own write when the answer was lost.
    Absent {
        /// Whose lease the new row carries, if it is born under one.
        owner: Option<Owner>,
    },
    /// The writer still holds its claim: same generation, lease not over, nobody wrote beside it.
    Held {
        /// The generation of the claim.
        generation: Generation,
        /// The wake counter that the writer read.
        wake: u64,
    },
    /// Nobody claimed, fenced, woke or committed the item since it was read.
    Unchanged {
        /// The generation that was read: claims and fences raise it.
        generation: Generation,
        /// The wake counter that was read.
        wake: u64,
        /// Whether there was a lease: a commit leaves the generation and takes the lease.
        leased: bool,
    },
}

/// What became of a write whose condition failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// An earlier attempt, whose answer was lost, had been applied.
    Done,
    /// Somebody else owns the item now, or the lease is over: drop the result.
    Lost,
    /// The holder still owns the item, but it was woken or changed beside it: read, decide again, commit again.
    Woken,
    /// It cannot be told: read consistently before undoing anything.
    Unknown,
}

impl Expect {
    /// Whether the condition holds for the stored row.
    pub fn holds(&self, stored: Option<&Durable>, now: Timestamp) -> bool {
        match (self, stored) {
            (Self::Absent { .. }, stored) => stored.is_none(),
            (_, None) => false,
            (Self::Held { generation, wake }, Some(row)) => {
                row.generation == *generation
                    && row.wake == *wake
                    && row.lease.as_ref().is_some_and(|lease| lease.until >= now)
            }
            (Self::Unchanged { generation, wake, leased }, Some(row)) => {
                row.generation == *generation && row.wake == *wake && row.lease.is_some() == *leased
            }
        }
    }

    /// Judges a failed condition by the row that made it fail. `retried` says that an earlier attempt of the same write
    /// ended without an answer; without that a commit cannot have been applied before.
    pub fn judge(&self, stored: Option<&Durable>, retried: bool, now: Timestamp) -> Verdict {
        match (self, stored) {
            (Self::Absent { owner }, Some(row)) => {
                let mine = owner.is_some() && row.lease.as_ref().map(|lease| &lease.owner) == owner.as_ref();
                match (mine, retried) {
                    (true, _) => Verdict::Done,
                    (false, true) => Verdict::Unknown,
                    (false, false) => Verdict::Lost,
                }
            }
            (Self::Held { generation, wake }, Some(row)) => {
                if row.generation != *generation {
                    return if retried { Verdict::Unknown } else { Verdict::Lost };
                }
                match &row.lease {
                    // Nothing takes a lease without raising the generation, except the commit itself.
                    None if retried => Verdict::Done,
                    Some(lease) if row.wake != *wake && lease.until >= now => Verdict::Woken,
                    None | Some(_) => Verdict::Lost,
                }
            }
            (Self::Unchanged { .. }, Some(_)) if retried => Verdict::Unknown,
            // A row that is gone was removed with its thread; nothing of it can be ours any more.
            _ => Verdict::Lost,
        }
    }
}

#[cfg(test)]
mod tests;
