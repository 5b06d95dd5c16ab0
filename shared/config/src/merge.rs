//! A PUT against what is stored (reference 5.11). What a client got masked and sends back unchanged is restored, to
//! exactly the place that it came from; a `***` that could mean several stored values is refused instead of guessed.
//!
//! Better than the reference on its own ⚠ points: a field of an entry that was not sent is kept for every field, not
//! only for some; a list is matched by what its elements show and not by position; a new server cannot store `***`; a
//! default that a GET filled in is not written down when it comes back, so that a field that nobody gave stays absent.

mod restore;

use serde_json::{Map, Value, json};

use crate::canonical::alike;
use crate::document::{Document, SERVERS, with_canonical_name};
use crate::launch::{Approved, LaunchPolicy};
use crate::mask::{self, Style};
use crate::path::Path;
use crate::problem::{Kind, Problem};
use crate::server::defaults;
use crate::server::oauth::SECRETS;

/// Blocks whose own fields are kept one by one when not sent.
const BLOCKS: &[&str] = &["oauth", "user_auth", "headers_from_context"];
/// Fields that carry credentials: not kept silently for another endpoint.
const CREDENTIALS: &[&str] = &["args", "env", "headers", "oauth", "user_auth", "headers_from_context"];

/// The document that results from sending `incoming` when `stored` is there; it is not yet validated.
///
/// `incoming` is `{"mcp_servers": {...}}` or a whole config. Servers that it does not have are deleted; other top-level
/// keys that it does not have are kept. In a server: `***` restores, a field that is missing is kept, null resets. An
/// OAuth secret that is null or missing is kept, the empty string removes it. No credential is kept, and no `***` restored, when
/// the type, URL origin, command or package changed, nor an OAuth secret when the origin of the token URL did: they would go
/// to somebody else.
/// Errors: the shape of the body ([`Kind::Shape`]), or a `***` for which there is no one value ([`Kind::Mask`]).
pub fn merge(incoming: Value, stored: Option<&Document>) -> Result<Value, Vec<Problem>> {
    let mut incoming = required_servers(incoming)?;
    let empty = Value::Object(Map::new());
    let stored = stored.map_or(&empty, Document::expose_raw);
    inherit_top(&mut incoming, stored);
    let entries = incoming.get_mut(SERVERS).and_then(Value::as_object_mut);
    for (name, entry) in entries.into_iter().flatten() {
        let old = stored.get(SERVERS).and_then(|servers| servers.get(name)).and_then(Value::as_object);
        if let (Some(entry), Some(old)) = (entry.as_object_mut(), old) {
            inherit_entry(entry, old);
        }
        if let Some(oauth) = entry.get_mut("oauth").and_then(Value::as_object_mut) {
            clear_empty(oauth);
        }
    }
    restore::restore(&mut incoming, stored)?;
    keep_order(&mut incoming, stored);
    Ok(incoming)
}

/// What was there stays where it was, and what is new follows: a file that is kept under version control changes only where
/// it was changed.
fn keep_order(new: &mut Value, old: &Value) {
    let (Value::Object(new), Value::Object(old)) = (new, old) else { return };
    let mut given = std::mem::take(new);
    for (key, before) in old {
        if let Some(value) = given.get_mut(key) {
            keep_order(value, before);
            new.insert(key.clone(), value.take());
        }
    }
    // By looking up instead of by removing, which would move all the others each time.
    new.extend(given.into_iter().filter(|(key, _)| !old.contains_key(key)));
}

/// `incoming` with its server map under its one name.
pub(crate) fn required_servers(incoming: Value) -> Result<Value, Vec<Problem>> {
    let given = ["mcpServers", "mcp_servers"].iter().any(|name| incoming.get(name).is_some());
    if incoming.is_object() && !given {
        let path = Path::default().key("mcp_servers");
        return Err(vec![Problem::new(Kind::Shape, &path, "is required; send {\"mcp_servers\": {…}}")]);
    }
    with_canonical_name(incoming).map_err(|problem| vec![problem])
}

fn inherit_top(incoming: &mut Value, stored: &Value) {
    let (Some(new), Some(old)) = (incoming.as_object_mut(), stored.as_object()) else { return };
    for (key, value) in old {
        if key != SERVERS && !new.contains_key(key) {
            new.insert(key.clone(), value.clone());
        }
    }
}

fn inherit_entry(entry: &mut Map<String, Value>, old: &Map<String, Value>) {
    // One decision in two spellings: an inherited `type` would silently win over a sent `transport`.
    let kind_sent = entry.contains_key("type") || entry.contains_key("transport");
    let apart = |key: &str| CREDENTIALS.contains(&key) || (kind_sent && matches!(key, "type" | "transport"));
    for (key, value) in old {
        if !apart(key) && !entry.contains_key(key) {
            entry.insert(key.clone(), value.clone());
        }
    }
    let same = same_endpoint(entry, old);
    for key in CREDENTIALS {
        match (entry.get_mut(*key), old.get(*key)) {
            (None, Some(value)) if same => {
                entry.insert((*key).to_owned(), value.clone());
            }
            (Some(Value::Object(block)), Some(Value::Object(old)))
                if same && BLOCKS.contains(key) && (*key != "oauth" || same_issuer(block, old)) =>
            {
                inherit_block(block, old);
            }
            _ => {}
        }
    }
    drop_defaults(entry, old);
}

/// Takes away what [`Document::response`] filled in and the stored entry does not have.
fn drop_defaults(entry: &mut Map<String, Value>, old: &Map<String, Value>) {
    let defaults = defaults();
    for (key, default) in defaults.as_object().into_iter().flatten() {
        if !old.contains_key(key) && entry.get(key).is_some_and(|sent| alike(sent, default)) {
            entry.shift_remove(key);
        }
    }
    let old_type = old.get("type").filter(|given| given.as_str() != Some("") && !given.is_null());
    if old_type.is_none() && old.get("transport") == entry.get("transport") {
        let told = old.get("transport").and_then(Value::as_str).filter(|told| !told.is_empty());
        if entry.get("type").and_then(Value::as_str) == Some(told.unwrap_or("stdio")) {
            match old.get("type") {
                Some(empty) => entry.insert("type".into(), empty.clone()),
                None => entry.shift_remove("type"),
            };
        }
    }
}

fn inherit_block(block: &mut Map<String, Value>, old: &Map<String, Value>) {
    for (key, value) in old {
        let kept_if_null = SECRETS.contains(&key.as_str());
        let sent = block.get(key).is_some_and(|sent| !(kept_if_null && sent.is_null()));
        if !sent {
            block.insert(key.clone(), value.clone());
        }
    }
}

fn clear_empty(oauth: &mut Map<String, Value>) {
    for key in SECRETS {
        if let Some(secret) = oauth.get_mut(*key).filter(|secret| secret.as_str() == Some("")) {
            *secret = Value::Null;
        }
    }
}

fn same_endpoint(new: &Map<String, Value>, old: &Map<String, Value>) -> bool {
    let text = |entry: &Map<String, Value>, key: &str| {
        entry.get(key).and_then(Value::as_str).unwrap_or("").to_owned()
    };
    let kind = |entry: &Map<String, Value>| {
        let kind = text(entry, "type");
        let kind = if kind.is_empty() { text(entry, "transport") } else { kind };
        if kind.is_empty() { "stdio".to_owned() } else { kind.to_ascii_lowercase() }
    };
    let origin = |entry: &Map<String, Value>| restore::origin(&text(entry, "url"));
    kind(new) == kind(old)
        && origin(new) == origin(old)
        && text(new, "command") == text(old, "command")
        && text(new, "cwd") == text(old, "cwd")
        && (!new.contains_key("args") || launched(new) == launched(old))
}

/// Whether OAuth secrets would be shown to the same server for tokens; one that is not sent is kept.
fn same_issuer(new: &Map<String, Value>, old: &Map<String, Value>) -> bool {
    let issuer = |oauth: &Map<String, Value>| {
        oauth.get("token_url").and_then(Value::as_str).map(restore::origin).unwrap_or_default()
    };
    !new.contains_key("token_url") || issuer(new) == issuer(old)
}

/// What a command starts, of its arguments: up to the package for a launcher, all of them for anything else; secrets hidden.
fn launched(entry: &Map<String, Value>) -> Vec<String> {
    let shown = shown(&json!({ SERVERS: { "entry": entry } }));
    let texts = |args: &Value| -> Vec<String> {
        args.as_array()
            .into_iter()
            .flatten()
            .map(|arg| arg.as_str().map_or_else(|| arg.to_string(), str::to_owned))
            .collect()
    };
    let mut args = shown.pointer(&format!("/{SERVERS}/entry/args")).map(texts).unwrap_or_default();
    let command = entry.get("command").and_then(Value::as_str).unwrap_or_default();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    if let Ok(Approved { program_at: Some(at) }) = LaunchPolicy::default().judge(Some(command), &words, &[]) {
        args.truncate(at + 1);
    }
    args
}

/// The document as a client sees it, with every secret as `***`.
fn shown(document: &Value) -> Value {
    let mut shown = document.clone();
    mask::mask(&mut shown, Style::Compared);
    shown
}

#[cfg(test)]
mod tests;
