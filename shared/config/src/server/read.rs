//! Reads and validates one entry of `mcpServers`. Every rule is checked; nothing stops at the first finding.

use std::collections::HashMap;

use serde_json::Value;
use url::Url;

use super::{
    Command, HeadersFromContext, Oauth, Remote, Routing, RoutingOverride, Server, Toolset, Transport,
    UserAuth,
};
use crate::header::{illegal_value, legal_name};
use crate::path::{Path, each_text};
use crate::problem::Findings;
use crate::reader::Reader;
use crate::setting::{Reading, ResolveError, Setting, read};

/// Every declared field of a server entry and `transport`; the others are extras.
pub(crate) const DECLARED: &[&str] = &[
    "enabled",
    "type",
    "transport",
    "command",
    "args",
    "env",
    "url",
    "headers",
    "oauth",
    "user_auth",
    "headers_from_context",
    "description",
    "routing",
    "tools",
    "tool_name_prefix",
    "tool_call_timeout",
    "session_init_timeout",
    "task_toolsets",
];

/// An extra to the reference, which does not use it; here it is where a child process runs.
const CWD: &str = "cwd";

impl Server {
    pub(crate) fn read(name: &str, reader: &mut Reader<'_>, interceptors: &[String]) -> Self {
        check_name(name, reader);
        let transport = transport(reader);
        check_reserved(reader);
        let server = Self {
            name: name.to_owned(),
            digest: String::new(),
            enabled: reader.bool("enabled", true),
            transport,
            description: reader.text("description").unwrap_or_default(),
            tool_name_prefix: reader.bool("tool_name_prefix", true),
            tool_call_timeout: reader.seconds("tool_call_timeout"),
            session_init_timeout: reader.seconds("session_init_timeout"),
            task_toolsets: Toolset::read_all(name, reader),
            routing: reader.object_or_absent("routing").map_or_else(Routing::default, |mut inner| {
                Routing::default().overlaid(&RoutingOverride::read(&mut inner))
            }),
            tools: tools(reader),
            oauth: reader.object("oauth").map(|mut inner| Oauth::read(&mut inner)),
            user_auth: reader.object("user_auth").map(|mut inner| UserAuth::read(&mut inner)),
            headers_from_context: reader
                .object("headers_from_context")
                .map(|mut inner| HeadersFromContext::read(&mut inner)),
            interceptors: interceptors.to_vec(),
            entry: reader.map.clone(),
        };
        warn_about_unused(&server, reader);
        server
    }
}

/// A name that no tool could be called by. Nothing else is refused: an existing file must go on working.
fn check_name(name: &str, reader: &mut Reader<'_>) {
    let path = reader.path.clone();
    if name.trim().is_empty() {
        reader.found.rule(&path, "the name of a server must not be blank");
    } else if name.contains(char::is_control) {
        reader.found.rule(&path, "the name of a server must not have control characters");
    }
}

fn transport(reader: &mut Reader<'_>) -> Transport {
    let remote = Remote {
        url: reader.setting("url").filter(|url| *url != Setting::new("")),
        headers: static_headers(reader),
    };
    let command = Command {
        command: reader.setting("command").filter(|command| *command != Setting::new("")),
        args: args(reader),
        env: reader.settings("env"),
        cwd: reader.setting(CWD).filter(|cwd| *cwd != Setting::new("")),
    };
    match kind(reader).as_str() {
        "http" => Transport::Http(checked(remote, reader)),
        "sse" => Transport::Sse(checked(remote, reader)),
        "stdio" => Transport::Stdio(command),
        other => Transport::Unknown(other.to_owned()),
    }
}

/// `type`, or a truthy `transport` when `type` is missing or empty, or stdio (reference 1.2, vector 3).
fn kind(reader: &mut Reader<'_>) -> String {
    for key in ["type", "transport"] {
        if reader.map.get(key).is_some_and(says_something) {
            return reader.text(key).unwrap_or_default();
        }
    }
    if reader.map.contains_key("type") { reader.text("type").unwrap_or_default() } else { "stdio".to_owned() }
}

/// What the reference takes for a value that was given: neither null, nor false, 0 or empty.
fn says_something(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Bool(true) => true,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
    }
}

fn checked(remote: Remote, reader: &mut Reader<'_>) -> Remote {
    let literal = remote.url.as_ref().and_then(Setting::expose_literal);
    if let Some(message) = literal.and_then(url_flaw) {
        reader.rule("url", message);
    }
    remote
}

/// Why `text` is not a URL that can be connected to, without the text: it may hold a password.
pub(super) fn url_flaw(text: &str) -> Option<&'static str> {
    // The parser would drop or rewrite these, and then mean another address than the one that was read here.
    if text
        .contains(|character: char| character.is_whitespace() || character.is_control() || character == '\\')
    {
        return Some("must not contain spaces, control characters or backslashes");
    }
    let Ok(url) = Url::parse(text) else { return Some("is not a URL; write it as https://host/path") };
    let scheme_end = text.get(url.scheme().len()..).unwrap_or_default();
    if !matches!(url.scheme(), "http" | "https") || !scheme_end.starts_with("://") {
        return Some("must begin with http:// or https://");
    }
    None
}

fn static_headers(reader: &mut Reader<'_>) -> Vec<(String, Setting)> {
    let headers = reader.settings("headers");
    let path = reader.at("headers");
    check_header_names(headers.iter().map(|(name, _)| name), &path, reader.found);
    for (name, setting) in &headers {
        if let Some(reason) = setting.expose_literal().and_then(illegal_value) {
            reader.found.rule(&path.key(name), format!("cannot be sent as a header: {reason}"));
        }
    }
    headers
}

/// Names must be legal and, ignoring case, there once.
pub(super) fn check_header_names<'a>(
    names: impl Iterator<Item = &'a String>,
    path: &Path,
    found: &mut Findings,
) {
    let mut seen: HashMap<String, &str> = HashMap::new();
    for (at, name) in names.enumerate() {
        if name.trim().is_empty() {
            found.rule(path, "a header name must not be blank");
        } else if !legal_name(name) {
            // By position: what is no name may be a whole header line with its value.
            found.rule(path, format!("name {} is not a legal header name", at + 1));
        } else if let Some(first) = seen.insert(name.to_ascii_lowercase(), name) {
            found.rule(path, format!("'{first}' and '{name}' are two spellings of one header; keep one"));
        }
    }
}

fn args(reader: &mut Reader<'_>) -> Vec<Setting> {
    let path = reader.at("args");
    let texts = reader.texts("args");
    for (index, text) in texts.iter().enumerate() {
        if let Some(flaw) = Setting::new(text.as_str()).flaw() {
            reader.found.rule(&path.index(index), flaw.to_string());
        }
    }
    texts.into_iter().map(Setting::new).collect()
}

fn tools(reader: &mut Reader<'_>) -> Vec<(String, RoutingOverride)> {
    let Some(inner) = reader.object_or_absent("tools") else { return Vec::new() };
    let mut tools = Vec::new();
    for (name, value) in inner.map {
        let Some(mut given) = Reader::new(value, inner.path.key(name), inner.found) else { continue };
        let routing = given.object("routing").map(|mut routing| RoutingOverride::read(&mut routing));
        tools.push((name.clone(), routing.unwrap_or_default()));
    }
    tools
}

/// Extras may be resolved by whoever reads them, so reserved names are refused there too.
fn check_reserved(reader: &mut Reader<'_>) {
    for (key, value) in reader.map.iter().filter(|(key, _)| !DECLARED.contains(&key.as_str()) && *key != CWD)
    {
        let mut path = reader.path.key(key);
        each_text(value, &mut path, &mut |place, text| {
            if matches!(read(text), Reading::Reserved) {
                reader.found.rule(place, ResolveError::Reserved.to_string());
            }
        });
    }
}

fn warn_about_unused(server: &Server, reader: &mut Reader<'_>) {
    let remote = server.transport.takes_headers();
    for (key, given) in [
        ("oauth", server.oauth.is_some()),
        ("user_auth", server.user_auth.is_some()),
        ("headers_from_context", server.headers_from_context.is_some()),
    ] {
        if given && !remote {
            reader.warn(key, "is ignored: only http and sse servers take headers");
        }
    }
    if server.headers_from_context.as_ref().is_some_and(|block| block.enabled)
        && !server.task_toolsets.is_empty()
    {
        reader.warn(
            "headers_from_context",
            "covers the submission only; status and cancel use the server's own credentials",
        );
    }
}
