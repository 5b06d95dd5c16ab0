//! A moment as a number: milliseconds since the Unix epoch, UTC. Where it comes from is the caller's business.

use std::ops::Add;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A moment, in whole milliseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The moment `millis` milliseconds after the epoch.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the epoch.
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// How long after `earlier` this is; zero when it is not after it.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }

    /// Whether this is less than `limit` after `at`, and not before it: what was noted at a time that has not come yet was
    /// noted by a clock that has been set back since, and would hold for as long as it was set back.
    pub fn is_within(self, limit: Duration, at: Self) -> bool {
        at <= self && self.since(at) < limit
    }
}

impl Add<Duration> for Timestamp {
    type Output = Self;

    /// Saturates, so that an absurd duration from outside can never wrap into the past.
    fn add(self, by: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(by.as_millis()).unwrap_or(u64::MAX)))
    }
}
