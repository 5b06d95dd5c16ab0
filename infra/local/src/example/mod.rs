//! The example MCP server: a remote with a quick tool and reports that take time, for `cargo run`, the demo, tests and
//! the benchmark. It is a stranger to the rest of Pudu: it knows nothing of tasks, leases or the table.
//!
//! Touches: its state file and the listener it is given. Promises: a submit, an answer or a cancel is on disk before it is
//! answered; a report's status is a pure function of its record and the clock, so a restart changes nothing and no
//! timer runs but for answers that a report wants held back; a status call does no I/O; memory is bounded by [`MAX_REPORTS`].

mod journal;
mod ledger;
mod report;
mod server;
#[cfg(test)]
mod tests;
mod tools;

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::serve::ListenerExt;
use pudu_app::ports::{Clock, Random};
use tokio::net::TcpListener;

use journal::Journal;
use ledger::{Entry, Ledger};

pub use journal::OpenError;
pub use ledger::{Act, Seen};
pub use report::{Answer, Order, Question, Report, State};

/// Path of the MCP endpoint.
pub const PATH: &str = "/mcp";

/// Most reports kept. At the limit the oldest finished ones are forgotten; with none finished a submit is refused.
pub const MAX_REPORTS: usize = 10_000;

/// The server's state; clones are the same server.
#[derive(Clone)]
pub struct Example {
    shared: Arc<Shared>,
}

/// What the server saw since it was opened, oldest first: the ground truth for a test's invariants.
#[derive(Clone, Debug, PartialEq)]
pub struct Log {
    /// Every submit, answer and cancel, the last `4 * MAX_REPORTS` of them. Those of before a restart are here as far as their
    /// reports are still kept.
    pub seen: Vec<Seen>,
    /// Status calls answered since the server was opened.
    pub status_calls: u64,
}

/// Why a report could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    /// [`MAX_REPORTS`] are unfinished.
    #[error("{MAX_REPORTS} reports are unfinished: wait for one to finish or cancel one")]
    Full,
    /// The state file could not be written, and whether the report survives a restart is open.
    #[error("the report could not be stored: submit it again")]
    Store(#[source] io::Error),
}

struct Shared {
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    book: Mutex<Book>,
    /// Held while the disk works, never together with a wait for `book`'s holder: status calls go on meanwhile.
    journal: Arc<tokio::sync::Mutex<Journal>>,
    status_calls: AtomicU64,
    tools: tools::Catalogue,
}

struct Book {
    ledger: Ledger,
    /// Entries not on disk yet, in order.
    pending: Vec<Entry>,
    /// Entries ever added; what the journal counts its durable ones by.
    added: u64,
}

impl Example {
    /// Opens the state file at `path`, or starts an empty one. Blocks while it reads.
    pub fn open(path: &Path, clock: Arc<dyn Clock>, random: Arc<dyn Random>) -> Result<Self, OpenError> {
        let (journal, ledger) = Journal::open(path, MAX_REPORTS, clock.now())?;
        let shared = Shared {
            clock,
            random,
            book: Mutex::new(Book { ledger, pending: Vec::new(), added: 0 }),
            journal: Arc::new(tokio::sync::Mutex::new(journal)),
            status_calls: AtomicU64::new(0),
            tools: tools::Catalogue::new(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The server as a router with the endpoint [`PATH`]: Streamable HTTP, stateless, JSON answers, of protocol
    /// 2026-07-28 and the older revisions with `initialize`. Refuses a Host or Origin that is not loopback.
    pub fn router(&self) -> Router {
        Router::new().route_service(PATH, server::service(self.clone()))
    }

    /// Serves on `listener` until `shutdown`, then lets the requests in flight end.
    pub async fn serve(
        &self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<()> {
        let listener = listener.tap_io(|stream| {
            // An answer is one small write: waiting for more only delays it. A stream that refuses is slower.
            let _ = stream.set_nodelay(true);
        });
        axum::serve(listener, self.router()).with_graceful_shutdown(shutdown).await
    }

    /// What the server saw.
    pub fn log(&self) -> Log {
        let seen = self.book().ledger.seen().iter().cloned().collect();
        Log { seen, status_calls: self.shared.status_calls.load(Ordering::Relaxed) }
    }

    /// The reports kept, oldest first.
    pub fn reports(&self) -> Vec<Report> {
        self.book().ledger.reports().cloned().collect()
    }

    /// The report of that id, if it is kept, and its state now.
    pub fn report(&self, id: &str) -> Option<(Report, State)> {
        let now = self.shared.clock.now();
        let report = self.book().ledger.get(id)?.clone();
        let state = report.state(now);
        Some((report, state))
    }

    /// Takes a report, as the tool does.
    pub async fn submit(&self, order: Order) -> Result<Report, SubmitError> {
        let mut id = [0; 16];
        self.shared.random.fill(&mut id);
        let report = Report::new(id, order, self.shared.clock.now());
        let added = {
            let mut book = self.book();
            if !book.ledger.make_room(report.submitted_at) {
                return Err(SubmitError::Full);
            }
            book.add(Entry::Submitted(report.clone()))
        };
        self.persist(added).await.map_err(SubmitError::Store)?;
        Ok(report)
    }

    /// Ends the report unless it has ended, and returns how it ended. `None` is an unknown id.
    pub async fn cancel(&self, id: &str) -> io::Result<Option<(Report, State)>> {
        let now = self.shared.clock.now();
        let (ended, added) = {
            let mut book = self.book();
            match book.ledger.get(id).map(|report| report.state(now)) {
                Some(state) if !state.is_final() => {
                    book.add(Entry::Cancelled { id: id.to_owned(), at: now });
                }
                Some(_) | None => book.ledger.note_idle(Act::CancelledInVain, id, now),
            }
            // A repeat waits as well for what the first call wrote: its answer promises the same.
            (book.ledger.get(id).cloned(), book.added)
        };
        self.persist(added).await?;
        Ok(ended.map(|report| {
            let state = report.state(now);
            (report, state)
        }))
    }

    /// Answers the report's question. The error says why it takes none.
    pub async fn answer(&self, id: &str, text: String) -> io::Result<Result<(), &'static str>> {
        let now = self.shared.clock.now();
        let added = {
            let mut book = self.book();
            let why = match book.ledger.get(id).map(|report| report.state(now)) {
                Some(State::InputRequired) => None,
                Some(_) => Some("the report asks nothing now"),
                None => Some("no report has this id"),
            };
            if let Some(why) = why {
                book.ledger.note_idle(Act::AnsweredInVain, id, now);
                return Ok(Err(why));
            }
            book.add(Entry::Answered { id: id.to_owned(), answer: Answer { text, at: now } })
        };
        self.persist(added).await?;
        Ok(Ok(()))
    }

    fn status(&self, id: &str) -> Option<(Report, State)> {
        self.shared.status_calls.fetch_add(1, Ordering::Relaxed);
        self.report(id)
    }

    /// Returns when the first `added` entries are on disk. Calls that wait for the disk meanwhile share one write.
    async fn persist(&self, added: u64) -> io::Result<()> {
        let mut journal = Arc::clone(&self.shared.journal).lock_owned().await;
        if journal.durable() >= added {
            return Ok(());
        }
        let batch = {
            let mut book = self.book();
            let entries = std::mem::take(&mut book.pending);
            let snapshot = journal.wants_rewrite(&book.ledger).then(|| book.ledger.entries());
            journal::Batch { entries, snapshot, added: book.added }
        };
        // A caller who goes away now does not stop it: the entries were taken and must reach the disk.
        tokio::task::spawn_blocking(move || journal.write(batch)).await.map_err(io::Error::other)?
    }

    /// A panic of another holder cannot have left a half-made change: each is one call on the ledger.
    fn book(&self) -> MutexGuard<'_, Book> {
        self.shared.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Example {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Example")
    }
}

impl Book {
    fn add(&mut self, entry: Entry) -> u64 {
        self.ledger.apply(entry.clone());
        self.pending.push(entry);
        self.added += 1;
        self.added
    }
}

/// Bounded by dropping the oldest.
fn push_bounded<T>(queue: &mut VecDeque<T>, item: T, limit: usize) {
    if queue.len() >= limit {
        queue.pop_front();
    }
    queue.push_back(item);
}
