//! The engine of every background worker: from an invocation to a report.
//!
//! What one invocation does is in `shift`, what it is allowed to in `call`, how it looks through the index in `pass`.

use std::sync::Arc;

use async_trait::async_trait;
use pudu_domain::{Due, Lane};
use serde::Serialize;

use super::call::Call;
use super::shift::Shift;
use crate::deadline::Deadline;
use crate::limits::Limits;
use crate::ports::{Background, Beacons, Clock, DueIndex, ItemKey, NoteKey, Random};
use crate::wakeups::Wakeups;

/// What became of one item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ran {
    /// It was claimed and worked on, and its row is as it is now.
    Settled {
        /// When it is due next, if ever: so that who is still there then need not ask the index.
        next: Option<Due>,
        /// The event that was made with it.
        event: Option<NoteKey>,
    },
    /// It was claimed and worked on; what its row has become is not known.
    Worked,
    /// It could not be claimed, or the claim was given back.
    Refused,
    /// The table failed; what was claimed becomes claimable when the lease ends.
    Failed,
}

/// How one due item is worked on: claim, call, commit. Fails only by saying so.
#[async_trait]
pub trait Work: Send + Sync + 'static {
    /// The lanes it serves, the more urgent first.
    fn lanes(&self) -> &'static [Lane];

    /// Works on one item.
    async fn run(&self, lane: Lane, key: &ItemKey, deadline: Deadline) -> Ran;

    /// Whose beacon says that it is at work.
    fn function(&self) -> Background {
        match self.lanes().first() {
            Some(Lane::Notify) => Background::Notifier,
            Some(Lane::Run) => Background::Agent,
            _ => Background::Poller,
        }
    }
}

/// What a drain did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Items worked on.
    pub worked: usize,
    /// Items that could not be claimed.
    pub refused: usize,
    /// Items that the table failed.
    pub failed: usize,
    /// Scans of the index that the table failed.
    pub scans_failed: usize,
}

/// A drain that the table failed: the invocation counts as an error, so that an alarm sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{failed} items and {scans_failed} scans failed, {worked} items were worked on; the log says why")]
pub struct Failures {
    /// Items that the table failed, or that were put aside.
    pub failed: usize,
    /// Scans that the table failed.
    pub scans_failed: usize,
    /// Items that were worked on all the same.
    pub worked: usize,
}

impl Report {
    /// The report of a drain that the table did not fail.
    pub fn clean(self) -> Result<Self, Failures> {
        let Self { worked, failed, scans_failed, .. } = self;
        if failed + scans_failed == 0 { Ok(self) } else { Err(Failures { failed, scans_failed, worked }) }
    }
}

/// The engine of every background worker.
#[derive(Clone)]
pub struct Drain {
    /// Where due items are found.
    pub due: Arc<dyn DueIndex>,
    /// Who is awake.
    pub beacons: Arc<dyn Beacons>,
    /// How others are woken for what is committed here.
    pub wakeups: Wakeups,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Nonces.
    pub random: Arc<dyn Random>,
    /// Permits, lease and patience.
    pub limits: Limits,
}

impl Drain {
    /// What a tick does: works until nothing is due soon or the deadline is near; only a little if somebody else is awake.
    pub async fn run(&self, work: Arc<dyn Work>, deadline: Deadline) -> Report {
        self.answer(work, Call::Tick, deadline).await
    }

    /// What an invocation does that was called for this.
    pub async fn answer(&self, work: Arc<dyn Work>, call: Call, deadline: Deadline) -> Report {
        Shift::new(self, work, deadline).run(call).await
    }
}
