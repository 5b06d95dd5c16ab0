//! The story with a crash: a poller in a process of its own is killed after its claim; another one takes over.

use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail};
use jiff::Timestamp as Moment;
use pudu_app::ports::{Background, Clock};
use pudu_domain::{Lease, Task};
use pudu_lambda::aws;
use pudu_lambda::clock::SystemClock;
use pudu_lambda::env::{Process, Source};
use pudu_lambda::random::OsRandom;
use pudu_lambda::settings::{LEASE_SECONDS, LOG, SEAL_KEY_FILE, SealSource, Settings, TABLE};
use serde_json::json;
use tokio::process::{Child, ChildStdin, Command};
use tokio_util::sync::CancellationToken;

use super::stage::Stage;
use super::steps::Steps;
use super::story::{TITLE, begin, completed, finish};
use super::{policy, stage};
use crate::engine::Endpoint;
use crate::house::{House, Plan, limits, new_key};
use crate::workers;

/// A claim's lease: short, so that the second poller need not be waited for.
pub(super) const LEASE: Duration = Duration::from_secs(5);

/// How long the server holds a status answer back: time to kill the poller that waits for it, and less than half of
/// the lease, which is what a call may take.
const STATUS_DELAY: f64 = 1.5;

/// How long to wait for a second event that must not come: several ticks of the notifier.
const QUIET: Duration = Duration::from_millis(2500);

const FIRST: &str = "poller-1";
const SECOND: &str = "poller-2";

/// A poller in a process of its own, killed when it is dropped.
struct Worker {
    process: Child,
    /// The end of it tells the process that we are gone; waiting for a child would close it if it were left inside.
    _lifeline: Option<ChildStdin>,
}

pub(super) async fn tell(stage: &mut Stage, steps: &Steps) -> anyhow::Result<()> {
    steps.next("first poller");
    let endpoint = stage.engine.serve(([127, 0, 0, 1], 0).into(), new_key(&OsRandom)).await?;
    let mut first = spawn(stage, &endpoint, FIRST)?;
    steps.seen(&format!("process {}, on the table's HTTP endpoint", first.pid()));
    let arguments = json!({ "title": TITLE, "duration_seconds": 3, "status_delay_seconds": STATUS_DELAY });
    let task = begin(stage, steps, arguments).await?;

    steps.next("claimed");
    let (claim, generation) = claimed(stage, &task, FIRST, &mut first).await?;
    steps.seen(&format!("{FIRST} has the lease and waits for the server, generation {generation}"));

    steps.next("killed");
    first.process.start_kill().context("the poller cannot be killed")?;
    let died = first.process.wait().await.context("the poller's end cannot be seen")?;
    if died.signal() != Some(9) {
        bail!("the poller ended by itself: {died}");
    }
    let row = stage.task(&task.key).await?;
    if row.durable.lease.as_ref() != Some(&claim) {
        bail!("the claim did not outlive its poller: {:?}", row.durable);
    }
    let left = claim.until.since(SystemClock.now()).as_secs_f64();
    steps.seen(&format!(
        "by SIGKILL; the claim still stands, lease until {} ({left:.1} s from now)",
        moment(&claim)
    ));

    steps.next("second poller");
    let mut second = spawn(stage, &endpoint, SECOND)?;
    steps.seen(&format!("process {}", second.pid()));

    steps.next("claimed again");
    let (again, next) = claimed(stage, &task, SECOND, &mut second).await?;
    // A lease begins with its claim, so the second claim came after the first lease's end exactly if this holds.
    if again.until <= claim.until + LEASE {
        bail!("the second claim came before the first lease had ended");
    }
    if next != generation + 1 {
        bail!("the second claim is not the one after the first: generation {next}");
    }
    steps.seen(&format!("by {SECOND}, after the lease had ended, generation {next}"));

    steps.next("completed");
    stage.watch(&task.key, completed).await?;
    steps.seen("the second poller brought the task to its end");

    steps.next("event delivered");
    finish(stage, steps, &task).await?;

    steps.next("exactly one");
    SystemClock.sleep(QUIET).await;
    let (events, submits) = (stage.events().await?.len(), stage.example.log().seen.len());
    if (events, submits) != (1, 1) {
        bail!("{events} events and {submits} calls that change something at the server");
    }
    steps.seen("one event in the thread, one submit at the server");
    second.process.kill().await.context("the second poller cannot be killed")?;
    endpoint.stop().await;
    Ok(())
}

/// The poller as a process: until it is killed, or its parent is gone.
pub async fn poller(worker: String) -> anyhow::Result<()> {
    let settings = Settings::read(&Process)?;
    let Some(SealSource::File(seal_key)) = settings.seal else { bail!("{SEAL_KEY_FILE} is not set") };
    let dynamo = aws_sdk_dynamodb::Client::new(&aws::config().await);
    let plan = Plan {
        policy: policy(),
        limits: limits(settings.numbers.limits.lease),
        ..Plan::new(dynamo, settings.table, seal_key)
    };
    let house = House::new(plan)?;
    // The parent holds the other end and writes nothing: it ends with the parent, however that ends.
    let orphaned = tokio::task::spawn_blocking(|| io::stdin().lock().read(&mut [0]));
    let (mailbox, clock) = (house.mailbox(Background::Poller), house.clock().as_ref());
    let polling = workers::poll(house.poller(&worker), mailbox, clock, &OsRandom, CancellationToken::new());
    tokio::select! {
        () = polling => Ok(()),
        _ = orphaned => Ok(()),
    }
}

fn spawn(stage: &Stage, endpoint: &Endpoint, worker: &str) -> anyhow::Result<Worker> {
    let program = std::env::current_exe().context("the path of this program is not known")?;
    let mut command = Command::new(program);
    command
        .args(["demo-poller", "--worker", worker])
        // Nothing of this process's environment: a profile or a session of the user's would go with our endpoint.
        .env_clear()
        .envs(endpoint.environment())
        .env(TABLE, stage::TABLE)
        .env(SEAL_KEY_FILE, stage.folder.seal_key())
        .env(LEASE_SECONDS, LEASE.as_secs().to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .kill_on_drop(true);
    if let Some(level) = Process.get(LOG) {
        command.env(LOG, level);
    }
    let mut process = command.spawn().context("the poller cannot be started")?;
    let lifeline = process.stdin.take();
    Ok(Worker { process, _lifeline: lifeline })
}

/// Waits for a claim by `worker`, and returns it with its generation.
async fn claimed(
    stage: &Stage,
    task: &Task,
    worker: &str,
    child: &mut Worker,
) -> anyhow::Result<(Lease, u64)> {
    let prefix = format!("{worker}:");
    let look = stage.watch(&task.key, |task| {
        let lease = task.durable.lease.as_ref().filter(|lease| lease.owner.as_str().starts_with(&prefix));
        Ok(lease.map(|lease| (lease.clone(), task.durable.generation.number())))
    });
    tokio::select! {
        found = look => found,
        ended = child.process.wait() => bail!("{worker} ended before it had a claim: {}", ended?),
    }
}

impl Worker {
    fn pid(&self) -> String {
        self.process.id().map_or_else(|| "that has ended".to_owned(), |pid| pid.to_string())
    }
}

fn moment(lease: &Lease) -> String {
    let millis = i64::try_from(lease.until.as_millis()).unwrap_or(i64::MAX);
    Moment::from_millisecond(millis).unwrap_or(Moment::MAX).to_string()
}
