//! The story with a crash: a poller in a process of its own is killed after its claim, and an agent in the middle of its run; others take over.

use std::time::Duration;

use anyhow::bail;
use jiff::Timestamp as Moment;
use pudu_app::ports::Clock;
use pudu_domain::{Lease, Task};
use pudu_lambda::clock::SystemClock;
use pudu_lambda::random::OsRandom;
use serde_json::json;

use super::agent;
use super::stage::Stage;
use super::steps::Steps;
use super::story::{TITLE, begin, completed, finish};
use super::worker::{POLLER, Worker};
use crate::house::new_key;

/// A claim's lease: short, so that the second poller need not be waited for.
pub(super) const LEASE: Duration = Duration::from_secs(5);

/// How long the server holds a status answer back: time to kill the poller that waits for it, and less than half of
/// the lease, which is what a call may take.
const STATUS_DELAY: f64 = 1.5;

/// How long to wait for a second event that must not come: several ticks of the notifier.
const QUIET: Duration = Duration::from_millis(2500);

const FIRST: &str = "poller-1";
const SECOND: &str = "poller-2";

pub(super) async fn tell(stage: &mut Stage, steps: &Steps) -> anyhow::Result<()> {
    steps.next("first poller");
    let endpoint = stage.engine.serve(([127, 0, 0, 1], 0).into(), new_key(&OsRandom)).await?;
    let mut first = Worker::start(stage, &endpoint, POLLER, FIRST)?;
    steps.seen(&format!("process {}, on the table's HTTP endpoint", first.pid()));
    let arguments = json!({ "title": TITLE, "duration_seconds": 3, "status_delay_seconds": STATUS_DELAY });
    let task = begin(stage, steps, arguments).await?;

    steps.next("claimed");
    let (claim, generation) = claimed(stage, &task, FIRST, &mut first).await?;
    steps.seen(&format!("{FIRST} has the lease and waits for the server, generation {generation}"));

    steps.next("killed");
    first.kill().await?;
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
    let mut second = Worker::start(stage, &endpoint, POLLER, SECOND)?;
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
    agent::crash(stage, steps, &endpoint).await?;
    second.kill().await?;
    endpoint.stop().await;
    Ok(())
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
        ended = child.ended() => bail!("{worker} ended before it had a claim: {}", ended?),
    }
}

fn moment(lease: &Lease) -> String {
    let millis = i64::try_from(lease.until.as_millis()).unwrap_or(i64::MAX);
    Moment::from_millisecond(millis).unwrap_or(Moment::MAX).to_string()
}
