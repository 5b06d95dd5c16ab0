//! The tool names that a model sees (DESIGN section 5; reference 3.2): `server_tool`, legal for every provider, unique,
//! and mapped back. The source server is kept beside the name, never inferred from it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::json;

use crate::canonical::sha256_hex;

/// Most characters in a visible name.
pub const MAX_VISIBLE_NAME: usize = 64;

/// Hash characters in a changed name among its own server's names.
const SHORT_HASH: usize = 8;
/// Hash characters in a changed name among names of other servers.
const LONG_HASH: usize = 16;

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
    /// The owners among these prefixed servers, whatever their order. Of two whose names look alike, the one that is written
    /// so has the names, else the first by name.
    pub fn of(prefixed: impl IntoIterator<Item = &'a str>) -> Self {
        let mut owners: BTreeMap<String, &str> = BTreeMap::new();
        for server in prefixed {
            let looks = legalised(server);
            let rank = |server: &str| (server != looks, server.to_owned());
            let prefix = format!("{looks}_");
            if owners.get(&prefix).is_none_or(|kept| rank(server) < rank(kept)) {
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

/// Whether a tool of `server` could have the visible name `name`, as far as the config alone says: without a prefix any,
/// else one that begins like the server's names, as far as a long one is not cut.
pub fn may_be_of(server: &str, prefix: bool, name: &str) -> bool {
    let begin: String =
        format!("{}_", legalised(server)).chars().take(MAX_VISIBLE_NAME - LONG_HASH - 1).collect();
    !prefix || name.starts_with(&begin)
}

impl Names {
    /// Names for all tools of a catalogue, whatever their order. A tool that wants a name of another server's gets a
    /// hash. So does each of several tools that want one name otherwise: giving it to one of them would let a new server
    /// take over a name that callers already use. The names of a prefixed server depend on its own tools alone.
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
                Some(tool) if tools.len() == 1 && legal(&wanted) && !looks_hashed(&wanted) => {
                    names.insert(*tool, wanted);
                }
                _ => changed.extend(tools.into_iter().map(|tool| (tool, wanted.clone()))),
            }
        }
        changed.sort();
        for (tool, wanted) in changed {
            let own = |name: &String| owners.owner(name) == Some(tool.server);
            // Among a server's own names a short hash tells enough. Where other servers' names are, it must be too long for
            // anybody to make a second one like it on purpose.
            let short = Some(suffixed(tool, &wanted, SHORT_HASH)).filter(own);
            let long = [LONG_HASH, 32, 63].into_iter().map(|length| suffixed(tool, &wanted, length));
            // A name of 63 hash characters is taken only if it was planted against SHA-256: then the tool has none.
            if let Some(name) = short.into_iter().chain(long).find(|name| !names.source.contains_key(name)) {
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

/// Whether it could be a changed name among names of other servers: a tool that is really called so is changed too, so that
/// nobody takes the changed name of another.
fn looks_hashed(name: &str) -> bool {
    let is_hash = |end: &str| end.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    name.rsplit_once('_').is_some_and(|(_, end)| end.len() >= LONG_HASH && is_hash(end))
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
