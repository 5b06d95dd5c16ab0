//! What of the catalogue is there for a caller: the servers of the own scope that take the own user. Others, and their tools, are
//! not there: nothing says that they exist.

use std::sync::Arc;
use std::time::Duration;

use pudu_config::{Owners, Server};
use pudu_domain::{Principal, Timestamp};

use super::{Catalogue, NotFound, ServerPart, ServerState, Tool};
use crate::listings::{FAILED_FOR, FRESH_FOR};

/// Whether `server` is there for `who`.
pub fn is_visible(server: &Server, who: &Principal) -> bool {
    who.scope.has(&server.name) && server.admits(who.user.as_str())
}

impl Catalogue {
    /// The tools that `who` may use, in the order of their names.
    pub fn visible_to<'a>(&'a self, who: &'a Principal) -> impl Iterator<Item = &'a Arc<Tool>> {
        self.tools.values().filter(|tool| is_visible(&tool.server, who))
    }

    /// The servers that `who` may use, in the order of their names.
    pub fn servers_of<'a>(&'a self, who: &'a Principal) -> impl Iterator<Item = (&'a str, &'a ServerPart)> {
        let servers = self.servers.iter().filter(|(_, part)| is_visible(&part.server, who));
        servers.map(|(name, part)| (name.as_str(), part))
    }

    /// For how long nothing of what `who` sees is asked for anew, as far as its servers' lists go. A server without a list is
    /// tried again soon.
    pub fn fresh_for(&self, who: &Principal, now: Timestamp) -> Duration {
        let left = self.servers_of(who).filter_map(|(_, part)| match &part.state {
            ServerState::Disabled => None,
            ServerState::Failed(_) => Some(FAILED_FOR),
            ServerState::Ok => part.fresh_until.map(|until| until.since(now)),
        });
        left.fold(FRESH_FOR, Duration::min)
    }

    /// The tool of that visible name, or why there is none for `who`.
    pub fn find(&self, who: &Principal, name: &str) -> Result<&Arc<Tool>, NotFound> {
        if let Some(tool) = self.tools.get(name).filter(|tool| is_visible(&tool.server, who)) {
            return Ok(tool);
        }
        // A tool that cannot be seen is attributed by its prefix.
        let prefixed = self.servers_of(who).filter(|(_, part)| part.server.tool_name_prefix);
        let owner = Owners::of(prefixed.map(|(server, _)| server)).owner(name);
        let owner = owner.and_then(|server| self.servers.get(server));
        // Without a prefix it could be anything of a server that does not show its names.
        let unseen = || {
            let mut unseen = self.servers_of(who).map(|(_, part)| part);
            unseen.find(|part| part.state != ServerState::Ok && !part.server.tool_name_prefix)
        };
        Err(match owner.or_else(unseen) {
            Some(ServerPart { state: ServerState::Disabled, server, .. }) => {
                NotFound::Disabled { server: server.name.clone() }
            }
            Some(ServerPart { state: ServerState::Failed(error), .. }) => NotFound::Down(error.clone()),
            _ => NotFound::Unknown,
        })
    }
}
