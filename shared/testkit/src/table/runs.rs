//! Runs, their checkpoints and what they tell, in the fake table.

mod reading;

use std::collections::BTreeMap;

use async_trait::async_trait;
use pudu_app::ports::{
    Applied, ConversationKept, FRAMES_KEPT, ItemKey, Record, RecordQuery, RunStore, StoreError, ToldPage,
};
use pudu_domain::conversation::Kept;
use pudu_domain::run::{Change, Checkpoint, Notice, Told, Written};
use pudu_domain::{
    Conversation, Durable, Expect, Lane, Lease, Run, RunId, RunKey, RunSpec, ThreadId, ThreadKey, Timestamp,
    UserId, Verdict,
};

use super::rows::{Claim, Rows, kind_of, unreadable};
use super::{Attempt, FakeStore, Wrote};

/// How long the secrets of a run's caller are kept, if it does not end before.
const SECRETS_KEPT: std::time::Duration = std::time::Duration::from_hours(24);

/// Everything that is stored of runs.
#[derive(Default)]
pub(super) struct Runs {
    pub(super) rows: BTreeMap<RunKey, RunRow>,
    pub(super) specs: BTreeMap<RunKey, RunSpec>,
    secrets: BTreeMap<RunKey, (String, Timestamp)>,
    keys: BTreeMap<(UserId, String), Keyed>,
    pub(super) conversations: BTreeMap<ThreadKey, Conversation>,
    checkpoints: BTreeMap<(RunKey, u32), Checkpoint>,
    /// By run and number, with their end.
    frames: BTreeMap<(RunKey, u64), (Told, Timestamp)>,
    /// By thread, ordinal and number, with their end.
    records: BTreeMap<(ThreadKey, u32, u64), (Told, Timestamp)>,
}

pub(super) struct RunRow {
    pub(super) run: Run,
    /// When it goes; to a reader it is gone from then on.
    expires: Option<Timestamp>,
    pub(super) broken: bool,
}

/// What a caller's key stands for.
struct Keyed {
    run: RunKey,
    request: String,
    until: Timestamp,
}

impl Runs {
    fn durable(&self, key: &RunKey) -> Option<&Durable> {
        self.rows.get(key).map(|row| &row.run.durable)
    }

    /// The other run that a key of `change` stands for.
    fn key_taken(&self, change: &Change, now: Timestamp) -> Option<Applied> {
        let user = &change.run.run.key.thread.user;
        change.born.iter().find_map(|birth| {
            let (key, _) = birth.key.as_ref()?;
            let taken = self.keys.get(&(user.clone(), key.digest()))?;
            let another = taken.run.id != birth.run && taken.until >= now;
            another.then(|| Applied::KeyTaken { run: taken.run.clone(), request: taken.request.clone() })
        })
    }

    fn is_moved(&self, kept: &Kept) -> bool {
        let stored = self.conversations.get(&kept.conversation.thread).map(|stored| stored.revision);
        stored != kept.expect
    }

    fn put_conversation(&mut self, kept: &Kept) {
        self.conversations.insert(kept.conversation.thread.clone(), kept.conversation.clone());
    }

    fn put_checkpoint(&mut self, checkpoint: &Checkpoint) {
        self.checkpoints.insert((checkpoint.run.clone(), checkpoint.number), checkpoint.clone());
    }

    fn tell(&mut self, told: &Told, kept_until: Timestamp) {
        if matches!(told.notice, Notice::Record { .. }) {
            let place = (told.run.thread.clone(), told.ordinal, told.seq);
            self.records.insert(place, (told.clone(), kept_until));
        } else {
            self.frames.insert((told.run.clone(), told.seq), (told.clone(), told.at + FRAMES_KEPT));
        }
    }

    /// Whether there is anything of the thread.
    pub(super) fn has_rows(&self, thread: &ThreadKey) -> bool {
        self.rows.keys().any(|run| run.thread == *thread)
            || self.conversations.contains_key(thread)
            || self.checkpoints.keys().any(|(run, _)| run.thread == *thread)
            || self.frames.keys().any(|(run, _)| run.thread == *thread)
            || self.records.keys().any(|(of, _, _)| of == thread)
            || self.secrets.keys().any(|run| run.thread == *thread)
            || self.keys.values().any(|keyed| keyed.run.thread == *thread)
    }

    pub(super) fn live(&self, thread: &ThreadKey, limit: usize) -> Vec<RunKey> {
        let mine = self.rows.values().filter(|row| row.run.key.thread == *thread && !row.broken);
        mine.filter(|row| row.run.end().is_none()).map(|row| row.run.key.clone()).take(limit).collect()
    }

    /// Removes everything of the thread, and returns the runs that were there.
    pub(super) fn remove(&mut self, thread: &ThreadKey) -> Vec<RunKey> {
        let runs = self.rows.keys().filter(|run| run.thread == *thread).cloned().collect();
        self.rows.retain(|run, _| run.thread != *thread);
        self.specs.retain(|run, _| run.thread != *thread);
        self.secrets.retain(|run, _| run.thread != *thread);
        self.keys.retain(|_, keyed| keyed.run.thread != *thread);
        self.conversations.remove(thread);
        self.checkpoints.retain(|(run, _), _| run.thread != *thread);
        self.frames.retain(|(run, _), _| run.thread != *thread);
        self.records.retain(|(of, _, _), _| of != thread);
        runs
    }
}

impl Rows {
    fn claim_run(&mut self, key: &RunKey, lease: Lease, attempt: Attempt) -> Result<Option<Run>, StoreError> {
        let Some(row) = self.runs.rows.get(key) else { return Ok(None) };
        let before = row.run.durable.clone();
        let (kind, after) = match self.claim(&before, row.broken, Lane::Run, lease, attempt) {
            Claim::Refused => return Ok(None),
            Claim::WonBefore => return Ok(Some(row.run.clone())),
            Claim::Won(after) => (Wrote::Claim, after),
            Claim::Unreadable(after) => (Wrote::Corrupt, after),
        };
        let Some(row) = self.runs.rows.get_mut(key) else { return Ok(None) };
        row.run.durable = after.clone();
        let run = row.run.clone();
        self.wrote(kind, ItemKey::Run(key.clone()), None, (Some(&before), &after), attempt.now);
        if kind == Wrote::Corrupt {
            return Err(unreadable("run", key.id.to_string()));
        }
        Ok(Some(run))
    }

    fn commit_run(&mut self, change: &Change, attempt: Attempt) -> Applied {
        let key = &change.run.run.key;
        let stored = self.runs.durable(key);
        if !change.run.expect.holds(stored, attempt.now) {
            return match change.run.expect.judge(stored, attempt.retried, attempt.now) {
                Verdict::Done => Applied::Done,
                Verdict::Lost => Applied::Lost,
                Verdict::Woken => Applied::Woken,
                Verdict::Unknown => Applied::Unknown,
            };
        }
        let thread = self.thread_for(&key.thread, change.run.run.created_at);
        let admission = matches!(change.run.expect, Expect::Absent { .. });
        if admission && thread.is_going() {
            return Applied::ThreadGone;
        }
        if let Some(taken) = self.runs.key_taken(change, attempt.now) {
            return taken;
        }
        let holds = |other: &Written| other.expect.holds(self.runs.durable(&other.run.key), attempt.now);
        if !change.others.iter().all(holds)
            || change.conversation.as_ref().is_some_and(|kept| self.runs.is_moved(kept))
        {
            return Applied::Moved;
        }
        if admission {
            self.threads.insert(key.thread.clone(), thread);
        }
        for written in std::iter::once(&change.run).chain(&change.others) {
            self.put_run(written, attempt.now);
        }
        let (user, runs) = (&key.thread.user, &mut self.runs);
        for birth in &change.born {
            let at = key.beside(birth.run.clone());
            runs.specs.insert(at.clone(), birth.spec.clone());
            if let Some((key, request)) = &birth.key {
                let keyed = Keyed { run: at.clone(), request: request.clone(), until: change.kept_until };
                runs.keys.insert((user.clone(), key.digest()), keyed);
            }
            if let Some(secrets) = &birth.secrets {
                runs.secrets.insert(at, (secrets.clone(), change.run.run.created_at + SECRETS_KEPT));
            }
        }
        if let Some(kept) = &change.conversation {
            runs.put_conversation(kept);
        }
        if let Some(checkpoint) = &change.checkpoint {
            runs.put_checkpoint(checkpoint);
        }
        for told in &change.told {
            runs.tell(told, change.kept_until);
        }
        for run in &change.forget {
            runs.secrets.remove(&key.beside(run.clone()));
        }
        Applied::Done
    }

    fn put_run(&mut self, written: &Written, now: Timestamp) {
        let key = &written.run.key;
        let before = self.runs.durable(key).cloned();
        let row = RunRow { run: written.run.clone(), expires: written.expires, broken: false };
        self.runs.rows.insert(key.clone(), row);
        let (kind, after) = (kind_of(&written.expect), &written.run.durable);
        self.wrote(kind, ItemKey::Run(key.clone()), None, (before.as_ref(), after), now);
    }

    fn keep_conversation(
        &mut self,
        kept: &Kept,
        checkpoint: Option<&Checkpoint>,
        attempt: Attempt,
    ) -> ConversationKept {
        let key = &kept.conversation.thread;
        if self.runs.is_moved(kept) {
            let mine = attempt.retried && self.runs.conversations.get(key) == Some(&kept.conversation);
            return if mine { ConversationKept::Done } else { ConversationKept::Moved };
        }
        let thread = self.thread_for(key, kept.conversation.created_at);
        if thread.is_going() {
            return ConversationKept::ThreadGone;
        }
        self.threads.insert(key.clone(), thread);
        self.runs.put_conversation(kept);
        if let Some(checkpoint) = checkpoint {
            self.runs.put_checkpoint(checkpoint);
        }
        ConversationKept::Done
    }
}

#[async_trait]
impl RunStore for FakeStore {
    async fn claim(&self, key: &RunKey, lease: Lease) -> Result<Option<Run>, StoreError> {
        self.attempt("runs.claim", |rows, attempt| rows.claim_run(key, lease.clone(), attempt)).await
    }

    async fn load(&self, key: &RunKey) -> Result<Option<Run>, StoreError> {
        self.attempt("runs.load", |rows, attempt| rows.runs.readable(key, attempt.now)).await
    }

    async fn spec(&self, key: &RunKey) -> Result<Option<RunSpec>, StoreError> {
        self.attempt("runs.spec", |rows, attempt| Ok(rows.runs.spec(key, attempt.now))).await
    }

    async fn secrets(&self, key: &RunKey) -> Result<Option<String>, StoreError> {
        self.attempt("runs.secrets", |rows, attempt| Ok(rows.runs.secrets(key, attempt.now))).await
    }

    async fn by_key(&self, user: &UserId, digest: &str) -> Result<Option<(RunKey, String)>, StoreError> {
        self.attempt("runs.by_key", |rows, attempt| Ok(rows.runs.by_key(user, digest, attempt.now))).await
    }

    async fn conversation(&self, thread: &ThreadKey) -> Result<Option<Conversation>, StoreError> {
        self.attempt("runs.conversation", |rows, _| Ok(rows.runs.conversations.get(thread).cloned())).await
    }

    async fn commit(&self, change: &Change) -> Result<Applied, StoreError> {
        self.attempt("runs.commit", |rows, attempt| Ok(rows.commit_run(change, attempt))).await
    }

    async fn keep(
        &self,
        kept: &Kept,
        checkpoint: Option<&Checkpoint>,
    ) -> Result<ConversationKept, StoreError> {
        self.attempt("runs.keep", |rows, attempt| Ok(rows.keep_conversation(kept, checkpoint, attempt))).await
    }

    async fn checkpoints(&self, run: &RunKey, number: u32) -> Result<Vec<Checkpoint>, StoreError> {
        self.attempt("runs.checkpoints", |rows, _| Ok(rows.runs.chain(run, number))).await
    }

    async fn history(&self, run: &RunKey, number: u32, limit: usize) -> Result<Vec<Checkpoint>, StoreError> {
        self.attempt("runs.history", |rows, _| Ok(rows.runs.history(run, number, limit))).await
    }

    async fn frames(&self, run: &RunKey, after: u64, limit: usize) -> Result<ToldPage, StoreError> {
        self.attempt("runs.frames", |rows, attempt| Ok(rows.runs.frames(run, after, limit, attempt.now)))
            .await
    }

    async fn records(&self, thread: &ThreadKey, query: &RecordQuery) -> Result<Vec<Record>, StoreError> {
        self.attempt("runs.records", |rows, attempt| Ok(rows.runs.records(thread, query, attempt.now))).await
    }

    async fn runs(
        &self,
        thread: &ThreadKey,
        limit: usize,
        before: Option<&RunId>,
    ) -> Result<Vec<(Run, RunSpec)>, StoreError> {
        self.attempt("runs.runs", |rows, attempt| Ok(rows.runs.newest(thread, limit, before, attempt.now)))
            .await
    }

    async fn conversations(
        &self,
        user: &UserId,
        limit: usize,
        before: Option<&(Timestamp, ThreadId)>,
    ) -> Result<Vec<Conversation>, StoreError> {
        self.attempt("runs.conversations", |rows, _| Ok(rows.runs.of_user(user, limit, before))).await
    }
}
