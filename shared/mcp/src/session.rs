//! The older revisions (2024-11-05 to 2025-11-25): initialize, one call, close, by the SDK.
//!
//! Over HTTP a session per call and no pool, as the reference does (2.3): what a server keeps per session can never leak
//! from one caller to another, and a dead session is never met. The SDK drives the protocol; its HTTP is ours ([`Door`]),
//! so that limits, redirects and faults are the same in both eras. Over a [`Pipe`] it is the same session on another
//! transport.

mod door;
mod over;
pub(crate) mod seal;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use pudu_app::ports::{CallFault, Relayed};
use rmcp::ServiceExt;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientRequest, CustomRequest, ProtocolVersion, ServerResult,
};
use rmcp::service::{RoleClient, RunningService, ServiceError};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::{Map, Value};

use crate::pipe::{Pipe, Sent};
use crate::redact::Redactor;
use crate::session::door::Door;
use crate::stateless;
use crate::target::Target;
use crate::wire::{Failure, Wire};

/// How often a broken stream that gave event ids is taken up again. It is a GET: the call is not sent again.
const RESUMPTIONS: usize = 2;

/// An initialised session with one server.
pub(crate) struct Session {
    service: RunningService<RoleClient, ClientConfig>,
    ledger: Arc<Ledger>,
    server: String,
    redactor: Redactor,
    /// What it runs over, when that is not HTTP.
    pipe: Option<Pipe>,
}

/// What happened on the wire below the SDK, whose own errors do not say it.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    sent: Arc<AtomicBool>,
    /// The id of our request that waits for its answer.
    asked: Mutex<Option<Value>>,
    failure: Mutex<Option<Failure>>,
    /// What the server said in the handshake that it can do, unchanged: the SDK's type drops what it does not know.
    capabilities: OnceLock<Value>,
    expired: AtomicBool,
    /// Who hears what the server says of the session's one call.
    relayed: OnceLock<Arc<Relayed>>,
}

impl Session {
    /// Connects and initialises. `sent` becomes true when the first request after that is about to be sent.
    pub(crate) async fn open(wire: &Wire, target: &Target, sent: Arc<AtomicBool>) -> Result<Self, Failure> {
        let ledger = Arc::new(Ledger { sent, ..Ledger::default() });
        let door = Door { wire: wire.clone(), target: target.clone(), ledger: Arc::clone(&ledger) };
        // The door knows the real address; the SDK would write this one into its logs.
        let mut config = StreamableHttpClientTransportConfig::with_uri("mcp");
        config.reinit_on_expired_session = false;
        let mut retry = ExponentialBackoff::default();
        retry.max_times = Some(RESUMPTIONS);
        config.retry_config = Arc::new(retry);
        let transport = StreamableHttpClientTransport::with_client(door, config);
        match client().serve(transport).await {
            Ok(service) => {
                ledger.take();
                let (server, redactor) = (target.server.clone(), target.redactor.clone());
                Ok(Self { service, ledger, server, redactor, pipe: None })
            }
            Err(_) => Err(ledger.take().unwrap_or_else(|| {
                Failure::not_mcp(target, "did not complete the handshake ('initialize') as MCP asks")
            })),
        }
    }

    /// Sends one request and returns its result, unchanged.
    pub(crate) async fn request(
        &self,
        method: &'static str,
        params: Map<String, Value>,
        relayed: Option<Arc<Relayed>>,
    ) -> Result<Value, Failure> {
        let mut request = CustomRequest::new(method, Some(Value::Object(params)));
        request.extensions.insert(Sent { flag: Arc::clone(&self.ledger.sent), relayed: relayed.clone() });
        if let Some(relayed) = relayed {
            drop(self.ledger.relayed.set(relayed));
        }
        self.opened(self.service.send_request(ClientRequest::CustomRequest(request)).await)
    }

    /// What came for a request of ours.
    fn opened(&self, answer: Result<ServerResult, ServiceError>) -> Result<Value, Failure> {
        let unreadable = || Failure::not_mcp(&self.redactor, "answered with a result that cannot be read");
        match answer {
            Ok(ServerResult::CustomResult(result)) => {
                seal::open(result.0).filter(Value::is_object).ok_or_else(unreadable)
            }
            Ok(_) => Err(unreadable()),
            Err(error) => Err(match &self.pipe {
                Some(pipe) => over::failed(pipe, error),
                // The server's errors are in the ledger too: an error that is not there is the SDK's own, of a stream
                // that ended.
                None => self.ledger.take().unwrap_or_else(Failure::unanswered),
            }),
        }
    }

    /// What the server said in the handshake that it can do.
    pub(crate) fn capabilities(&self) -> Option<Value> {
        match &self.pipe {
            Some(pipe) => pipe.capabilities(),
            None => self.ledger.capabilities.get().cloned(),
        }
    }

    /// Whether the server said to a request of ours that it does not know the session (any more): HTTP 404 to the POST
    /// itself, which the specification has for nothing else there. It certainly did not carry the request out.
    pub(crate) fn is_expired(&self) -> bool {
        self.ledger.expired.load(Ordering::Acquire)
    }

    /// Ends the session, within `limit`; past it the SDK goes on in the background. What fails here has no effect.
    pub(crate) async fn close(mut self, limit: Duration) {
        if let Err(error) = self.service.close_with_timeout(limit).await {
            tracing::debug!(server = self.server, %error, "an MCP session did not close");
        }
    }
}

impl Ledger {
    /// Our request with this id is about to be sent. What went wrong before says nothing of it.
    fn sending(&self, id: Value) {
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = Some(id);
        self.take();
        self.sent.store(true, Ordering::Release);
    }

    /// A result for the SDK itself: of the handshake, if it is the first.
    fn heard(&self, result: &Value) {
        if let Some(found) = handshake(result) {
            drop(self.capabilities.set(found));
        }
    }

    fn asked(&self) -> Option<Value> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, failure: &Failure) {
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure.clone());
    }

    fn take(&self) -> Option<Failure> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The capabilities in the result of a handshake.
pub(crate) fn handshake(result: &Value) -> Option<Value> {
    result.get("capabilities").filter(|found| found.is_object()).cloned()
}

fn client() -> ClientConfig {
    ClientConfig::new(ClientCapabilities::default(), stateless::client())
        .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
}

/// Whether a failed handshake says that the peer must be probed again instead of being met in this way. Any error of
/// the protocol does: peers do not agree on how they answer a handshake that they do not know.
pub(crate) fn is_wrong_era(failure: &Failure) -> bool {
    let answered =
        failure.code.is_some() || matches!(failure.fault, CallFault::Refused | CallFault::Protocol);
    answered && !matches!(failure.status, Some(401 | 403 | 429))
}
