//! What is due: hints from a sparse, sharded index that may be seconds old. The truth is the row, asked by the claim.

use async_trait::async_trait;
use pudu_domain::{Lane, RunKey, ServerTag, TaskKey, ThreadKey, Timestamp};
use serde::{Deserialize, Serialize};

use super::{NoteKey, StoreError};

/// Shards of the due index; a constant of the stored format, so that no index partition is hot.
pub const SHARDS: u8 = 16;

/// The shards of a lane, from 0. Deletions are rare: looking for them in as many places as for tasks would cost every pass more
/// than they do.
pub const fn shards(lane: Lane) -> u8 {
    match lane {
        Lane::Delete => 1,
        Lane::Poll | Lane::Cancel | Lane::Intent | Lane::Notify | Lane::Run | Lane::Dead | Lane::Corrupt => {
            SHARDS
        }
    }
}

/// What a hint points at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemKey {
    /// A task.
    Task(TaskKey),
    /// A notification.
    Note(NoteKey),
    /// A thread that is being deleted.
    Thread(ThreadKey),
    /// A run.
    Run(RunKey),
}

/// One row of the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// Which item.
    pub key: ItemKey,
    /// The server it will talk to; none for a notification.
    pub server: Option<ServerTag>,
    /// When it is due.
    pub due_at: Timestamp,
}

/// One page of the index, in the order of due time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DuePage {
    /// The rows.
    pub hints: Vec<Hint>,
    /// Where the next page begins; none at the end.
    pub next: Option<String>,
}

/// The due index.
#[async_trait]
pub trait DueIndex: Send + Sync {
    /// Items of a lane's shard that are due at or before `until`, at most `limit` of them, after the cursor of an earlier
    /// page. Leased items are among them: a claim does not touch the index.
    async fn due(
        &self,
        lane: Lane,
        shard: u8,
        until: Timestamp,
        limit: usize,
        after: Option<&str>,
    ) -> Result<DuePage, StoreError>;
}
