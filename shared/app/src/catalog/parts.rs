//! What the catalogue is made of: per server, what is known of it. And the pure step from there to the catalogue.

use std::collections::BTreeMap;
use std::sync::Arc;

use pudu_config::{Names, Owners, Server, ToolRef};

use super::toolsets::{Offer, with_toolsets};
use super::{Catalogue, Role, ServerPart, ServerState, Tool};
use crate::configs::Current;
use crate::listings::{Glimpse, Listed};
use crate::ports::CallError;

/// What is known of an enabled server.
#[derive(Debug, Clone)]
pub(super) enum Part {
    /// Nothing: nobody has asked.
    Silent,
    /// Its tools.
    Listed {
        list: Arc<Listed>,
        /// Whether its time is not over.
        fresh: bool,
    },
    /// It cannot be listed; it keeps the names that it had when it last could.
    Failed { error: CallError, last: Option<Arc<Listed>> },
}

/// The config and what is known of its enabled servers.
#[derive(Debug, Clone)]
pub(super) struct Parts {
    pub(super) current: Arc<Current>,
    pub(super) by_server: BTreeMap<String, Part>,
}

impl Part {
    pub(super) fn of(glimpse: Glimpse) -> Self {
        match glimpse {
            Glimpse { answer: Some(Ok(list)), .. } => Self::Listed { list, fresh: true },
            Glimpse { answer: Some(Err(error)), last, .. } => Self::Failed { error, last },
            Glimpse { answer: None, last: Some(list), .. } => Self::Listed { list, fresh: false },
            Glimpse { answer: None, last: None, .. } => Self::Silent,
        }
    }

    /// What was answered to a question.
    pub(super) fn answered(answer: Result<Arc<Listed>, CallError>, last: Option<Arc<Listed>>) -> Self {
        match answer {
            Ok(list) => Self::Listed { list, fresh: true },
            Err(error) => Self::Failed { error, last },
        }
    }

    /// Whether the same catalogue comes of both.
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Silent, Self::Silent) => true,
            (Self::Listed { list: a, .. }, Self::Listed { list: b, .. }) => Arc::ptr_eq(a, b),
            (Self::Failed { error: a, last: left }, Self::Failed { error: b, last: right }) => {
                let same = match (left, right) {
                    (Some(left), Some(right)) => Arc::ptr_eq(left, right),
                    (None, None) => true,
                    _ => false,
                };
                same && a == b
            }
            _ => false,
        }
    }

    /// The list whose names are taken.
    fn names(&self) -> Option<&Arc<Listed>> {
        match self {
            Self::Silent => None,
            Self::Listed { list, .. } => Some(list),
            Self::Failed { last, .. } => last.as_ref(),
        }
    }
}

impl Parts {
    /// Whether the same catalogue comes of both.
    pub(super) fn are_like(&self, other: &Self) -> bool {
        let parts = || self.by_server.values().zip(other.by_server.values());
        Arc::ptr_eq(&self.current, &other.current) && parts().all(|(a, b)| a.is_like(b))
    }

    /// The enabled servers that `wanted` picks.
    pub(super) fn enabled(&self, wanted: impl Fn(&Server) -> bool) -> Vec<Arc<Server>> {
        let enabled = self.current.servers.values().filter(|server| server.enabled);
        enabled.filter(|server| wanted(server)).cloned().collect()
    }

    /// Whether a server would have to be asked for its tools.
    pub(super) fn is_open(&self, server: &Server) -> bool {
        matches!(self.by_server.get(&server.name), Some(Part::Silent | Part::Listed { fresh: false, .. }))
    }

    /// Puts the lists together. Pure. `obstacle` says why a server's tasks cannot be run here, if so.
    pub(super) fn assemble(&self, obstacle: impl Fn(&Server) -> Option<String>) -> Catalogue {
        let mut catalogue = Catalogue::default();
        let mut offered = Vec::new();
        let mut named = Vec::new();
        for (name, server) in &self.current.servers {
            let part = self.by_server.get(name);
            let (state, list) = match part {
                Some(Part::Silent) => continue,
                None => (ServerState::Disabled, None),
                Some(Part::Failed { error, .. }) => (ServerState::Failed(error.clone()), None),
                Some(Part::Listed { list, .. }) => (ServerState::Ok, Some(list)),
            };
            let Offer { tools, problems } =
                list.map(|list| with_toolsets(server, list, obstacle(server).as_deref())).unwrap_or_default();
            let shown = ServerPart {
                state,
                tools: tools.len(),
                toolset_problems: problems,
                server: Arc::clone(server),
                fresh_until: list.map(|list| list.fresh_until),
            };
            catalogue.servers.insert(name.clone(), shown);
            offered.extend(tools.into_iter().map(|(tool, role)| (server, tool, role)));
            named.extend(part.and_then(Part::names).map(|list| (server, list)));
        }
        let prefixed = self.current.servers.values().filter(|server| server.tool_name_prefix);
        let owners = Owners::of(prefixed.map(|server| server.name.as_str()));
        // All names of a server, also of tools that are not shown: which toolset works must not change another's name.
        let refs = named.iter().flat_map(|(server, list)| {
            let prefix = server.tool_name_prefix;
            list.tools.iter().map(move |tool| ToolRef { server: &server.name, raw: &tool.name, prefix })
        });
        let names = Names::assign(refs, &owners);
        for (server, listed, role) in offered {
            let Some(name) = names.visible(&server.name, &listed.name) else { continue };
            let description = described(listed.text("description"), &role);
            let server = Arc::clone(server);
            let tool = Tool { name: name.to_owned(), server, role, description, listed };
            catalogue.tools.insert(name.to_owned(), Arc::new(tool));
        }
        catalogue
    }
}

fn described(original: &str, role: &Role) -> String {
    let name = match role {
        Role::Submit(set) => format!(" '{}'", set.name),
        Role::Core { always: true } => String::new(),
        Role::Call | Role::MayBecomeTask | Role::Core { always: false } => return original.to_owned(),
    };
    let durable = format!(
        "Runs as the durable background task{name}: the call returns a local task id at once, and Pudu watches the task until it ends.",
    );
    if original.is_empty() { durable } else { format!("{original}\n\n{durable}") }
}
