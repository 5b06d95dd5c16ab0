//! Changing the config: one loop for every change. It loads what is stored now, changes it, validates it whole, screens what
//! the change is about, and replaces it; all of that before anything is stored, and again when somebody else's change came first.

use std::sync::Arc;

use pudu_config::{
    Document, LaunchPolicy, Problem, Refused, Server, api_screen, create_servers, enable_server, put_servers,
    remove_server, replace_server,
};
use serde_json::Value;

use super::{ConfigError, Configs, Current};
use crate::ports::{Author, Version};

/// How often a change is made again because somebody else's came first.
const TRIES: usize = 12;

/// A change that was not made. Nothing was stored.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// The config that was sent, or that would come of it, is not acceptable.
    #[error("the config was not stored: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Problems(Vec<Problem>),
    /// It is about a server that is not there.
    #[error("there is no server '{name}' in the config")]
    Unknown {
        /// Its name.
        name: String,
    },
    /// It would make a server that is there already.
    #[error("there is a server '{name}' in the config already; replace it, or choose another name")]
    Exists {
        /// Its name.
        name: String,
    },
    /// There is no such revision to go back to.
    #[error("the config has no revision {number}")]
    NoRevision {
        /// Its number.
        number: u64,
    },
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

/// Whose change it is, and over what.
#[derive(Debug, Clone, Copy, Default)]
pub struct By<'a> {
    /// The etags one of which the config must have; none when the caller does not mind.
    pub read: Option<&'a [String]>,
    /// Who asks for it.
    pub author: Option<&'a Author>,
}

/// Which servers of a changed config are judged as the API judges them.
#[derive(Clone, Copy)]
enum Screened<'a> {
    /// Each.
    All,
    /// Those that were not there before.
    New,
    /// This one.
    One(&'a str),
    /// None.
    Nobody,
}

impl Configs {
    /// Replaces the server map by what a caller sent, restoring what it got masked.
    pub async fn put(&self, incoming: &Value, by: By<'_>) -> Result<Arc<Current>, ChangeError> {
        self.change(by, Screened::All, |stored| put_servers(incoming, stored)).await
    }

    /// Adds the servers that a caller sent (`{"mcp_servers": {name: entry}}`), of which none may be there.
    pub async fn create(&self, incoming: &Value, by: By<'_>) -> Result<Arc<Current>, ChangeError> {
        self.change(by, Screened::New, |stored| create_servers(incoming, stored)).await
    }

    /// Gives one server another entry, restoring what the caller got masked.
    pub async fn replace_server(
        &self,
        name: &str,
        entry: &Value,
        by: By<'_>,
    ) -> Result<Arc<Current>, ChangeError> {
        self.change(by, Screened::One(name), |stored| replace_server(name, entry, stored)).await
    }

    /// Takes one server away.
    pub async fn remove_server(&self, name: &str, by: By<'_>) -> Result<Arc<Current>, ChangeError> {
        self.change(by, Screened::Nobody, |stored| remove_server(name, stored)).await
    }

    /// Switches one server on or off. Only one that is switched on is screened (reference 8.1).
    pub async fn enable_server(
        &self,
        name: &str,
        enabled: bool,
        by: By<'_>,
    ) -> Result<Arc<Current>, ChangeError> {
        let screened = if enabled { Screened::One(name) } else { Screened::Nobody };
        self.change(by, screened, |stored| enable_server(name, enabled, stored)).await
    }

    /// Makes what was in force as `number` the config again, as a new revision, if it is valid and acceptable today.
    pub async fn roll_back(&self, number: u64, by: By<'_>) -> Result<Arc<Current>, ChangeError> {
        let past = self.revision(number).await?.ok_or(ChangeError::NoRevision { number })?;
        let document = past.document.into_document().map_err(ChangeError::Problems)?;
        self.change(by, Screened::All, |_| Ok(document.expose_raw().clone())).await
    }

    /// Makes what the operator of this machine gives the config, whole and unscreened, over whatever is there, also over
    /// what can no longer be opened.
    pub async fn import(
        &self,
        document: Document,
        author: Option<&Author>,
    ) -> Result<Arc<Current>, ChangeError> {
        for _ in 0..TRIES {
            let version = self.source.version().await?;
            if let Some(current) = self.replace(&version, document.clone(), author).await? {
                return Ok(current);
            }
        }
        Err(ChangeError::Busy)
    }

    /// Stores what the operator of this machine gives, if nothing was ever stored; whether it was.
    pub async fn seed(&self, document: Document) -> Result<bool, ChangeError> {
        let current = self.current().await?;
        if current.version.number != 0 {
            return Ok(false);
        }
        Ok(self.replace(&current.version, document, None).await?.is_some())
    }

    async fn change(
        &self,
        By { read, author }: By<'_>,
        screened: Screened<'_>,
        plan: impl Fn(&Document) -> Result<Value, Refused> + Send + Sync,
    ) -> Result<Arc<Current>, ChangeError> {
        for _ in 0..TRIES {
            let (now, (_, changes)) = (self.clock.now(), self.known());
            // Never from the cache: a change is made to what is stored now.
            let stored = self.source.load().await?;
            if let Some(read) = read {
                let key = self.keys.current().await.map_err(ConfigError::from)?;
                if !read.contains(&key.etag(&stored.document)) {
                    // Who is told to read again must not get from the cache what is old.
                    let stored = Current::new(stored.version, stored.document, &key);
                    self.remember(now, changes, &Arc::new(stored));
                    return Err(ChangeError::Changed);
                }
            }
            let document = Document::parse(plan(&stored.document)?).map_err(ChangeError::Problems)?;
            let refused = screened.refuses(&document, &stored.document, &self.launch);
            if !refused.is_empty() {
                return Err(ChangeError::Problems(refused));
            }
            if let Some(current) = self.replace(&stored.version, document, author).await? {
                return Ok(current);
            }
        }
        Err(ChangeError::Busy)
    }

    /// Makes `document` the config after `over`, at once in this process; none when somebody else's came first.
    async fn replace(
        &self,
        over: &Version,
        document: Document,
        author: Option<&Author>,
    ) -> Result<Option<Arc<Current>>, ConfigError> {
        // The key first: what is stored and cannot be identified afterwards would be reported as not stored.
        let key = self.keys.current().await?;
        let Some(version) = self.source.replace(over, &document, author).await? else { return Ok(None) };
        let current = Arc::new(Current::new(version, document, &key));
        self.written(over, &current);
        Ok(Some(current))
    }
}

impl Configs {
    /// Why the API could not switch on a server that is off; nothing of one that is on.
    pub(crate) fn refused_if_enabled(&self, current: &Current, server: &Server) -> Option<Problem> {
        let alone =
            || api_screen(&current.document.only(std::slice::from_ref(&server.name)), None, &self.launch);
        if server.enabled { None } else { alone().into_iter().next() }
    }
}

impl Screened<'_> {
    fn refuses(self, document: &Document, stored: &Document, policy: &LaunchPolicy) -> Vec<Problem> {
        let names: Vec<String> = match self {
            Self::All => return api_screen(document, Some(stored), policy),
            Self::Nobody => return Vec::new(),
            Self::One(name) => vec![name.to_owned()],
            Self::New => {
                let names = document.servers().iter().map(|server| &server.name);
                names.filter(|name| stored.server(name).is_none()).cloned().collect()
            }
        };
        api_screen(&document.only(&names), Some(stored), policy)
    }
}

impl From<Refused> for ChangeError {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Unknown { name } => Self::Unknown { name },
            Refused::Exists { name } => Self::Exists { name },
            Refused::Problems(problems) => Self::Problems(problems),
        }
    }
}
