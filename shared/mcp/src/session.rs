//! The older revisions (2024-11-05 to 2025-11-25): initialize, one call, close, by the SDK.
//!
//! A session per call and no pool, as the reference does (2.3): what a server keeps per session can never leak from
//! one caller to another, and a dead session is never met. The SDK drives the protocol; its HTTP is ours ([`Door`]),
//! so that limits, redirects and faults are the same in both eras.

mod door;
mod seal;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pudu_app::ports::CallFault;
use rmcp::ServiceExt;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientRequest, CustomRequest, ProtocolVersion, ServerResult,
};
use rmcp::service::{RoleClient, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::{Map, Value};

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
    target: Target,
}

/// What happened on the wire below the SDK, whose own errors do not say it.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    sent: Arc<AtomicBool>,
    failure: Mutex<Option<Failure>>,
}

impl Session {
    /// Connects and initialises. `sent` becomes true when the first request after that is about to be sent.
    pub(crate) async fn open(wire: &Wire, target: &Target, sent: Arc<AtomicBool>) -> Result<Self, Failure> {
        let ledger = Arc::new(Ledger { sent, failure: Mutex::default() });
        let door = Door { wire: wire.clone(), target: target.clone(), ledger: Arc::clone(&ledger) };
        // The door knows the real address; the SDK would write this one into its logs.
        let mut config = StreamableHttpClientTransportConfig::with_uri("mcp");
        config.reinit_on_expired_session = false;
        let mut retry = ExponentialBackoff::default();
        retry.max_times = Some(RESUMPTIONS);
        config.retry_config = Arc::new(retry);
        let client = ClientConfig::new(ClientCapabilities::default(), stateless::client())
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE);
        let transport = StreamableHttpClientTransport::with_client(door, config);
        match client.serve(transport).await {
            Ok(service) => {
                ledger.take();
                Ok(Self { service, ledger, target: target.clone() })
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
    ) -> Result<Value, Failure> {
        let request = CustomRequest::new(method, Some(Value::Object(params)));
        match self.service.send_request(ClientRequest::CustomRequest(request)).await {
            Ok(ServerResult::CustomResult(result)) => seal::open(result.0)
                .ok_or_else(|| Failure::not_mcp(&self.target, "answered with a result that cannot be read")),
            Ok(_) => Err(Failure::not_mcp(&self.target, "answered with a result that cannot be read")),
            // The server's errors are in the ledger too: an error that is not there is the SDK's own, of a stream that ended.
            Err(_) => Err(self.ledger.take().unwrap_or_else(Failure::unanswered)),
        }
    }

    /// Ends the session, within `limit`; past it the SDK goes on in the background. What fails here has no effect.
    pub(crate) async fn close(mut self, limit: Duration) {
        if let Err(error) = self.service.close_with_timeout(limit).await {
            tracing::debug!(server = self.target.server, %error, "an MCP session did not close");
        }
    }
}

impl Ledger {
    fn sending(&self) {
        self.sent.store(true, Ordering::Release);
    }

    fn note(&self, failure: &Failure) {
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure.clone());
    }

    fn take(&self) -> Option<Failure> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Whether a failed handshake says that the peer must be probed again instead of being met in this way. Any error of
/// the protocol does: peers do not agree on how they answer a handshake that they do not know.
pub(crate) fn is_wrong_era(failure: &Failure) -> bool {
    let answered =
        failure.code.is_some() || matches!(failure.fault, CallFault::Refused | CallFault::Protocol);
    answered && !matches!(failure.status, Some(401 | 403 | 429))
}
