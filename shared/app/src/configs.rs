//! The config as the rest of the system sees it: opened, typed, cached for a second; and the one way to change it.

mod change;
mod history;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pudu_config::{Document, LaunchPolicy, SealKey, Server};
use pudu_domain::{ServerName, Timestamp};
use serde_json::Value;

use crate::chain::Chain;
use crate::models::Roster;
use crate::ports::{Clock, ConfigSource, Loaded, SealKeys, Vault, Version};

pub use crate::ports::ConfigError;
pub use change::{By, ChangeError};
pub use table::TableSource;

/// How long a process may go on with a config that another process has replaced (DESIGN section 4).
const FRESH_FOR: Duration = Duration::from_secs(1);

/// The current config, opened.
#[derive(Debug)]
pub struct Current {
    /// Which state of the source it is.
    pub version: Version,
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
    source: Arc<dyn ConfigSource>,
    keys: Arc<dyn SealKeys>,
    secrets: Arc<dyn Vault>,
    clock: Arc<dyn Clock>,
    launch: LaunchPolicy,
    cache: Mutex<Cache>,
}

/// What this process knows.
#[derive(Default)]
struct Cache {
    /// When it was last compared with the source, and the config.
    known: Option<(Timestamp, Arc<Current>)>,
    /// How often `known` became another config. Versions have no order: this tells a slow reader that what it brings was
    /// overtaken.
    changes: u64,
}

impl Configs {
    /// A reader and writer over these ports.
    pub fn new(
        source: Arc<dyn ConfigSource>,
        keys: Arc<dyn SealKeys>,
        secrets: Arc<dyn Vault>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { source, keys, secrets, clock, launch: LaunchPolicy::default(), cache: Mutex::default() }
    }

    /// With what the operator lets the API start as stdio servers.
    #[must_use]
    pub fn with_launch_policy(self, launch: LaunchPolicy) -> Self {
        Self { launch, ..self }
    }

    /// The current config, at most a second old, with what its variables stand for read ahead.
    pub async fn current(&self) -> Result<Arc<Current>, ConfigError> {
        let current = self.latest().await?;
        self.secrets.warm(&current.references).await;
        Ok(current)
    }

    /// The models that runs may choose from.
    pub async fn roster(&self) -> Result<Roster, ConfigError> {
        Ok(Roster::new(self.current().await?.document.models(), Arc::clone(&self.secrets)))
    }

    async fn latest(&self) -> Result<Arc<Current>, ConfigError> {
        let now = self.clock.now();
        let (known, changes) = self.known();
        if let Some((checked, current)) = &known
            && now.is_within(FRESH_FOR, *checked)
        {
            return Ok(Arc::clone(current));
        }
        let current = match known {
            Some((_, current)) if current.version == self.source.version().await? => current,
            _ => self.load().await?,
        };
        self.remember(now, changes, &current);
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

    async fn load(&self) -> Result<Arc<Current>, ConfigError> {
        let Loaded { version, document } = self.source.load().await?;
        Ok(Arc::new(Current::new(version, document, &self.keys.current().await?)))
    }

    fn known(&self) -> (Option<(Timestamp, Arc<Current>)>, u64) {
        let cache = self.cache();
        (cache.known.clone(), cache.changes)
    }

    /// Keeps what a reader brings that began after `changes` changes, unless there was another one since: a slow reader
    /// must not bring back what was replaced meanwhile.
    fn remember(&self, now: Timestamp, changes: u64, current: &Arc<Current>) {
        let mut cache = self.cache();
        if cache.changes == changes {
            cache.keep(now, current);
        }
    }

    /// Keeps what this process has just made the config over `over`. When something else is known by now, another writer of
    /// this process came after: nobody can say here which is the later one, so it is read again.
    fn written(&self, over: &Version, current: &Arc<Current>) {
        let mut cache = self.cache();
        if cache.known.as_ref().is_none_or(|(_, known)| known.version == *over) {
            cache.keep(self.clock.now(), current);
        } else {
            cache.changes += 1;
            cache.known = None;
        }
    }

    fn cache(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cache {
    fn keep(&mut self, now: Timestamp, current: &Arc<Current>) {
        if self.known.as_ref().is_none_or(|(_, known)| known.version != current.version) {
            self.changes += 1;
        }
        self.known = Some((now, Arc::clone(current)));
    }
}

impl Current {
    fn new(version: Version, document: Document, key: &SealKey) -> Self {
        let identified = document.servers().iter().map(|server| Arc::new(key.identified(server)));
        let servers = identified.map(|server| (server.name.clone(), server)).collect();
        let (response, etag) = (document.response(), key.etag(&document));
        let references = document.references();
        Self { version, document, servers, response, etag, references }
    }
}
