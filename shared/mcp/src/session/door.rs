//! The SDK's HTTP, on our wire: same limits and redirects as the stateless era, results kept raw, and every failure
//! noted in the ledger before the SDK turns it into its own.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use http::{HeaderMap, HeaderName, HeaderValue};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, CustomResult, RequestId, ServerJsonRpcMessage, ServerResult,
};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use serde_json::{Value, json};
use sse_stream::Sse;

use super::{Ledger, seal};
use crate::target::Target;
use crate::wire::{Answered, Body, Events, Failure, Wire, answer_to, told};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

type SdkError = StreamableHttpError<Failure>;

/// One session's way to the server.
#[derive(Clone)]
pub(super) struct Door {
    pub(super) wire: Wire,
    pub(super) target: Target,
    pub(super) ledger: Arc<Ledger>,
}

/// What a stream's answers are for.
#[derive(Clone)]
enum Answers {
    /// The SDK itself, which asked with this id.
    Sdk(Value),
    /// Us, who asked with this id.
    Ours(Value),
    /// Us, if anybody: a standalone stream, or one that was taken up again for our request.
    Any,
}

impl StreamableHttpClient for Door {
    type Error = Failure;

    async fn post_message(
        &self,
        _uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _auth: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, SdkError> {
        self.exchange(message, with_session(headers, session)).await.map_err(|failure| {
            self.ledger.note(&failure);
            SdkError::Client(failure)
        })
    }

    async fn delete_session(
        &self,
        _uri: Arc<str>,
        session: Arc<str>,
        _auth: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), SdkError> {
        self.wire.delete(&self.target, with_session(headers, Some(session))).await.map_err(SdkError::Client)
    }

    async fn get_stream(
        &self,
        _uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        _auth: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, SdkError> {
        let mut headers = with_session(headers, session);
        if let Some(id) = last_event.and_then(|id| HeaderValue::from_str(&id).ok()) {
            headers.insert(HeaderName::from_static("last-event-id"), id);
        }
        match self.wire.events(&self.target, headers).await.map_err(SdkError::Client)? {
            Some(events) => Ok(self.carried(events, Answers::Any)),
            None => Err(SdkError::ServerDoesNotSupportSse),
        }
    }
}

impl Door {
    async fn exchange(
        &self,
        message: ClientJsonRpcMessage,
        headers: HeaderMap,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let bytes = serde_json::to_vec(&message)
            .map_err(|_| Failure::not_mcp(&self.target, "cannot be sent this message: it is not JSON"))?;
        let ClientJsonRpcMessage::Request(request) = message else {
            self.wire.tell(&self.target, headers, bytes).await?;
            return Ok(StreamableHttpPostResponse::Accepted);
        };
        let raw = matches!(request.request, ClientRequest::CustomRequest(_));
        if raw {
            self.ledger.sending(plain(&request.id));
        }
        let in_session = raw && headers.contains_key(SESSION);
        let reply = self.wire.post(&self.target, headers, bytes).await.inspect_err(|failure| {
            if in_session && failure.is_unknown_session() {
                self.ledger.expired.store(true, Ordering::Release);
            }
        })?;
        match reply.body {
            Body::Empty => Err(Failure::not_mcp(&self.target, "took the request without an answer")),
            Body::Events(events) => {
                let id = plain(&request.id);
                let answers = if raw { Answers::Ours(id) } else { Answers::Sdk(id) };
                Ok(StreamableHttpPostResponse::Sse(self.carried(events, answers), reply.session))
            }
            Body::Json(message) => {
                Ok(StreamableHttpPostResponse::Json(self.one(message, request.id, raw)?, reply.session))
            }
        }
    }

    /// A JSON body as the SDK's message.
    fn one(&self, message: Value, id: RequestId, raw: bool) -> Result<ServerJsonRpcMessage, Failure> {
        let typed = || Failure::not_mcp(&self.target, "answered with a message that is not MCP");
        match answer_to(&self.target, &plain(&id), message)? {
            Answered::Error(failure) => Err(failure),
            Answered::Not(_) => Err(typed()),
            Answered::Result(result) if raw => {
                let kept = ServerResult::CustomResult(CustomResult::new(seal::wrap(result)));
                Ok(ServerJsonRpcMessage::response(kept, id))
            }
            Answered::Result(result) => {
                self.ledger.heard(&result);
                serde_json::from_value(result)
                    .map(|typed| ServerJsonRpcMessage::response(typed, id))
                    .map_err(|_| typed())
            }
        }
    }

    /// The events of a stream, with the results that are ours wrapped.
    fn carried(&self, events: Events, answers: Answers) -> BoxStream<'static, Result<Sse, SseError>> {
        let door = self.clone();
        events
            .map(move |event| match event {
                Ok(event) => Ok(door.event(event, &answers)),
                Err(failure) => {
                    door.ledger.note(&failure);
                    Err(SseError::Body(Box::new(failure)))
                }
            })
            .boxed()
    }

    fn event(&self, mut event: Sse, answers: &Answers) -> Sse {
        let Some(message) = event.data.as_deref().and_then(|data| serde_json::from_str::<Value>(data).ok())
        else {
            return event;
        };
        let id = match answers {
            Answers::Sdk(id) | Answers::Ours(id) => id.clone(),
            Answers::Any if message.get("method").is_some() => Value::Null,
            Answers::Any => match self.ledger.asked().filter(|asked| message.get("id") == Some(asked)) {
                Some(asked) => asked,
                // It answers something else (a notification, say). What it says must not be taken for our request's end.
                None => return Sse { data: None, ..event },
            },
        };
        let failure = match (answer_to(&self.target, &id, message), answers) {
            (Ok(Answered::Not(message)), answers) => {
                // The session has no other call: what comes now is about it.
                if !matches!(answers, Answers::Sdk(_)) {
                    told(self.ledger.relayed.get().map(Arc::as_ref), &message);
                }
                return event;
            }
            (Ok(Answered::Result(result)), Answers::Sdk(_)) => {
                self.ledger.heard(&result);
                return event;
            }
            (Ok(Answered::Result(result)), _) => {
                let kept = json!({"jsonrpc": "2.0", "id": id, "result": seal::wrap(result)});
                event.data = Some(kept.to_string());
                return event;
            }
            (Ok(Answered::Error(failure)) | Err(failure), _) => failure,
        };
        // Ends the request in the SDK at once; what is reported is the ledger's failure.
        self.ledger.note(&failure);
        let error = json!({"code": -32603, "message": failure.message});
        event.data = Some(json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string());
        event
    }
}

fn plain(id: &RequestId) -> Value {
    serde_json::to_value(id).unwrap_or_default()
}

fn with_session(headers: HashMap<HeaderName, HeaderValue>, session: Option<Arc<str>>) -> HeaderMap {
    let mut headers: HeaderMap = headers.into_iter().collect();
    if let Some(id) = session.and_then(|id| HeaderValue::from_str(&id).ok()) {
        headers.insert(SESSION, id);
    }
    headers
}
