//! The composition: every use case of Pudu over one DynamoDB client, as one machine, the demo and the acceptance tests
//! run it. Opens no connection and reads no row until it is used.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use aws_sdk_dynamodb::Client as Dynamo;
use axum::Router;
use pudu_app::configs::{Configs, TableSource};
use pudu_app::limits::Limits;
use pudu_app::ports::{Background, Clock, ConfigSource, Random, Vault};
use pudu_app::wiring::Wiring;
use pudu_app::worker::{self, Poller};
use pudu_compose::{Base, Egress, Launcher, ports};
use pudu_config::LaunchPolicy;
use pudu_domain::{CredentialTag, Policy, Principal, Role, Scope, UserId};
use pudu_dynamo::{Table, schema};
use pudu_gateway::{Access, Door, Gateway, router};
use pudu_lambda::clock::SystemClock;
use pudu_lambda::random::OsRandom;
use pudu_lambda::seal_keys::FileKeys;
use pudu_notifier::Notifier;
use pudu_task_poller::TaskPoller;

use crate::config_file::FileSource;
use crate::mailbox::{LocalWaker, Mailbox};
use crate::operator::{self, Operator};
use crate::secrets::EnvSecrets;
use crate::seed;

/// Whose threads these are, until callers are told apart.
pub const USER: &str = "local:default";

/// How long a claim is held on one machine: what a killed process was at work on is taken up again after that.
pub const LEASE: Duration = Duration::from_secs(30);

/// What a house is built from.
#[derive(Clone)]
pub struct Plan {
    /// The way to the table.
    pub dynamo: Dynamo,
    /// The table's name.
    pub table: String,
    /// The file with the sealing key; made when it is first needed.
    pub seal_key: PathBuf,
    /// The file with the config; without one it is in the table.
    pub config_file: Option<PathBuf>,
    /// What a caller of the gateway that shows a token must show.
    pub door_key: String,
    /// Intervals and bounds.
    pub policy: Policy,
    /// Lease and permits.
    pub limits: Limits,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Random numbers.
    pub random: Arc<dyn Random>,
    /// What `$VAR` in the config stands for.
    pub secrets: Arc<dyn Vault>,
    /// How stdio servers are started; without it they are off.
    pub stdio: Option<Launcher>,
    /// Which of them the API may name.
    pub launch: LaunchPolicy,
}

/// One composition of everything.
pub struct House {
    /// The table, behind every store port.
    pub table: Arc<Table>,
    /// The use cases.
    pub wiring: Wiring,
    /// The config in the table, which is the one in force unless that is in a file.
    pub stored: Arc<Configs>,
    /// Whose threads these are.
    pub user: UserId,
    waker: LocalWaker,
    plan: Plan,
}

impl Plan {
    /// A plan with the machine's clock, random numbers and environment, and what is usual on one machine.
    pub fn new(dynamo: Dynamo, table: String, seal_key: PathBuf, door_key: String) -> Self {
        Self {
            dynamo,
            table,
            seal_key,
            config_file: None,
            door_key,
            policy: Policy::default(),
            limits: limits(LEASE),
            clock: Arc::new(SystemClock),
            random: Arc::new(OsRandom),
            secrets: Arc::new(EnvSecrets),
            stdio: None,
            launch: LaunchPolicy::default(),
        }
    }
}

/// The usual limits on one machine, with this lease.
pub fn limits(lease: Duration) -> Limits {
    let usual = Limits::default();
    Limits { lease, beacon: usual.beacon.min(lease), ..usual }
}

/// A key that nobody can guess: 32 hex digits.
pub fn new_key(random: &dyn Random) -> String {
    let mut bytes = [0; 16];
    random.fill(&mut bytes);
    format!("{:032x}", u128::from_be_bytes(bytes))
}

impl House {
    /// Builds everything. Fails when the process cannot make HTTP requests.
    pub fn new(plan: Plan) -> anyhow::Result<Self> {
        let table = Arc::new(Table::new(
            &plan.dynamo,
            &plan.table,
            Arc::clone(&plan.clock),
            Arc::clone(&plan.random),
        ));
        let keys = Arc::new(FileKeys::new(plan.seal_key.clone(), Arc::clone(&plan.random)));
        let file = plan.config_file.as_ref().map(FileSource::new);
        let waker = LocalWaker::default();
        let base = Base {
            table: Arc::clone(&table),
            config: file.map(|file| -> Arc<dyn ConfigSource> { Arc::new(file) }),
            keys: keys.clone(),
            secrets: Arc::clone(&plan.secrets),
            egress: Egress::machine(),
            waker: Some(Arc::new(waker.clone())),
            stdio: plan.stdio.clone(),
            clock: Arc::clone(&plan.clock),
            random: Arc::clone(&plan.random),
        };
        let ports = ports(base).context("the MCP client cannot be made")?;
        let wiring = Wiring::new(ports, plan.policy.clone(), plan.limits.clone(), "gateway".to_owned());
        let wiring = wiring.with_launch_policy(plan.launch.clone());
        let stored = if plan.config_file.is_some() {
            let (clock, random) = (Arc::clone(&plan.clock), Arc::clone(&plan.random));
            let source = TableSource::new(table.clone(), keys.clone(), clock.clone(), random);
            let secrets: Arc<dyn Vault> = Arc::clone(&plan.secrets);
            Arc::new(Configs::new(Arc::new(source), keys, secrets, clock))
        } else {
            Arc::clone(&wiring.configs)
        };
        Ok(Self { table, wiring, stored, user: UserId::parse(USER)?, waker, plan })
    }

    /// Makes the table if it is missing, and waits until it can be used.
    pub async fn create_table(&self) -> anyhow::Result<()> {
        schema::create_table(&self.plan.dynamo, &self.plan.table, self.plan.clock.as_ref())
            .await
            .with_context(|| format!("the table {} is not there and cannot be made", self.plan.table))
    }

    /// Stores the example server at `url` if no config was ever stored; whether it did. A file is the operator's and is
    /// left alone.
    pub async fn seed(&self, url: &str) -> anyhow::Result<bool> {
        if self.plan.config_file.is_some() {
            return Ok(false);
        }
        seed::seed(&self.wiring.configs, url).await
    }

    /// The public door, and the operator's beside it.
    pub fn gateway(&self) -> Router {
        let operator = Operator {
            stored: Arc::clone(&self.stored),
            in_force: self.plan.config_file.is_none(),
            key: self.plan.door_key.clone(),
        };
        let door = Door::Loopback { key: self.plan.door_key.clone() };
        let (notes, events) = (Arc::clone(&self.table), Arc::clone(&self.table));
        let everyone = Access::Everyone(Principal {
            user: self.user.clone(),
            role: Role::Admin,
            tag: CredentialTag::of_user(&self.user),
            scope: Scope::All,
        });
        router(Gateway::new(&self.wiring, notes, events, door, everyone)).merge(operator::router(operator))
    }

    /// The task-poller, claiming under the name `worker`.
    pub fn poller(&self, worker: &str) -> TaskPoller {
        let poller = Poller { worker: worker.to_owned(), ..self.wiring.poller() };
        TaskPoller::new(self.wiring.drain(), poller)
    }

    /// The notifier, claiming under the name `worker`.
    pub fn notifier(&self, worker: &str) -> Notifier {
        let notifier = worker::Notifier { worker: worker.to_owned(), ..self.wiring.notifier() };
        Notifier::new(self.wiring.drain(), notifier)
    }

    /// What `function` is to be invoked for.
    pub const fn mailbox(&self, function: Background) -> &Mailbox {
        self.waker.mailbox(function)
    }

    /// The time.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.plan.clock
    }

    /// Random numbers.
    pub fn random(&self) -> &Arc<dyn Random> {
        &self.plan.random
    }

    /// What a caller of the gateway that shows a token must show.
    pub fn door_key(&self) -> &str {
        &self.plan.door_key
    }
}

/// Houses for the tests of this package.
#[cfg(test)]
pub(crate) mod testing {
    use super::{House, Plan};
    use crate::engine::Engine;
    use tempfile::TempDir;

    /// A plan over `engine`, with its key in `folder`.
    pub(crate) fn plan(folder: &TempDir, engine: &Engine) -> Plan {
        let key = folder.path().join("seal.key");
        Plan::new(engine.client(), "pudu".to_owned(), key, "key".to_owned())
    }

    /// A house over an engine in memory, without its table.
    pub(crate) fn house() -> (TempDir, House) {
        let folder = tempfile::tempdir().unwrap();
        let plan = plan(&folder, &Engine::in_memory().unwrap());
        (folder, House::new(plan).unwrap())
    }
}
