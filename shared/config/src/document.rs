//! The whole config: the raw JSON as it was given, and a typed view of its servers (reference 1.1).
//! Only a valid document exists; its raw form holds literal secrets and is never shown.

use std::fmt;

use serde_json::{Map, Value};

use crate::mask::{self, Style};
use crate::path::Path;
use crate::problem::{Findings, Kind, Problem, limited};
use crate::reader::Reader;
use crate::sensitive;
use crate::server::Server;

pub(crate) const SERVERS: &str = "mcpServers";
const SERVERS_ALIAS: &str = "mcp_servers";

/// A valid extensions config.
#[derive(Clone)]
pub struct Document {
    raw: Value,
    servers: Vec<Server>,
    warnings: Vec<Problem>,
}

impl Document {
    /// A config without servers.
    pub fn empty() -> Self {
        let raw = Value::Object(Map::from_iter([(SERVERS.to_owned(), Value::Object(Map::new()))]));
        Self { raw, servers: Vec::new(), warnings: Vec::new() }
    }

    /// Validates everything and keeps the JSON as it is, except that `mcp_servers` becomes `mcpServers`.
    /// Errors: every problem found (at most 100, then how many more), in the order of the document.
    pub fn parse(raw: Value) -> Result<Self, Vec<Problem>> {
        let mut raw = with_canonical_name(raw)?;
        let mut found = Findings::default();
        let servers = match Reader::new(&raw, Path::default(), &mut found) {
            Some(mut top) => {
                check_top(&mut top);
                servers(&mut top)
            }
            None => Vec::new(),
        };
        found.problems.extend(sensitive::misplaced(&mut raw));
        if found.problems.is_empty() {
            Ok(Self { raw, servers, warnings: found.warnings })
        } else {
            Err(limited(found.problems))
        }
    }

    /// The servers in the order of the document, disabled ones too.
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// The server of that name.
    pub fn server(&self, name: &str) -> Option<&Server> {
        self.servers.iter().find(|server| server.name == name)
    }

    /// What is valid but used in another way than written.
    pub fn warnings(&self) -> &[Problem] {
        &self.warnings
    }

    /// The raw JSON with literal secrets: for a file of the operator, never for an answer or the table.
    pub fn expose_raw(&self) -> &Value {
        &self.raw
    }

    /// The raw JSON with every literal at a sensitive place as `***`; `$VAR` stays (reference 5.10).
    pub fn masked(&self) -> Value {
        let mut shown = self.raw.clone();
        mask::mask(&mut shown, Style::Shown);
        shown
    }

    /// The body of `GET /api/mcp/config`: `{"mcp_servers": {name: server}}`, masked, defaults filled in, extras
    /// inline (reference 8.1). It can be sent back by PUT as it is.
    pub fn response(&self) -> Value {
        let servers =
            self.servers.iter().map(|server| (server.name.clone(), server.effective_entry())).collect();
        let mut shown = Value::Object(Map::from_iter([(SERVERS.to_owned(), Value::Object(servers))]));
        mask::mask(&mut shown, Style::Shown);
        let servers = shown.get_mut(SERVERS).map(Value::take).unwrap_or_default();
        Value::Object(Map::from_iter([(SERVERS_ALIAS.to_owned(), servers)]))
    }
}

/// `raw` with the server map under `mcpServers`, at the place where it was; the alias is read and never written.
pub(crate) fn with_canonical_name(raw: Value) -> Result<Value, Vec<Problem>> {
    let Value::Object(map) = raw else {
        return Err(vec![Problem::new(Kind::Shape, &Path::default(), "the config must be an object")]);
    };
    if map.contains_key(SERVERS) && map.contains_key(SERVERS_ALIAS) {
        let message = "is given twice, as mcpServers and as mcp_servers; keep one";
        return Err(vec![Problem::new(Kind::Shape, &Path::default().key(SERVERS), message)]);
    }
    let mut named: Map<String, Value> = map
        .into_iter()
        .map(|(key, value)| if key == SERVERS_ALIAS { (SERVERS.to_owned(), value) } else { (key, value) })
        .collect();
    named.entry(SERVERS).or_insert_with(|| Value::Object(Map::new()));
    Ok(Value::Object(named))
}

fn servers(top: &mut Reader<'_>) -> Vec<Server> {
    let Some(inner) = top.object_or_absent(SERVERS) else { return Vec::new() };
    let mut servers = Vec::new();
    for (name, value) in inner.map {
        if let Some(mut entry) = Reader::new(value, inner.path.key(name), inner.found) {
            servers.push(Server::read(name, &mut entry));
        }
    }
    servers
}

fn check_top(top: &mut Reader<'_>) {
    top.texts("middlewares");
    if let Some(skills) = top.object_or_absent("skills") {
        for (name, value) in skills.map {
            if let Some(mut skill) = Reader::new(value, skills.path.key(name), skills.found) {
                skill.bool("enabled", true);
            }
        }
    }
    let interceptors = top.map.get("mcpInterceptors").unwrap_or(&Value::Null);
    let usable = match interceptors {
        Value::Null | Value::String(_) => true,
        Value::Array(items) => items.iter().all(Value::is_string),
        _ => false,
    };
    if !usable {
        top.warn("mcpInterceptors", "must be a list of strings or a string; it is ignored");
    }
}

impl PartialEq for Document {
    fn eq(&self, other: &Self) -> bool {
        self.raw == other.raw
    }
}

impl fmt::Debug for Document {
    // By hand: the raw form holds literal secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.servers.iter().map(|server| server.name.as_str()).collect();
        f.debug_struct("Document").field("servers", &names).finish_non_exhaustive()
    }
}
