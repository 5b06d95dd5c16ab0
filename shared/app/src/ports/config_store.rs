//! The config in the table: immutable revisions and a pointer that moves by a conditional write.

use async_trait::async_trait;
use pudu_domain::Timestamp;
use serde_json::Value;

use super::StoreError;

/// One stored revision.
#[derive(Debug, Clone, PartialEq)]
pub struct Revision {
    /// Its number, from 1.
    pub number: u64,
    /// When it was stored.
    pub at: Timestamp,
    /// The document with its sensitive places sealed.
    pub sealed: Value,
}

/// What became of an attempt to make a revision current.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moved {
    /// It is current.
    Done,
    /// Somebody else moved the pointer first: read, merge and try again.
    Conflict,
}

/// The config's revisions.
#[async_trait]
pub trait ConfigStore: Send + Sync {
    /// The number of the current revision, strongly consistent; none before the first.
    async fn pointer(&self) -> Result<Option<u64>, StoreError>;

    /// A revision; none if there is no such number.
    async fn revision(&self, number: u64) -> Result<Option<Revision>, StoreError>;

    /// Stores `revision` and makes it current, if the current one is its predecessor (or none, for number 1).
    async fn append(&self, revision: &Revision) -> Result<Moved, StoreError>;
}
