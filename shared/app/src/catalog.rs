//! One catalogue of every server's tools: discovered per server, side by side, under names that no two tools share.
//!
//! What one server does wrong hides nothing of another: it is reported as that server's state. A call waits for no server
//! but those that could have its tool.

mod overview;
mod parts;
mod toolsets;
mod visible;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pudu_config::{Owners, Routing, Server, Toolset, may_be_of};
use pudu_domain::{Principal, Timestamp};
use serde_json::Value;
use tokio::task::JoinSet;

use crate::configs::{ConfigError, Configs, Current};
use crate::function::Function;
use crate::known::Known;
use crate::listings::{Listed, ListedTool};
use crate::ports::{CallError, Clock, McpClient, StoreError, Version};
use parts::{Part, Parts};

pub use overview::{Overview, Probed, Standing};
pub use visible::is_visible;

/// What a tool does when it is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// It answers at once.
    Call,
    /// It submits a durable task of this toolset.
    Submit(Toolset),
    /// It answers at once, or its call becomes a durable task: its server decides at each call (the tasks extension).
    MayBecomeTask,
    /// It runs as a core task of its server.
    Core {
        /// Always, or only if its caller asks for that.
        always: bool,
    },
}

/// A tool that callers can use.
#[derive(Debug, Clone)]
pub struct Tool {
    /// Its name here.
    pub name: String,
    /// Its server.
    pub server: Arc<Server>,
    /// What it does.
    pub role: Role,
    /// Its description here.
    pub description: String,
    /// As its server listed it.
    pub listed: Arc<ListedTool>,
}

/// How a server takes part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerState {
    /// Its tools are here.
    Ok,
    /// It is switched off.
    Disabled,
    /// Its tools could not be listed.
    Failed(CallError),
}

/// A server's part in the catalogue.
#[derive(Debug, Clone)]
pub struct ServerPart {
    /// Its entry.
    pub server: Arc<Server>,
    /// How it takes part.
    pub state: ServerState,
    /// How many of its tools are here.
    pub tools: usize,
    /// Toolsets that cannot be used, with the reason.
    pub toolset_problems: Vec<String>,
    /// Until when its list is taken as it is; none when there is no list.
    pub fresh_until: Option<Timestamp>,
}

/// Every tool, and every server's state.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    /// By visible name.
    pub tools: BTreeMap<String, Arc<Tool>>,
    /// By server name, disabled ones too.
    pub servers: BTreeMap<String, ServerPart>,
}

/// Why a name is not a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotFound {
    /// Nobody has it.
    Unknown,
    /// It would belong to a server that is switched off.
    Disabled {
        /// Which server.
        server: String,
    },
    /// It would belong to a server that cannot be listed now.
    Down(CallError),
}

/// The catalogue cannot be forgotten.
#[derive(Debug, thiserror::Error)]
pub enum ResetError {
    /// Which servers there are could not be read.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The table kept something.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The catalogue of the configured servers.
pub struct Catalog {
    configs: Arc<Configs>,
    known: Known,
    clock: Arc<dyn Clock>,
    /// The last one that was put together, with what it was made of: most calls find it as it is.
    assembled: Mutex<Option<(Parts, Arc<Catalogue>)>>,
    /// The config for which what is kept open with servers was last looked through.
    adopted: Mutex<Option<Version>>,
}

/// A question to a server.
type Asked = (String, Result<Arc<Listed>, CallError>);

impl Tool {
    /// Its server's name for it.
    pub fn raw(&self) -> &str {
        &self.listed.name
    }

    /// Its definition by the server, unchanged.
    pub fn definition(&self) -> &Value {
        &self.listed.definition
    }

    /// Whether and how callers are pointed to it: its server's routing with its own laid over it.
    pub fn routing(&self) -> Routing {
        self.server.effective_routing(self.raw())
    }

    /// What a model sees of it. Nothing of its routing (reference 3.2).
    pub fn function(&self) -> Function {
        Function::new(&self.name, &self.description, self.definition().get("inputSchema"))
    }
}

impl Catalog {
    /// A catalogue of the configured servers, as far as `known` knows them.
    pub fn new(configs: Arc<Configs>, known: Known, clock: Arc<dyn Clock>) -> Self {
        Self { configs, known, clock, assembled: Mutex::new(None), adopted: Mutex::new(None) }
    }

    /// The catalogue as it is now. Servers whose tools are not known are asked side by side, each within its own limits, at
    /// most `limit`.
    pub async fn now(&self, limit: Duration) -> Result<Arc<Catalogue>, ConfigError> {
        let mut parts = self.parts().await?;
        let mut asking = self.ask(&parts, |_| true, self.clock.now() + limit);
        while self.next(&mut parts, &mut asking).await {}
        Ok(self.assembled(&parts))
    }

    /// The tool of that visible name, or why there is none: one that `who` may not use is as unknown as one that is nowhere. Returns
    /// as soon as it is found: a server that does not answer holds up nobody who calls another one's tools.
    pub async fn find(
        &self,
        who: &Principal,
        name: &str,
        limit: Duration,
    ) -> Result<Result<Arc<Tool>, NotFound>, ConfigError> {
        let until = self.clock.now() + limit;
        let mut parts = self.parts().await?;
        let found = self.search(&mut parts, who, name, until).await;
        let found = found.filter(|tool| is_visible(&tool.server, who));
        Ok(found.map_or_else(|| self.assembled(&parts).find(who, name).cloned(), Ok))
    }

    /// The tool of that name, whoever may use it, asking servers one kind after the other.
    async fn search(
        &self,
        parts: &mut Parts,
        who: &Principal,
        name: &str,
        until: Timestamp,
    ) -> Option<Arc<Tool>> {
        if let Some(tool) = self.settled(parts, name) {
            return Some(tool);
        }
        let current = Arc::clone(&parts.current);
        let prefixed = current.servers.values().filter(|server| server.tool_name_prefix);
        let owner = Owners::of(prefixed.map(|server| server.name.as_str())).owner(name);
        // Whose the name is by its beginning has it nearly always; who else could have it is asked only if not. Nobody makes
        // Pudu ask a server that he may not use.
        let is_owner = |server: &Server| Some(server.name.as_str()) == owner && is_visible(server, who);
        // These whoever asks: what they list decides the names of others.
        let may_be = |server: &Server| {
            Some(server.name.as_str()) != owner && may_be_of(&server.name, server.tool_name_prefix, name)
        };
        let asking = self.ask(parts, is_owner, until);
        if let Some(tool) = self.found(parts, asking, name).await {
            return Some(tool);
        }
        // It may be newer than what is known of its server.
        let asking = self.ask_again(parts, is_owner, until);
        if let Some(tool) = self.found(parts, asking, name).await {
            return Some(tool);
        }
        let asking = self.ask(parts, may_be, until);
        if let Some(tool) = self.found(parts, asking, name).await {
            return Some(tool);
        }
        if owner.is_some() {
            return None;
        }
        let asking = self.ask_again(parts, may_be, until);
        self.found(parts, asking, name).await
    }

    /// Forgets every list, here and in the table, and closes what this process keeps open with servers: each is asked again
    /// when its tools are next needed, and begun anew (reference 4.1).
    pub async fn reset(&self) -> Result<(), ResetError> {
        let current = self.configs.current().await?;
        *self.assembled.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.known.close_all().await;
        Ok(self.known.listings().forget(current.servers.values().map(AsRef::as_ref)).await?)
    }

    /// Lets go of what is kept open with servers that `current` does not have, or has switched off. Calls do so by
    /// themselves; whoever changes the config does it at once.
    pub fn adopt(&self, current: &Current) {
        let mut adopted = self.adopted.lock().unwrap_or_else(PoisonError::into_inner);
        if adopted.as_ref() == Some(&current.version) {
            return;
        }
        *adopted = Some(current.version.clone());
        let enabled = current.servers.values().filter(|server| server.enabled);
        self.known.keep_servers(&enabled.map(|server| server.name.as_str()).collect());
    }

    /// What is known here and now.
    async fn parts(&self) -> Result<Parts, ConfigError> {
        let current = self.configs.current().await?;
        self.adopt(&current);
        let enabled = current.servers.values().filter(|server| server.enabled);
        let glimpses =
            enabled.map(|server| (server.name.clone(), Part::of(self.known.listings().peek(server))));
        Ok(Parts { by_server: glimpses.collect(), current: Arc::clone(&current) })
    }

    /// Begins to list those of these servers whose tools are not known, side by side. Dropping it gives up those that have
    /// not come.
    fn ask(&self, parts: &Parts, servers: impl Fn(&Server) -> bool, until: Timestamp) -> JoinSet<Asked> {
        let limit = until.since(self.clock.now());
        let mut asking = JoinSet::new();
        for server in parts.enabled(|server| servers(server) && parts.is_open(server)) {
            let listings = Arc::clone(self.known.listings());
            asking.spawn(async move { (server.name.clone(), listings.get(&server, limit).await) });
        }
        asking
    }

    /// The same for those whose list is known and may be out of date.
    fn ask_again(
        &self,
        parts: &Parts,
        servers: impl Fn(&Server) -> bool,
        until: Timestamp,
    ) -> JoinSet<Asked> {
        let limit = until.since(self.clock.now());
        let mut asking = JoinSet::new();
        for server in parts.enabled(servers) {
            let Some(Part::Listed { list, .. }) = parts.by_server.get(&server.name) else { continue };
            let (listings, list) = (Arc::clone(self.known.listings()), Arc::clone(list));
            asking.spawn(async move { (server.name.clone(), listings.again(&server, &list, limit).await) });
        }
        asking
    }

    /// The tool of that name, as soon as what is being asked brings it.
    async fn found(&self, parts: &mut Parts, mut asking: JoinSet<Asked>, name: &str) -> Option<Arc<Tool>> {
        while self.next(parts, &mut asking).await {
            if let Some(tool) = self.settled(parts, name) {
                return Some(tool);
            }
        }
        None
    }

    /// Waits for the next list; false when there is none left to wait for.
    async fn next(&self, parts: &mut Parts, asking: &mut JoinSet<Asked>) -> bool {
        match asking.join_next().await {
            None => return false,
            Some(Ok((name, answer))) => {
                let last = parts
                    .current
                    .servers
                    .get(&name)
                    .and_then(|server| self.known.listings().peek(server).last);
                parts.by_server.insert(name, Part::answered(answer, last));
            }
            Some(Err(error)) => tracing::error!(%error, "listing a server's tools panicked"),
        }
        true
    }

    /// The tool of that name, if nothing that is not known yet could make it another one.
    fn settled(&self, parts: &Parts, name: &str) -> Option<Arc<Tool>> {
        let tool = self.assembled(parts).tools.get(name).cloned()?;
        if !matches!(parts.by_server.get(&tool.server.name), Some(Part::Listed { fresh: true, .. })) {
            return None;
        }
        // A prefixed server's names are its own whatever others say; another name may still meet its like.
        let unheard = |server: &Server| {
            !server.tool_name_prefix && matches!(parts.by_server.get(&server.name), Some(Part::Silent))
        };
        let settled =
            tool.server.tool_name_prefix || !parts.current.servers.values().any(|server| unheard(server));
        settled.then_some(tool)
    }

    fn assembled(&self, parts: &Parts) -> Arc<Catalogue> {
        let mut assembled = self.assembled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((made_of, catalogue)) = assembled.as_ref()
            && made_of.are_like(parts)
        {
            return Arc::clone(catalogue);
        }
        let catalogue = Arc::new(parts.assemble(|server| self.known.task_obstacle(server)));
        *assembled = Some((parts.clone(), Arc::clone(&catalogue)));
        catalogue
    }
}
