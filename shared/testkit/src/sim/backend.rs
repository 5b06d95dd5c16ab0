//! The table under a world: the fake one, or any other that a caller brings.

use std::collections::BTreeMap;
use std::sync::Arc;

use pudu_app::changes::ListChanges;
use pudu_app::configs::TableSource;
use pudu_app::drivers::Drivers;
use pudu_app::known::Known;
use pudu_app::ports::{
    AuditLog, Beacons, Blobs, CatalogStore, Clock, ConfigStore, DeliveredEvent, DueIndex, KeyStore,
    McpClient, MemoryStore, NoteStore, Random, RunStore, TaskDriver, TaskStore, ThreadStore, Waker,
};
use pudu_app::wiring::Ports;
use pudu_config::NoSecrets;
use pudu_domain::{Durable, Note, TaskKey, Thread, ThreadKey};

use crate::gate::{Gate, Gated};
use crate::keys::FixedKeys;
use crate::mutant::Mutant;
use crate::server::FakeServer;
use crate::table::{FakeTable, StoredTask, Write};

/// One worker's ports to the table.
pub struct Stores {
    /// Tasks.
    pub tasks: Arc<dyn TaskStore>,
    /// Notifications.
    pub notes: Arc<dyn NoteStore>,
    /// Threads.
    pub threads: Arc<dyn ThreadStore>,
    /// Runs of agents.
    pub runs: Arc<dyn RunStore>,
    /// What is remembered of users.
    pub memories: Arc<dyn MemoryStore>,
    /// What is due.
    pub due: Arc<dyn DueIndex>,
    /// Who is awake.
    pub beacons: Arc<dyn Beacons>,
    /// Who changed what.
    pub audit: Arc<dyn AuditLog>,
    /// API keys.
    pub api_keys: Arc<dyn KeyStore>,
    /// The config.
    pub config: Arc<dyn ConfigStore>,
    /// What servers listed.
    pub catalogs: Arc<dyn CatalogStore>,
}

/// Everything that is in the table.
#[derive(Debug, Default)]
pub struct Seen {
    /// Every task.
    pub tasks: Vec<StoredTask>,
    /// Every notification.
    pub notes: Vec<Note>,
    /// Every thread.
    pub threads: Vec<Thread>,
    /// Every delivered event, in the order of delivery.
    pub delivered: BTreeMap<ThreadKey, Vec<DeliveredEvent>>,
    /// Every write to a durable row, in order; empty when the table does not tell.
    pub writes: Vec<Write>,
}

/// A table that a world can run on.
pub trait Backend: Send + Sync + 'static {
    /// A worker's ports, by its own clock, with its calls passing its gate.
    fn stores(&self, clock: Arc<dyn Clock>, gate: &Gate) -> Stores;

    /// Everything that is in the table; asked outside of every gate.
    /// `tasks` are the addresses under which anything was submitted, and `threads` where, for a table that cannot list its rows.
    fn seen(
        &self,
        tasks: &[TaskKey],
        threads: &[ThreadKey],
    ) -> impl Future<Output = Result<Seen, String>> + Send;
}

/// The fake table, with or without a mutant before it.
pub struct FakeBackend {
    /// The rows.
    pub table: FakeTable,
    /// A rule that every worker breaks.
    pub mutant: Option<Mutant>,
}

impl Stores {
    /// Every port of the worker: these, and what else is in his world, whose calls pass his gate too. His runs begin in his own
    /// house.
    pub fn ports(
        self,
        gate: &Gate,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
        server: &FakeServer,
        blobs: Arc<dyn Blobs>,
        waker: Arc<dyn Waker>,
    ) -> Ports {
        let keys = Arc::new(FixedKeys);
        let config = TableSource::new(self.config, keys.clone(), Arc::clone(&clock), Arc::clone(&random));
        let driver: Arc<dyn TaskDriver> = Arc::new(server.driver());
        let client: Arc<dyn McpClient> = Arc::new(server.client());
        let client = Arc::new(Gated::new(client, gate.clone()));
        Ports {
            tasks: self.tasks,
            notes: self.notes,
            threads: self.threads,
            runs: self.runs,
            memories: self.memories,
            blobs: Arc::new(Gated::new(blobs, gate.clone())),
            due: self.due,
            beacons: self.beacons,
            audit: self.audit,
            api_keys: self.api_keys,
            verifier: None,
            waker: Some(waker),
            config: Arc::new(config),
            keys,
            secrets: Arc::new(NoSecrets),
            mcp: Known::new(client, self.catalogs, ListChanges::default(), Arc::clone(&clock)),
            drivers: Drivers::new(vec![Arc::new(Gated::new(driver, gate.clone()))]),
            launcher: None,
            clock,
            random,
        }
    }
}

impl Backend for FakeBackend {
    fn stores(&self, clock: Arc<dyn Clock>, gate: &Gate) -> Stores {
        let store = Arc::new(self.table.store(clock, gate.clone()));
        let (mut tasks, mut notes): (Arc<dyn TaskStore>, Arc<dyn NoteStore>) = (store.clone(), store.clone());
        if let Some(mutant) = self.mutant {
            (tasks, notes) = (mutant.tasks(tasks), mutant.notes(notes));
        }
        Stores {
            tasks,
            notes,
            threads: store.clone(),
            runs: store.clone(),
            memories: store.clone(),
            due: store.clone(),
            beacons: store.clone(),
            audit: store.clone(),
            api_keys: store.clone(),
            config: store.clone(),
            catalogs: store,
        }
    }

    async fn seen(&self, _: &[TaskKey], _: &[ThreadKey]) -> Result<Seen, String> {
        Ok(Seen {
            tasks: self.table.tasks(),
            notes: self.table.notes(),
            threads: self.table.threads(),
            delivered: self.table.delivered(),
            writes: self.table.writes(),
        })
    }
}

impl Seen {
    /// Whether nobody has anything left to do.
    pub(crate) fn is_quiet(&self) -> bool {
        !self.durables().any(Durable::is_live)
    }

    /// Every durable item.
    pub(crate) fn durables(&self) -> impl Iterator<Item = &Durable> {
        let tasks = self.tasks.iter().map(|row| &row.task.durable);
        let notes = self.notes.iter().map(|note| &note.durable);
        tasks.chain(notes).chain(self.threads.iter().map(|thread| &thread.durable))
    }
}
