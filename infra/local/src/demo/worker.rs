//! Workers of a story as processes of their own, so that they can be killed.

use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};

use anyhow::{Context, bail};
use pudu_app::ports::Background;
use pudu_lambda::aws;
use pudu_lambda::env::{Process, Source};
use pudu_lambda::random::OsRandom;
use pudu_lambda::settings::{LEASE_SECONDS, LOG, SEAL_KEY_FILE, SealSource, Settings, TABLE};
use tokio::process::{Child, ChildStdin, Command};
use tokio_util::sync::CancellationToken;

use super::stage::{self, Stage};
use super::{crash, policy};
use crate::engine::Endpoint;
use crate::house::{House, Plan, limits};
use crate::workers;

/// The command of a poller.
pub(super) const POLLER: &str = "demo-poller";
/// The command of an agent.
pub(super) const AGENT: &str = "demo-agent";

/// A worker in a process of its own, killed when it is dropped.
pub(super) struct Worker {
    process: Child,
    /// The end of it tells the process that we are gone; waiting for a child would close it if it were left inside.
    _lifeline: Option<ChildStdin>,
}

impl Worker {
    /// Starts the worker of that command, which claims under the name `worker`.
    pub(super) fn start(
        stage: &Stage,
        endpoint: &Endpoint,
        kind: &str,
        worker: &str,
    ) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("the path of this program is not known")?;
        let mut command = Command::new(program);
        command
            .args([kind, "--worker", worker])
            // Nothing of this process's environment: a profile or a session of the user's would go with our endpoint.
            .env_clear()
            .envs(endpoint.environment())
            .env(TABLE, stage::TABLE)
            .env(SEAL_KEY_FILE, stage.folder.seal_key())
            .env(LEASE_SECONDS, crash::LEASE.as_secs().to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .kill_on_drop(true);
        if let Some(level) = Process.get(LOG) {
            command.env(LOG, level);
        }
        let mut process = command.spawn().with_context(|| format!("{worker} cannot be started"))?;
        let lifeline = process.stdin.take();
        Ok(Self { process, _lifeline: lifeline })
    }

    /// Kills it; an error if it had ended by itself.
    pub(super) async fn kill(&mut self) -> anyhow::Result<()> {
        self.process.start_kill().context("a worker cannot be killed")?;
        let died = self.ended().await?;
        if died.signal() != Some(9) {
            bail!("the worker ended by itself: {died}");
        }
        Ok(())
    }

    /// Waits for its end.
    pub(super) async fn ended(&mut self) -> anyhow::Result<ExitStatus> {
        self.process.wait().await.context("a worker's end cannot be seen")
    }

    pub(super) fn pid(&self) -> String {
        self.process.id().map_or_else(|| "that has ended".to_owned(), |pid| pid.to_string())
    }
}

/// The poller as a process: until it is killed, or its parent is gone.
pub async fn poller(worker: String) -> anyhow::Result<()> {
    let house = house().await?;
    let (mailbox, clock) = (house.mailbox(Background::Poller), house.clock().as_ref());
    let polling = workers::poll(house.poller(&worker), mailbox, clock, &OsRandom, CancellationToken::new());
    until_orphaned(polling).await
}

/// The agent as a process: until it is killed, or its parent is gone.
pub async fn agent(worker: String) -> anyhow::Result<()> {
    let house = house().await?;
    let (mailbox, clock) = (house.mailbox(Background::Agent), house.clock().as_ref());
    let acting = workers::act(house.agent(&worker), mailbox, clock, &OsRandom, CancellationToken::new());
    until_orphaned(acting).await
}

async fn house() -> anyhow::Result<House> {
    let settings = Settings::read(&Process)?;
    let Some(SealSource::File(seal_key)) = settings.seal else { bail!("{SEAL_KEY_FILE} is not set") };
    let dynamo = aws_sdk_dynamodb::Client::new(&aws::config().await);
    House::new(Plan {
        policy: policy(),
        limits: limits(settings.numbers.limits.lease),
        ..Plan::new(dynamo, settings.table, seal_key)
    })
}

async fn until_orphaned(working: impl Future<Output = ()>) -> anyhow::Result<()> {
    // The parent holds the other end and writes nothing: it ends with the parent, however that ends.
    let orphaned = tokio::task::spawn_blocking(|| io::stdin().lock().read(&mut [0]));
    tokio::select! {
        () = working => Ok(()),
        _ = orphaned => Ok(()),
    }
}
