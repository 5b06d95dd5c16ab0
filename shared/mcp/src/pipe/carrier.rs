//! A [`Pipe`] as the SDK's transport.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::StreamExt;
use pudu_app::ports::Relayed;
use rmcp::model::{ClientJsonRpcMessage, ClientNotification, ClientRequest, ServerJsonRpcMessage};
use rmcp::service::RoleClient;
use rmcp::transport::Transport;
use secrecy::ExposeSecret;
use serde_json::{Map, Value};

use super::desk::{By, Desk, Sorted};
use super::{Headers, Pipe, Sent};
use crate::session::handshake;
use crate::wire::{Failure, MAX_ANSWER_BYTES, told};

/// How many messages that are passed over are logged one by one; a peer that writes its diary into the stream would fill
/// the log otherwise.
const LOGGED: usize = 20;

/// See [`Pipe::carrier`].
pub(crate) struct Carrier {
    pipe: Pipe,
    desk: Desk,
    /// The rest of a batch.
    ready: VecDeque<Value>,
    skipped: usize,
    /// Whether a request of ours has left.
    asked: bool,
    /// Who hears of progress, by the token that the server was given.
    heard: HashMap<String, Arc<Relayed>>,
}

/// A message ready to be sent.
struct Outgoing {
    bytes: Vec<u8>,
    sent: Option<Sent>,
}

impl Carrier {
    pub(super) fn new(pipe: Pipe) -> Self {
        Self {
            pipe,
            desk: Desk::default(),
            ready: VecDeque::new(),
            skipped: 0,
            asked: false,
            heard: HashMap::new(),
        }
    }

    fn outgoing(&mut self, message: &ClientJsonRpcMessage) -> Result<Outgoing, Failure> {
        let unsendable =
            |_| Failure::not_mcp(&self.pipe.peer.redactor, "cannot be sent this message: it is not JSON");
        let mut raw = serde_json::to_value(message).map_err(unsendable)?;
        let mut sent = None;
        match message {
            ClientJsonRpcMessage::Request(request) => {
                let by = match &request.request {
                    ClientRequest::CustomRequest(ours) => {
                        sent = ours.extensions.get::<Sent>().cloned();
                        let relayed = sent.as_ref().and_then(|sent| sent.relayed.as_ref());
                        let relayed = relayed.filter(|relayed| relayed.hears_progress());
                        let token =
                            complete_meta(&mut raw, ours.extensions.get::<Headers>(), relayed.is_some());
                        if let (Some(relayed), Some(token)) = (relayed, token) {
                            self.heard.retain(|_, relayed| relayed.is_heard());
                            self.heard.insert(token.to_string(), Arc::clone(relayed));
                        }
                        self.asked = true;
                        By::Us
                    }
                    _ => By::Sdk,
                };
                self.desk.asking(request.id.clone(), by);
            }
            ClientJsonRpcMessage::Notification(note) => {
                self.desk.telling();
                if let ClientNotification::CancelledNotification(cancelled) = &note.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.desk.forget(id);
                }
            }
            ClientJsonRpcMessage::Response(_) | ClientJsonRpcMessage::Error(_) => {}
        }
        Ok(Outgoing { bytes: raw.to_string().into_bytes(), sent })
    }

    /// The next message for the SDK out of what is already here.
    fn next_ready(&mut self) -> Option<ServerJsonRpcMessage> {
        while let Some(message) = self.ready.pop_front() {
            // What comes before we ask anything answers the SDK's handshake.
            if !self.asked
                && let Some(found) = message.get("result").and_then(handshake)
            {
                drop(self.pipe.capabilities.set(found));
            }
            if let Some(relayed) =
                message.pointer("/params/progressToken").and_then(|token| self.heard.get(&token.to_string()))
            {
                told(Some(relayed), &message);
            }
            match self.desk.sort(&self.pipe.peer.redactor, message) {
                Sorted::Pass(message) => return Some(*message),
                Sorted::Changed(message) => {
                    // Before we asked anything it is how some servers start: what is asked then is newer than the change,
                    // and a list would never hold if every session that begins could void it.
                    if self.asked {
                        self.pipe.peer.changes.changed(&self.pipe.peer.digest);
                    }
                    return Some(*message);
                }
                Sorted::Skip(why) => self.skip(why),
            }
        }
        None
    }

    fn take_in(&mut self, bytes: &[u8]) {
        match serde_json::from_slice(bytes) {
            Ok(Value::Array(batch)) => self.ready.extend(batch),
            Ok(message @ Value::Object(_)) => self.ready.push_back(message),
            // Its text is not logged: it may hold anything.
            Ok(_) | Err(_) => self.skip("it is not a JSON-RPC message in UTF-8"),
        }
    }

    fn skip(&mut self, why: &'static str) {
        self.skipped += 1;
        if self.skipped <= LOGGED {
            tracing::debug!(server = self.pipe.peer.server, why, "a message was passed over");
        }
    }
}

impl Transport<RoleClient> for Carrier {
    type Error = Failure;

    fn name() -> Cow<'static, str> {
        "pipe".into()
    }

    fn send(
        &mut self,
        item: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Failure>> + Send + 'static {
        let outgoing = self.outgoing(&item);
        let outlet = Arc::clone(&self.pipe.outlet);
        async move {
            let Outgoing { bytes, sent } = outgoing?;
            if let Some(Sent { flag, .. }) = sent {
                flag.store(true, Ordering::Release);
            }
            outlet.send(bytes).await
        }
    }

    // Dropped and asked again at any time: what was read is in `ready` before the next wait.
    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            if let Some(message) = self.next_ready() {
                return Some(message);
            }
            let next = self.pipe.inlet.lock().await.next().await;
            let end = match next {
                Some(Ok(bytes)) if bytes.len() <= MAX_ANSWER_BYTES => {
                    self.take_in(&bytes);
                    continue;
                }
                Some(Ok(_)) => Failure::too_large(&self.pipe.peer.redactor),
                Some(Err(failure)) => failure,
                None => Failure::unanswered(),
            };
            // The first end counts: a second handshake on a closed pipe meets the same.
            drop(self.pipe.end.set(end));
            return None;
        }
    }

    async fn close(&mut self) -> Result<(), Failure> {
        self.pipe.outlet.close().await;
        Ok(())
    }
}

/// `_meta` of a request of ours: without the token for progress that nobody listens to, with the headers, and absent when
/// nothing is left in it. Returns the token if somebody does.
fn complete_meta(raw: &mut Value, headers: Option<&Headers>, heard: bool) -> Option<Value> {
    let params = raw.get_mut("params").and_then(Value::as_object_mut)?;
    let mut meta = match params.remove("_meta") {
        Some(Value::Object(meta)) => meta,
        _ => Map::new(),
    };
    // Ours alone: a caller's would pass for what an interceptor said.
    meta.remove("headers");
    let token =
        if heard { meta.get("progressToken").cloned() } else { meta.remove("progressToken").and(None) };
    if let Some(Headers(headers)) = headers.filter(|headers| !headers.0.is_empty()) {
        let texts = headers.iter().map(|(name, value)| (name.clone(), value.expose_secret().into()));
        meta.insert("headers".to_owned(), Value::Object(texts.collect()));
    }
    if !meta.is_empty() {
        params.insert("_meta".to_owned(), Value::Object(meta));
    }
    token
}
