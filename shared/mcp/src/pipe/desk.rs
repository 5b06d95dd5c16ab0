//! What a message from the peer is to us. Pure: it knows which requests are open, and nothing of how they travel.

use std::collections::HashMap;

use rmcp::model::{CustomResult, ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage, ServerResult};
use serde_json::{Value, json};

use crate::redact::Redactor;
use crate::session::seal;
use crate::wire::Failure;

/// Whose request it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// The SDK's, which reads the answer by its own types.
    Sdk,
    /// Ours, whose result stays raw.
    Us,
}

/// What to do with a message.
#[derive(Debug)]
pub(super) enum Sorted {
    /// The SDK takes it.
    Pass(Box<ServerJsonRpcMessage>),
    /// The SDK takes it; it says that the list of tools has changed.
    Changed(Box<ServerJsonRpcMessage>),
    /// Nobody does; why, for a log.
    Skip(&'static str),
}

/// What was said to the peer and may still be answered.
#[derive(Debug, Default)]
pub(super) struct Desk {
    /// The requests that wait for an answer.
    open: HashMap<RequestId, By>,
    /// Notifications, which nobody may answer and many a server does.
    told: usize,
}

impl Desk {
    pub(super) fn asking(&mut self, id: RequestId, by: By) {
        self.open.insert(id, by);
    }

    pub(super) fn telling(&mut self) {
        self.told += 1;
    }

    /// Nobody waits for it any more.
    pub(super) fn forget(&mut self, id: &RequestId) {
        self.open.remove(id);
    }

    pub(super) fn sort(&mut self, redactor: &Redactor, message: Value) -> Sorted {
        if let Some(method) = message.get("method") {
            let changed = method == "notifications/tools/list_changed" && message.get("id").is_none();
            return match typed(message) {
                Some(message) if changed => Sorted::Changed(message),
                Some(message) => Sorted::Pass(message),
                None => Sorted::Skip("it is no request and no notification"),
            };
        }
        let Some((id, by)) = self.asked(&message) else {
            return Sorted::Skip("it answers nothing that is open");
        };
        answer(redactor, id, by, message)
    }

    /// The open request that `message` answers. A server that could not read a request cannot repeat its id: its error is
    /// that of the only one that is open. But first it is that of a notification, which has no id either: a simple server
    /// answers 'notifications/initialized' so, and then carries out the request that it would be taken for.
    fn asked(&mut self, message: &Value) -> Option<(RequestId, By)> {
        let id = match message.get("id") {
            None | Some(Value::Null) if is_error(message) && self.told > 0 => {
                self.told -= 1;
                return None;
            }
            None | Some(Value::Null) if is_error(message) && self.open.len() == 1 => {
                self.open.keys().next()?.clone()
            }
            given => serde_json::from_value(given?.clone()).ok()?,
        };
        self.open.remove_entry(&id)
    }
}

fn answer(redactor: &Redactor, id: RequestId, by: By, mut message: Value) -> Sorted {
    let answer = if let Some(error) = message.get("error").filter(|error| !error.is_null()) {
        ServerJsonRpcMessage::error(said(redactor, error), Some(id))
    } else {
        let result = message.get_mut("result").map(Value::take);
        match (by, result) {
            (By::Us, result) => {
                let kept = CustomResult::new(seal::wrap(result.unwrap_or_default()));
                ServerJsonRpcMessage::response(ServerResult::CustomResult(kept), id)
            }
            (By::Sdk, Some(result)) => match serde_json::from_value(result) {
                Ok(result) => ServerJsonRpcMessage::response(result, id),
                Err(_) => ServerJsonRpcMessage::error(unreadable(), Some(id)),
            },
            (By::Sdk, None) => ServerJsonRpcMessage::error(unreadable(), Some(id)),
        }
    };
    Sorted::Pass(Box::new(answer))
}

fn is_error(message: &Value) -> bool {
    message.get("error").is_some_and(|error| !error.is_null())
}

fn typed(message: Value) -> Option<Box<ServerJsonRpcMessage>> {
    serde_json::from_value(message).ok().map(Box::new)
}

/// A server's error without its data, and without secrets: the SDK logs what passes through it.
fn said(redactor: &Redactor, error: &Value) -> ErrorData {
    let code = error.get("code").and_then(Value::as_i64).and_then(|code| i32::try_from(code).ok());
    let text = error.get("message").and_then(Value::as_str).unwrap_or("no message");
    ErrorData::new(ErrorCode(code.unwrap_or(UNKNOWN)), redactor.masked(text), None)
}

/// Stands for a code that is missing or no number of 32 bits: nothing is known by it.
const UNKNOWN: i32 = 0;

/// The failure of an error that came through the SDK from here.
pub(crate) fn failure(redactor: &Redactor, error: &ErrorData) -> Failure {
    let code = Some(error.code.0).filter(|code| *code != UNKNOWN);
    Failure::rpc(redactor, None, &json!({"code": code, "message": error.message}))
}

fn unreadable() -> ErrorData {
    ErrorData::new(ErrorCode(UNKNOWN), "its answer cannot be read", None)
}
