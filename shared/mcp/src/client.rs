//! [`Client`]: the port [`McpClient`] over Streamable HTTP, in every protocol revision.
//!
//! One deadline covers finding the era, connecting, the handshake and the call. What fails before the call itself is
//! sent is [`CallFault::NotSent`](pudu_app::ports::CallFault::NotSent): it is then certain that nothing runs there.

mod call;
mod era;
mod link;
mod list;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use pudu_app::ports::{CallError, Caller, Listing, McpClient, ToolCall};
use pudu_config::{Secrets, Server};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

pub use era::{Era, EraMemory, ProcessMemory};

use crate::egress::Egress;
use crate::interceptor::Interceptors;
use crate::stateless::Ids;
use crate::target::Target;
use crate::wire::{Failure, Wire};
use link::Link;

/// Longest wait for a session to end, after the answer is there.
const CLOSE_LIMIT: Duration = Duration::from_secs(1);

/// A limit beyond it is taken as this: past some point the sum with the clock would overflow.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// The HTTP client could not be built.
#[derive(Debug, thiserror::Error)]
#[error("the HTTP client for MCP servers could not be built; check the system's TLS certificates")]
pub struct BuildError(#[source] reqwest::Error);

/// A client of MCP servers. Cheap to share by reference; it keeps connections and what it learned about peers.
pub struct Client {
    wire: Wire,
    ids: Ids,
    secrets: Arc<dyn Secrets>,
    eras: Arc<dyn EraMemory>,
    interceptors: Interceptors,
}

impl Client {
    /// A client that resolves `$VAR` through `secrets`, connects where `egress` allows, and remembers eras in the
    /// process.
    pub fn new(secrets: Arc<dyn Secrets>, egress: Egress) -> Result<Self, BuildError> {
        Self::with_eras(secrets, egress, Arc::new(ProcessMemory::default()))
    }

    /// A client that remembers eras in `eras`.
    pub fn with_eras(
        secrets: Arc<dyn Secrets>,
        egress: Egress,
        eras: Arc<dyn EraMemory>,
    ) -> Result<Self, BuildError> {
        let wire = Wire::new(egress).map_err(BuildError)?;
        Ok(Self { wire, ids: Ids::default(), secrets, eras, interceptors: Interceptors::default() })
    }

    /// The same client, whose servers may name these interceptors.
    #[must_use]
    pub fn with_interceptors(mut self, interceptors: Interceptors) -> Self {
        self.interceptors = interceptors;
        self
    }

    /// Runs `job` in one conversation, until `until`. `sent` becomes true when its first request is about to be sent.
    async fn converse<T: Send>(
        &self,
        target: &Target,
        until: Instant,
        sent: &Arc<AtomicBool>,
        job: impl for<'l> FnOnce(&'l Link<'_>, &'l Target) -> BoxFuture<'l, Result<T, Failure>> + Send,
    ) -> Result<T, Failure> {
        let limit = until.duration_since(Instant::now());
        let work = async {
            let link = Link::open(self, target, limit, Arc::clone(sent)).await?;
            let answer = job(&link, target).await;
            Ok((link, answer))
        };
        let outcome = match timeout_at(until, work).await {
            Ok(Ok((link, answer))) => {
                // After the answer: a server that is slow to end a session must not cost it.
                link.close(CLOSE_LIMIT.min(until.duration_since(Instant::now()))).await;
                answer
            }
            Ok(Err(failure)) => Err(failure),
            Err(_) => Err(Failure::timeout(limit)),
        };
        outcome.map_err(
            |failure| {
                if sent.load(Ordering::Acquire) { failure } else { failure.before_sending() }
            },
        )
    }
}

#[async_trait]
impl McpClient for Client {
    async fn list_tools(&self, server: &Server, limit: Duration) -> Result<Listing, CallError> {
        let target = Target::of(server, self.secrets.as_ref())?;
        let until = Instant::now() + limit.min(LONGEST);
        let sent = Arc::new(AtomicBool::new(false));
        let listing = self.converse(&target, until, &sent, |link, target| list::all(link, target).boxed());
        listing.await.map_err(|failure| target.error(&failure))
    }

    async fn call_tool(
        &self,
        server: &Server,
        caller: &Caller,
        call: ToolCall,
        limit: Duration,
    ) -> Result<Value, CallError> {
        call::call(self, server, caller, call, Instant::now() + limit.min(LONGEST)).await
    }
}
