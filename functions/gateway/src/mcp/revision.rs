//! In which revision a request speaks, and what its client says of itself: each request says so alone.

use http::HeaderMap;
use pudu_app::tools::Terms;
use serde_json::{Map, Value};

use super::error::RpcError;
use super::message::Request;
use super::mirror;

/// The revision without a handshake.
pub(super) const STATELESS: &str = "2026-07-28";
/// The revisions with one, newest first.
pub(super) const WITH_HANDSHAKE: [&str; 3] = ["2025-11-25", "2025-06-18", "2025-03-26"];
/// The extension by which calls become tasks.
pub(super) const TASKS: &str = "io.modelcontextprotocol/tasks";
/// What the revision without a handshake requires in `_meta`.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// What `_meta` says of the connection between a client and us, and nobody else.
pub(super) const OWN_META: [&str; 3] = [VERSION, CAPABILITIES, "io.modelcontextprotocol/clientInfo"];
const HEADER: &str = "mcp-protocol-version";

/// How the two eras differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Era {
    /// 2026-07-28.
    Stateless,
    /// What came before.
    Handshake,
}

/// Who asks.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Client {
    /// In which era.
    pub(super) era: Era,
    /// What it can do. Of a client of the older era nothing is known after its handshake.
    pub(super) capabilities: Map<String, Value>,
}

impl Client {
    /// The terms of its calls. A client of the older era cannot say that it takes tasks, but can follow them by tools; one of the
    /// newest that does not say so takes results only.
    pub(super) fn terms(&self) -> Terms {
        Terms { plain: self.era == Era::Stateless && !self.takes_tasks(), ..Terms::default() }
    }

    /// Whether it takes a task in the place of a result.
    pub(super) fn takes_tasks(&self) -> bool {
        self.capabilities.get("extensions").and_then(|all| all.get(TASKS)).is_some_and(Value::is_object)
    }
}

/// Every revision that is spoken here, newest first.
pub(super) fn all() -> impl Iterator<Item = &'static str> {
    std::iter::once(STATELESS).chain(WITH_HANDSHAKE)
}

/// Judges the headers and `_meta` of a request.
pub(super) fn client(headers: &HeaderMap, request: &Request) -> Result<Client, RpcError> {
    let header = mirror::sole(headers, HEADER)?;
    let version = request.meta(VERSION);
    let older = |version: &str| WITH_HANDSHAKE.contains(&version);
    let discovers = request.method == "server/discover";
    // A header of an unknown revision without `_meta` is told which ones there are; it could not be told more.
    match (version, header) {
        (None, None) if !discovers => return Ok(handshake()),
        (None, Some(header)) if older(header) && !discovers => return Ok(handshake()),
        (None, Some(header)) if header != STATELESS && !older(header) => {
            return Err(RpcError::unsupported_version(header));
        }
        _ => {}
    }
    let capabilities = request.meta(CAPABILITIES).and_then(Value::as_object);
    let (Some(Value::String(version)), Some(capabilities)) = (version, capabilities) else {
        return Err(RpcError::malformed(format!(
            "\"_meta\" must have a text \"{VERSION}\" and an object \"{CAPABILITIES}\""
        )));
    };
    if header != Some(version.as_str()) {
        return Err(RpcError::header_mismatch("the header MCP-Protocol-Version must be what \"_meta\" says"));
    }
    if older(version) {
        return Ok(handshake());
    }
    if version != STATELESS {
        return Err(RpcError::unsupported_version(version));
    }
    mirror::check(headers, request)?;
    Ok(Client { era: Era::Stateless, capabilities: capabilities.clone() })
}

fn handshake() -> Client {
    Client { era: Era::Handshake, capabilities: Map::new() }
}

#[cfg(test)]
mod tests;
