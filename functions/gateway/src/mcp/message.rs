//! Reading a message: what is no request is refused with the code that says why, and never by repeating any of it.

use serde_json::{Map, Value};

use super::error::RpcError;
use crate::input::json;

/// A message of a client.
#[derive(Debug, PartialEq)]
pub(super) enum Message {
    /// It wants an answer.
    Request(Request),
    /// A notification, or an answer to something.
    Other,
    /// It is no message: the id that the error answers, null where none can be read.
    Broken(Value, RpcError),
}

/// A request.
#[derive(Debug, PartialEq)]
pub(super) struct Request {
    /// A text or a number; goes back as it came.
    pub(super) id: Value,
    /// What is wanted.
    pub(super) method: String,
    /// With what; nothing when nothing was given.
    pub(super) params: Map<String, Value>,
}

impl Request {
    /// A field of `_meta`.
    pub(super) fn meta(&self, key: &str) -> Option<&Value> {
        self.params.get("_meta")?.get(key)
    }
}

/// Reads a body.
pub(super) fn read(body: &[u8]) -> Message {
    let unread = |error| Message::Broken(Value::Null, error);
    let mut fields = match json::parse(body) {
        Ok(Value::Object(fields)) => fields,
        Ok(Value::Array(_)) => {
            let rule = "batches ended with revision 2025-06-18; send one message";
            return unread(RpcError::invalid_request(rule));
        }
        Ok(_) => return unread(RpcError::invalid_request("the body is no JSON-RPC message")),
        Err(broken) => {
            let message = format!("the body is not JSON as it is taken here: {broken}");
            return unread(RpcError::unreadable(message));
        }
    };
    let id = fields.remove("id");
    let known = id.clone().filter(|id| id.is_string() || id.is_number());
    let wrong =
        |rule: &str| Message::Broken(known.clone().unwrap_or(Value::Null), RpcError::invalid_request(rule));
    if fields.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return wrong("\"jsonrpc\" must be \"2.0\"");
    }
    let method = match fields.remove("method") {
        Some(Value::String(method)) => method,
        None if fields.contains_key("result") || fields.contains_key("error") => return Message::Other,
        _ => return wrong("\"method\" must be a text"),
    };
    let params = match fields.remove("params") {
        None => Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) => return wrong("\"params\" must be an object"),
    };
    match (id, known.clone()) {
        (None, _) => Message::Other,
        (Some(_), Some(id)) => Message::Request(Request { id, method, params }),
        (Some(_), None) => wrong("\"id\" must be a text or a number"),
    }
}

#[cfg(test)]
mod tests;
