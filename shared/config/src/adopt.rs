//! Reads what other MCP clients write (`{"mcpServers": …}` of a desktop client or an editor) the way that they mean it.
//! Only `pudu config import` does; a config that is Pudu's own is never rewritten.

use serde_json::{Map, Value};

use crate::document::{SERVERS, with_canonical_name};
use crate::path::{Path, Step};
use crate::problem::{Kind, Problem};
use crate::setting::is_reference;

/// Other spellings of the type `http`.
const HTTP: &[&str] = &["streamable-http", "streamable_http", "streamableHttp", "streamableHTTP"];
/// Where Visual Studio Code has its servers.
pub(crate) const FOREIGN_SERVERS: &str = "servers";
/// Where other clients put variables.
const WITH_VARIABLES: &[&str] = &["command", "args", "env", "url", "headers"];

/// A config of another client in our words, and a note for everything that was changed.
/// Errors: it is not an object, has no server map, or has two.
pub fn adopt(raw: Value) -> Result<(Value, Vec<Problem>), Problem> {
    let mut notes = Vec::new();
    let mut raw = with_canonical_name(adopt_servers(raw, &mut notes)?)?;
    for (name, entry) in raw.get_mut(SERVERS).and_then(Value::as_object_mut).into_iter().flatten() {
        if let Some(entry) = entry.as_object_mut() {
            let path = Path::default().key(SERVERS).key(name);
            adopt_type(entry, &path, &mut notes);
            adopt_disabled(entry, &path, &mut notes);
            for key in WITH_VARIABLES {
                if let Some(value) = entry.get_mut(*key) {
                    adopt_variables(value, &mut path.key(key), &mut notes);
                }
            }
        }
    }
    Ok((raw, notes))
}

/// One editor's file has its servers under another name.
fn adopt_servers(raw: Value, notes: &mut Vec<Problem>) -> Result<Value, Problem> {
    let Value::Object(map) = raw else { return Ok(raw) };
    if [SERVERS, "mcp_servers"].iter().any(|name| map.contains_key(*name)) {
        return Ok(Value::Object(map));
    }
    if !map.get(FOREIGN_SERVERS).is_some_and(Value::is_object) {
        let path = Path::default().key(SERVERS);
        return Err(Problem::new(Kind::Shape, &path, "is missing: there is nothing to import"));
    }
    let path = Path::default().key(FOREIGN_SERVERS);
    notes.push(note(&path, "is another client's name for 'mcpServers', which was written instead"));
    let named =
        |(key, value)| if key == FOREIGN_SERVERS { (SERVERS.to_owned(), value) } else { (key, value) };
    Ok(Value::Object(map.into_iter().map(named).collect()))
}

/// Other clients mean Streamable HTTP by a URL; the reference means stdio by a missing type.
fn adopt_type(entry: &mut Map<String, Value>, path: &Path, notes: &mut Vec<Problem>) {
    let given = |entry: &Map<String, Value>, key: &str| {
        entry.get(key).is_some_and(|value| !value.is_null() && value.as_str() != Some(""))
    };
    let typed = given(entry, "type") || given(entry, "transport");
    if !typed && given(entry, "url") && !given(entry, "command") {
        entry.insert("type".into(), "http".into());
        notes.push(note(&path.key("type"), "was not given beside a url; 'http' was added"));
    }
    for key in ["type", "transport"] {
        if let Some(kind) = entry.get_mut(key)
            && kind.as_str().is_some_and(|kind| HTTP.contains(&kind))
        {
            *kind = "http".into();
            notes.push(note(&path.key(key), "is another spelling of 'http', which was written instead"));
        }
    }
}

fn adopt_disabled(entry: &mut Map<String, Value>, path: &Path, notes: &mut Vec<Problem>) {
    if entry.get("disabled") == Some(&Value::Bool(true)) && !entry.contains_key("enabled") {
        entry.insert("enabled".into(), false.into());
        notes.push(note(&path.key("enabled"), "was added as false, because the entry says disabled"));
    }
}

/// `${NAME}` or `${env:NAME}` as a whole value is `$NAME` here. Inside a value there are no variables.
fn adopt_variables(value: &mut Value, path: &mut Path, notes: &mut Vec<Problem>) {
    match value {
        Value::String(text) => {
            let inner = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
            let name = inner.map(|inner| inner.strip_prefix("env:").unwrap_or(inner));
            let reference = name.map(|name| format!("${name}")).filter(|reference| is_reference(reference));
            if let Some(reference) = reference {
                *text = reference;
                notes.push(note(path, "was a variable in braces; it was written without them"));
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                path.push(Step::Index(index));
                adopt_variables(item, path, notes);
                path.pop();
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                path.push(Step::Key(key.clone()));
                adopt_variables(item, path, notes);
                path.pop();
            }
        }
        _ => {}
    }
}

fn note(path: &Path, message: &str) -> Problem {
    Problem::new(Kind::Warning, path, message)
}

#[cfg(test)]
mod tests;
