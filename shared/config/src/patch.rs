//! The changes that the API makes, each as one function from the stored config to the raw config after it, which is not yet
//! validated. What a change is not about stays as it is, byte for byte: other servers, `$VAR`, unknown keys, their order.

use serde_json::{Map, Value};

use crate::document::{Document, SERVERS};
use crate::merge::{merge, required_servers};
use crate::path::Path;
use crate::problem::{Kind, Problem};

/// Why a change makes no sense over the stored config.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It is about a server that is not there.
    #[error("there is no server '{name}' in the config")]
    Unknown {
        /// Its name, at most 300 characters of it.
        name: String,
    },
    /// It would make a server that is there already.
    #[error("there is a server '{name}' in the config already; replace it, or choose another name")]
    Exists {
        /// Its name, at most 300 characters of it.
        name: String,
    },
    /// What was sent cannot be used.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Problems(Vec<Problem>),
}

/// The server map becomes that of `incoming` (reference 8.1, 5.11): servers that it does not have are gone. Whatever else
/// `incoming` says is not looked at.
pub fn put_servers(incoming: &Value, stored: &Document) -> Result<Value, Refused> {
    Ok(merge(servers_only(incoming), Some(stored))?)
}

/// The servers of `incoming` are added; it is `{"mcp_servers": {name: entry}}`, of one or more.
pub fn create_servers(incoming: &Value, stored: &Document) -> Result<Value, Refused> {
    let incoming = required_servers(servers_only(incoming))?;
    let new = incoming.get(SERVERS).and_then(Value::as_object);
    for name in new.into_iter().flat_map(Map::keys) {
        if stored.server(name).is_some() {
            return Err(Refused::Exists { name: shortened(name) });
        }
    }
    if new.is_some_and(Map::is_empty) {
        let path = Path::default().key("mcp_servers");
        return Err(
            vec![Problem::new(Kind::Shape, &path, "must have the server that is to be created")].into()
        );
    }
    let mut merged = merge(incoming, Some(stored))?;
    let Some(Value::Object(new)) = merged.get_mut(SERVERS).map(Value::take) else {
        // Not a map: validation says so, at its place.
        return Ok(merged);
    };
    let mut raw = stored.expose_raw().clone();
    if let Some(entries) = entries(&mut raw) {
        entries.extend(new);
    }
    Ok(raw)
}

/// The server `name` gets another entry: as in a PUT, `***` restores, a field that is missing is kept, null resets.
pub fn replace_server(name: &str, entry: &Value, stored: &Document) -> Result<Value, Refused> {
    let mut raw = stored.expose_raw().clone();
    let slot = entries(&mut raw).and_then(|entries| entries.get_mut(name)).ok_or_else(|| unknown(name))?;
    let one = Map::from_iter([(name.to_owned(), entry.clone())]);
    let incoming = Map::from_iter([(SERVERS.to_owned(), Value::Object(one))]);
    let mut merged = merge(Value::Object(incoming), Some(stored))?;
    let entry = entries(&mut merged).and_then(|entries| entries.get_mut(name));
    *slot = entry.map(Value::take).unwrap_or_default();
    Ok(raw)
}

/// The server `name` is gone.
pub fn remove_server(name: &str, stored: &Document) -> Result<Value, Refused> {
    let mut raw = stored.expose_raw().clone();
    entries(&mut raw).and_then(|entries| entries.shift_remove(name)).ok_or_else(|| unknown(name))?;
    Ok(raw)
}

/// The server `name` is on or off: one boolean, and nothing else (reference 8.1).
pub fn enable_server(name: &str, enabled: bool, stored: &Document) -> Result<Value, Refused> {
    let mut raw = stored.expose_raw().clone();
    let entry = entries(&mut raw).and_then(|entries| entries.get_mut(name)?.as_object_mut());
    entry.ok_or_else(|| unknown(name))?.insert("enabled".to_owned(), enabled.into());
    Ok(raw)
}

/// `incoming` with nothing but its server map; what has none is refused with its own words by whoever reads it.
fn servers_only(incoming: &Value) -> Value {
    let Value::Object(given) = incoming else { return incoming.clone() };
    let servers = given.iter().filter(|(key, _)| matches!(key.as_str(), "mcpServers" | "mcp_servers"));
    Value::Object(servers.map(|(key, value)| (key.clone(), value.clone())).collect())
}

/// The server map of a config, which has one.
fn entries(raw: &mut Value) -> Option<&mut Map<String, Value>> {
    raw.get_mut(SERVERS).and_then(Value::as_object_mut)
}

fn unknown(name: &str) -> Refused {
    Refused::Unknown { name: shortened(name) }
}

/// Names have any length.
fn shortened(name: &str) -> String {
    name.chars().take(300).collect()
}

impl From<Vec<Problem>> for Refused {
    fn from(problems: Vec<Problem>) -> Self {
        Self::Problems(problems)
    }
}

#[cfg(test)]
mod tests;
