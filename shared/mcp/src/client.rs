//! [`Client`]: the port [`McpClient`] over every transport, in every protocol revision.
//!
//! One deadline covers finding the era, connecting and the handshake, one the call, and the caller's limit both. What fails
//! before the call itself is sent is [`CallFault::NotSent`](pudu_app::ports::CallFault::NotSent): it is then certain that
//! nothing runs there.

mod call;
pub(crate) mod era;
mod link;
mod list;
mod listing;
mod way;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use pudu_app::changes::ListChanges;
use pudu_app::ports::{
    CallError, Caller, Era, Listing, McpClient, PeerStore, TaskReply, TaskRequest, TokenPorts, ToolCall,
};
use pudu_config::{Secrets, Server, Transport};
use pudu_domain::ThreadKey;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use era::Eras;

use crate::credentials::Keeper;
use crate::egress::Egress;
use crate::interceptor::Interceptors;
use crate::redact::{Redactor, Redacts};
use crate::stateless::Ids;
use crate::stdio::{Launcher, Stdio};
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
    stdio: Option<Stdio>,
    tokens: Arc<Keeper>,
}

/// The HTTP client of this house for whoever calls something else than MCP servers: it connects where `egress` allows, follows
/// no redirect and repeats nothing. The host of a URL may be an address, which is never resolved: judge each with
/// [`Egress::url`] first.
pub fn http_client(egress: Egress) -> Result<reqwest::Client, BuildError> {
    Wire::new(egress).map(Wire::into_client).map_err(BuildError)
}

impl Client {
    /// A client that resolves `$VAR` through `secrets`, connects where `egress` allows, keeps OAuth tokens by `tokens`, and
    /// remembers eras in the process.
    pub fn new(secrets: Arc<dyn Secrets>, egress: Egress, tokens: TokenPorts) -> Result<Self, BuildError> {
        let wire = Wire::new(egress).map_err(BuildError)?;
        let tokens = Arc::new(Keeper::new(tokens, wire.clone()));
        Ok(Self {
            wire,
            ids: Ids::default(),
            secrets,
            eras: Eras::default(),
            changes: ListChanges::default(),
            interceptors: Interceptors::default(),
            stdio: None,
            tokens,
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

    /// The same client, which may start processes: `launcher` says how. Without it stdio servers are refused with that
    /// reason.
    #[must_use]
    pub fn with_stdio(mut self, launcher: Launcher) -> Self {
        self.stdio = Some(Stdio::new(launcher));
        self
    }

    /// The HTTP client, for what else is fetched under the same egress rule.
    pub(crate) fn wire(&self) -> Wire {
        self.wire.clone()
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
        listing::list(self, server, limit).await
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

    async fn ask_task(
        &self,
        server: &Server,
        caller: &Caller,
        request: TaskRequest,
        limit: Duration,
    ) -> Result<TaskReply, CallError> {
        call::ask(self, server, caller, request, Instant::now() + limit.min(LONGEST)).await
    }

    async fn era(&self, server: &Server) -> Option<Era> {
        match &server.transport {
            Transport::Sse(_) => Some(Era::Events),
            Transport::Http(_) => self.eras.known(&self.target(server).ok()?.era_key()).await,
            Transport::Stdio(_) | Transport::Unknown(_) => None,
        }
    }

    fn keep_servers(&self, names: &BTreeSet<&str>) {
        if let Some(stdio) = &self.stdio {
            stdio.keep_servers(names);
        }
    }

    async fn close_thread(&self, thread: &ThreadKey) {
        if let Some(stdio) = &self.stdio {
            stdio.close_thread(thread).await;
        }
    }

    async fn close_all(&self) {
        let stdio = async {
            if let Some(stdio) = &self.stdio {
                stdio.close_all().await;
            }
        };
        tokio::join!(stdio, self.tokens.settled());
    }

    fn task_obstacle(&self, server: &Server) -> Option<String> {
        if !matches!(server.transport, Transport::Stdio(_)) {
            return None;
        }
        let here = self.stdio.as_ref().is_some_and(|stdio| stdio.launcher().is_one_process());
        let why = "tasks on a server of type 'stdio' need the gateway and the poller in one process, as on one machine; \
                   here they are not";
        (!here).then(|| why.to_owned())
    }
}

impl Redacts for Client {
    fn redactor(&self, server: &Server, caller: &Caller) -> Redactor {
        Redactor::of_call(server, caller, self.secrets.as_ref()).and(&self.tokens.known(&server.name))
    }
}
