//! What is valid and will still not work as it seems: told by `pudu config check` and `import`, refused nowhere.

use std::time::Duration;

use serde_json::Value;

use crate::adopt::FOREIGN_SERVERS;
use crate::document::{Document, SERVERS};
use crate::model::{MODELS, with_variables};
use crate::path::{Path, each_text};
use crate::problem::{Kind, Problem};
use crate::server::{Server, Transport};
use crate::setting::{Reading, Secrets, read};

/// The fields of an entry in which `$VAR` is resolved.
const WITH_VARIABLES: &[&str] = &["command", "args", "env", "cwd", "url", "headers", "oauth", "user_auth"];

/// Warnings about a config that has its servers under another name, and about the enabled servers of one: one that cannot be
/// connected to, a variable that `secrets` does not have, and a time limit that a call in the background does not get,
/// because it ends after `longest_call`. And about variables of models, and models that agents are to use and that it does not have.
pub fn advise(document: &Document, secrets: &dyn Secrets, longest_call: Duration) -> Vec<Problem> {
    let mut warnings = Vec::new();
    if document.servers().is_empty()
        && document.expose_raw().get(FOREIGN_SERVERS).is_some_and(Value::is_object)
    {
        let path = Path::default().key(FOREIGN_SERVERS);
        warnings.push(warning(
            &path,
            "is not read: servers are in 'mcpServers'; `pudu config import` takes it for that",
        ));
    }
    for server in document.servers().iter().filter(|server| server.enabled) {
        let path = Path::default().key(SERVERS).key(&server.name);
        let entry = document.expose_raw().get(SERVERS).and_then(|servers| servers.get(&server.name));
        connection(server, &path, &mut warnings);
        variables(entry, WITH_VARIABLES.iter().copied(), &path, secrets, &mut warnings);
        timeouts(server, longest_call, &path, &mut warnings);
    }
    let entries = document.expose_raw().get(MODELS).and_then(Value::as_array).into_iter().flatten();
    for (index, entry) in entries.enumerate() {
        let path = Path::default().key(MODELS).index(index);
        variables(Some(entry), with_variables(entry), &path, secrets, &mut warnings);
    }
    models(document, &mut warnings);
    warnings
}

/// Models that agents are to use and that are not there: the first one is used in their place.
fn models(document: &Document, warnings: &mut Vec<Problem>) {
    let (agents, top) = (document.agents(), Path::default());
    let subagents = top.key("subagents");
    let own = agents.subagents.custom.iter();
    let own = own.map(|(name, kind)| (subagents.key("custom_agents").key(name).key("model"), &kind.model));
    let otherwise = agents.subagents.overrides.iter();
    let otherwise =
        otherwise.map(|(name, kind)| (subagents.key("agents").key(name).key("model"), &kind.model));
    let beside = [
        (top.key("summarization").key("model_name"), &agents.summarization.model),
        (top.key("title").key("model_name"), &agents.title.model),
        (top.key("memory").key("model_name"), &agents.memory.model),
    ];
    for (path, named) in own.chain(otherwise).chain(beside) {
        let known = |named: &String| document.models().iter().any(|model| model.name == *named);
        if named.as_ref().is_some_and(|named| !known(named)) {
            warnings.push(warning(&path, "is the name of no configured model; another one is used"));
        }
    }
}

/// Variables in these fields of an entry that are not set.
fn variables<'a>(
    entry: Option<&Value>,
    fields: impl Iterator<Item = &'a str>,
    path: &Path,
    secrets: &dyn Secrets,
    warnings: &mut Vec<Problem>,
) {
    for key in fields {
        if let Some(value) = entry.and_then(|entry| entry.get(key)) {
            each_text(value, &mut path.key(key), &mut |place, text| {
                warnings.extend(variable(text, secrets, place));
            });
        }
    }
}

fn connection(server: &Server, path: &Path, warnings: &mut Vec<Problem>) {
    let why = match &server.transport {
        Transport::Http(remote) | Transport::Sse(remote) if remote.url.is_none() => {
            "cannot be connected to: it has no url"
        }
        Transport::Stdio(command) if command.command.is_none() => "cannot be started: it has no command",
        Transport::Unknown(_) => "has a type that is not supported; use http, sse or stdio",
        _ => return,
    };
    warnings.push(warning(path, why));
}

fn variable(text: &str, secrets: &dyn Secrets, path: &Path) -> Option<Problem> {
    match read(text) {
        Reading::Reference(name) if secrets.get(name).is_none() => {
            let message = format!("the variable {name} is not set here; it must be where Pudu runs");
            Some(warning(path, &message))
        }
        Reading::Literal(text) if text.contains("${") => {
            Some(warning(path, "has ${…} inside; only a whole value such as $NAME is replaced"))
        }
        _ => None,
    }
}

/// Only the calls of durable tasks are made in the background, under a lease.
fn timeouts(server: &Server, longest_call: Duration, path: &Path, warnings: &mut Vec<Problem>) {
    if server.task_toolsets.is_empty() {
        return;
    }
    for (key, given) in [
        ("tool_call_timeout", server.tool_call_timeout),
        ("session_init_timeout", server.session_init_timeout),
    ] {
        if given.is_some_and(|given| given > longest_call) {
            let seconds = longest_call.as_secs();
            let message =
                format!("is longer than a lease allows: a status or cancel call ends after {seconds} s");
            warnings.push(warning(&path.key(key), &message));
        }
    }
}

fn warning(path: &Path, message: &str) -> Problem {
    Problem::new(Kind::Warning, path, message)
}

#[cfg(test)]
mod tests;
