//! Reading a JSON-RPC message as the answer to one request, without a typed model in between.

use futures_util::StreamExt;
use pudu_app::ports::Relayed;
use serde_json::Value;

use super::{Body, Events, Failure};
use crate::target::Target;

/// What a message is to a request.
pub(crate) enum Answered {
    /// Its result, unchanged.
    Result(Value),
    /// Its error. Whether the server may have acted is the failure's fault.
    Error(Failure),
    /// Something else that may come in between, as it came: a notification or a request of the server.
    Not(Value),
}

/// Judges `message` as the answer to request `id`. Errors: it answers something that nobody asked, or is no message.
pub(crate) fn answer_to(target: &Target, id: &Value, mut message: Value) -> Result<Answered, Failure> {
    if let Some(method) = message.get("method") {
        if method == "notifications/tools/list_changed" {
            target.changes.changed(&target.digest);
        }
        return Ok(Answered::Not(message));
    }
    let answers = message.get("id");
    if let Some(error) = message.get("error").filter(|error| !error.is_null()) {
        // A server that could not read the request cannot repeat its id.
        if answers.is_some_and(|given| !given.is_null() && given != id) {
            return Err(Failure::not_mcp(target, "answered another request than ours"));
        }
        return Ok(Answered::Error(Failure::rpc(target, None, error)));
    }
    match message.get_mut("result").map(Value::take) {
        None => Err(Failure::not_mcp(target, "answered with JSON that is no JSON-RPC message")),
        Some(_) if message.get("id") != Some(id) => {
            Err(Failure::not_mcp(target, "answered another request than ours"))
        }
        Some(result @ Value::Object(_)) => Ok(Answered::Result(result)),
        Some(_) => Err(Failure::not_mcp(target, "answered with a result that is not an object")),
    }
}

impl Body {
    /// The result of request `id`; what else comes on the stream is told to its caller, if he hears of it.
    pub(crate) async fn result(
        self,
        target: &Target,
        id: &Value,
        relayed: Option<&Relayed>,
    ) -> Result<Value, Failure> {
        match self {
            Self::Empty => Err(Failure::not_mcp(target, "took the request without an answer")),
            Self::Json(message) => match answer_to(target, id, message)? {
                Answered::Result(result) => Ok(result),
                Answered::Error(failure) => Err(failure),
                Answered::Not(_) => {
                    Err(Failure::not_mcp(target, "answered with a message that is no answer"))
                }
            },
            Self::Events(events) => first_result(target, id, events, relayed).await,
        }
    }
}

async fn first_result(
    target: &Target,
    id: &Value,
    mut events: Events,
    relayed: Option<&Relayed>,
) -> Result<Value, Failure> {
    while let Some(event) = events.next().await {
        let Some(data) = event?.data.filter(|data| !data.trim().is_empty()) else { continue };
        let message = serde_json::from_str(&data)
            .map_err(|_| Failure::not_mcp(target, "answered with an event that is not JSON"))?;
        match answer_to(target, id, message)? {
            Answered::Result(result) => return Ok(result),
            Answered::Error(failure) => return Err(failure),
            Answered::Not(message) => told(relayed, &message),
        }
    }
    Err(Failure::unanswered())
}

/// Passes a notification on, if it is one and somebody hears of it.
pub(crate) fn told(relayed: Option<&Relayed>, message: &Value) {
    let method = message.get("method").and_then(Value::as_str).filter(|_| message.get("id").is_none());
    if let (Some(relayed), Some(method)) = (relayed, method) {
        relayed.tell(method, message.get("params").unwrap_or(&Value::Null));
    }
}
