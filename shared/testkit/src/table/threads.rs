//! Threads in the fake table.

use async_trait::async_trait;
use pudu_app::ports::{Committed, Erased, ItemKey, StoreError, ThreadStore};
use pudu_domain::thread::Change;
use pudu_domain::{Lane, Lease, Note, RunKey, TaskKey, Thread, ThreadKey, Timestamp};

use super::rows::{Claim, Rows, judged, kind_of};
use super::{Attempt, FakeStore, Flaw, Wrote};

/// Tasks that are removed at a time; few, so that what happens in between is seen.
const AT_ONCE: usize = 2;

impl Rows {
    /// The thread as its first task finds it, or as it is.
    pub(super) fn thread_for(&self, key: &ThreadKey, now: Timestamp) -> Thread {
        self.threads.get(key).cloned().unwrap_or_else(|| Thread::open(key.clone(), now))
    }

    fn claim_thread(&mut self, key: &ThreadKey, lease: Lease, attempt: Attempt) -> Option<Thread> {
        let before = self.threads.get(key)?.durable.clone();
        let after = match self.claim(&before, false, Lane::Delete, lease, attempt) {
            Claim::Refused | Claim::Unreadable(_) => return None,
            Claim::WonBefore => return self.threads.get(key).cloned(),
            Claim::Won(after) => after,
        };
        let row = self.threads.get_mut(key)?;
        row.durable = after.clone();
        let thread = row.clone();
        self.wrote(Wrote::Claim, ItemKey::Thread(key.clone()), None, (Some(&before), &after), attempt.now);
        Some(thread)
    }

    fn commit_thread(&mut self, change: &Change, attempt: Attempt) -> Committed {
        let key = &change.thread.key;
        let before = self.threads.get(key).map(|thread| thread.durable.clone());
        if !change.expect.holds(before.as_ref(), attempt.now) {
            return judged(&change.expect, before.as_ref(), attempt);
        }
        if change.removed {
            self.threads.remove(key);
        } else {
            self.threads.insert(key.clone(), change.thread.clone());
        }
        let (rows, item) = ((before.as_ref(), &change.thread.durable), ItemKey::Thread(key.clone()));
        self.wrote(kind_of(&change.expect), item, None, rows, attempt.now);
        Committed::Done
    }

    fn live_notes(&self, key: &ThreadKey, limit: usize) -> Vec<Note> {
        let notes = self.notes.iter().filter(|(at, row)| at.task.thread == *key && !row.broken);
        let live = notes.filter(|(_, row)| row.note.durable.is_live());
        live.take(limit).map(|(_, row)| row.note.clone()).collect()
    }

    /// Removes a few tasks with everything of them; when there are none, what else is in the thread.
    fn erase(&mut self, held: &Thread) -> Erased {
        let key = &held.key;
        let lease = self.threads.get(key).map(|thread| thread.durable.lease.clone());
        if !self.has_rows(key) {
            return Erased::All;
        }
        if lease.flatten().map(|lease| lease.owner)
            != held.durable.lease.as_ref().map(|lease| lease.owner.clone())
        {
            return Erased::Lost;
        }
        let tasks: Vec<TaskKey> =
            self.tasks.keys().filter(|task| task.thread == *key).take(AT_ONCE).cloned().collect();
        if tasks.is_empty() {
            self.bodies.retain(|note, _| note.task.thread != *key);
            self.delivered.retain(|note| note.task.thread != *key);
            self.notified.retain(|task, _| task.thread != *key);
            self.feedback.retain(|run, _| run.thread != *key);
            for run in self.runs.remove(key) {
                self.index.put(&ItemKey::Run(run), None);
            }
            if !self.has(Flaw::ErasesHalf) {
                self.notes.retain(|note, _| note.task.thread != *key);
                self.events.remove(key);
            }
        }
        for task in tasks {
            self.handles.retain(|_, owner| *owner != task);
            self.repeatable.retain(|_, (owner, _)| *owner != task);
            self.tasks.remove(&task);
            self.index.put(&ItemKey::Task(task), None);
        }
        Erased::Some
    }

    fn has_rows(&self, key: &ThreadKey) -> bool {
        let told = || self.notes.keys().any(|note| note.task.thread == *key) || self.events.contains_key(key);
        self.tasks.keys().any(|task| task.thread == *key)
            || !self.has(Flaw::ErasesHalf) && told()
            || self.bodies.keys().any(|note| note.task.thread == *key)
            || self.notified.keys().any(|task| task.thread == *key)
            || self.runs.has_rows(key)
            || self.feedback.keys().any(|run| run.thread == *key)
    }
}

#[async_trait]
impl ThreadStore for FakeStore {
    async fn load(&self, key: &ThreadKey) -> Result<Option<Thread>, StoreError> {
        self.attempt("threads.load", |rows, _| Ok(rows.threads.get(key).cloned())).await
    }

    async fn claim(&self, key: &ThreadKey, lease: Lease) -> Result<Option<Thread>, StoreError> {
        self.attempt("threads.claim", |rows, attempt| Ok(rows.claim_thread(key, lease.clone(), attempt)))
            .await
    }

    async fn commit(&self, change: &Change) -> Result<Committed, StoreError> {
        self.attempt("threads.commit", |rows, attempt| Ok(rows.commit_thread(change, attempt))).await
    }

    async fn live_notes(&self, key: &ThreadKey, limit: usize) -> Result<Vec<Note>, StoreError> {
        self.attempt("threads.live_notes", |rows, _| Ok(rows.live_notes(key, limit))).await
    }

    async fn live_runs(&self, key: &ThreadKey, limit: usize) -> Result<Vec<RunKey>, StoreError> {
        self.attempt("threads.live_runs", |rows, _| Ok(rows.runs.live(key, limit))).await
    }

    async fn erase(&self, held: &Thread) -> Result<Erased, StoreError> {
        self.attempt("threads.erase", |rows, _| Ok(rows.erase(held))).await
    }
}
