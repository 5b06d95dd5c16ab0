//! What Pudu says of itself: `server/discover`, and `initialize` for clients of the older era.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::error::RpcError;
use super::message::Request;
use super::revision::{self, TASKS, WITH_HANDSHAKE};

/// What only a new version of Pudu changes.
const HOLDS: Duration = Duration::from_mins(10);
const INSTRUCTIONS: &str = "The tools of every server that is registered here, each under its server's name. A tool that takes long \
                            runs as a task: follow it until it ends.";

/// Answers `server/discover`.
pub(super) fn discover() -> Map<String, Value> {
    let supported: Vec<&str> = revision::all().collect();
    object(json!({
        "resultType": "complete",
        "supportedVersions": supported,
        "capabilities": {"tools": {}, "extensions": {TASKS: {}}},
        "instructions": INSTRUCTIONS,
        "ttlMs": HOLDS.as_millis(),
        "cacheScope": "public",
        "_meta": {"io.modelcontextprotocol/serverInfo": server()},
    }))
}

/// Answers `initialize`: the client's revision if it is spoken here, else the newest with a handshake. Nothing is kept of it.
pub(super) fn initialize(request: &Request) -> Result<Map<String, Value>, RpcError> {
    let wanted = request.params.get("protocolVersion").and_then(Value::as_str);
    let wanted = wanted.ok_or_else(|| RpcError::invalid_params("\"protocolVersion\" must be a text"))?;
    let [newest, ..] = WITH_HANDSHAKE;
    let version = WITH_HANDSHAKE.into_iter().find(|known| *known == wanted).unwrap_or(newest);
    Ok(object(json!({
        "protocolVersion": version,
        "capabilities": {"tools": {}},
        "serverInfo": server(),
        "instructions": INSTRUCTIONS,
    })))
}

fn server() -> Value {
    json!({"name": "pudu", "title": "Pudu", "version": env!("CARGO_PKG_VERSION")})
}

/// The fields of an object.
pub(super) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
