//! The tool names that a model sees (DESIGN section 5; reference 3.2): `server_tool`, legal for every provider, unique,
//! and mapped back. The source server is kept beside the name, never inferred from it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::json;

use crate::canonical::sha256_hex;

/// Most characters in a visible name.
pub const MAX_VISIBLE_NAME: usize = 64;

/// One tool of a catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolRef<'a> {
    /// The server's name.
    pub server: &'a str,
    /// The name that the server advertises.
    pub raw: &'a str,
    /// The server's `tool_name_prefix`.
    pub prefix: bool,
}

/// The visible names of one catalogue: `server_raw`, or `raw` without prefix. What is illegal or longer than 64 characters
/// is replaced and cut, and ends in a hash of the original; no two tools have one name, so a name leads back to its tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    visible: BTreeMap<(String, String), String>,
    source: HashMap<String, (String, String)>,
}

/// Whose a name is, by its beginning: the prefixed server whose `server_` it begins with, the longest one that fits. It
/// depends on the config alone and not on which servers answer, so that no server can take a name while its owner is away.
#[derive(Clone, Debug, Default)]
pub struct Owners<'a>(BTreeMap<String, &'a str>);

impl<'a> Owners<'a> {
    /// The owners among these prefixed servers. Of two whose names look alike, the one that is written so has the names.
    pub fn of(prefixed: impl IntoIterator<Item = &'a str>) -> Self {
        let mut owners: BTreeMap<String, &str> = BTreeMap::new();
        for server in prefixed {
            let prefix = format!("{}_", legalised(server));
            let literal = prefix.strip_suffix('_') == Some(server);
            if literal || !owners.contains_key(&prefix) {
                owners.insert(prefix, server);
            }
        }
        Self(owners)
    }

    /// The owner of `name`, if it begins like a prefixed server's.
    pub fn owner(&self, name: &str) -> Option<&'a str> {
        let fitting = self.0.iter().filter(|(prefix, _)| name.starts_with(prefix.as_str()));
        fitting.max_by_key(|(prefix, _)| prefix.len()).map(|(_, server)| *server)
    }
}

impl Names {
    /// Names for all tools of a catalogue, whatever their order. A tool that wants a name of another server's gets a
    /// hash. So does each of several tools that want one name otherwise: giving it to one of them would let a new server
    /// take over a name that callers already use.
    pub fn assign<'a>(tools: impl IntoIterator<Item = ToolRef<'a>>, owners: &Owners<'_>) -> Self {
        let mut claims: BTreeMap<String, BTreeSet<ToolRef<'a>>> = BTreeMap::new();
        for tool in tools {
            claims.entry(wanted(tool)).or_default().insert(tool);
        }
        let mut names = Self::default();
        let mut changed = Vec::new();
        for (wanted, mut tools) in claims {
            let foreign =
                |tool: &ToolRef<'_>| owners.owner(&wanted).is_some_and(|owner| owner != tool.server);
            changed.extend(tools.iter().filter(|tool| foreign(tool)).map(|tool| (*tool, wanted.clone())));
            tools.retain(|tool| !foreign(tool));
            match tools.first() {
                Some(tool) if tools.len() == 1 && legal(&wanted) => names.insert(*tool, wanted),
                _ => changed.extend(tools.into_iter().map(|tool| (tool, wanted.clone()))),
            }
        }
        changed.sort();
        for (tool, wanted) in changed {
            let free = [8, 16, 32, 63].into_iter().map(|length| suffixed(tool, &wanted, length));
            // A name of 63 hash characters is taken only if it was planted against SHA-256: then the tool has none.
            if let Some(name) = free.into_iter().find(|name| !names.source.contains_key(name)) {
                names.insert(tool, name);
            }
        }
        names
    }

    /// The visible name of a server's tool.
    pub fn visible(&self, server: &str, raw: &str) -> Option<&str> {
        self.visible.get(&(server.to_owned(), raw.to_owned())).map(String::as_str)
    }

    fn insert(&mut self, tool: ToolRef<'_>, name: String) {
        let key = (tool.server.to_owned(), tool.raw.to_owned());
        self.source.insert(name.clone(), key.clone());
        self.visible.insert(key, name);
    }
}

fn wanted(tool: ToolRef<'_>) -> String {
    if tool.prefix { format!("{}_{}", tool.server, tool.raw) } else { tool.raw.to_owned() }
}

fn legal(name: &str) -> bool {
    !name.is_empty() && name.len() <= MAX_VISIBLE_NAME && name.chars().all(legal_character)
}

fn legal_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_' || character == '-'
}

fn suffixed(tool: ToolRef<'_>, wanted: &str, length: usize) -> String {
    let mut hash = sha256_hex(&json!([tool.server, tool.raw]));
    hash.truncate(length);
    let room = MAX_VISIBLE_NAME.saturating_sub(length + 1);
    let head: String = legalised(wanted).chars().take(room).collect();
    format!("{head}_{hash}")
}

fn legalised(text: &str) -> String {
    text.chars().map(|character| if legal_character(character) { character } else { '_' }).collect()
}

#[cfg(test)]
mod tests;
