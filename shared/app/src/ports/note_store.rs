//! Notifications in the table. They are born in a task's commit; here they are claimed and brought to their end.

use async_trait::async_trait;
use pudu_domain::{Event, Lane, Lease, Note, TaskKey, note};
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

    /// What a note tells, as it was when the note was made; none when it is not kept any more.
    async fn event(&self, note: &Note) -> Result<Option<Event>, StoreError>;

    /// Applies a change. With `deliver` it is one transaction: the note reaches its end, and the event shows in its thread.
    /// Where the event itself is the delivery, that is only if it does not show there yet and no newer one of the task was
    /// delivered; a run, on the other hand, has told what it has told. [`Committed::Lost`] also means that this event, or a
    /// newer one of the task, had been delivered before.
    async fn commit(&self, change: &note::Change) -> Result<Committed, StoreError>;
}

impl NoteKey {
    /// The address of `note`.
    pub fn of(note: &Note) -> Self {
        Self { task: note.task.clone(), version: note.version }
    }
}
