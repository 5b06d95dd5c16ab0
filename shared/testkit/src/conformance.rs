//! What every adapter of a table's port must do, as cases that run against the fake and against each real engine.
//!
//! A case gets a fresh, empty [`World`] and panics where the adapter is wrong. Time is the world's own clock: cases set
//! it, so that the edges of a lease are exact. The index may be behind the rows: what is expected of it is asked again
//! for a while, and nothing is assumed about how long that takes.

mod allowances;
mod answers;
mod api_keys;
mod audits;
mod beacons;
mod birth;
mod blobs;
mod breakers;
mod catalogs;
mod claim;
mod commit;
mod configs;
mod corrupt;
mod due;
mod erase;
mod events;
mod feedback;
mod handle;
mod life;
mod list;
mod memories;
mod notes;
mod peers;
mod repeatable;
mod retention;
mod runs;
mod threads;
mod tokens;
mod wrapped_keys;

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use pudu_app::ports::{
    Allowances, AuditLog, Beacons, Breakers, CatalogStore, ConfigStore, DueIndex, EventLog, FeedbackStore,
    KeyStore, MemoryStore, NoteKey, NoteStore, PeerStore, RunStore, TaskStore, ThreadStore, TokenStore,
    WrappedKeys,
};
use pudu_domain::{RunKey, TaskKey};

pub use blobs::blobs;

use crate::clock::ManualClock;
use crate::gate::Gate;
use crate::table::{FakeTable, Flaw};

/// How often an index is asked again.
const ASKED_AGAIN: u32 = 500;
/// Pause between two questions, in the runtime's own time.
const PAUSE: Duration = Duration::from_millis(10);

/// One empty table through all its ports. The stores read `clock`.
#[derive(Clone)]
pub struct World {
    /// Tasks.
    pub tasks: Arc<dyn TaskStore>,
    /// Notifications.
    pub notes: Arc<dyn NoteStore>,
    /// Runs.
    pub runs: Arc<dyn RunStore>,
    /// Threads.
    pub threads: Arc<dyn ThreadStore>,
    /// The due index.
    pub due: Arc<dyn DueIndex>,
    /// Delivered events.
    pub events: Arc<dyn EventLog>,
    /// The config.
    pub config: Arc<dyn ConfigStore>,
    /// What servers listed.
    pub catalogs: Arc<dyn CatalogStore>,
    /// OAuth tokens.
    pub tokens: Arc<dyn TokenStore>,
    /// The wrapped sealing key.
    pub wrapped_keys: Arc<dyn WrappedKeys>,
    /// What is known of peers.
    pub peers: Arc<dyn PeerStore>,
    /// Who is awake.
    pub beacons: Arc<dyn Beacons>,
    /// Who changed what.
    pub audit: Arc<dyn AuditLog>,
    /// API keys.
    pub keys: Arc<dyn KeyStore>,
    /// How much users may still call.
    pub allowances: Arc<dyn Allowances>,
    /// Breakers of models.
    pub breakers: Arc<dyn Breakers>,
    /// What is remembered of users.
    pub memories: Arc<dyn MemoryStore>,
    /// What users think of runs.
    pub feedback: Arc<dyn FeedbackStore>,
    /// The clock that the stores read.
    pub clock: Arc<ManualClock>,
    /// Makes rows undecodable, where that is possible.
    pub vandal: Option<Arc<dyn Vandal>>,
    /// What must live as long as the table: an engine, a folder.
    pub keep: Arc<dyn Any + Send + Sync>,
}

/// Makes stored rows undecodable, below the port.
#[async_trait]
pub trait Vandal: Send + Sync {
    /// Breaks the hot row of a task; its key, lane, due time, lease and generation stay.
    async fn break_task(&self, key: &TaskKey);

    /// The same for a notification.
    async fn break_note(&self, key: &NoteKey);

    /// The same for a run.
    async fn break_run(&self, key: &RunKey);
}

/// One case.
#[derive(Clone, Copy)]
pub struct Case {
    /// Its name: a sentence.
    pub name: &'static str,
    run: fn(World) -> BoxFuture<'static, ()>,
}

/// A suite: all cases of one port.
#[derive(Clone, Copy)]
pub struct Suite {
    /// The port.
    pub port: &'static str,
    /// Its cases, in parts.
    pub parts: &'static [&'static [Case]],
}

/// Every suite.
pub const SUITES: [Suite; 18] = [
    Suite {
        port: "task_store",
        parts: &[
            claim::CASES,
            birth::CASES,
            commit::CASES,
            life::CASES,
            handle::CASES,
            list::CASES,
            answers::CASES,
            corrupt::CASES,
            retention::CASES,
            repeatable::CASES,
            erase::CASES,
        ],
    },
    Suite { port: "note_store", parts: &[notes::CASES, corrupt::NOTE_CASES] },
    Suite { port: "thread_store", parts: &[threads::CASES, threads::ERASURES] },
    Suite { port: "run_store", parts: &[runs::CASES, runs::STEPS, runs::STATES, runs::TOLD, runs::LISTS] },
    Suite { port: "due_index", parts: &[due::CASES] },
    Suite { port: "event_log", parts: &[events::CASES] },
    Suite { port: "config_store", parts: &[configs::CASES] },
    Suite { port: "catalog_store", parts: &[catalogs::CASES] },
    Suite { port: "token_store", parts: &[tokens::CASES] },
    Suite { port: "wrapped_keys", parts: &[wrapped_keys::CASES] },
    Suite { port: "peer_store", parts: &[peers::CASES] },
    Suite { port: "beacon", parts: &[beacons::CASES] },
    Suite { port: "audit_log", parts: &[audits::CASES] },
    Suite { port: "key_store", parts: &[api_keys::CASES] },
    Suite { port: "allowances", parts: &[allowances::CASES] },
    Suite { port: "breakers", parts: &[breakers::CASES] },
    Suite { port: "memory_store", parts: &[memories::CASES] },
    Suite { port: "feedback_store", parts: &[feedback::CASES] },
];

/// Names a function as a case.
macro_rules! cases {
    ($($name:ident),+ $(,)?) => {
        &[$(super::Case { name: stringify!($name), run: |world| Box::pin($name(world)) }),+]
    };
}
use cases;

impl Suite {
    /// Runs every case in a world of its own, and returns the names of those that failed, each with its message.
    pub async fn failures<F: Future<Output = World>>(&self, fresh: impl Fn() -> F) -> Vec<String> {
        let mut failures = Vec::new();
        for case in self.parts.iter().copied().flatten() {
            let run = (case.run)(fresh().await);
            if let Err(panic) = AssertUnwindSafe(run).catch_unwind().await {
                failures.push(format!("{}::{}: {}", self.port, case.name, message(panic.as_ref())));
            }
        }
        failures
    }

    /// Runs every case in a world of its own.
    ///
    /// # Panics
    /// With the list of the cases that failed.
    pub async fn run<F: Future<Output = World>>(&self, fresh: impl Fn() -> F) {
        let failures = self.failures(fresh).await;
        assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
    }
}

/// Every suite against one adapter.
///
/// # Panics
/// With the list of the cases that failed, at the first suite that has any.
pub async fn run_all<F: Future<Output = World>>(fresh: impl Fn() -> F) {
    for suite in SUITES {
        suite.run(&fresh).await;
    }
}

/// A world on a fresh fake table; with a flaw, it must fail some case.
pub fn fake_world(flaw: Option<Flaw>) -> World {
    let clock = Arc::new(ManualClock::start());
    let table = flaw.into_iter().fold(FakeTable::new(), FakeTable::with_flaw);
    let store = Arc::new(table.store(clock.clone(), Gate::open()));
    World {
        tasks: store.clone(),
        notes: store.clone(),
        runs: store.clone(),
        threads: store.clone(),
        due: store.clone(),
        events: store.clone(),
        config: store.clone(),
        catalogs: store.clone(),
        tokens: store.clone(),
        wrapped_keys: store.clone(),
        peers: store.clone(),
        beacons: store.clone(),
        audit: store.clone(),
        keys: store.clone(),
        allowances: store.clone(),
        breakers: store.clone(),
        memories: store.clone(),
        feedback: store,
        clock,
        vandal: Some(Arc::new(table)),
        keep: Arc::new(()),
    }
}

#[async_trait]
impl Vandal for FakeTable {
    async fn break_task(&self, key: &TaskKey) {
        self.corrupt_task(key);
    }

    async fn break_note(&self, key: &NoteKey) {
        self.corrupt_note(key);
    }

    async fn break_run(&self, key: &RunKey) {
        self.corrupt_run(key);
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without a text").to_owned()
}

/// Asks until the answer is the expected one; for what comes through the index.
#[expect(
    clippy::disallowed_methods,
    reason = "waits for a real engine, whose index does not know the world's clock"
)]
async fn eventually<T: PartialEq + std::fmt::Debug, F: Future<Output = T>>(expected: T, ask: impl Fn() -> F) {
    let mut found = ask().await;
    for _ in 0..ASKED_AGAIN {
        if found == expected {
            return;
        }
        tokio::time::sleep(PAUSE).await;
        found = ask().await;
    }
    assert_eq!(found, expected, "the index still says so after {ASKED_AGAIN} questions");
}
