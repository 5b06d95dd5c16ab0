//! What an operator makes of the config while tasks run: the server goes, comes back, or is another one for a while.

use pudu_config::Document;
use serde_json::{Value, json};

use crate::fixture::{self, SERVER};

/// A config that differs from [`fixture::config`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drift {
    /// As it was at the beginning.
    Original,
    /// The server is switched off.
    Disabled,
    /// The server is not there.
    Removed,
    /// Another server has its name.
    Moved,
    /// The server has less time for a call.
    Impatient,
}

impl Drift {
    /// What an operator may do, the original left out.
    pub const AWAY: [Self; 4] = [Self::Disabled, Self::Removed, Self::Moved, Self::Impatient];

    /// The config.
    pub fn document(self) -> Result<Document, String> {
        let mut config = fixture::config();
        let servers = config.get_mut("mcpServers").and_then(Value::as_object_mut).ok_or("no servers")?;
        if self == Self::Removed {
            servers.remove(SERVER);
        }
        if let Some(server) = servers.get_mut(SERVER).and_then(Value::as_object_mut) {
            let change = match self {
                Self::Original | Self::Removed => None,
                Self::Disabled => Some(("enabled", json!(false))),
                Self::Moved => Some(("url", json!("http://127.0.0.1:8082/mcp"))),
                Self::Impatient => Some(("timeout", json!(2))),
            };
            server.extend(change.map(|(key, value)| (key.to_owned(), value)));
        }
        Document::parse(config).map_err(|problems| format!("{problems:?}"))
    }
}
