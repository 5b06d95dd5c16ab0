//! Threads in the table. A thread is born with its first task, in that task's transaction ([`TaskStore::commit`]); here it is
//! looked at, deleted, and emptied.
//!
//! [`TaskStore::commit`]: super::TaskStore::commit

use async_trait::async_trait;
use pudu_domain::thread::{Change, Thread};
use pudu_domain::{Lease, Note, RunKey, ThreadKey};

use super::{Committed, StoreError};

/// What came of removing rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Erased {
    /// Some went, and there may be more.
    Some,
    /// Nothing is left but the thread's own row.
    All,
    /// The claim is no longer the caller's: nothing was removed.
    Lost,
}

/// The rows of threads.
#[async_trait]
pub trait ThreadStore: Send + Sync {
    /// The row, strongly consistent.
    async fn load(&self, key: &ThreadKey) -> Result<Option<Thread>, StoreError>;

    /// Takes a thread that is being deleted until `lease.until`; none when it may not be claimed.
    async fn claim(&self, key: &ThreadKey, lease: Lease) -> Result<Option<Thread>, StoreError>;

    /// Applies a change.
    async fn commit(&self, change: &Change) -> Result<Committed, StoreError>;

    /// Notifications of the thread that somebody still works on or will (`Durable::is_live`), at most `limit`, strongly
    /// consistent.
    async fn live_notes(&self, key: &ThreadKey, limit: usize) -> Result<Vec<Note>, StoreError>;

    /// Runs of the thread that have not ended, children among them, the oldest first, at most `limit`, strongly consistent.
    async fn live_runs(&self, key: &ThreadKey, limit: usize) -> Result<Vec<RunKey>, StoreError>;

    /// Removes some of the thread's rows for the holder of `held`, whatever stands in them, with the remote handles and
    /// callers' keys that belong to its tasks and runs and its place in its user's list; never a row of another thread, not even of a later one by the same name: the
    /// claim is looked at after the rows were found, and what is named by something else goes only if it is a found task's.
    async fn erase(&self, held: &Thread) -> Result<Erased, StoreError>;
}
