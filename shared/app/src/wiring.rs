//! From ports to use cases: what a composition fills in once, and what it gets for it.

use std::sync::Arc;

use pudu_config::LaunchPolicy;
use pudu_domain::Policy;
use pudu_domain::bucket::Rate;

use crate::audit::Audit;
use crate::callers::Callers;
use crate::catalog::Catalog;
use crate::configs::Configs;
use crate::dead_letters::DeadLetters;
use crate::drivers::Drivers;
use crate::keys::Keys;
use crate::known::Known;
use crate::limits::Limits;
use crate::memories::Memories;
use crate::ports::{
    Allowances, AuditLog, Beacons, Blobs, Clock, ConfigSource, DueIndex, KeyStore, McpClient, MemoryStore,
    NoteStore, Random, RunLauncher, RunStore, SealKeys, TaskStore, ThreadStore, TokenVerifier, Vault, Waker,
};
use crate::rates::Rates;
use crate::runs::results::Results;
use crate::runs::{Checkpoints, Launcher, Runs};
use crate::settle::Settle;
use crate::tasks::Tasks;
use crate::threads::Threads;
use crate::tools::Tools;
use crate::wakeups::Wakeups;
use crate::worker::{Deletion, Drain, Notifier, Poller};

/// The ports that the use cases stand on.
#[derive(Clone)]
pub struct Ports {
    /// Tasks.
    pub tasks: Arc<dyn TaskStore>,
    /// Notifications.
    pub notes: Arc<dyn NoteStore>,
    /// Threads.
    pub threads: Arc<dyn ThreadStore>,
    /// Runs of agents.
    pub runs: Arc<dyn RunStore>,
    /// What is too large for a row.
    pub blobs: Arc<dyn Blobs>,
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
    /// Whose tokens are taken, beside our own keys.
    pub verifier: Option<Arc<dyn TokenVerifier>>,
    /// How functions are invoked, where they are.
    pub waker: Option<Arc<dyn Waker>>,
    /// Where the config is.
    pub config: Arc<dyn ConfigSource>,
    /// The sealing key.
    pub keys: Arc<dyn SealKeys>,
    /// What `$VAR` stands for.
    pub secrets: Arc<dyn Vault>,
    /// Other people's servers, with what they listed. Drivers speak through it too.
    pub mcp: Known,
    /// How tasks are spoken about.
    pub drivers: Drivers,
    /// Who runs agents instead of this house: for tests of what is told by runs.
    pub launcher: Option<Arc<dyn RunLauncher>>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Random numbers.
    pub random: Arc<dyn Random>,
}

/// Builds use cases over one set of ports, so that they share the config's and the catalogue's caches.
#[derive(Clone)]
pub struct Wiring {
    ports: Ports,
    policy: Policy,
    limits: Limits,
    worker: String,
    /// The config, for whoever reads or changes it.
    pub configs: Arc<Configs>,
    /// The catalogue.
    pub catalog: Arc<Catalog>,
}

impl Wiring {
    /// Wires `ports` for the process called `worker`.
    pub fn new(ports: Ports, policy: Policy, limits: Limits, worker: String) -> Self {
        Self::over(ports, policy, limits, worker, LaunchPolicy::default())
    }

    /// The same with what the operator lets the API start as stdio servers; before anything uses it.
    #[must_use]
    pub fn with_launch_policy(self, launch: LaunchPolicy) -> Self {
        Self::over(self.ports, self.policy, self.limits, self.worker, launch)
    }

    fn over(ports: Ports, policy: Policy, limits: Limits, worker: String, launch: LaunchPolicy) -> Self {
        let (config, keys) = (Arc::clone(&ports.config), Arc::clone(&ports.keys));
        let (secrets, clock) = (Arc::clone(&ports.secrets), Arc::clone(&ports.clock));
        let configs = Arc::new(Configs::new(config, keys, secrets, clock).with_launch_policy(launch));
        let catalog =
            Arc::new(Catalog::new(Arc::clone(&configs), ports.mcp.clone(), Arc::clone(&ports.clock)));
        Self { ports, policy, limits, worker, configs, catalog }
    }

    /// Ends what is kept open with servers, for when the process ends.
    pub async fn close(&self) {
        self.ports.mcp.close_all().await;
    }

    /// Decides and commits.
    pub fn settle(&self) -> Settle {
        Settle {
            tasks: Arc::clone(&self.ports.tasks),
            clock: Arc::clone(&self.ports.clock),
            policy: self.policy.clone(),
            wakeups: self.wakeups(),
        }
    }

    /// Wakes whoever works in the background.
    pub fn wakeups(&self) -> Wakeups {
        Wakeups {
            beacons: Arc::clone(&self.ports.beacons),
            waker: self.ports.waker.clone(),
            clock: Arc::clone(&self.ports.clock),
            limits: self.limits.clone(),
        }
    }

    /// Reads, answers and cancels tasks.
    pub fn tasks(&self) -> Tasks {
        Tasks { settle: self.settle(), drivers: self.ports.drivers.clone() }
    }

    /// Looks at threads and asks for their deletion.
    pub fn threads(&self) -> Threads {
        Threads {
            store: Arc::clone(&self.ports.threads),
            client: Arc::new(self.ports.mcp.clone()),
            clock: Arc::clone(&self.ports.clock),
            policy: self.policy.clone(),
            wakeups: self.wakeups(),
        }
    }

    fn deletion(&self) -> Deletion {
        Deletion {
            worker: self.worker.clone(),
            threads: Arc::clone(&self.ports.threads),
            notes: Arc::clone(&self.ports.notes),
            runs: self.runs(),
            blobs: Arc::clone(&self.ports.blobs),
            settle: self.settle(),
            client: Arc::new(self.ports.mcp.clone()),
            random: Arc::clone(&self.ports.random),
            limits: self.limits.clone(),
        }
    }

    /// Begins runs of agents, ends and shows them.
    pub fn runs(&self) -> Runs {
        let (store, blobs) = (Arc::clone(&self.ports.runs), Some(Arc::clone(&self.ports.blobs)));
        Runs {
            checkpoints: Checkpoints { store: Arc::clone(&store), blobs },
            store,
            keys: Arc::clone(&self.ports.keys),
            clock: Arc::clone(&self.ports.clock),
            random: Arc::clone(&self.ports.random),
            wakeups: self.wakeups(),
            policy: self.policy.clone(),
        }
    }

    /// What is remembered of users.
    pub fn memories(&self) -> Memories {
        Memories {
            store: Arc::clone(&self.ports.memories),
            clock: Arc::clone(&self.ports.clock),
            random: Arc::clone(&self.ports.random),
        }
    }

    /// Keeps results of tools that are too long to be said.
    pub fn results(&self) -> Results {
        Results::new(Arc::clone(&self.ports.blobs))
    }

    fn launcher(&self) -> Arc<dyn RunLauncher> {
        self.ports.launcher.clone().unwrap_or_else(|| Arc::new(Launcher::new(self.runs())))
    }

    /// Calls tools.
    pub fn tools(&self) -> Tools {
        Tools {
            catalog: Arc::clone(&self.catalog),
            configs: Arc::clone(&self.configs),
            client: Arc::new(self.ports.mcp.clone()),
            drivers: self.ports.drivers.clone(),
            settle: self.settle(),
            random: Arc::clone(&self.ports.random),
            limits: self.limits.clone(),
            worker: self.worker.clone(),
        }
    }

    /// The engine of the background workers.
    pub fn drain(&self) -> Drain {
        Drain {
            due: Arc::clone(&self.ports.due),
            beacons: Arc::clone(&self.ports.beacons),
            wakeups: self.wakeups(),
            clock: Arc::clone(&self.ports.clock),
            random: Arc::clone(&self.ports.random),
            limits: self.limits.clone(),
        }
    }

    /// The work of the task-poller.
    pub fn poller(&self) -> Poller {
        Poller {
            worker: self.worker.clone(),
            settle: self.settle(),
            configs: Arc::clone(&self.configs),
            drivers: self.ports.drivers.clone(),
            random: Arc::clone(&self.ports.random),
            limits: self.limits.clone(),
            deletion: self.deletion(),
        }
    }

    /// The work of the notifier.
    pub fn notifier(&self) -> Notifier {
        Notifier {
            worker: self.worker.clone(),
            notes: Arc::clone(&self.ports.notes),
            tasks: Arc::clone(&self.ports.tasks),
            threads: Arc::clone(&self.ports.threads),
            launcher: Some(self.launcher()),
            clock: Arc::clone(&self.ports.clock),
            random: Arc::clone(&self.ports.random),
            policy: self.policy.clone(),
            limits: self.limits.clone(),
        }
    }

    /// Records changes.
    pub fn audit(&self) -> Audit {
        Audit {
            log: Arc::clone(&self.ports.audit),
            clock: Arc::clone(&self.ports.clock),
            random: Arc::clone(&self.ports.random),
        }
    }

    /// Makes and revokes API keys.
    pub fn keys(&self) -> Keys {
        Keys { store: Arc::clone(&self.ports.api_keys), audit: self.audit() }
    }

    /// Tells callers apart by their keys, and by tokens of an issuer where there is one.
    pub fn callers(&self) -> Callers {
        let callers = Callers::new(Arc::clone(&self.ports.api_keys), Arc::clone(&self.ports.clock));
        match &self.ports.verifier {
            Some(verifier) => callers.with_verifier(Arc::clone(verifier)),
            None => callers,
        }
    }

    /// How often each user may call.
    pub fn rates(&self, rate: Option<Rate>, buckets: Arc<dyn Allowances>) -> Rates {
        rate.map_or(Rates::off(), |rate| Rates::new(rate, buckets, Arc::clone(&self.ports.clock)))
    }

    /// What waits for an operator.
    pub fn dead_letters(&self) -> DeadLetters {
        DeadLetters {
            due: Arc::clone(&self.ports.due),
            notes: Arc::clone(&self.ports.notes),
            clock: Arc::clone(&self.ports.clock),
            policy: self.policy.clone(),
            wakeups: self.wakeups(),
        }
    }
}
