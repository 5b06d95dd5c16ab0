//! The API keys in the fake table.

use async_trait::async_trait;
use pudu_app::ports::{KeyStore, StoreError, StoredKey};
use pudu_domain::{KeyId, Timestamp};

use super::FakeStore;

#[async_trait]
impl KeyStore for FakeStore {
    async fn create(&self, key: &StoredKey) -> Result<bool, StoreError> {
        self.attempt("keys.create", |rows, attempt| {
            if let Some(there) = rows.keys.get(&key.id) {
                return Ok(attempt.retried && there == key);
            }
            rows.keys.insert(key.id.clone(), key.clone());
            Ok(true)
        })
        .await
    }

    async fn get(&self, id: &KeyId) -> Result<Option<StoredKey>, StoreError> {
        self.attempt("keys.get", |rows, _| Ok(rows.keys.get(id).cloned())).await
    }

    async fn list(&self) -> Result<Vec<StoredKey>, StoreError> {
        self.attempt("keys.list", |rows, _| Ok(rows.keys.values().cloned().collect())).await
    }

    async fn revoke(&self, id: &KeyId, at: Timestamp) -> Result<Option<StoredKey>, StoreError> {
        self.attempt("keys.revoke", |rows, _| {
            let key = rows.keys.get_mut(id);
            Ok(key.map(|key| {
                key.revoked_at.get_or_insert(at);
                key.clone()
            }))
        })
        .await
    }
}
