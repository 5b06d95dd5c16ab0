//! What a process knows of one server's list: the last answer, the last failure, and who is asking.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pudu_domain::Timestamp;

use super::{Arc, Listed};
use crate::changes::Mark;
use crate::ports::CallError;

/// How long a server that could not be listed is left alone.
pub(crate) const FAILED_FOR: Duration = Duration::from_secs(15);
/// How often the table is asked for a list that it did not have.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// One server's place in memory.
#[derive(Debug, Default)]
pub(super) struct Slot {
    /// Held by whoever asks the server. Dropped with its holder, so that a waiter takes over from one who was cancelled.
    pub(super) asking: tokio::sync::Mutex<()>,
    /// Held by whoever asks the table.
    pub(super) looking: tokio::sync::Mutex<()>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    listed: Option<Arc<Listed>>,
    /// As of when `listed` is not void; none when that is not known.
    holds: Option<Mark>,
    /// What the table has.
    stored: Option<Arc<Listed>>,
    looked: Option<Timestamp>,
    failed: Option<(CallError, Timestamp, Mark)>,
    used: Timestamp,
}

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    /// Now.
    pub(super) now: Timestamp,
    /// The server's changes so far.
    pub(super) mark: Mark,
    /// Only a list that was asked for after this will do.
    pub(super) newer_than: Option<Timestamp>,
}

impl Slot {
    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What can be said without asking anybody.
    pub(super) fn answer(&self, wanted: Wanted) -> Option<Result<Arc<Listed>, CallError>> {
        self.with(|state| {
            state.used = wanted.now;
            let newer = |at| wanted.newer_than.is_none_or(|than| at > than);
            let fresh = state.listed.as_ref().filter(|listed| {
                state.holds == Some(wanted.mark) && wanted.now < listed.fresh_until && newer(listed.listed_at)
            });
            if let Some(listed) = fresh {
                return Some(Ok(Arc::clone(listed)));
            }
            let (error, at, mark) = state.failed.as_ref()?;
            let lately = wanted.now.is_within(FAILED_FOR, *at) && *mark == wanted.mark && newer(*at);
            lately.then(|| Err(error.clone()))
        })
    }

    /// The last list, however old.
    pub(super) fn last(&self) -> Option<Arc<Listed>> {
        self.with(|state| state.listed.clone())
    }

    /// Why the server could not be listed when it was last asked, and when that was; none since it could.
    pub(super) fn last_failure(&self) -> Option<(CallError, Timestamp)> {
        self.with(|state| state.failed.as_ref().map(|(error, at, _)| (error.clone(), *at)))
    }

    /// Whether there is nothing to be gained from the table now.
    pub(super) fn has_looked(&self, now: Timestamp) -> bool {
        self.with(|state| state.looked.is_some_and(|at| now.is_within(LOOK_AGAIN, at)))
    }

    /// Takes what the table had.
    pub(super) fn looked(&self, found: Option<Listed>, wanted: Wanted) {
        self.with(|state| {
            state.looked = Some(wanted.now);
            let Some(found) = found.map(Arc::new) else { return };
            state.stored = Some(Arc::clone(&found));
            let newer = state.listed.as_ref().is_none_or(|listed| found.listed_at > listed.listed_at);
            if !newer {
                return;
            }
            // Whether it is from before a change that this process was told of can only be said against a list that is not.
            let after = state.listed.is_some() && state.holds == Some(wanted.mark);
            state.holds = (wanted.mark.is_first() || after).then_some(wanted.mark);
            state.listed = Some(found);
        });
    }

    /// Takes what the server answered, as it stood at `mark`.
    pub(super) fn listed(&self, listed: &Arc<Listed>, mark: Mark) {
        self.with(|state| {
            state.listed = Some(Arc::clone(listed));
            state.holds = Some(mark);
            state.failed = None;
        });
    }

    /// Whether the table should have `listed`. One that is short-lived, or follows another one soon (a server may say with
    /// each answer that its list has changed), only when it says something new: writing it down costs more than asking again.
    pub(super) fn is_worth_keeping(&self, listed: &Listed, short: bool) -> bool {
        let soon = |stored: &Listed| listed.listed_at.since(stored.listed_at) < super::SHORT;
        self.with(|state| {
            !state.stored.as_ref().is_some_and(|stored| (short || soon(stored)) && stored.is_like(listed))
        })
    }

    /// The table has `listed`.
    pub(super) fn stored(&self, listed: Arc<Listed>) {
        self.with(|state| state.stored = Some(listed));
    }

    /// The server could not be asked.
    pub(super) fn failed(&self, error: CallError, at: Timestamp, mark: Mark) {
        self.with(|state| state.failed = Some((error, at, mark)));
    }

    /// When somebody last wanted it.
    pub(super) fn used(&self) -> Timestamp {
        self.with(|state| state.used)
    }
}
