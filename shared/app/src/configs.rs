//! The config as the rest of the system sees it: opened, typed, cached for a second; and the one way to change it.

mod put;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pudu_config::{Document, OpenError, SealKey, Server};
use pudu_domain::{ServerName, Timestamp};
use serde_json::Value;

use crate::chain::Chain;
use crate::ports::{Clock, ConfigStore, Random, SealKeyError, SealKeys, StoreError, Vault};

pub use put::PutError;

/// How long a process may go on with a config that another process has replaced (DESIGN section 4).
const FRESH_FOR: Duration = Duration::from_secs(1);

/// The current config, opened.
#[derive(Debug)]
pub struct Current {
    /// Its revision; 0 when nothing was ever stored.
    pub number: u64,
    /// The document with its secrets in the clear: never to be printed or answered.
    pub document: Document,
    /// Its servers by name.
    pub servers: BTreeMap<String, Arc<Server>>,
    /// The document as callers may see it, with an entry per server.
    pub response: Value,
    /// A keyed hash of the document's content.
    pub etag: String,
    /// The variables that the document names.
    references: BTreeSet<String>,
}

/// The config could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The table did not give it.
    #[error("the config could not be read from the table")]
    Store(#[from] StoreError),
    /// There is no key to open it.
    #[error("the config could not be opened")]
    Key(#[from] SealKeyError),
    /// It does not open with the key, or would not be accepted today.
    #[error("revision {number} of the config could not be opened")]
    Open {
        /// Which revision.
        number: u64,
        /// Why.
        source: OpenError,
    },
    /// The pointer names a revision that is not there.
    #[error("revision {number} of the config is missing from the table")]
    Missing {
        /// Which revision.
        number: u64,
    },
}

/// Why a task's server is not called today; it is again when this is no longer so (DESIGN section 4).
#[derive(Debug, thiserror::Error)]
pub enum Unreachable {
    /// Not in the config.
    #[error("the server of this task is no longer in the config; put it back to go on")]
    Gone,
    /// In the config, but off.
    #[error("the server of this task is disabled; enable it to go on")]
    Disabled,
    /// Another server under the same name.
    #[error("the server of this task now has another transport or origin; restore it to go on")]
    Changed,
    /// Its entry cannot be used.
    #[error("the server of this task cannot be called: {0}")]
    Unusable(String),
    /// What a variable of its entry stands for is not to be had right now: this says nothing of the server.
    #[error("the variable {0} of the server of this task could not be read")]
    Unread(String),
    /// The config is not to be had right now: this says nothing of the server.
    #[error("the config could not be read")]
    Config(#[source] ConfigError),
}

/// Reads and changes the config.
pub struct Configs {
    store: Arc<dyn ConfigStore>,
    keys: Arc<dyn SealKeys>,
    secrets: Arc<dyn Vault>,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    cache: Mutex<Option<(Timestamp, Arc<Current>)>>,
}

impl Configs {
    /// A reader and writer over these ports.
    pub fn new(
        store: Arc<dyn ConfigStore>,
        keys: Arc<dyn SealKeys>,
        secrets: Arc<dyn Vault>,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
    ) -> Self {
        Self { store, keys, secrets, clock, random, cache: Mutex::new(None) }
    }

    /// The current config, at most a second old, with what its variables stand for read ahead.
    pub async fn current(&self) -> Result<Arc<Current>, ConfigError> {
        let current = self.latest().await?;
        self.secrets.warm(&current.references).await;
        Ok(current)
    }

    async fn latest(&self) -> Result<Arc<Current>, ConfigError> {
        let now = self.clock.now();
        let cached = self.cached();
        if let Some((checked, current)) = &cached
            && now.since(*checked) < FRESH_FOR
        {
            return Ok(Arc::clone(current));
        }
        let number = self.store.pointer().await?.unwrap_or(0);
        let current = match cached {
            Some((_, current)) if current.number == number => current,
            _ => self.open(number).await?,
        };
        self.remember(now, &current);
        Ok(current)
    }

    /// The server of a task, if it is today what it was at submission.
    pub async fn task_server(&self, name: &ServerName, identity: &str) -> Result<Arc<Server>, Unreachable> {
        let current = self.current().await.map_err(Unreachable::Config)?;
        let server = current.servers.get(name.as_str()).ok_or(Unreachable::Gone)?;
        if !server.enabled {
            return Err(Unreachable::Disabled);
        }
        if let Some(name) = server.references().into_iter().find(|name| !self.secrets.is_known(name)) {
            return Err(Unreachable::Unread(name));
        }
        let today = self.identity(server)?;
        if today == identity { Ok(Arc::clone(server)) } else { Err(Unreachable::Changed) }
    }

    /// Who a server is today.
    pub fn identity(&self, server: &Server) -> Result<String, Unreachable> {
        server
            .identity(self.secrets.as_ref())
            .map_err(|error| Unreachable::Unusable(Chain(&error).to_string()))
    }

    async fn open(&self, number: u64) -> Result<Arc<Current>, ConfigError> {
        let key = self.keys.current().await?;
        if number == 0 {
            return Ok(Arc::new(Current::new(0, Document::empty(), &key)));
        }
        let revision = self.store.revision(number).await?.ok_or(ConfigError::Missing { number })?;
        let document =
            key.open_document(revision.sealed).map_err(|source| ConfigError::Open { number, source })?;
        Ok(Arc::new(Current::new(number, document, &key)))
    }

    fn cached(&self) -> Option<(Timestamp, Arc<Current>)> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A slow reader must not bring back what this process has replaced meanwhile.
    fn remember(&self, now: Timestamp, current: &Arc<Current>) {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if cache.as_ref().is_none_or(|(_, cached)| cached.number <= current.number) {
            *cache = Some((now, Arc::clone(current)));
        }
    }
}

impl Current {
    fn new(number: u64, document: Document, key: &SealKey) -> Self {
        let identified = document.servers().iter().map(|server| Arc::new(key.identified(server)));
        let servers = identified.map(|server| (server.name.clone(), server)).collect();
        let (response, etag) = (document.response(), key.etag(&document));
        let references = document.references();
        Self { number, document, servers, response, etag, references }
    }
}
