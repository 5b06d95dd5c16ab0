//! The whole config: the raw JSON as it was given, and a typed view of its servers (reference 1.1).
//! Only a valid document exists; its raw form holds literal secrets and is never shown.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Map, Value};

use crate::agents::Agents;
use crate::mask::{self, Style};
use crate::model::{Model, read_models};
use crate::path::Path;
use crate::problem::{Findings, Kind, Problem, limited};
use crate::reader::Reader;
use crate::sensitive;
use crate::server::Server;
use crate::setting::collect_references;
use crate::tool_search::ToolSearch;

pub(crate) const SERVERS: &str = "mcpServers";
const SERVERS_ALIAS: &str = "mcp_servers";
pub(crate) const INTERCEPTORS: &str = "mcpInterceptors";

/// A valid extensions config.
#[derive(Clone)]
pub struct Document {
    raw: Value,
    servers: Vec<Server>,
    interceptors: Vec<String>,
    tool_search: ToolSearch,
    agents: Agents,
    models: Vec<Model>,
    warnings: Vec<Problem>,
}

/// Everything that was found about a config, valid or not.
#[derive(Debug)]
pub struct Examined {
    /// The config, or every problem (at most 100, then how many more), in the order of the document.
    pub document: Result<Document, Vec<Problem>>,
    /// What is valid but used in another way than written, also of a config that is not valid.
    pub warnings: Vec<Problem>,
}

impl Document {
    /// A config without servers.
    pub fn empty() -> Self {
        let raw = Value::Object(Map::from_iter([(SERVERS.to_owned(), Value::Object(Map::new()))]));
        Self {
            raw,
            servers: Vec::new(),
            interceptors: Vec::new(),
            tool_search: ToolSearch::default(),
            agents: Agents::default(),
            models: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Validates everything and keeps the JSON as it is, except that `mcp_servers` becomes `mcpServers`.
    /// Errors: every problem found (at most 100, then how many more), in the order of the document.
    pub fn parse(raw: Value) -> Result<Self, Vec<Problem>> {
        Self::examine(raw).document
    }

    /// Like [`Document::parse`], and tells what is worth a warning even if the config is not valid.
    pub fn examine(raw: Value) -> Examined {
        let mut raw = match with_canonical_name(raw) {
            Ok(raw) => raw,
            Err(problem) => return Examined { document: Err(vec![problem]), warnings: Vec::new() },
        };
        let mut found = Findings::default();
        let (mut interceptors, mut tool_search, mut agents, mut models, mut servers) = Default::default();
        if let Some(mut top) = Reader::new(&raw, Path::default(), &mut found) {
            check_top(&mut top);
            interceptors = read_interceptors(&mut top);
            tool_search = ToolSearch::read(&mut top);
            agents = Agents::read(&mut top);
            models = read_models(&mut top);
            servers = read_servers(&mut top, &interceptors);
        }
        found.problems.extend(sensitive::misplaced(&mut raw));
        let warnings = found.warnings;
        let document = if found.problems.is_empty() {
            Ok(Self { raw, servers, interceptors, tool_search, agents, models, warnings: warnings.clone() })
        } else {
            Err(limited(found.problems))
        };
        Examined { document, warnings }
    }

    /// The servers in the order of the document, disabled ones too.
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// The server of that name.
    pub fn server(&self, name: &str) -> Option<&Server> {
        self.servers.iter().find(|server| server.name == name)
    }

    /// The same config with only these of its servers.
    #[must_use]
    pub fn only(&self, names: &[String]) -> Self {
        let mut some = self.clone();
        some.servers.retain(|server| names.contains(&server.name));
        if let Some(entries) = some.raw.get_mut(SERVERS).and_then(Value::as_object_mut) {
            entries.retain(|name, _| names.contains(name));
        }
        some
    }

    /// The interceptors of every server, in their order (`mcpInterceptors`, reference 1.1 and 5.8).
    pub fn interceptors(&self) -> &[String] {
        &self.interceptors
    }

    /// Whether tools are deferred (`tool_search`, reference 3.6).
    pub fn tool_search(&self) -> ToolSearch {
        self.tool_search
    }

    /// What agents do beside answering (`subagents`, `summarization`, `title`, `memory`, `loop_detection`, …; agent
    /// reference 3.2, 7, 1.4).
    pub fn agents(&self) -> &Agents {
        &self.agents
    }

    /// The models, in the order of the document; the first is the default (`models`, agent reference 8).
    pub fn models(&self) -> &[Model] {
        &self.models
    }

    /// The names of the variables that it refers to (reference 1.10), in servers and beside them.
    pub fn references(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        collect_references(&self.raw, &mut names);
        names
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
pub(crate) fn with_canonical_name(raw: Value) -> Result<Value, Problem> {
    let Value::Object(map) = raw else {
        return Err(Problem::new(Kind::Shape, &Path::default(), "the config must be an object"));
    };
    if map.contains_key(SERVERS) && map.contains_key(SERVERS_ALIAS) {
        let message = "is given twice, as mcpServers and as mcp_servers; keep one";
        return Err(Problem::new(Kind::Shape, &Path::default().key(SERVERS), message));
    }
    let mut named: Map<String, Value> = map
        .into_iter()
        .map(|(key, value)| if key == SERVERS_ALIAS { (SERVERS.to_owned(), value) } else { (key, value) })
        .collect();
    named.entry(SERVERS).or_insert_with(|| Value::Object(Map::new()));
    Ok(Value::Object(named))
}

fn read_servers(top: &mut Reader<'_>, interceptors: &[String]) -> Vec<Server> {
    let Some(inner) = top.object_or_absent(SERVERS) else { return Vec::new() };
    let mut servers = Vec::new();
    for (name, value) in inner.map {
        if let Some(mut entry) = Reader::new(value, inner.path.key(name), inner.found) {
            servers.push(Server::read(name, &mut entry, interceptors));
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
}

/// A text is a list of one; what is nothing of the kind is ignored with a warning, as the reference does.
fn read_interceptors(top: &mut Reader<'_>) -> Vec<String> {
    let path = top.at(INTERCEPTORS);
    match top.map.get(INTERCEPTORS) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(items)) => {
            let mut named = Vec::with_capacity(items.len());
            for (index, item) in items.iter().enumerate() {
                match item.as_str() {
                    Some(name) => named.push(name.to_owned()),
                    None => top.found.warn(&path.index(index), "must be a string; it is ignored"),
                }
            }
            named
        }
        Some(_) => {
            top.warn(INTERCEPTORS, "must be a list of strings or a string; it is ignored");
            Vec::new()
        }
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
