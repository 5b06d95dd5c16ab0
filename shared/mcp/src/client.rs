//! [`Client`]: the port [`McpClient`] over Streamable HTTP and the older HTTP+SSE, in every protocol revision.
//!
//! One deadline covers finding the era, connecting and the handshake, one the call, and the caller's limit both. What fails before the call itself is
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
use pudu_app::changes::ListChanges;
use pudu_app::ports::{CallError, Caller, Listing, McpClient, PeerStore, ToolCall};
use pudu_config::{Secrets, Server};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use era::Eras;

use crate::egress::Egress;
use crate::interceptor::Interceptors;
use crate::stateless::Ids;
use crate::target::{LONGEST, Target};
use crate::wire::{Failure, Wire};
use link::Link;

/// Longest wait for a session to end, after the answer is there.
const CLOSE_LIMIT: Duration = Duration::from_secs(1);

/// The HTTP client could not be built.
#[derive(Debug, thiserror::Error)]
#[error("the HTTP client for MCP servers could not be built; check the system's TLS certificates")]
pub struct BuildError(#[source] reqwest::Error);

/// A client of MCP servers. Cheap to share by reference; it keeps connections and what it learned about peers.
pub struct Client {
    wire: Wire,
    ids: Ids,
    secrets: Arc<dyn Secrets>,
    pub(crate) eras: Eras,
    changes: ListChanges,
    interceptors: Interceptors,
}

impl Client {
    /// A client that resolves `$VAR` through `secrets`, connects where `egress` allows, and remembers eras in the
    /// process.
    pub fn new(secrets: Arc<dyn Secrets>, egress: Egress) -> Result<Self, BuildError> {
        let wire = Wire::new(egress).map_err(BuildError)?;
        Ok(Self {
            wire,
            ids: Ids::default(),
            secrets,
            eras: Eras::default(),
            changes: ListChanges::default(),
            interceptors: Interceptors::default(),
        })
    }

    /// The same client, that remembers eras in `peers` too.
    #[must_use]
    pub fn with_peers(mut self, peers: Arc<dyn PeerStore>) -> Self {
        self.eras = Eras::over(peers);
        self
    }

    /// The same client, that says in `changes` which servers' lists have changed.
    #[must_use]
    pub fn with_changes(mut self, changes: ListChanges) -> Self {
        self.changes = changes;
        self
    }

    /// The same client, whose servers may name these interceptors.
    #[must_use]
    pub fn with_interceptors(mut self, interceptors: Interceptors) -> Self {
        self.interceptors = interceptors;
        self
    }

    fn target(&self, server: &Server) -> Result<Target, CallError> {
        Ok(Target::of(server, self.secrets.as_ref())?.telling(&self.changes))
    }

    /// Runs `job` in one conversation, until `until`. `sent` becomes true when its first request is about to be sent.
    /// Connecting and the handshake have the server's limit for them, `job` what is left of it with `calling`.
    async fn converse<T: Send>(
        &self,
        target: &Target,
        until: Instant,
        sent: &Arc<AtomicBool>,
        calling: Duration,
        job: impl for<'l> FnOnce(&'l mut Link<'_>, &'l Target) -> BoxFuture<'l, Result<T, Failure>> + Send,
    ) -> Result<T, Failure> {
        let work = async {
            let (limit, opening) = left(until, target.opening);
            let opened = timeout_at(opening, Link::open(self, target, limit, Arc::clone(sent))).await;
            let mut link = opened.unwrap_or_else(|_| Err(Failure::timeout(limit)))?;
            let (limit, calling) = left(until, calling);
            let answer = timeout_at(calling, job(&mut link, target)).await;
            let answer = answer.map_err(|_| Failure::timeout(limit))?;
            // After the answer: a server that is slow to end a session must not cost it.
            link.close(left(until, CLOSE_LIMIT).0).await;
            answer
        };
        let outcome = work.await;
        outcome.map_err(
            |failure| {
                if sent.load(Ordering::Acquire) { failure } else { failure.before_sending() }
            },
        )
    }
}

/// The time that is left until `until` or for `limit`, and when that is.
fn left(until: Instant, limit: Duration) -> (Duration, Instant) {
    let now = Instant::now();
    let limit = limit.min(until.duration_since(now));
    (limit, now + limit)
}

#[async_trait]
impl McpClient for Client {
    async fn list_tools(&self, server: &Server, limit: Duration) -> Result<Listing, CallError> {
        let target = self.target(server)?;
        // One limit for all of a discovery (reference 2.4).
        let until = Instant::now() + limit.min(target.opening);
        let sent = Arc::new(AtomicBool::new(false));
        let listing =
            self.converse(&target, until, &sent, LONGEST, |link, target| list::all(link, target).boxed());
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
