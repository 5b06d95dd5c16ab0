//! The circuit breaker of a model, and how many of its calls go on at a time. Pure.
//!
//! Five failures in a row open it for a minute: nobody calls. Then one call goes through, the probe, and closes it or opens it
//! for another minute (agent reference 1.5). It is shared by all processes, each of which changes it by exchanging what it saw
//! for what follows from it. A closed one without failures and without a limit is never changed, so nothing is written for
//! a call that goes well.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

#[cfg(test)]
mod tests;

/// Failures in a row that open it.
pub const FAILURES: u32 = 5;
/// For how long it is open.
pub const OPEN_FOR: Duration = Duration::from_mins(1);
/// How far the clocks of processes may be apart: an end that is further away was written by a clock that was wrong.
const APART: Duration = Duration::from_mins(1);
/// When a call that found every place taken may ask again: long enough that its run is parked meanwhile and not paid for.
const FULL_WAIT: Duration = Duration::from_secs(30);

/// A breaker. The default is closed, and what is as good as none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breaker {
    /// How often it was changed.
    revision: u64,
    /// The call that changed it last. Two changes of one revision differ by it, so that who lost an answer can tell whether
    /// what is there is its own.
    changed_by: u64,
    /// Failures in a row.
    failures: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    open_until: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    probe: Option<Place>,
    /// Calls that go on, where their number is limited.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    calls: Vec<Place>,
}

/// The place of a call that goes on. Who never leaves it loses it when its time is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Place {
    call: u64,
    until: Timestamp,
}

/// What a call is held to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// Most calls at a time; none is no limit.
    pub at_once: Option<u32>,
    /// The longest that the call can take.
    pub longest: Duration,
}

/// Whether a call may be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// It may, and nothing changes.
    Free,
    /// It may, once this is in the place of what was seen.
    Take(Breaker),
    /// It may not.
    Refused(Refusal),
}

/// Why a call may not be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It is open, or its probe is on the way.
    Open {
        /// How long it is at least; a probe may be back sooner.
        wait: Duration,
    },
    /// As many calls go on as may.
    Full {
        /// When it makes sense to ask again.
        wait: Duration,
    },
}

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The provider answered, if only to refuse.
    Answered,
    /// It did not, or said that it cannot just now.
    Failed,
    /// Nobody waited for its answer, so it says nothing of the provider.
    Dropped,
}

impl Breaker {
    /// How often it was changed; an exchange is conditioned on it.
    pub const fn revision(&self) -> u64 {
        self.revision
    }

    /// Until when it says anything; after that it is as good as none.
    pub fn ends(&self, now: Timestamp) -> Timestamp {
        let ends = self.calls.iter().chain(&self.probe).map(|place| place.until).chain(self.open_until);
        // Failures in a row count for an hour: those of yesterday say nothing of today.
        ends.max().unwrap_or(now).max(now) + Duration::from_hours(1)
    }

    /// Asks for a place for `call`, a number that no other call has.
    pub fn enter(&self, terms: Terms, call: u64, now: Timestamp) -> Entry {
        let mut after = self.clone();
        let is_live = |place: &Place| lasts(place.until, terms.longest, now);
        after.calls.retain(is_live);
        after.probe = after.probe.filter(is_live);
        if let Some(until) = self.open_until {
            if lasts(until, OPEN_FOR, now) {
                return Entry::Refused(Refusal::Open { wait: until.since(now) });
            }
            if let Some(probe) = after.probe {
                return Entry::Refused(Refusal::Open { wait: probe.until.since(now).min(OPEN_FOR) });
            }
            after.probe = Some(Place { call, until: now + terms.longest });
        }
        if let Some(most) = terms.at_once {
            if after.calls.len() >= usize::try_from(most).unwrap_or(usize::MAX) {
                return Entry::Refused(Refusal::Full { wait: FULL_WAIT });
            }
            after.calls.push(Place { call, until: now + terms.longest });
        } else if after.probe.is_none_or(|probe| probe.call != call) {
            return Entry::Free;
        }
        Entry::Take(after.changed(self, call))
    }

    /// Leaves the place of `call`; none if nothing changes by it.
    pub fn leave(&self, call: u64, outcome: Outcome, now: Timestamp) -> Option<Self> {
        let mut after = self.clone();
        after.calls.retain(|place| place.call != call);
        let is_probe = self.probe.is_some_and(|probe| probe.call == call);
        match (self.open_until, outcome) {
            (Some(_), Outcome::Dropped) if is_probe => after.probe = None,
            (None, Outcome::Answered) => after.failures = 0,
            (None, Outcome::Failed) => {
                after.failures = self.failures.saturating_add(1);
                after.open_until = (after.failures >= FAILURES).then(|| now + OPEN_FOR);
            }
            (Some(_), Outcome::Answered) if is_probe => {
                (after.failures, after.open_until, after.probe) = (0, None, None);
            }
            (Some(_), Outcome::Failed) if is_probe => {
                (after.open_until, after.probe) = (Some(now + OPEN_FOR), None);
            }
            // A call that began before it opened says nothing new.
            (None, Outcome::Dropped) | (Some(_), _) => {}
        }
        (after != *self).then(|| after.changed(self, call))
    }

    fn changed(mut self, before: &Self, by: u64) -> Self {
        self.revision = before.revision.saturating_add(1);
        self.changed_by = by;
        self
    }
}

/// Whether a time until `until`, of at most `longest`, goes on at `now`.
fn lasts(until: Timestamp, longest: Duration, now: Timestamp) -> bool {
    now < until && until.since(now) <= longest + APART
}
