//! Changing the config: merge, validate, screen, seal, append; all of it before anything is stored.

use std::sync::Arc;

use pudu_config::{Document, NONCE_BYTES, Problem, SealError, api_screen, merge};
use serde_json::Value;

use super::{ConfigError, Configs, Current};
use crate::ports::{Moved, Revision, SealKeyError, StoreError};

/// How often a change is merged again because somebody else's came first.
const MERGES: usize = 12;

/// A change that was not made. Nothing was stored.
#[derive(Debug, thiserror::Error)]
pub enum PutError {
    /// The config that was sent is not acceptable.
    #[error("the config was not stored: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Problems(Vec<Problem>),
    /// It is not the one that the caller had read.
    #[error("the config was not stored: it has changed since you read it; read it again")]
    Changed,
    /// Others changed it at the same time, again and again.
    #[error("the config was not stored: others changed it at the same time; read it and try again")]
    Busy,
    /// The config in force could not be read.
    #[error("the config was not stored")]
    Current(#[from] ConfigError),
    /// There is no key to seal it.
    #[error("the config was not stored")]
    Key(#[from] SealKeyError),
    /// It could not be sealed.
    #[error("the config was not stored")]
    Seal(#[from] SealError),
    /// The table did not take it.
    #[error("the config could not be written to the table")]
    Store(#[from] StoreError),
}

impl Configs {
    /// Replaces the server map by what a caller sent, restoring what it got masked, and makes that the next revision; only
    /// over the config with the etag `read`, if the caller names one.
    pub async fn put(&self, incoming: &Value, read: Option<&str>) -> Result<Arc<Current>, PutError> {
        for _ in 0..MERGES {
            // Never from the cache: a change is made to what is stored now.
            let number = self.store.pointer().await?.unwrap_or(0);
            let stored = self.open(number).await?;
            if read.is_some_and(|read| read != stored.etag) {
                return Err(PutError::Changed);
            }
            let merged = merge(incoming.clone(), Some(&stored.document)).map_err(PutError::Problems)?;
            let document = Document::parse(merged).map_err(PutError::Problems)?;
            let refused = api_screen(&document, Some(&stored.document));
            if !refused.is_empty() {
                return Err(PutError::Problems(refused));
            }
            if let Some(current) = self.append(number, document).await? {
                return Ok(current);
            }
        }
        Err(PutError::Busy)
    }

    /// Stores what the operator of this machine gives, if nothing was ever stored; whether it was.
    pub async fn seed(&self, document: Document) -> Result<bool, PutError> {
        if self.current().await?.number != 0 {
            return Ok(false);
        }
        Ok(self.append(0, document).await?.is_some())
    }

    /// Makes `document` the revision after `before`, and current at once in this process; none when somebody else's came
    /// first.
    async fn append(&self, before: u64, document: Document) -> Result<Option<Arc<Current>>, PutError> {
        let key = self.keys.current().await?;
        let mut nonce = || {
            let mut bytes = [0; NONCE_BYTES];
            self.random.fill(&mut bytes);
            bytes
        };
        let sealed = key.seal_document(&document, &mut nonce)?;
        let revision = Revision { number: before + 1, at: self.clock.now(), sealed };
        if self.store.append(&revision).await? == Moved::Conflict {
            return Ok(None);
        }
        let current = Arc::new(Current::new(revision.number, document, &key));
        self.remember(self.clock.now(), &current);
        Ok(Some(current))
    }
}
