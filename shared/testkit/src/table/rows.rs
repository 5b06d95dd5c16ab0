//! The rows themselves, and what is common to tasks and notifications: claim, condition, index, log of writes.

use std::collections::{BTreeMap, BTreeSet};

use pudu_app::ports::{
    AuditRecord, Background, Beacon, Committed, Era, Hint, ItemKey, NoteKey, Revision, StoreError, StoredKey,
    StoredListing, TokenKey,
};
use pudu_domain::breaker::Breaker;
use pudu_domain::bucket::Bucket;
use pudu_domain::feedback::Feedback;
use pudu_domain::{
    Due, Durable, Expect, KeyId, Lane, Lease, Memory, MemoryKey, Note, RunKey, ServerTag, TaskKey, Thread,
    ThreadKey, Timestamp, Token, UserId, Verdict,
};

use super::events::{Body, Marker};
use super::index::Index;
use super::runs::Runs;
use super::{Attempt, Delivered, Flaw, Handle, StoredTask, Write, Wrote};

pub(super) struct TaskRow {
    pub(super) stored: StoredTask,
    pub(super) broken: bool,
    pub(super) spec_broken: bool,
    /// When the task with everything of it goes; to a reader it is gone from then on.
    pub(super) expires: Option<Timestamp>,
}

pub(super) struct NoteRow {
    pub(super) note: Note,
    pub(super) expires: Option<Timestamp>,
    pub(super) broken: bool,
}

pub(super) struct Rows {
    pub(super) tasks: BTreeMap<TaskKey, TaskRow>,
    pub(super) handles: BTreeMap<Handle, TaskKey>,
    /// Which task a caller's key stands for, with the digest of what it asked for.
    pub(super) repeatable: BTreeMap<(ThreadKey, String), (TaskKey, String)>,
    pub(super) notes: BTreeMap<NoteKey, NoteRow>,
    pub(super) threads: BTreeMap<ThreadKey, Thread>,
    pub(super) bodies: BTreeMap<NoteKey, Body>,
    pub(super) events: BTreeMap<ThreadKey, Vec<Marker>>,
    /// The addresses of the delivered events.
    pub(super) delivered: Delivered,
    /// The highest version delivered of each task.
    pub(super) notified: BTreeMap<TaskKey, u32>,
    pub(super) revisions: BTreeMap<u64, Revision>,
    pub(super) pointer: Option<u64>,
    pub(super) wrapped_key: Option<Vec<u8>>,
    /// By server and digest.
    pub(super) listings: BTreeMap<(String, String), StoredListing>,
    pub(super) peers: BTreeMap<String, (Era, Timestamp)>,
    pub(super) tokens: BTreeMap<TokenKey, Token>,
    pub(super) beacons: BTreeMap<Background, Beacon>,
    pub(super) keys: BTreeMap<KeyId, StoredKey>,
    pub(super) audit: BTreeMap<String, AuditRecord>,
    pub(super) buckets: BTreeMap<UserId, Bucket>,
    /// By the name of their model.
    pub(super) breakers: BTreeMap<String, Breaker>,
    pub(super) memories: BTreeMap<MemoryKey, Memory>,
    pub(super) runs: Runs,
    /// Each with when it goes.
    pub(super) feedback: BTreeMap<RunKey, (Feedback, Timestamp)>,
    pub(super) index: Index,
    pub(super) writes: Vec<Write>,
    pub(super) flaws: BTreeSet<Flaw>,
}

/// What a claim makes of a row.
pub(crate) enum Claim {
    /// The claimer has it: the new lease and generation.
    Won(Durable),
    /// An earlier attempt of the same claim had won.
    WonBefore,
    /// It may not be claimed.
    Refused,
    /// It could be claimed, but does not decode: it goes to the corrupt lane.
    Unreadable(Durable),
}

impl TaskRow {
    pub(super) fn is_over(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|at| at < now)
    }
}

impl Rows {
    pub(super) fn new(index: Index) -> Self {
        Self {
            tasks: BTreeMap::new(),
            handles: BTreeMap::new(),
            repeatable: BTreeMap::new(),
            notes: BTreeMap::new(),
            threads: BTreeMap::new(),
            bodies: BTreeMap::new(),
            events: BTreeMap::new(),
            delivered: BTreeSet::new(),
            notified: BTreeMap::new(),
            revisions: BTreeMap::new(),
            pointer: None,
            wrapped_key: None,
            listings: BTreeMap::new(),
            peers: BTreeMap::new(),
            tokens: BTreeMap::new(),
            beacons: BTreeMap::new(),
            keys: BTreeMap::new(),
            audit: BTreeMap::new(),
            buckets: BTreeMap::new(),
            breakers: BTreeMap::new(),
            memories: BTreeMap::new(),
            runs: Runs::default(),
            feedback: BTreeMap::new(),
            index,
            writes: Vec::new(),
            flaws: BTreeSet::new(),
        }
    }

    pub(super) fn has(&self, flaw: Flaw) -> bool {
        self.flaws.contains(&flaw)
    }

    pub(super) fn claim(
        &self,
        row: &Durable,
        broken: bool,
        lane: Lane,
        lease: Lease,
        attempt: Attempt,
    ) -> Claim {
        let seen = if self.has(Flaw::ClaimsLeased) { &Durable { lease: None, ..row.clone() } } else { row };
        match claim(seen, lane, lease, attempt) {
            Claim::Won(_) if broken => {
                Claim::Unreadable(row.fenced(Some(Due { lane: Lane::Corrupt, at: attempt.now })))
            }
            outcome => outcome,
        }
    }

    /// Logs a write and keeps the index in step with it.
    pub(super) fn wrote(
        &mut self,
        kind: Wrote,
        key: ItemKey,
        server: Option<&ServerTag>,
        (before, after): (Option<&Durable>, &Durable),
        now: Timestamp,
    ) {
        let (old, new) = (before.and_then(|row| row.due), after.due);
        let keeps = new.is_none() && self.has(Flaw::KeepsEnded);
        if old != new && !keeps {
            let hint =
                |due: Due| (due.lane, Hint { key: key.clone(), server: server.cloned(), due_at: due.at });
            self.index.put(&key, new.map(hint));
        }
        let task = match &key {
            ItemKey::Task(task) => self.tasks.get(task).map(|row| Box::new(row.stored.task.clone())),
            ItemKey::Note(_) | ItemKey::Thread(_) | ItemKey::Run(_) => None,
        };
        self.writes.push(Write { at: now, kind, key, before: before.cloned(), after: after.clone(), task });
    }
}

/// What a claim makes of a row that can be read. The model of the lease protocol asks the same.
pub(crate) fn claim(row: &Durable, lane: Lane, lease: Lease, attempt: Attempt) -> Claim {
    if attempt.retried && row.lease.as_ref().is_some_and(|held| held.owner == lease.owner) {
        return Claim::WonBefore;
    }
    if row.claimable(lane, attempt.now) { Claim::Won(row.claimed(lease)) } else { Claim::Refused }
}

/// The verdict on a failed condition, as a store reports it.
pub(super) fn judged(expect: &Expect, row: Option<&Durable>, attempt: Attempt) -> Committed {
    match expect.judge(row, attempt.retried, attempt.now) {
        Verdict::Done => Committed::Done,
        Verdict::Lost => Committed::Lost,
        Verdict::Woken => Committed::Woken,
        Verdict::Unknown => Committed::Unknown,
    }
}

pub(super) fn kind_of(expect: &Expect) -> Wrote {
    match expect {
        Expect::Absent { .. } => Wrote::Birth,
        Expect::Held { .. } => Wrote::Held,
        Expect::Unchanged { .. } => Wrote::Beside,
    }
}

pub(super) fn unreadable(item: &'static str, key: String) -> StoreError {
    StoreError::Corrupt { item, key, attribute: "state", problem: "made undecodable by a test" }
}
