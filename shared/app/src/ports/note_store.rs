//! Notifications in the table. They are born in a task's commit; here they are claimed and brought to their end.

use async_trait::async_trait;
use pudu_domain::{Lane, Lease, Note, TaskKey, note};
use serde::{Deserialize, Serialize};

use super::{Committed, StoreError};

/// The address of a notification.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NoteKey {
    /// Whose event.
    pub task: TaskKey,
    /// Which version of it.
    pub version: u32,
}

/// The rows of notifications.
#[async_trait]
pub trait NoteStore: Send + Sync {
    /// Takes the note for `lane` until `lease.until`; none when it may not be claimed.
    async fn claim(&self, key: &NoteKey, lane: Lane, lease: Lease) -> Result<Option<Note>, StoreError>;

    /// The row, strongly consistent.
    async fn load(&self, key: &NoteKey) -> Result<Option<Note>, StoreError>;

    /// Applies a change. With `deliver` it is one transaction: the note reaches its end, the event is appended to its
    /// thread if it is not there, and the task's delivered version rises only if it was lower. [`Committed::Lost`] also
    /// means that this event, or a newer one of the task, had been delivered before.
    async fn commit(&self, change: &note::Change) -> Result<Committed, StoreError>;
}
