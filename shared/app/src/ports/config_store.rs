//! The config in the table: immutable revisions and a pointer that moves by a conditional write.

use async_trait::async_trait;
use pudu_domain::{CredentialTag, Principal, Timestamp, UserId};
use serde_json::Value;

use super::StoreError;

/// So much of what a change was made to is kept.
const TARGET_CHARS: usize = 300;

/// Who made a revision, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    /// Who.
    pub user: UserId,
    /// With which credential.
    pub tag: CredentialTag,
    /// By which act, in the audit's words, such as `config.put`.
    pub action: String,
    /// Of what, in the audit's words; never a secret.
    pub target: String,
}

impl Author {
    /// `who`, who does `action` to `target`.
    pub fn new(who: &Principal, action: &str, target: &str) -> Self {
        // Names of servers are a body's choice, and stand in the revision's first row.
        let (action, target) = (action.to_owned(), target.chars().take(TARGET_CHARS).collect());
        Self { user: who.user.clone(), tag: who.tag.clone(), action, target }
    }
}

/// When and by whom a revision was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// Its number, from 1.
    pub number: u64,
    /// When it was stored.
    pub at: Timestamp,
    /// By whom; none of what Pudu made by itself, and of what is older than this field.
    pub author: Option<Author>,
}

/// One stored revision.
#[derive(Debug, Clone, PartialEq)]
pub struct Revision {
    /// Its number, and how it came to be.
    pub made: Made,
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

    /// When and by whom the newest revisions with a number below `before` were made, at most `limit`, newest first. Those above
    /// the current one do not exist.
    async fn history(&self, limit: usize, before: Option<u64>) -> Result<Vec<Made>, StoreError>;

    /// Stores `revision` and makes it current, if the current one is its predecessor (or none, for number 1).
    async fn append(&self, revision: &Revision) -> Result<Moved, StoreError>;
}
