//! Runs and blobs behind a gate: for any store, the real one too.

use async_trait::async_trait;
use pudu_app::ports::{
    Applied, BlobError, Blobs, ConversationKept, Record, RecordQuery, RunStore, StoreError, ToldPage,
};
use pudu_domain::conversation::Kept;
use pudu_domain::run::{Change, Checkpoint};
use pudu_domain::{Conversation, Lease, Run, RunId, RunKey, RunSpec, ThreadId, ThreadKey, Timestamp, UserId};

use super::{Broken, Gated};

#[async_trait]
impl RunStore for Gated<dyn RunStore> {
    async fn claim(&self, key: &RunKey, lease: Lease) -> Result<Option<Run>, StoreError> {
        self.through("runs.claim", self.inner.claim(key, lease)).await
    }

    async fn load(&self, key: &RunKey) -> Result<Option<Run>, StoreError> {
        self.through("runs.load", self.inner.load(key)).await
    }

    async fn spec(&self, key: &RunKey) -> Result<Option<RunSpec>, StoreError> {
        self.through("runs.spec", self.inner.spec(key)).await
    }

    async fn secrets(&self, key: &RunKey) -> Result<Option<String>, StoreError> {
        self.through("runs.secrets", self.inner.secrets(key)).await
    }

    async fn by_key(&self, user: &UserId, digest: &str) -> Result<Option<(RunKey, String)>, StoreError> {
        self.through("runs.by_key", self.inner.by_key(user, digest)).await
    }

    async fn conversation(&self, thread: &ThreadKey) -> Result<Option<Conversation>, StoreError> {
        self.through("runs.conversation", self.inner.conversation(thread)).await
    }

    async fn commit(&self, change: &Change) -> Result<Applied, StoreError> {
        self.through("runs.commit", self.inner.commit(change)).await
    }

    async fn keep(
        &self,
        kept: &Kept,
        checkpoint: Option<&Checkpoint>,
    ) -> Result<ConversationKept, StoreError> {
        self.through("runs.keep", self.inner.keep(kept, checkpoint)).await
    }

    async fn checkpoints(&self, run: &RunKey, number: u32) -> Result<Vec<Checkpoint>, StoreError> {
        self.through("runs.checkpoints", self.inner.checkpoints(run, number)).await
    }

    async fn history(&self, run: &RunKey, number: u32, limit: usize) -> Result<Vec<Checkpoint>, StoreError> {
        self.through("runs.history", self.inner.history(run, number, limit)).await
    }

    async fn frames(&self, run: &RunKey, after: u64, limit: usize) -> Result<ToldPage, StoreError> {
        self.through("runs.frames", self.inner.frames(run, after, limit)).await
    }

    async fn records(&self, thread: &ThreadKey, query: &RecordQuery) -> Result<Vec<Record>, StoreError> {
        self.through("runs.records", self.inner.records(thread, query)).await
    }

    async fn runs(
        &self,
        thread: &ThreadKey,
        limit: usize,
        before: Option<&RunId>,
    ) -> Result<Vec<(Run, RunSpec)>, StoreError> {
        self.through("runs.runs", self.inner.runs(thread, limit, before)).await
    }

    async fn conversations(
        &self,
        user: &UserId,
        limit: usize,
        before: Option<&(Timestamp, ThreadId)>,
    ) -> Result<Vec<Conversation>, StoreError> {
        self.through("runs.conversations", self.inner.conversations(user, limit, before)).await
    }
}

#[async_trait]
impl Blobs for Gated<dyn Blobs> {
    async fn put(&self, thread: &ThreadKey, digest: &str, bytes: Vec<u8>) -> Result<(), BlobError> {
        let call = self.gate.call("blobs.put", self.inner.put(thread, digest, bytes)).await;
        call.unwrap_or_else(|broken| Err(failed("blobs.put", broken)))
    }

    async fn get(&self, thread: &ThreadKey, digest: &str) -> Result<Option<Vec<u8>>, BlobError> {
        let call = self.gate.call("blobs.get", self.inner.get(thread, digest)).await;
        call.unwrap_or_else(|broken| Err(failed("blobs.get", broken)))
    }

    async fn remove_all(&self, thread: &ThreadKey) -> Result<(), BlobError> {
        let call = self.gate.call("blobs.remove_all", self.inner.remove_all(thread)).await;
        call.unwrap_or_else(|broken| Err(failed("blobs.remove_all", broken)))
    }
}

fn failed(operation: &'static str, broken: Broken) -> BlobError {
    BlobError { operation, source: Box::new(broken) }
}
