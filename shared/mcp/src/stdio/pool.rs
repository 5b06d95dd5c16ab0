//! Sessions with stdio servers that stay open between calls, one for each server and thread (reference 2.5, 2.6).
//!
//! Each session has an owner, a task that alone opens and closes it. The pool is a table of who owns what: a session that
//! is to end is taken out of it, and its owner ends it when its calls have. So a session that is found in the table is
//! current, two who ask for one at the same time share it, and what fails late can only remove itself.

mod owner;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pudu_app::ports::CallFault;
use pudu_domain::ThreadKey;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::host::{Body, Host};
use super::recipe::Recipe;
use super::shown::Shown;
use crate::pipe::Ask;
use crate::wire::Failure;
use owner::Owner;

/// Most sessions, those that are being opened counted (reference 1.9).
pub(super) const CAPACITY: usize = 256;
/// A session that was not used for so long is closed. The reference keeps it for ever.
pub(super) const IDLE: Duration = Duration::from_mins(15);
/// Longest wait for sessions to be gone, for those who ask for it.
const GONE: Duration = Duration::from_secs(10);
/// Calls that wait for a session's owner to take them; past it callers wait themselves.
const QUEUE: usize = 16;

/// Whose session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    /// The server's name in the config.
    pub(super) server: String,
    /// A thread alone is no key: two users may use one name.
    pub(super) thread: ThreadKey,
}

/// All sessions of this process.
pub(super) struct Pool {
    shared: Arc<Shared>,
    /// Dropped with the pool, and every session with them.
    owners: Mutex<JoinSet<()>>,
    host: Arc<dyn Host>,
}

/// What owners and callers share.
struct Shared {
    sessions: Mutex<Sessions>,
    capacity: usize,
    idle: Duration,
}

#[derive(Default)]
struct Sessions {
    by_key: HashMap<Key, Entry>,
    /// Counts acquisitions and entries, so that both have an order.
    count: u64,
}

struct Entry {
    id: u64,
    used: u64,
    mark: String,
    jobs: mpsc::Sender<Job>,
    stage: Arc<watch::Sender<Stage>>,
    close: CancellationToken,
    gone: CancellationToken,
    shown: Shown,
}

/// Which session an owner has.
#[derive(Clone, Debug)]
struct Ticket {
    key: Key,
    id: u64,
}

/// How far a session is.
#[derive(Clone, Debug)]
enum Stage {
    Opening,
    Open,
    Failed(Failure),
}

/// A request on its way to an owner. Whoever drops the other end of `reply` has it cancelled.
struct Job {
    ask: Ask,
    reply: oneshot::Sender<Result<Value, Failure>>,
}

/// A session that is used. It is not made room with as long as this lives.
pub(super) struct Lease {
    jobs: mpsc::Sender<Job>,
    stage: watch::Receiver<Stage>,
}

impl Pool {
    pub(super) fn new(host: Arc<dyn Host>, capacity: usize, idle: Duration) -> Self {
        let shared = Shared { sessions: Mutex::default(), capacity, idle };
        Self { shared: Arc::new(shared), owners: Mutex::default(), host }
    }

    pub(super) const fn host(&self) -> &Arc<dyn Host> {
        &self.host
    }

    /// The session under `key`, which is opened if there is none that was started in the same way.
    /// Errors: as many as there may be are in use.
    pub(super) fn acquire(&self, key: Key, recipe: Recipe) -> Result<Lease, Failure> {
        let mark = recipe.mark();
        let mut sessions = self.shared.sessions();
        sessions.count += 1;
        let now = sessions.count;
        if let Some(entry) = sessions.by_key.get_mut(&key)
            && entry.mark == mark
            && !entry.jobs.is_closed()
        {
            entry.used = now;
            entry.shown.learn(&recipe.redactor);
            return Ok(entry.lease());
        }
        // Started in another way: it ends when its calls have, and no new one finds it.
        sessions.by_key.remove(&key);
        sessions.make_room(self.shared.capacity)?;

        let (jobs, queue) = mpsc::channel(QUEUE);
        let stage = Arc::new(watch::Sender::new(Stage::Opening));
        let (close, gone) = (CancellationToken::new(), CancellationToken::new());
        let shown = Shown::new(recipe.redactor.clone());
        let entry = Entry { id: now, used: now, mark, jobs, stage, close, gone, shown: shown.clone() };
        let lease = entry.lease();
        let owner = Owner {
            shared: Arc::clone(&self.shared),
            ticket: Ticket { key: key.clone(), id: now },
            stage: Arc::clone(&entry.stage),
            queue,
            close: entry.close.clone(),
            gone: entry.gone.clone().drop_guard(),
        };
        let host = Arc::clone(&self.host);
        sessions.by_key.insert(key, entry);
        drop(sessions);
        self.keep(owner.run(host, recipe, shown));
        Ok(lease)
    }

    /// Ends what no session has, without having anybody wait for it.
    pub(super) fn bury(&self, body: Box<dyn Body>) {
        self.keep(body.end());
    }

    /// Lets go of the sessions of which `which` is not true: each ends with the last call that runs in it.
    pub(super) fn keep_only(&self, which: impl Fn(&Key) -> bool) {
        self.shared.sessions().by_key.retain(|key, _| which(key));
    }

    /// Closes the sessions of which `which` is true, also while they are being opened, and waits until nothing of them is
    /// left, but not longer than 10 s.
    pub(super) async fn close(&self, which: impl Fn(&Key) -> bool) {
        let mut leaving = Vec::new();
        self.shared.sessions().by_key.retain(|key, entry| {
            if which(key) {
                entry.close.cancel();
                leaving.push(entry.gone.clone());
            }
            !which(key)
        });
        let all = async {
            for gone in leaving {
                gone.cancelled().await;
            }
        };
        if timeout(GONE, all).await.is_err() {
            tracing::warn!("some sessions with stdio servers take long to end");
        }
    }

    /// How many sessions there are, those that are being opened counted.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.shared.sessions().by_key.len()
    }

    fn keep(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        while owners.try_join_next().is_some() {}
        owners.spawn(work);
    }
}

impl Shared {
    fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a session out of the table, if it is still that one.
    fn remove(&self, ticket: &Ticket) {
        let mut sessions = self.sessions();
        if sessions.by_key.get(&ticket.key).is_some_and(|entry| entry.id == ticket.id) {
            sessions.by_key.remove(&ticket.key);
        }
    }

    /// Takes a session out of the table if nobody waits for it to open.
    fn remove_unwanted(&self, ticket: &Ticket, stage: &watch::Sender<Stage>) -> bool {
        let mut sessions = self.sessions();
        // Under the lock: whoever joins does so under it too.
        if stage.receiver_count() > 0 {
            return false;
        }
        if sessions.by_key.get(&ticket.key).is_some_and(|entry| entry.id == ticket.id) {
            sessions.by_key.remove(&ticket.key);
        }
        true
    }
}

impl Sessions {
    /// Lets go of the sessions that were not used for longest. One in use is never sacrificed: the call that runs in it
    /// may have begun something.
    fn make_room(&mut self, capacity: usize) -> Result<(), Failure> {
        while self.by_key.len() >= capacity {
            let resting = self.by_key.iter().filter(|(_, entry)| entry.jobs.strong_count() == 1);
            let oldest = resting.min_by_key(|(_, entry)| entry.used).map(|(key, _)| key.clone());
            let Some(oldest) = oldest else {
                let message = format!("{capacity} sessions with stdio servers are in use; call again later");
                return Err(Failure::new(CallFault::NotSent, message));
            };
            self.by_key.remove(&oldest);
        }
        Ok(())
    }
}

impl Entry {
    fn lease(&self) -> Lease {
        Lease { jobs: self.jobs.clone(), stage: self.stage.subscribe() }
    }
}

impl Lease {
    /// Waits until the session is open.
    pub(super) async fn opened(&mut self) -> Result<(), Failure> {
        let opened = self.stage.wait_for(|stage| !matches!(stage, Stage::Opening)).await;
        match &*opened.map_err(|_| closed_too_early())? {
            Stage::Failed(failure) => Err(failure.clone().before_sending()),
            Stage::Open | Stage::Opening => Ok(()),
        }
    }

    /// Sends one request, once, and returns its result unchanged. When there is none at `until` the server is told that it
    /// is cancelled, and the session stays. `limit` is how long that is, for the words.
    pub(super) async fn ask(self, ask: Ask, until: Instant, limit: Duration) -> Result<Value, Failure> {
        let closed = || Failure::new(CallFault::Broken, "its session was closed before the answer came");
        let (reply, answer) = oneshot::channel();
        let work = async {
            self.jobs.send(Job { ask, reply }).await.map_err(|_| closed())?;
            answer.await.unwrap_or_else(|_| Err(closed()))
        };
        timeout_at(until, work).await.unwrap_or_else(|_| Err(Failure::timeout(limit)))
    }
}

fn closed_too_early() -> Failure {
    Failure::new(CallFault::NotSent, "its session was closed while it was being opened")
}

#[cfg(test)]
mod tests;
