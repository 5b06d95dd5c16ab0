//! The composition: every use case of Pudu over one DynamoDB client, as one machine, the demo and the acceptance tests
//! run it. Opens no connection and reads no row until it is used.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use aws_sdk_dynamodb::Client as Dynamo;
use axum::Router;
use pudu_agent_function::Agent;
use pudu_app::configs::{Configs, TableSource};
use pudu_app::limits::Limits;
use pudu_app::ports::{Background, Clock, ConfigSource, Models, Random, Vault};
use pudu_app::wiring::Wiring;
use pudu_app::worker::{self, Poller};
use pudu_compose::{Base, Egress, Launcher, ports};
use pudu_config::LaunchPolicy;
use pudu_domain::api_key::RANDOM_BYTES;
use pudu_domain::{ApiKey, CredentialTag, Policy, Principal, Role, Scope, UserId};
use pudu_dynamo::{Table, schema};
use pudu_gateway::{Access, Door, Gateway, Patience, router};
use pudu_lambda::clock::SystemClock;
use pudu_lambda::random::OsRandom;
use pudu_lambda::seal_keys::FileKeys;
use pudu_lambda::settings::Admission;
use pudu_notifier::Notifier;
use pudu_task_poller::TaskPoller;

use crate::blobs::BlobFolder;
use crate::config_file::FileSource;
use crate::front::Front;
use crate::mailbox::{LocalWaker, Mailbox};
use crate::operator::{self, Operator};
use crate::secrets::EnvSecrets;
use crate::seed;
use crate::workers::TICK;

/// The user of whoever holds this machine.
pub const USER: &str = "local:default";

/// The folder of blobs, in the data folder.
const BLOBS: &str = "blobs";

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
    /// The folder of what is too large for the table.
    pub blobs: PathBuf,
    /// The file with the config; without one it is in the table.
    pub config_file: Option<PathBuf>,
    /// A key that opens this process and no other: for whoever can read the data folder's run file.
    pub key: ApiKey,
    /// Whether callers of the gateway are not told apart: everybody is the user of this machine. On loopback only.
    pub no_auth: bool,
    /// From where the gateway may be called.
    pub door: Door,
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
    /// What callers are held to.
    pub admission: Admission,
    /// How stdio servers are started; without it they are off.
    pub stdio: Option<Launcher>,
    /// Which of them the API may name.
    pub launch: LaunchPolicy,
    /// What a connection to the gateway may hold.
    pub front: Front,
    /// How long a caller of the gateway may take to send a body.
    pub patience: Patience,
}

/// One composition of everything.
pub struct House {
    /// The table, behind every store port.
    pub table: Arc<Table>,
    /// The use cases.
    pub wiring: Wiring,
    /// The config in the table, which is the one in force unless that is in a file.
    pub stored: Arc<Configs>,
    /// The user of whoever holds this machine.
    pub user: UserId,
    waker: LocalWaker,
    models: Arc<dyn Models>,
    plan: Plan,
}

impl Plan {
    /// A plan with the machine's clock, random numbers and environment, and what is usual on one machine: blobs are beside the key.
    pub fn new(dynamo: Dynamo, table: String, seal_key: PathBuf) -> Self {
        Self {
            dynamo,
            table,
            blobs: seal_key.with_file_name(BLOBS),
            seal_key,
            config_file: None,
            key: new_api_key(&OsRandom),
            no_auth: false,
            door: Door::Loopback,
            policy: Policy::default(),
            limits: limits(LEASE),
            clock: Arc::new(SystemClock),
            random: Arc::new(OsRandom),
            secrets: Arc::new(EnvSecrets),
            admission: Admission { tokens: None, rate: None, origins: Vec::new() },
            stdio: None,
            launch: LaunchPolicy::default(),
            front: Front::default(),
            patience: Patience::default(),
        }
    }
}

/// The usual limits on one machine, with this lease.
pub fn limits(lease: Duration) -> Limits {
    let usual = Limits::default();
    Limits { lease, beacon: usual.beacon.min(lease), schedule: TICK, ..usual }
}

/// A key that nobody can guess: 32 hex digits.
pub fn new_key(random: &dyn Random) -> String {
    let mut bytes = [0; 16];
    random.fill(&mut bytes);
    format!("{:032x}", u128::from_be_bytes(bytes))
}

/// An API key that nobody has yet.
pub fn new_api_key(random: &dyn Random) -> ApiKey {
    let mut bytes = [0; RANDOM_BYTES];
    random.fill(&mut bytes);
    ApiKey::new(bytes)
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
            blobs: Arc::new(BlobFolder::new(plan.blobs.clone())),
            config: file.map(|file| -> Arc<dyn ConfigSource> { Arc::new(file) }),
            keys: keys.clone(),
            secrets: Arc::clone(&plan.secrets),
            egress: Egress::machine(),
            waker: Some(Arc::new(waker.clone())),
            tokens: plan.admission.tokens.clone(),
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
        let (clock, random) = (Arc::clone(&plan.clock), Arc::clone(&plan.random));
        let models = pudu_compose::models(&Egress::machine(), None, table.clone(), clock, random);
        let models = models.context("models cannot be called")?;
        Ok(Self { table, wiring, stored, models, user: UserId::parse(USER)?, waker, plan })
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
            keys: self.wiring.keys(),
            who: self.operator(),
            key: self.plan.key.digest(),
        };
        let (notes, events) = (Arc::clone(&self.table), Arc::clone(&self.table));
        let access = if self.plan.no_auth {
            let tag = CredentialTag::of_user(&self.user);
            Access::Everyone(Principal { user: self.user.clone(), role: Role::Admin, tag, scope: Scope::All })
        } else {
            Access::Callers(Arc::new(self.wiring.callers().with_own(&self.plan.key, self.operator())))
        };
        let gateway = Gateway::new(&self.wiring, notes, events, self.table.clone(), self.plan.door, access);
        let gateway = gateway.held_to(&self.plan.admission, &self.wiring, self.table.clone());
        let gateway = Gateway { patience: self.plan.patience, ..gateway };
        router(gateway).merge(operator::router(operator))
    }

    /// What a connection to it may hold.
    pub const fn front(&self) -> &Front {
        &self.plan.front
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

    /// The agent, claiming under the name `worker`.
    pub fn agent(&self, worker: &str) -> Agent {
        let runner = pudu_compose::runner(&self.wiring, Arc::clone(&self.models), worker);
        Agent::new(self.wiring.drain(), Arc::new(runner))
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

    /// The key of this process.
    pub fn key(&self) -> &ApiKey {
        &self.plan.key
    }

    /// Whoever holds this machine.
    pub(crate) fn operator(&self) -> Principal {
        operator::principal(self.user.clone())
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
        Plan::new(engine.client(), "pudu".to_owned(), key)
    }

    /// A house over an engine in memory, without its table.
    pub(crate) fn house() -> (TempDir, House) {
        let folder = tempfile::tempdir().unwrap();
        let plan = plan(&folder, &Engine::in_memory().unwrap());
        (folder, House::new(plan).unwrap())
    }
}
