//! One conversation over two halves of raw messages: what comes in, and where to send. stdio and the older HTTP+SSE
//! transport are both that, so everything between bytes and the SDK is here once.
//!
//! The SDK drives the protocol on a [`Carrier`]. Results of our own requests pass its typed model sealed, so that nothing
//! is dropped; what nobody asked for, cannot be read or comes too late is passed over and never ends the conversation.
//! Only the end of a half does, and the [`Failure`] with which it ended is what every open request then gets.

mod carrier;
mod desk;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use pudu_app::changes::ListChanges;
use pudu_app::ports::Relayed;
use secrecy::SecretString;
use serde_json::{Map, Value};
use tokio::sync::{Mutex, SetOnce};

pub(crate) use carrier::Carrier;
pub(crate) use desk::failure;

use crate::redact::Redactor;
use crate::wire::Failure;

/// What the peer sends: one message each, as the bytes of a JSON text (or a batch of them). Whoever makes it holds no
/// message of more than [`MAX_ANSWER_BYTES`](crate::wire::MAX_ANSWER_BYTES) in memory; an `Err` is the last item.
pub(crate) type Inlet = BoxStream<'static, Result<Vec<u8>, Failure>>;

/// Where our messages go.
#[async_trait]
pub(crate) trait Outlet: Send + Sync {
    /// Sends one JSON text, once. It may be called again before it has returned, and keeps each message whole.
    /// Errors: [`CallFault::NotSent`](pudu_app::ports::CallFault::NotSent) only if the peer certainly did not get it.
    async fn send(&self, message: Vec<u8>) -> Result<(), Failure>;

    /// Nothing more will be sent. What fails here has no effect.
    async fn close(&self);
}

/// Both halves, and what is known about the peer. Clones are the same conversation: one handshake that was refused can
/// be followed by another.
#[derive(Clone)]
pub(crate) struct Pipe {
    pub(crate) peer: Peer,
    inlet: Arc<Mutex<Inlet>>,
    outlet: Arc<dyn Outlet>,
    end: Arc<SetOnce<Failure>>,
    /// What the peer said in the handshake that it can do.
    capabilities: Arc<OnceLock<Value>>,
}

/// Who is at the other end.
#[derive(Clone)]
pub(crate) struct Peer {
    /// Its name in the config.
    pub(crate) server: String,
    /// Its [`digest`](pudu_config::Server::digest).
    pub(crate) digest: String,
    /// What must not be shown of it.
    pub(crate) redactor: Redactor,
    /// Where it is told that its list of tools has changed.
    pub(crate) changes: ListChanges,
}

/// One request of ours.
pub(crate) struct Ask {
    pub(crate) method: &'static str,
    pub(crate) params: Map<String, Value>,
    /// What travels as `_meta.headers` (reference 2.10).
    pub(crate) headers: Headers,
    /// Becomes true when the request is about to be sent.
    pub(crate) sent: Arc<AtomicBool>,
    /// Who hears what the server says of it.
    pub(crate) relayed: Option<Arc<Relayed>>,
}

/// Headers for a transport that has none. They join the message below the SDK, whose logs show what passes through it.
#[derive(Clone, Default)]
pub(crate) struct Headers(pub(crate) BTreeMap<String, SecretString>);

/// Says in a request's extensions where to note that it is being sent, and who hears what the server says of it.
#[derive(Clone)]
pub(crate) struct Sent {
    pub(crate) flag: Arc<AtomicBool>,
    pub(crate) relayed: Option<Arc<Relayed>>,
}

impl Headers {
    pub(crate) fn of(headers: &pudu_config::Headers) -> Self {
        Self(headers.iter().map(|(name, value)| (name.to_owned(), value.clone())).collect())
    }
}

impl Pipe {
    pub(crate) fn new(peer: Peer, inlet: Inlet, outlet: Arc<dyn Outlet>) -> Self {
        Self {
            peer,
            inlet: Arc::new(Mutex::new(inlet)),
            outlet,
            end: Arc::default(),
            capabilities: Arc::default(),
        }
    }

    /// A transport for the SDK. Only one is used at a time.
    pub(crate) fn carrier(&self) -> Carrier {
        Carrier::new(self.clone())
    }

    /// Waits until the conversation has ended.
    pub(crate) async fn ending(&self) {
        self.end.wait().await;
    }

    /// What the peer said in the handshake that it can do, unchanged.
    pub(crate) fn capabilities(&self) -> Option<Value> {
        self.capabilities.get().cloned()
    }

    /// How the conversation ended, once it has.
    pub(crate) fn ended(&self) -> Option<Failure> {
        self.end.get().cloned()
    }
}

#[cfg(test)]
mod tests;
