//! The API keys that were made, by their ids.

use async_trait::async_trait;
use pudu_domain::{
    ApiKey, CredentialTag, KeyDigest, KeyId, KeyName, Principal, Role, Scope, Timestamp, UserId,
};

use super::StoreError;

/// What is kept of a key. Its text is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredKey {
    /// Which.
    pub id: KeyId,
    /// What whoever made it calls it.
    pub name: KeyName,
    /// Who comes in by it.
    pub user: UserId,
    /// What may be done with it.
    pub role: Role,
    /// Which servers it reaches.
    pub scope: Scope,
    /// When it was made.
    pub created_at: Timestamp,
    /// Since when it opens nothing any more.
    pub revoked_at: Option<Timestamp>,
    /// SHA-256 of its text.
    pub digest: KeyDigest,
}

impl StoredKey {
    /// Who comes in by `shown`; nobody if it is another key, or this one was revoked.
    pub fn admits(&self, shown: &ApiKey) -> Option<Principal> {
        // The digest first, and in the same time whatever it is.
        let same = self.digest == shown.digest();
        (same && self.revoked_at.is_none()).then(|| Principal {
            user: self.user.clone(),
            role: self.role,
            tag: CredentialTag::of_key(&self.id),
            scope: self.scope.clone(),
        })
    }
}

/// The keys.
#[async_trait]
pub trait KeyStore: Send + Sync {
    /// Keeps a new key; false if another one has its id, which chance does not bring about.
    async fn create(&self, key: &StoredKey) -> Result<bool, StoreError>;

    /// A key as it is now, consistently.
    async fn get(&self, id: &KeyId) -> Result<Option<StoredKey>, StoreError>;

    /// Every key, the revoked ones too, by id.
    async fn list(&self) -> Result<Vec<StoredKey>, StoreError>;

    /// Has a key open nothing from `at` on, or from an earlier revocation on; the key as it is then. None where there is no
    /// such key.
    async fn revoke(&self, id: &KeyId, at: Timestamp) -> Result<Option<StoredKey>, StoreError>;
}
