//! Who changed what: one record per administrative change.

use std::time::Duration;

use async_trait::async_trait;
use pudu_domain::{CredentialTag, Timestamp, UserId};

use super::StoreError;

/// How long a record is kept, from when its change was asked for: 400 days, more than a year.
pub const AUDIT_KEPT: Duration = Duration::from_secs(400 * 24 * 60 * 60);

/// One record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRecord {
    /// Ordered by time, unique: 32 lower-case hex digits, the first 12 of which are milliseconds.
    pub id: String,
    /// When the change was asked for.
    pub at: Timestamp,
    /// By whom.
    pub user: UserId,
    /// With which credential.
    pub tag: CredentialTag,
    /// What was asked for, in a word or two, such as `config.put`.
    pub action: String,
    /// Of what, such as a server's name; never a secret.
    pub target: String,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing yet; if it stays so, the process ended in between or the caller hung up, and the change may have been made.
    Requested,
    /// It was made.
    Done,
    /// It was not made.
    Failed {
        /// Why; never a secret.
        reason: String,
    },
}

/// The records.
#[async_trait]
pub trait AuditLog: Send + Sync {
    /// Writes a record, over the one of the same id.
    async fn put(&self, record: &AuditRecord) -> Result<(), StoreError>;

    /// The newest `limit` records whose ids are lower than `before`, which is not empty; the newest first. What is older
    /// than [`AUDIT_KEPT`] is not there.
    async fn list(&self, limit: usize, before: Option<&str>) -> Result<Vec<AuditRecord>, StoreError>;
}
