//! The config in the table: sealed revisions and a pointer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use pudu_config::{Document, NONCE_BYTES};

use crate::ports::{
    Author, Clock, ConfigError, ConfigSource, ConfigStore, Loaded, Made, Moved, Past, Random, Revision,
    SealKeys, Version,
};

/// The table as a source of the config.
pub struct TableSource {
    store: Arc<dyn ConfigStore>,
    keys: Arc<dyn SealKeys>,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    /// The revision whose warnings were logged last.
    told: AtomicU64,
}

impl TableSource {
    /// The source over these ports.
    pub fn new(
        store: Arc<dyn ConfigStore>,
        keys: Arc<dyn SealKeys>,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
    ) -> Self {
        Self { store, keys, clock, random, told: AtomicU64::new(0) }
    }

    async fn open(&self, number: u64) -> Result<Document, ConfigError> {
        if number == 0 {
            return Ok(Document::empty());
        }
        let key = self.keys.current().await?;
        let revision = self.store.revision(number).await?.ok_or(ConfigError::Missing { number })?;
        key.open_document(revision.sealed).map_err(|source| ConfigError::Open { number, source })
    }

    /// Logs what a revision says in another way than it is used, once: a config that is stored opens whatever of it is passed over,
    /// and nobody else looks at it.
    fn tell(&self, number: u64, document: &Document) {
        if self.told.swap(number, Ordering::Relaxed) == number {
            return;
        }
        for warning in document.warnings() {
            tracing::warn!(config.revision = number, problem = %warning, "the config says what is used in another way than written");
        }
    }
}

#[async_trait]
impl ConfigSource for TableSource {
    async fn version(&self) -> Result<Version, ConfigError> {
        Ok(revision(self.store.pointer().await?.unwrap_or(0)))
    }

    async fn load(&self) -> Result<Loaded, ConfigError> {
        let version = self.version().await?;
        let document = self.open(version.number).await?;
        self.tell(version.number, &document);
        Ok(Loaded { version, document })
    }

    async fn replace(
        &self,
        over: &Version,
        document: &Document,
        author: Option<&Author>,
    ) -> Result<Option<Version>, ConfigError> {
        let key = self.keys.current().await?;
        let mut nonce = || {
            let mut bytes = [0; NONCE_BYTES];
            self.random.fill(&mut bytes);
            bytes
        };
        let sealed = key.seal_document(document, &mut nonce)?;
        let number = over.number + 1;
        let made = Made { number, at: self.clock.now(), author: author.cloned() };
        match self.store.append(&Revision { made, sealed }).await? {
            Moved::Done => {
                self.tell(number, document);
                Ok(Some(revision(number)))
            }
            Moved::Conflict => Ok(None),
        }
    }

    async fn history(&self, limit: usize, before: Option<u64>) -> Result<Vec<Made>, ConfigError> {
        Ok(self.store.history(limit, before).await?)
    }

    async fn past(&self, number: u64) -> Result<Option<Past>, ConfigError> {
        let Some(Revision { made, sealed }) = self.store.revision(number).await? else { return Ok(None) };
        let opened = self.keys.current().await?.open_archived(sealed);
        let document = opened.map_err(|source| ConfigError::Open { number, source })?;
        Ok(Some(Past { made, document }))
    }
}

/// A revision never changes, so its number says everything.
fn revision(number: u64) -> Version {
    Version { number, mark: String::new() }
}

#[cfg(test)]
mod tests;
