//! The composition of the cloud functions that call servers.

use std::sync::Arc;
use std::time::Duration;

use aws_credential_types::provider::SharedCredentialsProvider;
use pudu_agent::runner::Runner;
use pudu_app::limits::Limits;
use pudu_app::ports::Waker;
use pudu_app::wiring::Wiring;
use pudu_dynamo::Table;
use pudu_lambda::blobs::Bucket;
use pudu_lambda::clock::SystemClock;
use pudu_lambda::env::{Process, Source};
use pudu_lambda::random::OsRandom;
use pudu_lambda::settings::{EGRESS_ALLOW, Numbers, RUNTIME_API, SettingError, Settings};
use pudu_lambda::waker::LambdaWaker;
use pudu_lambda::{aws, parameters, seal_keys};
use pudu_mcp::{BuildError, Egress, EgressError, Launcher};

use crate::base::{Base, ports};
use crate::models::models;
use crate::runner::runner;

/// Between two ticks of the schedule in the template. A poller that ended with something due before the next one would leave it
/// until then: tasks that are asked every half minute would be asked every minute.
pub const TICK: Duration = Duration::from_mins(1);

/// The agent's name as a worker.
pub const AGENT: &str = "agent";

/// One function's use cases.
pub struct Cloud {
    /// The table, behind every store port.
    pub table: Arc<Table>,
    /// The use cases.
    pub wiring: Wiring,
    /// Where models may be called.
    egress: Egress,
    /// What signs calls of Amazon Bedrock.
    role: Option<SharedCredentialsProvider>,
}

impl Cloud {
    /// Whoever does the steps of runs, claiming under the name `worker`. Made by the agent alone: it reads the roots of TLS once more.
    pub fn runner(&self, worker: &str) -> Result<Runner, ComposeError> {
        let runs = self.wiring.runs();
        let (egress, role) = (&self.egress, self.role.clone());
        let models = models(egress, role, self.table.clone(), runs.clock, runs.random)?;
        Ok(runner(&self.wiring, models, worker))
    }
}

/// A function cannot be composed; it does not start.
#[derive(Debug, thiserror::Error)]
pub enum ComposeError {
    /// It was told something else than it needs.
    #[error("the function's settings are not enough for it")]
    Setting(#[from] SettingError),
    /// It cannot make HTTP requests.
    #[error("the function cannot call servers")]
    Client(#[from] BuildError),
}

/// The use cases of the function `worker`, from its settings; opens no connection and reads no row.
pub async fn cloud(settings: &Settings, worker: &str) -> Result<Cloud, ComposeError> {
    let aws = aws::config().await;
    let (clock, random) = (Arc::new(SystemClock), Arc::new(OsRandom));
    let dynamo = aws_sdk_dynamodb::Client::new(&aws);
    let table = Arc::new(Table::new(&dynamo, &settings.table, clock.clone(), random.clone()));
    let keys = seal_keys::from_settings(settings, &aws, table.clone(), random.clone())?;
    let secrets = parameters::from_settings(settings, &aws, clock.clone());
    let egress = egress(settings)?;
    // The only folder of a function that can be written. The gateway and the poller are two functions.
    let stdio = settings.stdio.then(|| Launcher::new("/tmp/pudu", |name| Process.get(name), false));
    let waker = LambdaWaker::from_settings(settings, &aws).map(|waker| -> Arc<dyn Waker> { Arc::new(waker) });
    let blobs = Arc::new(Bucket::from_settings(settings, &aws)?);
    let base = Base {
        table: table.clone(),
        blobs,
        config: None,
        keys,
        secrets,
        egress: egress.clone(),
        waker,
        tokens: settings.admission.tokens.clone(),
        stdio,
        clock,
        random,
    };
    settings.numbers.warn();
    let Numbers { policy, limits, .. } = settings.numbers.clone();
    // A task's next poll is waited for, a run's next turn is not: whoever makes it due invokes the agent.
    let linger = if worker == AGENT { limits.linger } else { TICK };
    let limits = Limits { linger, schedule: TICK, ..limits };
    let wiring = Wiring::new(ports(base)?, policy, limits, worker.to_owned());
    let wiring = wiring.with_launch_policy(settings.launch.clone());
    Ok(Cloud { table, wiring, egress, role: aws.credentials_provider() })
}

fn egress(settings: &Settings) -> Result<Egress, SettingError> {
    Egress::cloud(&settings.egress_allow, settings.runtime_api.as_deref()).map_err(|error| {
        let name = match error {
            EgressError::Network(_) => EGRESS_ALLOW,
            EgressError::RuntimeApi(_) => RUNTIME_API,
        };
        SettingError { name, problem: format!("is wrong: {error}") }
    })
}
