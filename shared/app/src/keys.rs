//! Making and revoking API keys, each recorded.

use std::sync::Arc;

use pudu_domain::api_key::RANDOM_BYTES;
use pudu_domain::{ApiKey, KeyId, KeyName, Principal, Role, Scope, UserId};

use crate::audit::{Audit, AuditError};
use crate::ports::{KeyStore, StoreError, StoredKey};

/// What a new key is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewKey {
    /// What it is called.
    pub name: KeyName,
    /// Who comes in by it; none is a user of its own, `key:<id>`.
    pub user: Option<UserId>,
    /// What may be done with it.
    pub role: Role,
    /// Which servers it reaches.
    pub scope: Scope,
}

/// A key was not made.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// The table.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Its id is another key's.
    #[error("a key with this id exists already; try again")]
    Taken,
}

/// API keys.
#[derive(Clone)]
pub struct Keys {
    /// Where they are.
    pub store: Arc<dyn KeyStore>,
    /// The records of what is done with them, whose time and random numbers they share.
    pub audit: Audit,
}

impl Keys {
    /// Makes a key. Its text is in the answer and nowhere else.
    pub async fn create(
        &self,
        who: &Principal,
        new: NewKey,
    ) -> Result<(StoredKey, ApiKey), AuditError<CreateError>> {
        let mut random = [0; RANDOM_BYTES];
        self.audit.random.fill(&mut random);
        let key = ApiKey::new(random);
        let stored = self.adopt(who, &key, new).await?;
        Ok((stored, key))
    }

    /// Has a key open this table that was made elsewhere.
    pub async fn adopt(
        &self,
        who: &Principal,
        key: &ApiKey,
        new: NewKey,
    ) -> Result<StoredKey, AuditError<CreateError>> {
        let NewKey { name, user, role, scope } = new;
        let stored = StoredKey {
            id: key.id().clone(),
            name,
            user: user.unwrap_or_else(|| UserId::of_key(key.id())),
            role,
            scope,
            created_at: self.audit.clock.now(),
            revoked_at: None,
            digest: key.digest(),
        };
        let target = format!("{} of {}, {}, named {}", stored.id, stored.user, role.as_str(), stored.name);
        let change =
            async { if self.store.create(&stored).await? { Ok(()) } else { Err(CreateError::Taken) } };
        self.audit.change(who, "keys.create", &target, change).await?;
        Ok(stored)
    }

    /// Every key, the oldest first.
    pub async fn list(&self) -> Result<Vec<StoredKey>, StoreError> {
        let mut keys = self.store.list().await?;
        keys.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        Ok(keys)
    }

    /// Revokes a key, once; the key as it is then. None where there is none, and then nothing is recorded. It opens nothing
    /// after [`CLOSED_WITHIN`](crate::callers::CLOSED_WITHIN) at the latest, in every process.
    pub async fn revoke(
        &self,
        who: &Principal,
        id: &KeyId,
    ) -> Result<Option<StoredKey>, AuditError<StoreError>> {
        let found = self.store.get(id).await.map_err(AuditError::Change)?;
        match found {
            None => Ok(None),
            Some(key) if key.revoked_at.is_some() => Ok(Some(key)),
            Some(key) => {
                let target = format!("{id} of {}, named {}", key.user, key.name);
                let change = self.store.revoke(id, self.audit.clock.now());
                self.audit.change(who, "keys.revoke", &target, change).await
            }
        }
    }
}
