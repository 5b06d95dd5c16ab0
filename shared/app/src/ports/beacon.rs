//! Whether a background function is awake: a row with a short lease that its holder renews.
//!
//! A hint for whoever would invoke the function, never a right to work: what protects an item is its own lease. A holder
//! that is killed stops shining when the lease is over.

use std::time::Duration;

use async_trait::async_trait;
use pudu_domain::{Owner, Timestamp};

use super::StoreError;

/// A function that works in the background.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Background {
    /// The task-poller.
    Poller,
    /// The notifier.
    Notifier,
    /// The agent.
    Agent,
}

impl Background {
    /// Each of them.
    pub const ALL: [Self; 3] = [Self::Poller, Self::Notifier, Self::Agent];

    /// Its name in stored keys and logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Poller => "task-poller",
            Self::Notifier => "notifier",
            Self::Agent => "agent",
        }
    }
}

/// Who is awake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Awake {
    /// One invocation: a nonce is part of it.
    pub holder: Owner,
    /// Until when that counts, unless it is renewed.
    pub until: Timestamp,
    /// When the invocation stops beginning anything, renewed or not.
    pub ends: Timestamp,
}

/// The row of one function.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Beacon {
    /// Who raised it last, and has not lowered it.
    pub awake: Option<Awake>,
    /// How often word was left with whoever was awake; it only grows.
    pub knocks: u64,
    /// When somebody was last awake for sure: the last time that one raised, renewed or lowered it. Also a tick that found
    /// nothing to do does that. None if nobody ever was.
    pub seen: Option<Timestamp>,
}

impl Beacon {
    /// Whether somebody is awake at `now`.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.awake.as_ref().is_some_and(|awake| awake.until >= now)
    }

    /// Whether somebody was awake in the time `within` before `now`. A clock that is ahead of ours does not make it less so.
    pub fn was_seen(&self, now: Timestamp, within: Duration) -> bool {
        self.is_live(now) || self.seen.is_some_and(|seen| now.since(seen) <= within)
    }

    /// Whether `holder` may raise it at `now`: nobody else is awake, or somebody who ends before `relieves`.
    pub fn may_raise(&self, holder: &Owner, now: Timestamp, relieves: Option<Timestamp>) -> bool {
        self.awake.as_ref().is_none_or(|awake| {
            awake.holder == *holder || awake.until < now || relieves.is_some_and(|before| awake.ends < before)
        })
    }
}

/// What an attempt to raise a beacon came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Raised {
    /// It shines for us.
    Ours {
        /// How often word was left so far.
        knocks: u64,
    },
    /// Somebody else is awake.
    Theirs,
}

/// The beacons, one for each function.
#[async_trait]
pub trait Beacons: Send + Sync {
    /// Raises the beacon for `awake.holder`, or renews it. It takes it from somebody who is awake only if that one ends
    /// before `relieves`. The condition is [`Beacon::may_raise`] at the clock's time, which is noted as [`Beacon::seen`].
    async fn raise(
        &self,
        function: Background,
        awake: &Awake,
        relieves: Option<Timestamp>,
    ) -> Result<Raised, StoreError>;

    /// Lowers it, if it is `holder`'s, and notes the time as [`Beacon::seen`].
    async fn lower(&self, function: Background, holder: &Owner) -> Result<(), StoreError>;

    /// Leaves word with whoever is awake, and says whether anybody is: one conditional write, so that there is no moment
    /// between the look and the word. A retry may count twice.
    async fn knock(&self, function: Background) -> Result<bool, StoreError>;

    /// The row as it was a moment ago; cheaper than a consistent read, and asked again a second later.
    async fn look(&self, function: Background) -> Result<Beacon, StoreError>;
}
