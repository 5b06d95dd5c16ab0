//! The table in memory: one mutex, and the domain's own pure functions as conditions, so that it cannot disagree with them.
//!
//! [`FakeTable`] holds the rows and shows them to the harness. A [`FakeStore`] is one worker's access: its own clock, and a
//! gate that each *attempt* of a write passes, so that a lost answer is retried and judged as a real adapter does it.

mod allowances;
mod audits;
mod beacons;
mod breakers;
mod catalogs;
mod configs;
mod events;
mod feedback;
mod index;
mod keys;
mod memories;
mod notes;
mod peers;
pub(crate) mod rows;
mod runs;
mod tasks;
mod threads;
mod tokens;
mod wrapped_keys;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pudu_app::ports::{Clock, DeliveredEvent, ItemKey, NoteKey, Revision, StoreError, TokenKey};
use pudu_domain::{
    Conversation, Durable, Note, Payload, RemoteTaskId, Run, RunKey, ServerName, Task, TaskKey, TaskSpec,
    Thread, ThreadKey, Timestamp, Token, UserId,
};
use serde_json::Value;

use crate::clock::ManualClock;
use crate::gate::Gate;
use crate::lock::lock;
use crate::random::SeededRandom;
use index::{Index, Lag};
use rows::Rows;

/// How often an attempt without an answer is repeated before the caller hears of it.
const ATTEMPTS: u32 = 3;
/// Pause before the first repetition; it doubles.
const RETRY_PAUSE: Duration = Duration::from_millis(50);

/// A condition that a broken table forgets. Each must be noticed by a conformance case and by the simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flaw {
    /// A claim does not look at the lease.
    ClaimsLeased,
    /// A remote handle may belong to two tasks.
    SharesHandles,
    /// A delivery looks neither at the note's claim nor at what was delivered before.
    DeliversAgain,
    /// A task's row and its note are two writes, and the second never comes.
    TearsTransactions,
    /// A task at its end stays in the index.
    KeepsEnded,
    /// The events and notifications of a thread stay when everything else of it goes.
    ErasesHalf,
    /// A token is replaced whatever its row has become.
    IgnoresGenerations,
    /// Feedback is taken by a thread that is gone or is being deleted.
    OutlivesThreads,
}

impl Flaw {
    /// Every flaw.
    pub const ALL: [Self; 8] = [
        Self::ClaimsLeased,
        Self::SharesHandles,
        Self::DeliversAgain,
        Self::TearsTransactions,
        Self::KeepsEnded,
        Self::ErasesHalf,
        Self::IgnoresGenerations,
        Self::OutlivesThreads,
    ];
}

/// A remote handle's address: unique per user, server and identity.
pub type Handle = (UserId, ServerName, String, RemoteTaskId);

/// One write that was applied to a durable row: what invariants are computed from.
#[derive(Debug, Clone, PartialEq)]
pub struct Write {
    /// What the writer's clock showed.
    pub at: Timestamp,
    /// What kind of write.
    pub kind: Wrote,
    /// Which row.
    pub key: ItemKey,
    /// The row's lease and generation before; none at birth.
    pub before: Option<Durable>,
    /// The same after.
    pub after: Durable,
    /// The whole row after it, for a task.
    pub task: Option<Box<Task>>,
}

/// The kinds of writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrote {
    /// A new row.
    Birth,
    /// A claim.
    Claim,
    /// A commit by somebody who says that he holds the row.
    Held,
    /// A write by somebody who only read the row.
    Beside,
    /// A row that does not decode, moved out of the way.
    Corrupt,
}

/// One task with everything that is stored of it.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredTask {
    /// The hot row.
    pub task: Task,
    /// What was settled at submission.
    pub spec: TaskSpec,
    /// The payload; empty when there is no such row.
    pub payload: Payload,
    /// The answer that waits to be sent, if there is such a row.
    pub answer: Option<Value>,
}

/// The rows. Clones share them.
#[derive(Clone)]
pub struct FakeTable(Arc<Mutex<Rows>>);

impl Default for FakeTable {
    fn default() -> Self {
        Self::new()
    }
}

impl FakeTable {
    /// An empty table whose index is always up to date.
    pub fn new() -> Self {
        Self::lagging(Arc::new(ManualClock::start()), Duration::ZERO)
    }

    /// An empty table whose index is `lag` behind the rows, by `clock`.
    pub fn lagging(clock: Arc<dyn Clock>, lag: Duration) -> Self {
        Self(Arc::new(Mutex::new(Rows::new(Index::new(clock, Lag::Always(lag))))))
    }

    /// An empty table whose index shows each change at a time of its own, at most `longest` after the row has it.
    pub fn straggling(clock: Arc<dyn Clock>, random: SeededRandom, longest: Duration) -> Self {
        Self(Arc::new(Mutex::new(Rows::new(Index::new(clock, Lag::UpTo(longest, random))))))
    }

    /// The same table with a flaw, from now on.
    #[must_use]
    pub fn with_flaw(self, flaw: Flaw) -> Self {
        lock(&self.0).flaws.insert(flaw);
        self
    }

    /// One worker's access: conditions about time are judged by its `clock`, attempts pass its `gate`.
    pub fn store(&self, clock: Arc<dyn Clock>, gate: Gate) -> FakeStore {
        FakeStore { table: self.clone(), clock, gate }
    }

    /// Every task.
    pub fn tasks(&self) -> Vec<StoredTask> {
        lock(&self.0).tasks.values().map(|row| row.stored.clone()).collect()
    }

    /// One task.
    pub fn task(&self, key: &TaskKey) -> Option<StoredTask> {
        lock(&self.0).tasks.get(key).map(|row| row.stored.clone())
    }

    /// Every thread.
    pub fn threads(&self) -> Vec<Thread> {
        lock(&self.0).threads.values().cloned().collect()
    }

    /// Every notification.
    pub fn notes(&self) -> Vec<Note> {
        lock(&self.0).notes.values().map(|row| row.note.clone()).collect()
    }

    /// Every run.
    pub fn runs(&self) -> Vec<Run> {
        lock(&self.0).runs.rows.values().map(|row| row.run.clone()).collect()
    }

    /// Every conversation.
    pub fn conversations(&self) -> Vec<Conversation> {
        lock(&self.0).runs.conversations.values().cloned().collect()
    }

    /// Every delivered event, by thread, in the order of delivery.
    pub fn delivered(&self) -> BTreeMap<ThreadKey, Vec<DeliveredEvent>> {
        let rows = lock(&self.0);
        rows.events.keys().map(|thread| (thread.clone(), rows.shown(thread, None))).collect()
    }

    /// Which task owns which remote handle.
    pub fn handles(&self) -> BTreeMap<Handle, TaskKey> {
        lock(&self.0).handles.clone()
    }

    /// Which task a caller's key stands for, with the digest of what it asked for.
    pub fn repeatable(&self) -> BTreeMap<(ThreadKey, String), (TaskKey, String)> {
        lock(&self.0).repeatable.clone()
    }

    /// Every revision of the config, and the number of the current one.
    pub fn revisions(&self) -> (BTreeMap<u64, Revision>, Option<u64>) {
        let rows = lock(&self.0);
        (rows.revisions.clone(), rows.pointer)
    }

    /// Every OAuth token.
    pub fn tokens(&self) -> BTreeMap<TokenKey, Token> {
        lock(&self.0).tokens.clone()
    }

    /// Every write to a durable row, in the order in which they were applied.
    pub fn writes(&self) -> Vec<Write> {
        lock(&self.0).writes.clone()
    }

    /// Makes a task's hot row undecodable.
    pub fn corrupt_task(&self, key: &TaskKey) {
        if let Some(row) = lock(&self.0).tasks.get_mut(key) {
            row.broken = true;
        }
    }

    /// Makes a task's spec row undecodable.
    pub fn corrupt_spec(&self, key: &TaskKey) {
        if let Some(row) = lock(&self.0).tasks.get_mut(key) {
            row.spec_broken = true;
        }
    }

    /// Makes a run's hot row undecodable.
    pub fn corrupt_run(&self, key: &RunKey) {
        if let Some(row) = lock(&self.0).runs.rows.get_mut(key) {
            row.broken = true;
        }
    }

    /// Takes a run's spec row away.
    pub fn forget_spec(&self, key: &RunKey) {
        lock(&self.0).runs.specs.remove(key);
    }

    /// Makes a notification's row undecodable.
    pub fn corrupt_note(&self, key: &NoteKey) {
        if let Some(row) = lock(&self.0).notes.get_mut(key) {
            row.broken = true;
        }
    }
}

/// One worker's access to a [`FakeTable`]: every port of the table.
#[derive(Clone)]
pub struct FakeStore {
    table: FakeTable,
    clock: Arc<dyn Clock>,
    gate: Gate,
}

/// One attempt: when it is, and whether an earlier one stayed without an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempt {
    pub(crate) now: Timestamp,
    pub(crate) retried: bool,
}

impl FakeStore {
    /// Carries an operation out, and repeats it while no answer comes. Every attempt reads the clock again.
    async fn attempt<T: std::fmt::Debug>(
        &self,
        op: &'static str,
        mut apply: impl FnMut(&mut Rows, Attempt) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut attempt = 1;
        loop {
            let call = async {
                let now = self.clock.now();
                apply(&mut lock(&self.table.0), Attempt { now, retried: attempt > 1 })
            };
            match self.gate.call(op, call).await {
                Ok(answer) => return answer,
                Err(broken) if attempt == ATTEMPTS => return Err(broken.at_the_table(op)),
                Err(_) => self.clock.sleep(RETRY_PAUSE * (1 << attempt)).await,
            }
            attempt += 1;
        }
    }
}

/// The rows that a delivered event makes impossible to deliver again.
type Delivered = BTreeSet<NoteKey>;
