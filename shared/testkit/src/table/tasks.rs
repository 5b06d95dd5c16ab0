//! Tasks in the fake table.

use async_trait::async_trait;
use pudu_app::ports::{Committed, ItemKey, NoteKey, StoreError, TaskStore};
use pudu_domain::task::{AnswerWrite, Change, PayloadWrite};
use pudu_domain::{
    Durable, Expect, Lane, Lease, Payload, Task, TaskId, TaskKey, TaskSpec, ThreadKey, Timestamp,
};
use serde_json::Value;

use super::events::Body;
use super::rows::{Claim, NoteRow, Rows, TaskRow, judged, kind_of, unreadable};
use super::{Attempt, FakeStore, Flaw, Handle, StoredTask, Wrote};

impl Rows {
    /// The row, unless its time is over.
    fn seen(&self, key: &TaskKey, now: Timestamp) -> Option<&TaskRow> {
        self.tasks.get(key).filter(|row| !row.is_over(now))
    }

    fn readable(&self, key: &TaskKey, now: Timestamp) -> Result<Option<&TaskRow>, StoreError> {
        match self.seen(key, now) {
            Some(row) if row.broken => Err(unreadable("task", key.id.to_string())),
            row => Ok(row),
        }
    }

    fn claim_task(
        &mut self,
        key: &TaskKey,
        lane: Lane,
        lease: Lease,
        attempt: Attempt,
    ) -> Result<Option<Task>, StoreError> {
        let Some(row) = self.tasks.get(key) else { return Ok(None) };
        let before = row.stored.task.durable.clone();
        let (kind, after) = match self.claim(&before, row.broken, lane, lease, attempt) {
            Claim::Refused => return Ok(None),
            Claim::WonBefore => return Ok(Some(row.stored.task.clone())),
            Claim::Won(after) => (Wrote::Claim, after),
            Claim::Unreadable(after) => (Wrote::Corrupt, after),
        };
        let Some(row) = self.tasks.get_mut(key) else { return Ok(None) };
        row.stored.task.durable = after.clone();
        let task = row.stored.task.clone();
        self.wrote(
            kind,
            ItemKey::Task(key.clone()),
            Some(&task.server),
            (Some(&before), &after),
            attempt.now,
        );
        if kind == Wrote::Corrupt {
            return Err(unreadable("task", key.id.to_string()));
        }
        Ok(Some(task))
    }

    /// The other task that owns the handle which a change would take.
    fn handle_owner(&self, change: &Change, attempt: Attempt) -> Option<TaskKey> {
        let key = &change.task.key;
        let owner = self.handles.get(&handle_of(key, change.spec.as_ref()?)?)?;
        let another = owner != key && self.seen(owner, attempt.now).is_some();
        (another && !self.has(Flaw::SharesHandles)).then(|| owner.clone())
    }

    fn commit_task(&mut self, change: &Change, attempt: Attempt) -> Result<Committed, StoreError> {
        let key = &change.task.key;
        let before = self.tasks.get(key).map(|row| row.stored.task.durable.clone());
        // A row that is gone is all that an erasing change wants.
        if change.erased && before.is_none() {
            return Ok(Committed::Done);
        }
        if !change.expect.holds(before.as_ref(), attempt.now) {
            let verdict = judged(&change.expect, before.as_ref(), attempt);
            // Whoever lost his claim must all the same not cancel what somebody else tracks.
            return Ok(match self.handle_owner(change, attempt) {
                Some(owner) if verdict != Committed::Done => Committed::HandleTaken(owner),
                _ => verdict,
            });
        }
        if change.erased {
            self.erase_task(change, before.as_ref(), attempt.now);
            return Ok(Committed::Done);
        }
        let thread = self.thread_for(&key.thread, change.task.created_at);
        let birth = matches!(change.expect, Expect::Absent { .. });
        if birth && thread.is_going() {
            return Ok(Committed::ThreadGone);
        }
        let handle = change.spec.as_ref().and_then(|spec| handle_of(key, spec));
        if let Some(owner) = self.handle_owner(change, attempt) {
            return Ok(Committed::HandleTaken(owner));
        }
        let repeatable = change.spec.as_ref().and_then(|spec| spec.repeatable.clone());
        let repeatable = repeatable.map(|it| ((key.thread.clone(), it.key), (key.clone(), it.request)));
        if let Some((owner, request)) = repeatable.as_ref().and_then(|(at, _)| self.repeatable.get(at))
            && owner != key
            && self.seen(owner, attempt.now).is_some()
        {
            return Ok(Committed::KeyTaken { task: owner.clone(), request: request.clone() });
        }
        let spec_broken = change.spec.is_none() && self.tasks.get(key).is_some_and(|row| row.spec_broken);
        let old = self.tasks.remove(key).map(|row| row.stored);
        let Some(spec) = change.spec.clone().or_else(|| old.as_ref().map(|old| old.spec.clone())) else {
            let source = "a new task needs its spec".into();
            return Err(StoreError::Refused { operation: "tasks.commit", source });
        };
        let answer = match &change.answer {
            AnswerWrite::Keep => old.as_ref().and_then(|old| old.answer.clone()),
            AnswerWrite::Put(input) => Some(input.clone()),
            AnswerWrite::Clear => None,
        };
        let payload = match &change.payload {
            PayloadWrite::Keep => old.map(|old| old.payload).unwrap_or_default(),
            PayloadWrite::Put(payload) => payload.clone(),
            PayloadWrite::Clear => Payload::default(),
        };
        let stored = StoredTask { task: change.task.clone(), spec, payload, answer };
        self.tasks
            .insert(key.clone(), TaskRow { stored, broken: false, spec_broken, expires: change.expires });
        if let Some(handle) = handle {
            self.handles.insert(handle, key.clone());
        }
        self.repeatable.extend(repeatable);
        if birth {
            self.threads.insert(key.thread.clone(), thread);
        }
        let (kind, server) = (kind_of(&change.expect), Some(&change.task.server));
        self.wrote(
            kind,
            ItemKey::Task(key.clone()),
            server,
            (before.as_ref(), &change.task.durable),
            attempt.now,
        );
        if let Some(news) = change.note.as_ref().filter(|_| !self.has(Flaw::TearsTransactions)) {
            let (at, note) = (NoteKey::of(&news.note), news.note.clone());
            self.wrote(Wrote::Birth, ItemKey::Note(at.clone()), None, (None, &note.durable), attempt.now);
            let body = Body { event: news.event.clone(), expires: Some(news.kept_until) };
            self.bodies.insert(at.clone(), body);
            self.notes.insert(at, NoteRow { note, expires: None, broken: false });
        }
        Ok(Committed::Done)
    }

    /// Takes away what the birth of the task wrote.
    fn erase_task(&mut self, change: &Change, before: Option<&Durable>, now: Timestamp) {
        let key = &change.task.key;
        self.tasks.remove(key);
        if let Some(repeatable) = change.spec.as_ref().and_then(|spec| spec.repeatable.clone()) {
            self.repeatable.remove(&(key.thread.clone(), repeatable.key));
        }
        let (kind, server) = (kind_of(&change.expect), Some(&change.task.server));
        let gone = change.task.durable.committed(None);
        self.wrote(kind, ItemKey::Task(key.clone()), server, (before, &gone), now);
    }
}

fn handle_of(key: &TaskKey, spec: &TaskSpec) -> Option<Handle> {
    let remote = spec.remote.clone()?;
    Some((key.thread.user.clone(), spec.server.clone(), spec.identity.clone(), remote))
}

#[async_trait]
impl TaskStore for FakeStore {
    async fn claim(&self, key: &TaskKey, lane: Lane, lease: Lease) -> Result<Option<Task>, StoreError> {
        self.attempt("tasks.claim", |rows, attempt| rows.claim_task(key, lane, lease.clone(), attempt)).await
    }

    async fn load(&self, key: &TaskKey) -> Result<Option<Task>, StoreError> {
        self.attempt("tasks.load", |rows, attempt| {
            Ok(rows.readable(key, attempt.now)?.map(|row| row.stored.task.clone()))
        })
        .await
    }

    async fn glance(&self, keys: &[TaskKey]) -> Result<Vec<Task>, StoreError> {
        self.attempt("tasks.glance", |rows, attempt| {
            let found = keys.iter().filter_map(|key| rows.readable(key, attempt.now).ok().flatten());
            Ok(found.map(|row| row.stored.task.clone()).collect())
        })
        .await
    }

    async fn spec(&self, task: &Task) -> Result<Option<TaskSpec>, StoreError> {
        self.attempt("tasks.spec", |rows, attempt| match rows.seen(&task.key, attempt.now) {
            Some(row) if row.spec_broken => Err(unreadable("spec", task.key.id.to_string())),
            row => Ok(row.map(|row| row.stored.spec.clone())),
        })
        .await
    }

    async fn payload(&self, key: &TaskKey) -> Result<Payload, StoreError> {
        self.attempt("tasks.payload", |rows, attempt| {
            Ok(rows.seen(key, attempt.now).map(|row| row.stored.payload.clone()).unwrap_or_default())
        })
        .await
    }

    async fn answer(&self, key: &TaskKey) -> Result<Option<Value>, StoreError> {
        self.attempt("tasks.answer", |rows, _| {
            Ok(rows.tasks.get(key).and_then(|row| row.stored.answer.clone()))
        })
        .await
    }

    async fn commit(&self, change: &Change) -> Result<Committed, StoreError> {
        self.attempt("tasks.commit", |rows, attempt| rows.commit_task(change, attempt)).await
    }

    async fn list(
        &self,
        thread: &ThreadKey,
        limit: usize,
        before: Option<&TaskId>,
    ) -> Result<Vec<(Task, TaskSpec)>, StoreError> {
        self.attempt("tasks.list", |rows, attempt| {
            let newest = rows.tasks.iter().rev().filter(|(_, row)| !row.is_over(attempt.now));
            let mine = newest
                .filter(|(key, _)| key.thread == *thread && before.is_none_or(|before| key.id < *before));
            Ok(mine.take(limit).map(|(_, row)| (row.stored.task.clone(), row.stored.spec.clone())).collect())
        })
        .await
    }
}
