//! What every server's tools are, as far as is known: from this process's memory, else from the table, else from the
//! server itself (DESIGN sections 4 and 5; reference 4).
//!
//! Everything is kept under the digest of the server's entry, so that a change to one server asks that one again and no
//! other. A server is asked by one caller at a time, whose answer all get; if that one is cancelled, another takes over.
//! A table that fails costs questions, never an answer.

mod listed;
mod probe;
mod slot;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pudu_config::Server;
use pudu_domain::Timestamp;
use tokio::time::{Instant, timeout, timeout_at};

pub use listed::{Listed, ListedTool};
pub(crate) use slot::FAILED_FOR;
use slot::{Slot, Wanted};

use crate::chain::Chain;
use crate::changes::{ListChanges, Mark};
use crate::ports::{
    CallError, CallFault, CatalogStore, Clock, Listing, McpClient, StoreError, StoredListing,
};

/// How long a list is taken as it is when its server does not say (`ttlMs`).
pub const FRESH_FOR: Duration = Duration::from_secs(10 * 60);
/// The bounds of what a server may say.
const TTL: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(24 * 60 * 60));
/// A list that holds shorter, or that comes sooner after the last, is not written to the table again and again.
const SHORT: Duration = Duration::from_secs(60);
/// Longest wait for the table: asking the server takes less than waiting for one that hangs.
const LOOKING: Duration = Duration::from_secs(2);
/// Longest that anybody waits for a server's list: a server that hangs must not hang the whole catalogue.
const LISTING: Duration = Duration::from_secs(10);
/// A list that is younger than this is not asked for again because something is not in it.
const ASK_AGAIN: Duration = Duration::from_secs(15);
/// How often a list that changed while it was asked for is asked for anew.
const ATTEMPTS: u32 = 3;
/// How long a process remembers a server that nobody asks about.
const UNUSED: Duration = Duration::from_secs(24 * 60 * 60);

/// What is known of every server's tools.
pub struct Listings {
    client: Arc<dyn McpClient>,
    store: Arc<dyn CatalogStore>,
    changes: ListChanges,
    clock: Arc<dyn Clock>,
    /// By the digest of the server's entry.
    slots: Mutex<HashMap<String, Arc<Slot>>>,
}

/// What this process knows of a server without asking anybody.
#[derive(Debug, Clone)]
pub struct Glimpse {
    /// The last list, however old.
    pub last: Option<Arc<Listed>>,
    /// What can be said now: a list that is fresh, or why there is none; nothing when somebody would have to ask.
    pub answer: Option<Result<Arc<Listed>, CallError>>,
    /// Why the server could not be listed when it was last asked, and when that was; none since it could.
    pub failed: Option<(CallError, Timestamp)>,
}

impl Listings {
    /// Lists of the servers that `client` reaches, kept in `store` and void when `changes` says so.
    pub fn new(
        client: Arc<dyn McpClient>,
        store: Arc<dyn CatalogStore>,
        changes: ListChanges,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { client, store, changes, clock, slots: Mutex::default() }
    }

    /// Who asks the servers.
    pub(crate) fn client(&self) -> &dyn McpClient {
        self.client.as_ref()
    }

    /// What is known here and now; asks neither the table nor the server.
    pub fn peek(&self, server: &Server) -> Glimpse {
        let slot = self.slot(server);
        let answer = slot.answer(self.wanted(server, None));
        Glimpse { last: slot.last(), answer, failed: slot.last_failure() }
    }

    /// A fresh list, within `limit`: from memory, the table or the server.
    pub async fn get(&self, server: &Server, limit: Duration) -> Result<Arc<Listed>, CallError> {
        let slot = self.slot(server);
        if let Some(answer) = slot.answer(self.wanted(server, None)) {
            return answer;
        }
        let until = Instant::now() + limit;
        self.look(server, &slot).await;
        self.obtain(server, &slot, until.duration_since(Instant::now()), None).await
    }

    /// A list that is newer than `known`, because something was looked for in it that is not there; `known` itself if it is
    /// too young for another one to be asked for.
    pub async fn again(
        &self,
        server: &Server,
        known: &Arc<Listed>,
        limit: Duration,
    ) -> Result<Arc<Listed>, CallError> {
        if self.clock.now().is_within(ASK_AGAIN, known.listed_at) {
            return Ok(Arc::clone(known));
        }
        self.obtain(server, &self.slot(server), limit, Some(known.listed_at)).await
    }

    /// The last list that this process or the table has, however old. Never asks the server: for background work, which
    /// must not cost it a question.
    pub async fn recall(&self, server: &Server) -> Option<Arc<Listed>> {
        let slot = self.slot(server);
        if !matches!(slot.answer(self.wanted(server, None)), Some(Ok(_))) {
            self.look(server, &slot).await;
        }
        slot.last()
    }

    /// What this process was told of the server's list so far.
    pub(crate) fn mark(&self, server: &Server) -> Mark {
        self.changes.mark(&server.digest)
    }

    /// Forgets the lists of these servers, here and in the table. What is being asked for just now counts no more, either.
    pub async fn forget(&self, servers: impl Iterator<Item = &Server> + Send) -> Result<(), StoreError> {
        let servers: Vec<&Server> = servers.collect();
        for server in &servers {
            self.changes.changed(&server.digest);
        }
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).clear();
        for server in servers {
            self.store.forget(&server.name).await?;
        }
        Ok(())
    }

    /// Asks the table, if it answers in time.
    async fn look(&self, server: &Server, slot: &Slot) {
        if timeout(LOOKING, self.look_up(server, slot)).await.is_err() {
            tracing::warn!(server = %server.name, "a list of tools was not read from the table in time");
        }
    }

    /// Asks the table, at most one caller at a time.
    async fn look_up(&self, server: &Server, slot: &Slot) {
        let _one = slot.looking.lock().await;
        let wanted = self.wanted(server, None);
        if slot.has_looked(wanted.now) {
            return;
        }
        match self.store.get(&server.name, &server.digest).await {
            Ok(found) => slot.looked(found.map(|stored| Listed::of(&server.name, stored)), wanted),
            Err(error) => {
                tracing::warn!(server = %server.name, error = %Chain(&error), "a list of tools could not be read from the table");
            }
        }
    }

    /// Asks the server, at most one caller at a time; the others take what that one gets.
    async fn obtain(
        &self,
        server: &Server,
        slot: &Slot,
        limit: Duration,
        newer_than: Option<Timestamp>,
    ) -> Result<Arc<Listed>, CallError> {
        let whole = server.init_timeout().min(LISTING);
        let until = Instant::now() + limit.min(whole);
        let Ok(asking) = timeout_at(until, slot.asking.lock()).await else {
            return Err(timed_out(server, limit.min(whole)));
        };
        let mut attempt = 1;
        loop {
            let wanted = self.wanted(server, newer_than);
            if let Some(answer) = slot.answer(wanted) {
                return answer;
            }
            let left = until.duration_since(Instant::now());
            let asked = timeout(left, self.client.list_tools(server, left)).await;
            match asked.unwrap_or_else(|_| Err(timed_out(server, left))) {
                Err(mut error) => {
                    // When the time is over, that is what happened, wherever the question was then.
                    if until <= Instant::now() {
                        error.fault = CallFault::Timeout;
                    }
                    // A time that was cut short says nothing of the server.
                    if error.fault != CallFault::Timeout || left >= whole / 2 {
                        slot.failed(error.clone(), self.clock.now(), wanted.mark);
                    }
                    return Err(error);
                }
                Ok(listing) => {
                    let stored = stored(listing, wanted.now);
                    let listed = Arc::new(Listed::of(&server.name, stored.clone()));
                    slot.listed(&listed, wanted.mark);
                    if self.changes.mark(&server.digest) == wanted.mark {
                        // Who waits need not wait for the table too.
                        drop(asking);
                        self.keep(server, slot, &stored, &listed, until).await;
                        return Ok(listed);
                    }
                    // It changed meanwhile. Whoever changes with every question is taken as it is.
                    if attempt >= ATTEMPTS {
                        return Ok(listed);
                    }
                    attempt += 1;
                }
            }
        }
    }

    /// Writes a list to the table, where a cold process finds it, until `until` at the latest: the list is there already.
    async fn keep(
        &self,
        server: &Server,
        slot: &Slot,
        stored: &StoredListing,
        listed: &Arc<Listed>,
        until: Instant,
    ) {
        let short = stored.fresh_until.since(stored.listed_at) < SHORT;
        if !slot.is_worth_keeping(listed, short) {
            return;
        }
        let put = self.store.put(&server.name, &server.digest, stored);
        match timeout_at(until.min(Instant::now() + LOOKING), put).await {
            Ok(Ok(())) => slot.stored(Arc::clone(listed)),
            Err(_) => {
                tracing::warn!(server = %server.name, "a list of tools was not written to the table in time");
            }
            Ok(Err(error)) => {
                tracing::warn!(server = %server.name, error = %Chain(&error), "a list of tools could not be written to the table");
            }
        }
    }

    fn wanted(&self, server: &Server, newer_than: Option<Timestamp>) -> Wanted {
        Wanted { now: self.clock.now(), mark: self.changes.mark(&server.digest), newer_than }
    }

    fn slot(&self, server: &Server) -> Arc<Slot> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = slots.get(&server.digest) {
            return Arc::clone(slot);
        }
        // Whenever something new is learnt: what nobody asks about belongs to an entry that was changed or removed.
        let now = self.clock.now();
        slots.retain(|_, slot| now.is_within(UNUSED, slot.used()));
        Arc::clone(slots.entry(server.digest.clone()).or_default())
    }
}

fn stored(listing: Listing, listed_at: Timestamp) -> StoredListing {
    let ttl = listing.ttl.unwrap_or(FRESH_FOR).clamp(TTL.0, TTL.1);
    StoredListing { tools: listing.tools, tasks: listing.tasks, listed_at, fresh_until: listed_at + ttl }
}

fn timed_out(server: &Server, limit: Duration) -> CallError {
    let message = format!("its tools were not listed within {} ms", limit.as_millis());
    CallError { server: server.name.clone(), fault: CallFault::Timeout, message }
}
