//! One catalogue of every server's tools: discovered per server, side by side, under names that no two tools share.
//!
//! What one server does wrong hides nothing of another: it is reported as that server's state.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pudu_config::{Names, Owners, Server, ToolRef, Toolset};
use pudu_domain::Timestamp;
use serde_json::Value;
use tokio::task::JoinSet;

use crate::configs::{ConfigError, Configs, Current};
use crate::ports::{CallError, Clock, McpClient, RawTool};

/// How long a server's tools are taken as known.
const FRESH_FOR: Duration = Duration::from_secs(60);
/// How long a server that could not be listed is left alone.
const FAILED_FOR: Duration = Duration::from_secs(15);
/// Longest that anybody waits for a server's list: a server that hangs must not hang the whole catalogue.
const LISTING: Duration = Duration::from_secs(10);

/// What a tool does when it is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// It answers at once.
    Call,
    /// It submits a durable task of this toolset.
    Submit(Toolset),
}

/// A tool that callers can use.
#[derive(Debug, Clone)]
pub struct Tool {
    /// Its name here.
    pub name: String,
    /// Its server's name for it.
    pub raw: String,
    /// Its server.
    pub server: Arc<Server>,
    /// What it does.
    pub role: Role,
    /// Its description here.
    pub description: String,
    /// Its definition by the server, unchanged.
    pub definition: Value,
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerPart {
    /// How it takes part.
    pub state: ServerState,
    /// How many of its tools are here.
    pub tools: usize,
    /// Toolsets that cannot be used, with the reason.
    pub toolset_problems: Vec<String>,
    /// Whether its visible names begin with its own.
    prefix: bool,
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

type Listing = Result<Arc<Vec<RawTool>>, CallError>;

/// Listings under way. Dropping it gives up those that have not come.
struct Discovery {
    current: Arc<Current>,
    known: BTreeMap<String, Listing>,
    running: JoinSet<(String, String, Listing)>,
}

impl Discovery {
    /// Whether a server whose names could be anything has not answered yet.
    fn awaits_unprefixed(&self) -> bool {
        let silent = |server: &Server| server.enabled && !self.known.contains_key(&server.name);
        self.current.servers.values().any(|server| !server.tool_name_prefix && silent(server))
    }

    /// Waits for the next listing; false when there is none left to wait for.
    async fn next(&mut self, catalog: &Catalog) -> bool {
        match self.running.join_next().await {
            None => return false,
            Some(Ok((name, digest, tools))) => {
                catalog.remember(digest, &tools);
                self.known.insert(name, tools);
            }
            Some(Err(error)) => tracing::error!(%error, "listing a server's tools panicked"),
        }
        true
    }
}

/// Discovers and remembers.
pub struct Catalog {
    configs: Arc<Configs>,
    client: Arc<dyn McpClient>,
    clock: Arc<dyn Clock>,
    /// By the digest of the server's entry, so that a change to one server rediscovers only that one.
    listings: Mutex<BTreeMap<String, (Timestamp, Listing)>>,
}

impl Catalog {
    /// A catalogue of the configured servers.
    pub fn new(configs: Arc<Configs>, client: Arc<dyn McpClient>, clock: Arc<dyn Clock>) -> Self {
        Self { configs, client, clock, listings: Mutex::new(BTreeMap::new()) }
    }

    /// The catalogue as it is now. Servers are asked side by side, each within its own limits, at most `limit`.
    pub async fn now(&self, limit: Duration) -> Result<Catalogue, ConfigError> {
        let mut discovery = self.discover(limit).await?;
        while discovery.next(self).await {}
        Ok(assemble(&discovery.current, &discovery.known))
    }

    /// The tool of that visible name, or why there is none. Returns as soon as it is found: a server that does not
    /// answer holds up nobody who calls another one's tools.
    pub async fn find(
        &self,
        name: &str,
        limit: Duration,
    ) -> Result<Result<Arc<Tool>, NotFound>, ConfigError> {
        let mut discovery = self.discover(limit).await?;
        loop {
            let catalogue = assemble(&discovery.current, &discovery.known);
            let found = catalogue.find(name);
            // Names of a prefixed server are its own whatever others say; another name may still meet its like.
            let settled = found
                .as_ref()
                .is_ok_and(|tool| tool.server.tool_name_prefix || !discovery.awaits_unprefixed());
            if settled || !discovery.next(self).await {
                return Ok(found.cloned());
            }
        }
    }

    /// Begins to list every enabled server whose tools are not known.
    async fn discover(&self, limit: Duration) -> Result<Discovery, ConfigError> {
        let current = self.configs.current().await?;
        let mut discovery = Discovery { current, known: BTreeMap::new(), running: JoinSet::new() };
        for (name, server) in discovery.current.servers.iter().filter(|(_, server)| server.enabled) {
            let digest = server.digest.clone();
            if let Some(tools) = self.known(&digest) {
                discovery.known.insert(name.clone(), tools);
                continue;
            }
            let (client, server) = (Arc::clone(&self.client), Arc::clone(server));
            discovery.running.spawn(async move {
                let within = limit.min(server.init_timeout()).min(LISTING);
                let tools = client.list_tools(&server, within).await.map(|listing| Arc::new(listing.tools));
                (server.name.clone(), digest, tools)
            });
        }
        Ok(discovery)
    }

    fn known(&self, digest: &str) -> Option<Listing> {
        let now = self.clock.now();
        let listings = self.listings.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, listing) = listings.get(digest)?;
        let fresh_for = if listing.is_ok() { FRESH_FOR } else { FAILED_FOR };
        (now.since(*at) < fresh_for).then(|| listing.clone())
    }

    fn remember(&self, digest: String, listing: &Listing) {
        let now = self.clock.now();
        let mut listings = self.listings.lock().unwrap_or_else(PoisonError::into_inner);
        // What nobody asked for within its time belongs to an entry that was changed or removed.
        listings.retain(|_, (at, _)| now.since(*at) < 2 * FRESH_FOR);
        listings.insert(digest, (now, listing.clone()));
    }
}

impl Catalogue {
    /// The tool of that visible name, or why there is none.
    pub fn find(&self, name: &str) -> Result<&Arc<Tool>, NotFound> {
        if let Some(tool) = self.tools.get(name) {
            return Ok(tool);
        }
        // A tool that cannot be seen is attributed by its prefix.
        let prefixed = self.servers.iter().filter(|(_, part)| part.prefix).map(|(server, _)| server.as_str());
        let owner = Owners::of(prefixed).owner(name).and_then(|server| self.servers.get_key_value(server));
        let unseen = self.servers.iter().filter(|(_, part)| part.state != ServerState::Ok);
        // Without a prefix it could be anything of a server that does not show its names.
        let owner = owner.or_else(|| unseen.into_iter().find(|(_, part)| !part.prefix));
        Err(match owner {
            Some((server, ServerPart { state: ServerState::Disabled, .. })) => {
                NotFound::Disabled { server: server.clone() }
            }
            Some((_, ServerPart { state: ServerState::Failed(error), .. })) => NotFound::Down(error.clone()),
            _ => NotFound::Unknown,
        })
    }
}

/// Puts the listings together. Pure.
fn assemble(current: &Current, known: &BTreeMap<String, Listing>) -> Catalogue {
    let mut catalogue = Catalogue::default();
    let mut offered = Vec::new();
    for (name, server) in &current.servers {
        let mut part = ServerPart {
            state: ServerState::Disabled,
            tools: 0,
            toolset_problems: Vec::new(),
            prefix: server.tool_name_prefix,
        };
        match known.get(name) {
            None => {}
            Some(Err(error)) => part.state = ServerState::Failed(error.clone()),
            Some(Ok(tools)) => {
                part.state = ServerState::Ok;
                let (visible, problems) = with_toolsets(server, tools);
                part.tools = visible.len();
                part.toolset_problems = problems;
                offered
                    .extend(visible.into_iter().map(|(tool, role)| (Arc::clone(server), tool.clone(), role)));
            }
        }
        catalogue.servers.insert(name.clone(), part);
    }
    let prefixed = current.servers.values().filter(|server| server.tool_name_prefix);
    let owners = Owners::of(prefixed.map(|server| server.name.as_str()));
    let refs = offered.iter().map(|(server, tool, _)| ToolRef {
        server: &server.name,
        raw: &tool.name,
        prefix: server.tool_name_prefix,
    });
    let names = Names::assign(refs, &owners);
    for (server, tool, role) in offered {
        let Some(name) = names.visible(&server.name, &tool.name) else { continue };
        let description = described(&tool, &role);
        let entry = Tool {
            name: name.to_owned(),
            raw: tool.name,
            server,
            role,
            description,
            definition: tool.definition,
        };
        catalogue.tools.insert(entry.name.clone(), Arc::new(entry));
    }
    catalogue
}

/// A server's visible tools: of a usable toolset only the submit tool, in the server's order. A toolset whose tools are
/// missing disables itself and nothing else (reference 3.1 and 3.3, the better half of vector 27).
fn with_toolsets<'a>(server: &Server, tools: &'a [RawTool]) -> (Vec<(&'a RawTool, Role)>, Vec<String>) {
    let has = |raw: &str| tools.iter().any(|tool| tool.name == raw);
    let mut problems = Vec::new();
    let mut usable = Vec::new();
    for set in &server.task_toolsets {
        let mut missing: Vec<&str> = [&set.submit_tool, &set.status_tool, &set.cancel_tool]
            .into_iter()
            .map(String::as_str)
            .filter(|raw| !has(raw))
            .collect();
        missing.sort_unstable();
        if missing.is_empty() {
            usable.push(set);
        } else {
            problems.push(format!(
                "toolset '{}' is off: the server has no tool {}",
                set.name,
                missing.join(", ")
            ));
        }
    }
    let broken = |raw: &str| {
        let of = |set: &Toolset| {
            [&set.submit_tool, &set.status_tool, &set.cancel_tool].into_iter().any(|t| t == raw)
        };
        server.task_toolsets.iter().any(|set| of(set) && !usable.contains(&set))
    };
    let visible = tools
        .iter()
        .filter_map(|tool| {
            let raw = tool.name.as_str();
            if broken(raw) || usable.iter().any(|set| set.status_tool == raw || set.cancel_tool == raw) {
                return None;
            }
            let submits = usable.iter().find(|set| set.submit_tool == raw);
            Some((tool, submits.map_or(Role::Call, |set| Role::Submit((*set).clone()))))
        })
        .collect();
    (visible, problems)
}

fn described(tool: &RawTool, role: &Role) -> String {
    let original = tool.definition.get("description").and_then(Value::as_str).unwrap_or_default();
    let Role::Submit(set) = role else { return original.to_owned() };
    let durable = format!(
        "Runs as the durable background task '{}': the call returns a local task id at once, and Pudu watches the task until it ends.",
        set.name
    );
    if original.is_empty() { durable } else { format!("{original}\n\n{durable}") }
}
