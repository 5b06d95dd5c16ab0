//! The 2026-07-28 revision: one POST per call, no handshake, no session.
//!
//! Beside the SDK and not through it, for three reasons. Its answers pass through a typed union that is tried before
//! the raw fallback, also for custom requests: a `tools/call` result loses every field that the union does not know.
//! Its transport is one worker for all calls, so one broken exchange ends the others. And it cannot tell a request
//! that was never sent from one whose answer was lost, which decides whether a submission may have started something.

pub(crate) mod param_headers;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue};
use pudu_app::ports::{CallFault, Relayed};
use rmcp::model::{ClientCapabilities, ErrorCode, Implementation, ProtocolVersion, RequestMetaObject};
use serde_json::{Map, Value, json};

use crate::target::Target;
use crate::wire::{Failure, Wire};

const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// Where a request says what its client can do.
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// What a probe found.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Probe {
    /// The peer speaks this revision; with its capabilities, if it said them.
    Stateless(Option<Value>),
    /// It does not, or did not say so: it must be asked in the old way.
    Older,
}

/// Request ids: each POST stands alone, so they only have to differ for a reader of logs.
#[derive(Debug, Default)]
pub(crate) struct Ids(AtomicU64);

impl Ids {
    fn next(&self) -> Value {
        (self.0.fetch_add(1, Ordering::Relaxed) + 1).into()
    }
}

/// What a request has beside its parameters.
#[derive(Debug, Default)]
pub(crate) struct Beside {
    /// More headers.
    pub(crate) headers: HeaderMap,
    /// Whether it declares that this client takes tasks (extension `io.modelcontextprotocol/tasks`) and the questions that
    /// they ask.
    pub(crate) tasks: bool,
    /// What a caller that speaks MCP itself says, and hears.
    pub(crate) relayed: Option<Arc<Relayed>>,
}

/// Sends one request and returns its result, unchanged.
pub(crate) async fn request(
    wire: &Wire,
    ids: &Ids,
    target: &Target,
    method: &'static str,
    mut params: Map<String, Value>,
    beside: Beside,
) -> Result<Value, Failure> {
    // Of a request about a task its id is what may be routed by.
    let name = if method.starts_with("tasks/") { "taskId" } else { "name" };
    let mut headers = headers(method, params.get(name).and_then(Value::as_str));
    headers.extend(beside.headers);
    let relayed = beside.relayed.as_deref();
    let mut about = relayed.map(|relayed| relayed.meta.clone()).unwrap_or_default();
    about.extend(meta(beside.tasks, relayed));
    params.insert("_meta".to_owned(), Value::Object(about));
    let id = ids.next();
    let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    let reply = wire.post(target, headers, message.to_string().into_bytes()).await?;
    reply.body.result(target, &id, relayed).await
}

/// Asks which revisions the peer speaks. It is no call: a peer that refuses it has done nothing.
/// Errors: only what the old way would meet as well (no connection, credentials refused, too many requests).
pub(crate) async fn probe(wire: &Wire, ids: &Ids, target: &Target) -> Result<Probe, Failure> {
    match request(wire, ids, target, "server/discover", Map::new(), Beside::default()).await {
        Ok(mut found) => {
            let versions = found.get("supportedVersions").and_then(Value::as_array);
            let ours = ProtocolVersion::V_2026_07_28;
            let speaks = versions.is_some_and(|list| list.iter().any(|version| version == ours.as_str()));
            let capabilities = found.get_mut("capabilities").map(Value::take);
            Ok(if speaks { Probe::Stateless(capabilities) } else { Probe::Older })
        }
        // The refusal of one request's revision says as well what it speaks (a gateway may know less than its server).
        Err(failure) if failure.speaks_newest => Ok(Probe::Stateless(None)),
        Err(failure) if matches!(failure.fault, CallFault::NotSent | CallFault::Config) => Err(failure),
        Err(failure) if matches!(failure.status, Some(401 | 403 | 429)) => Err(failure),
        Err(_) => Ok(Probe::Older),
    }
}

/// Whether an error says that the peer may no longer speak this revision, so that it must be probed again. Of a status
/// with an error only the status counts: peers do not agree on the code with which they miss a session. But what it says of
/// arguments or of their headers it says of a request that it has understood.
pub(crate) fn is_wrong_era(failure: &Failure) -> bool {
    let understood = [ErrorCode::INVALID_PARAMS, ErrorCode::HEADER_MISMATCH];
    if failure.code.is_some_and(|code| understood.iter().any(|known| i64::from(known.0) == code)) {
        return false;
    }
    let codes = [ErrorCode::UNSUPPORTED_PROTOCOL_VERSION, ErrorCode::METHOD_NOT_FOUND];
    failure.code.is_some_and(|code| codes.iter().any(|known| i64::from(known.0) == code))
        || matches!(failure.status, Some(400 | 404 | 405 | 406 | 415 | 422))
}

pub(crate) fn client() -> Implementation {
    Implementation::new("pudu", env!("CARGO_PKG_VERSION"))
}

/// What replaces the handshake in each request. Questions of a plain call would reach nobody, so they are declared with tasks
/// only, and for a caller who declared them to us.
fn meta(tasks: bool, relayed: Option<&Relayed>) -> Map<String, Value> {
    let capabilities = if tasks {
        ClientCapabilities::builder().enable_tasks().enable_elicitation().build()
    } else {
        ClientCapabilities::default()
    };
    let meta = RequestMetaObject::with_client_context(ProtocolVersion::V_2026_07_28, client(), capabilities);
    let Ok(Value::Object(mut meta)) = serde_json::to_value(meta) else { return Map::new() };
    let Some(relayed) = relayed else { return meta };
    if let (Some(Value::Object(declared)), false) = (meta.get_mut(CAPABILITIES), tasks) {
        // Whether it takes tasks is said by `tasks`: they would be ours.
        let own = relayed.capabilities.iter().filter(|(name, _)| *name != "extensions");
        declared.extend(own.map(|(name, value)| (name.clone(), value.clone())));
    }
    if relayed.hears_progress() {
        meta.extend(relayed.token.clone().map(|token| ("progressToken".to_owned(), token)));
    }
    meta
}

/// The headers that repeat the body for whoever routes by them; servers compare both.
fn headers(method: &'static str, name: Option<&str>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(METHOD, HeaderValue::from_static(method));
    if let Ok(version) = HeaderValue::from_str(ProtocolVersion::V_2026_07_28.as_str()) {
        headers.insert(VERSION, version);
    }
    if let Some(name) = name.and_then(|name| HeaderValue::from_str(&header_text(name)).ok()) {
        headers.insert(NAME, name);
    }
    headers
}

/// A text as a header value: wrapped in Base64 where it could not travel as it is, or would be taken for wrapped.
fn header_text(text: &str) -> String {
    let plain =
        text.chars().all(|c| (' '..='~').contains(&c)) && !text.starts_with(' ') && !text.ends_with(' ');
    let looks_wrapped = text.starts_with("=?base64?") && text.ends_with("?=");
    if plain && !looks_wrapped {
        text.to_owned()
    } else {
        format!("=?base64?{}?=", BASE64_STANDARD.encode(text))
    }
}

#[cfg(test)]
mod tests;
