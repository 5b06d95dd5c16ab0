//! Changing the config: merge, validate, screen, replace; all of it before anything is stored.

use std::sync::Arc;

use pudu_config::{Document, Problem, api_screen, merge};
use serde_json::Value;

use super::{ConfigError, Configs, Current};
use crate::ports::Version;

/// How often a change is made again because somebody else's came first.
const TRIES: usize = 12;

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
    /// The config in force could not be read, or the new one not written.
    #[error("the config was not stored")]
    Source(#[from] ConfigError),
}

impl Configs {
    /// Replaces the server map by what a caller sent, restoring what it got masked; only over the config with the etag
    /// `read`, if the caller names one.
    pub async fn put(&self, incoming: &Value, read: Option<&str>) -> Result<Arc<Current>, PutError> {
        for _ in 0..TRIES {
            let (now, (_, changes)) = (self.clock.now(), self.known());
            // Never from the cache: a change is made to what is stored now.
            let stored = self.source.load().await?;
            if read.is_some() {
                let key = self.keys.current().await.map_err(ConfigError::from)?;
                if read != Some(key.etag(&stored.document).as_str()) {
                    // Who is told to read again must not get from the cache what is old.
                    let stored = Current::new(stored.version, stored.document, &key);
                    self.remember(now, changes, &Arc::new(stored));
                    return Err(PutError::Changed);
                }
            }
            let merged = merge(incoming.clone(), Some(&stored.document)).map_err(PutError::Problems)?;
            let document = Document::parse(merged).map_err(PutError::Problems)?;
            let refused = api_screen(&document, Some(&stored.document), &self.launch);
            if !refused.is_empty() {
                return Err(PutError::Problems(refused));
            }
            if let Some(current) = self.replace(&stored.version, document).await? {
                return Ok(current);
            }
        }
        Err(PutError::Busy)
    }

    /// Makes what the operator of this machine gives the config, whole and unscreened, over whatever is there, also over
    /// what can no longer be opened.
    pub async fn import(&self, document: Document) -> Result<Arc<Current>, PutError> {
        for _ in 0..TRIES {
            let version = self.source.version().await?;
            if let Some(current) = self.replace(&version, document.clone()).await? {
                return Ok(current);
            }
        }
        Err(PutError::Busy)
    }

    /// Stores what the operator of this machine gives, if nothing was ever stored; whether it was.
    pub async fn seed(&self, document: Document) -> Result<bool, PutError> {
        let current = self.current().await?;
        if current.version.number != 0 {
            return Ok(false);
        }
        Ok(self.replace(&current.version, document).await?.is_some())
    }

    /// Makes `document` the config after `over`, at once in this process; none when somebody else's came first.
    async fn replace(&self, over: &Version, document: Document) -> Result<Option<Arc<Current>>, ConfigError> {
        // The key first: what is stored and cannot be identified afterwards would be reported as not stored.
        let key = self.keys.current().await?;
        let Some(version) = self.source.replace(over, &document).await? else { return Ok(None) };
        let current = Arc::new(Current::new(version, document, &key));
        self.written(over, &current);
        Ok(Some(current))
    }
}
