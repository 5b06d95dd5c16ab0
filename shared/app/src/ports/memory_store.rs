//! What is remembered of users: one document for each user and agent.

use async_trait::async_trait;
use pudu_domain::{Memory, MemoryKey};

use super::StoreError;

/// What became of a write of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryKept {
    /// It stands, perhaps by an attempt whose answer was lost.
    Done,
    /// It is not the revision that was read (any more): read again.
    Moved,
}

/// The documents.
#[async_trait]
pub trait MemoryStore: Send + Sync {
    /// A document, strongly consistent; what nobody wrote yet is the default one.
    async fn load(&self, key: &MemoryKey) -> Result<Memory, StoreError>;

    /// Puts `memory` in the place of the one before its revision: one conditional write and no read. A document that is not
    /// there is at revision 0.
    async fn keep(&self, key: &MemoryKey, memory: &Memory) -> Result<MemoryKept, StoreError>;
}
