//! Sessions over a [`Pipe`].

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use pudu_app::ports::CallFault;
use rmcp::ServiceExt;
use rmcp::model::{ClientRequest, CustomRequest, ProtocolVersion};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt, PeerRequestOptions, ServiceError,
};
use rmcp::transport::DynamicTransportError;
use serde_json::Value;
use tokio::time::timeout;

use super::{Ledger, Session, client};
use crate::pipe::{self, Ask, Pipe, Sent};
use crate::wire::Failure;

/// Longest wait for the word that a request is cancelled to be on its way.
const CANCEL_LIMIT: Duration = Duration::from_secs(1);

impl Session {
    /// Initialises over `pipe`. `sent` becomes true when the first [`request`](Self::request) is about to be sent.
    ///
    /// `initialize` comes first and `server/discover` only after it was refused, although the newest revision would ask
    /// in the other order: a process that is slow to start cannot be told from an old one that never answers what it
    /// does not know, and every server that speaks both revisions takes the first.
    pub(crate) async fn over(pipe: Pipe, sent: Arc<AtomicBool>) -> Result<Self, Failure> {
        let service = match client().serve(pipe.carrier()).await {
            Ok(service) => service,
            Err(ClientInitializeError::JsonRpcError(refusal)) => {
                let newest =
                    ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
                let asked = client().serve_with_lifecycle(pipe.carrier(), newest).await;
                // What the first refusal says helps more than that of a question that no old server knows.
                asked.map_err(|_| pipe::failure(&pipe.peer.redactor, &refusal))?
            }
            Err(error) => return Err(unopened(&pipe, error)),
        };
        let ledger = Arc::new(Ledger { sent, ..Ledger::default() });
        let (server, redactor) = (pipe.peer.server.clone(), pipe.peer.redactor.clone());
        Ok(Self { service, ledger, server, redactor, pipe: Some(pipe) })
    }

    /// Sends one request over a pipe, once, and returns its result unchanged. When `stop` comes first the peer is told
    /// that the request is cancelled, and there is no answer.
    pub(crate) async fn ask(
        &self,
        ask: Ask,
        stop: impl Future<Output = ()>,
    ) -> Option<Result<Value, Failure>> {
        let mut stop = std::pin::pin!(stop);
        let mut request = CustomRequest::new(ask.method, Some(Value::Object(ask.params)));
        request.extensions.insert(Sent { flag: ask.sent, relayed: ask.relayed });
        request.extensions.insert(ask.headers);
        let request = ClientRequest::CustomRequest(request);
        let started = self.service.send_request_with_option(request, PeerRequestOptions::no_options());
        let started = tokio::select! {
            biased;
            started = started => started,
            () = &mut stop => return None,
        };
        let mut handle = match started {
            Ok(handle) => handle,
            Err(error) => return Some(self.opened(Err(error))),
        };
        tokio::select! {
            biased;
            answer = &mut handle.rx => {
                Some(self.opened(answer.unwrap_or(Err(ServiceError::TransportClosed))))
            }
            () = stop => {
                let told = timeout(CANCEL_LIMIT, handle.cancel(Some("no longer waited for".to_owned()))).await;
                if !matches!(told, Ok(Ok(()))) {
                    tracing::debug!(server = self.server, "a cancelled request could not be told to its server");
                }
                None
            }
        }
    }

    /// Whether nothing more can be asked in it: its pipe ended.
    pub(crate) fn is_closed(&self) -> bool {
        self.service.is_transport_closed() || self.pipe.as_ref().is_some_and(|pipe| pipe.ended().is_some())
    }
}

/// Why a request over `pipe` failed.
pub(super) fn failed(pipe: &Pipe, error: ServiceError) -> Failure {
    match error {
        ServiceError::McpError(said) => pipe::failure(&pipe.peer.redactor, &said),
        ServiceError::TransportSend(error) => unsent(pipe, error),
        _ => pipe.ended().unwrap_or_else(Failure::unanswered),
    }
}

fn unopened(pipe: &Pipe, error: ClientInitializeError) -> Failure {
    let silent = || {
        let what = "did not complete the handshake ('initialize') as MCP asks";
        Failure::not_mcp(&pipe.peer.redactor, what)
    };
    match error {
        // The other half usually knows more about why nothing can be sent.
        ClientInitializeError::TransportError { error, .. } => {
            pipe.ended().unwrap_or_else(|| unsent(pipe, error))
        }
        _ => pipe.ended().unwrap_or_else(silent),
    }
}

fn unsent(pipe: &Pipe, error: DynamicTransportError) -> Failure {
    let ended = || pipe.ended().unwrap_or_else(|| Failure::new(CallFault::Broken, "the connection failed"));
    error.error.downcast::<Failure>().map_or_else(|_| ended(), |failure| *failure)
}
