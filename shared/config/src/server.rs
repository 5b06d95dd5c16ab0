//! One server entry as typed fields (reference 1.2), read once beside its raw JSON.

pub(crate) mod credentials;
mod endpoint;
pub(crate) mod oauth;
mod read;
mod routing;
mod toolset;

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use serde_json::{Map, Value, json};

pub use credentials::{HeadersFromContext, OnMissing, UserAuth};
pub use endpoint::{ConnectError, ResolvedRemote};
pub use oauth::{AuthMethod, GrantType, Oauth, ResolvedOauth, SigningAlgorithm};
pub(crate) use read::DECLARED;
pub use routing::{Mode, Routing, RoutingOverride};
pub use toolset::Toolset;

use crate::setting::{Setting, collect_references};

/// What a timeout is when it is not given, null or 0.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_mins(1);
/// Most characters in the name of a server with task toolsets.
pub const MAX_SERVER_NAME: usize = 128;
/// Most characters in a toolset's name, which is shown as the task's name.
pub const MAX_TASK_NAME: usize = 255;

/// A registered MCP server.
#[derive(Clone)]
pub struct Server {
    /// Its key in `mcpServers`.
    pub name: String,
    /// A keyed hash of its effective entry ([`SealKey::identified`](crate::SealKey::identified)), under which what is learnt
    /// about it is kept: another entry, another digest. Empty as long as no key has been there.
    pub digest: String,
    /// Whether its tools are offered.
    pub enabled: bool,
    /// How it is reached.
    pub transport: Transport,
    /// For people only.
    pub description: String,
    /// Whether visible tool names begin with the server's name.
    pub tool_name_prefix: bool,
    /// As configured; `None` when not given, null or 0. See [`Server::call_timeout`].
    pub tool_call_timeout: Option<Duration>,
    /// As configured; `None` when not given, null or 0. See [`Server::init_timeout`].
    pub session_init_timeout: Option<Duration>,
    /// Which tools are the three roles of a durable task.
    pub task_toolsets: Vec<Toolset>,
    /// Hints for choosing this server's tools.
    pub routing: Routing,
    /// What single tools replace in `routing`, by raw tool name.
    pub tools: Vec<(String, RoutingOverride)>,
    /// Server-level OAuth.
    pub oauth: Option<Oauth>,
    /// A header per user.
    pub user_auth: Option<UserAuth>,
    /// Headers from the secrets of the request.
    pub headers_from_context: Option<HeadersFromContext>,
    /// The interceptors of its calls, in their order: those of the whole config
    /// ([`Document::interceptors`](crate::Document::interceptors)).
    pub interceptors: Vec<String>,
    entry: Map<String, Value>,
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Streamable HTTP.
    Http(Remote),
    /// The older HTTP+SSE transport.
    Sse(Remote),
    /// A child process.
    Stdio(Command),
    /// Any other text in `type`: kept, and never connected (reference 12, vector 4).
    Unknown(String),
}

/// A server behind a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    /// `None` when missing, null or empty: then the server cannot be connected, its siblings can.
    pub url: Option<Setting>,
    /// Static headers in the order and spelling of the file.
    pub headers: Vec<(String, Setting)>,
}

/// A server in a child process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// `None` when missing, null or empty.
    pub command: Option<Setting>,
    /// Its arguments.
    pub args: Vec<Setting>,
    /// Its environment beyond the default one.
    pub env: Vec<(String, Setting)>,
    /// Its working directory, when configured and not empty.
    pub cwd: Option<Setting>,
}

impl Server {
    /// The time limit of one tool call (reference 1.2; null and 0 mean the default).
    pub fn call_timeout(&self) -> Duration {
        self.tool_call_timeout.unwrap_or(DEFAULT_TIMEOUT)
    }

    /// The time limit of connecting and initialising.
    pub fn init_timeout(&self) -> Duration {
        self.session_init_timeout.unwrap_or(DEFAULT_TIMEOUT)
    }

    /// Whether it takes calls of that user: a block `user_auth` in force that denies whom it does not map takes nobody else's. A
    /// value that is a variable counts as there: whether it can be read shows when it is used.
    pub fn admits(&self, user: &str) -> bool {
        let block = self.user_auth.as_ref().filter(|block| block.enabled && self.transport.takes_headers());
        block.is_none_or(|block| block.on_missing == OnMissing::Passthrough || block.maps(user))
    }

    /// The names of the variables that its entry refers to.
    pub fn references(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        self.entry.values().for_each(|value| collect_references(value, &mut names));
        names
    }

    /// The routing of one tool: the server's, with only the fields that `tools[raw].routing` gives replaced.
    pub fn effective_routing(&self, raw_tool: &str) -> Routing {
        let given = self.tools.iter().find(|(name, _)| name == raw_tool).map(|(_, given)| given);
        given.map_or_else(|| self.routing.clone(), |given| self.routing.overlaid(given))
    }

    /// The entry with the defaults of reference 1.2 filled in: `transport` applied to `type`, nothing removed.
    /// It contains secrets. `tools` is left alone: filling it would destroy which fields were given (1.3).
    pub(crate) fn effective_entry(&self) -> Value {
        let mut entry = self.entry.clone();
        entry.insert("type".into(), self.transport.name().into());
        if let Value::Object(defaults) = defaults() {
            for (key, value) in defaults {
                entry.entry(key).or_insert(value);
            }
        }
        Value::Object(entry)
    }
}

/// What a field means that an entry does not have (reference 1.2); `type` apart, which may be told by `transport`.
pub(crate) fn defaults() -> Value {
    json!({
        "enabled": true, "command": null, "args": [], "env": {}, "url": null, "headers": {}, "oauth": null,
        "user_auth": null, "headers_from_context": null, "description": "",
        "routing": {"mode": "off", "priority": 0, "keywords": []}, "tools": {}, "tool_name_prefix": true,
        "tool_call_timeout": null, "session_init_timeout": 60.0, "task_toolsets": [],
    })
}

impl Transport {
    /// Whether requests carry HTTP headers.
    pub const fn takes_headers(&self) -> bool {
        matches!(self, Self::Http(_) | Self::Sse(_))
    }

    /// The text of `type`.
    pub fn name(&self) -> &str {
        match self {
            Self::Http(_) => "http",
            Self::Sse(_) => "sse",
            Self::Stdio(_) => "stdio",
            Self::Unknown(name) => name,
        }
    }
}

impl fmt::Debug for Server {
    // By hand: the raw entry holds literal secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("name", &self.name)
            .field("enabled", &self.enabled)
            .field("transport", &self.transport)
            .field("task_toolsets", &self.task_toolsets)
            .field("oauth", &self.oauth)
            .field("user_auth", &self.user_auth)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
