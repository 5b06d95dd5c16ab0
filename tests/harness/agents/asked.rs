//! What the harness knows of the callers: which runs they were told of, and which ends.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pudu_domain::run::Outcome;
use pudu_domain::{RunKey, ThreadKey};
use pudu_testkit::sim::Violation;

use super::promises::{ON_TIME, ONE_KEY};

/// What callers heard. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Asked(Arc<Mutex<State>>);

/// The same, looked at.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    /// By the number of who asked: the run that he was told of.
    pub(super) admitted: BTreeMap<u64, RunKey>,
    /// Ends that somebody was told of.
    pub(super) ended: BTreeMap<RunKey, Outcome>,
    /// Threads that somebody wanted deleted.
    pub(super) unwanted: BTreeSet<ThreadKey>,
    /// What was heard that must not be.
    pub(super) broken: Vec<Violation>,
}

impl Asked {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn state(&self) -> State {
        self.lock().clone()
    }

    /// Somebody was told that his run is admitted, perhaps not for the first time.
    pub(super) fn admitted(&self, number: u64, run: &RunKey) {
        let mut state = self.lock();
        let before = state.admitted.insert(number, run.clone());
        if let Some(before) = before.filter(|before| before != run && !state.unwanted.contains(&run.thread)) {
            let evidence = format!("caller {number} was told of {} and of {}", before.id, run.id);
            state.broken.push(Violation { promise: ONE_KEY, evidence });
        }
    }

    /// Somebody was told how a run ended.
    pub(super) fn ended(&self, run: &RunKey, outcome: Outcome) {
        self.lock().ended.entry(run.clone()).or_insert(outcome);
    }

    /// Somebody is about to ask for a thread to be deleted.
    pub(super) fn unwant(&self, thread: &ThreadKey) {
        self.lock().unwanted.insert(thread.clone());
    }

    /// An invocation went on behind its deadline.
    pub(super) fn late(&self, name: &str) {
        let evidence = format!("{name} was still at work at its deadline");
        self.lock().broken.push(Violation { promise: ON_TIME, evidence });
    }
}
