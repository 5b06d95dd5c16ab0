//! Tasks in the table. The unit of a write is a [`Change`]: what `decide` returned becomes one write or one transaction.

use async_trait::async_trait;
use pudu_domain::task::Change;
use pudu_domain::{Lane, Lease, Payload, Task, TaskId, TaskKey, TaskSpec, ThreadKey};
use serde_json::Value;

use super::StoreError;

/// What became of a commit.
#[derive(Debug, Clone, PartialEq)]
pub enum Committed {
    /// It stands.
    Done,
    /// It does not apply: somebody else owns the row, the lease is over, or the row changed since it was read.
    Lost,
    /// The writer still owns the row, but it was changed beside it: read, decide and commit again.
    Woken,
    /// An answer was lost and the row has moved on: read the rows before undoing anything.
    Unknown,
    /// The remote handle already belongs to this other task.
    HandleTaken(TaskKey),
    /// The caller's key already stands for this other task of the thread.
    KeyTaken {
        /// The task that was submitted with it.
        task: TaskKey,
        /// The digest of what that submission asked for.
        request: String,
    },
    /// The thread is being deleted: nothing new starts in it.
    ThreadGone,
}

/// The rows of tasks. Every method that writes retries lost answers itself and judges them by the stored row.
#[async_trait]
pub trait TaskStore: Send + Sync {
    /// Takes the task for `lane` until `lease.until` and returns the claimed row; none when it may not be claimed (now,
    /// by this lane), which is an everyday answer. The condition is `Durable::claimable` at the clock's time.
    async fn claim(&self, key: &TaskKey, lane: Lane, lease: Lease) -> Result<Option<Task>, StoreError>;

    /// The row, strongly consistent.
    async fn load(&self, key: &TaskKey) -> Result<Option<Task>, StoreError>;

    /// The rows of these different tasks as they were a moment ago, in any order; for half the price of as many consistent
    /// reads, in one request for each hundred. One that is not there, or does not decode, is left out.
    async fn glance(&self, keys: &[TaskKey]) -> Result<Vec<Task>, StoreError>;

    /// What was settled at submission, as new as `task`.
    async fn spec(&self, task: &Task) -> Result<Option<TaskSpec>, StoreError>;

    /// The payload; empty when there is no such row.
    async fn payload(&self, key: &TaskKey) -> Result<Payload, StoreError>;

    /// The answer that waits to be sent; none when there is no such row.
    async fn answer(&self, key: &TaskKey) -> Result<Option<Value>, StoreError>;

    /// Applies a change whole or not at all. A change that carries a spec with a remote handle also takes that handle,
    /// which is unique per user, server and identity;
    /// a birth that is repeatable also takes its caller's key, which is unique per thread.
    async fn commit(&self, change: &Change) -> Result<Committed, StoreError>;

    /// The newest tasks of a thread that are older than `before`, newest first, at most `limit`.
    async fn list(
        &self,
        thread: &ThreadKey,
        limit: usize,
        before: Option<&TaskId>,
    ) -> Result<Vec<(Task, TaskSpec)>, StoreError>;
}
