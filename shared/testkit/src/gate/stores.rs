//! The table's ports behind a gate: for any store, the real one too.

use std::fmt::Debug;

use async_trait::async_trait;
use pudu_app::ports::{
    Committed, ConfigStore, DeliveredEvent, DueIndex, DuePage, EventLog, Made, Moved, NoteKey, NoteStore,
    Revision, StoreError, TaskStore,
};
use pudu_domain::task::Change;
use pudu_domain::{
    Event, Lane, Lease, Note, Payload, Task, TaskId, TaskKey, TaskSpec, ThreadKey, Timestamp, note,
};
use serde_json::Value;

use super::Gated;

impl<P: ?Sized> Gated<P> {
    pub(super) async fn through<T: Debug>(
        &self,
        op: &'static str,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        self.gate.call(op, call).await.unwrap_or_else(|broken| Err(broken.at_the_table(op)))
    }
}

#[async_trait]
impl TaskStore for Gated<dyn TaskStore> {
    async fn claim(&self, key: &TaskKey, lane: Lane, lease: Lease) -> Result<Option<Task>, StoreError> {
        self.through("tasks.claim", self.inner.claim(key, lane, lease)).await
    }

    async fn load(&self, key: &TaskKey) -> Result<Option<Task>, StoreError> {
        self.through("tasks.load", self.inner.load(key)).await
    }

    async fn glance(&self, keys: &[TaskKey]) -> Result<Vec<Task>, StoreError> {
        self.through("tasks.glance", self.inner.glance(keys)).await
    }

    async fn spec(&self, task: &Task) -> Result<Option<TaskSpec>, StoreError> {
        self.through("tasks.spec", self.inner.spec(task)).await
    }

    async fn payload(&self, key: &TaskKey) -> Result<Payload, StoreError> {
        self.through("tasks.payload", self.inner.payload(key)).await
    }

    async fn answer(&self, key: &TaskKey) -> Result<Option<Value>, StoreError> {
        self.through("tasks.answer", self.inner.answer(key)).await
    }

    async fn commit(&self, change: &Change) -> Result<Committed, StoreError> {
        self.through("tasks.commit", self.inner.commit(change)).await
    }

    async fn list(
        &self,
        thread: &ThreadKey,
        limit: usize,
        before: Option<&TaskId>,
    ) -> Result<Vec<(Task, TaskSpec)>, StoreError> {
        self.through("tasks.list", self.inner.list(thread, limit, before)).await
    }
}

#[async_trait]
impl NoteStore for Gated<dyn NoteStore> {
    async fn claim(&self, key: &NoteKey, lane: Lane, lease: Lease) -> Result<Option<Note>, StoreError> {
        self.through("notes.claim", self.inner.claim(key, lane, lease)).await
    }

    async fn load(&self, key: &NoteKey) -> Result<Option<Note>, StoreError> {
        self.through("notes.load", self.inner.load(key)).await
    }

    async fn event(&self, note: &Note) -> Result<Option<Event>, StoreError> {
        self.through("notes.event", self.inner.event(note)).await
    }

    async fn commit(&self, change: &note::Change) -> Result<Committed, StoreError> {
        self.through("notes.commit", self.inner.commit(change)).await
    }
}

#[async_trait]
impl DueIndex for Gated<dyn DueIndex> {
    async fn due(
        &self,
        lane: Lane,
        shard: u8,
        until: Timestamp,
        limit: usize,
        after: Option<&str>,
    ) -> Result<DuePage, StoreError> {
        self.through("due.due", self.inner.due(lane, shard, until, limit, after)).await
    }
}

#[async_trait]
impl EventLog for Gated<dyn EventLog> {
    async fn events(&self, thread: &ThreadKey, limit: usize) -> Result<Vec<DeliveredEvent>, StoreError> {
        self.through("events.events", self.inner.events(thread, limit)).await
    }
}

#[async_trait]
impl ConfigStore for Gated<dyn ConfigStore> {
    async fn pointer(&self) -> Result<Option<u64>, StoreError> {
        self.through("config.pointer", self.inner.pointer()).await
    }

    async fn revision(&self, number: u64) -> Result<Option<Revision>, StoreError> {
        self.through("config.revision", self.inner.revision(number)).await
    }

    async fn history(&self, limit: usize, before: Option<u64>) -> Result<Vec<Made>, StoreError> {
        self.through("config.history", self.inner.history(limit, before)).await
    }

    async fn append(&self, revision: &Revision) -> Result<Moved, StoreError> {
        self.through("config.append", self.inner.append(revision)).await
    }
}
