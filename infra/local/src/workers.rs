//! The background functions as loops: each tick is the event that the schedule would send, each wake-up the one of an
//! invocation, handled by the same library.
//!
//! A loop stops at once when its token is cancelled, in the middle of whatever it does: leases protect what was begun,
//! exactly as when a function is killed.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp as Moment;
use lambda_runtime::{Context, LambdaEvent};
use pudu_agent_function::Agent;
use pudu_app::ports::{Clock, Random};
use pudu_notifier::Notifier;
use pudu_task_poller::TaskPoller;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::engine::Engine;
use crate::mailbox::Mailbox;

/// Pause between two ticks: what falls due while nothing is worked on waits at most this long.
pub const TICK: Duration = Duration::from_secs(1);

/// How long a tick may last: as long as a function may at most. The template's is shorter, because there the next tick
/// comes while the last one ends; here nothing new is begun meanwhile, so that should be rare.
const TIMEOUT: Duration = Duration::from_secs(900);

/// Pause between two sweeps of expired rows, which the cloud's table does by itself.
const SWEEP: Duration = Duration::from_secs(60);

/// Invokes the task-poller by its ticks and its mailbox until `stop`.
pub async fn poll(
    poller: TaskPoller,
    mailbox: &Mailbox,
    clock: &dyn Clock,
    random: &dyn Random,
    stop: CancellationToken,
) {
    let invocations = async {
        let mut event = tick("task-poller", clock, random);
        loop {
            poller.handle(event).await;
            event = next("task-poller", mailbox, clock, random).await;
        }
    };
    let _: Option<()> = stop.run_until_cancelled(invocations).await;
}

/// Invokes the notifier by its ticks and its mailbox until `stop`.
pub async fn notify(
    notifier: Notifier,
    mailbox: &Mailbox,
    clock: &dyn Clock,
    random: &dyn Random,
    stop: CancellationToken,
) {
    let invocations = async {
        let mut event = tick("notifier", clock, random);
        loop {
            notifier.handle(event).await;
            event = next("notifier", mailbox, clock, random).await;
        }
    };
    let _: Option<()> = stop.run_until_cancelled(invocations).await;
}

/// Invocations of the agent at a time, as an account's concurrency would bound them. What comes beyond waits in the mailbox, or
/// for a tick.
const AGENTS: usize = 64;

/// Invokes the agent by its ticks and its mailbox until `stop`: each wake-up is an invocation of its own, beside all others, since one
/// lasts as long as its run; ticks come one after the other.
pub async fn act(
    agent: Agent,
    mailbox: &Mailbox,
    clock: &dyn Clock,
    random: &dyn Random,
    stop: CancellationToken,
) {
    let agent = Arc::new(agent);
    let (mut woken, mut ticks) = (JoinSet::new(), JoinSet::new());
    let start = |invocations: &mut JoinSet<()>, event| {
        let agent = Arc::clone(&agent);
        invocations.spawn(async move {
            agent.handle(event).await;
        });
    };
    let invocations = async {
        start(&mut ticks, tick("agent", clock, random));
        loop {
            tokio::select! {
                biased;
                Some(_) = woken.join_next() => {}
                Some(_) = ticks.join_next() => {}
                event = mailbox.next(), if woken.len() < AGENTS => {
                    start(&mut woken, invocation("agent", event, clock, random));
                }
                () = clock.sleep(TICK), if ticks.is_empty() => start(&mut ticks, tick("agent", clock, random)),
            }
        }
    };
    let _: Option<()> = stop.run_until_cancelled(invocations).await;
}

/// A wake-up, or the next tick.
async fn next(
    function: &str,
    mailbox: &Mailbox,
    clock: &dyn Clock,
    random: &dyn Random,
) -> LambdaEvent<Value> {
    tokio::select! {
        biased;
        event = mailbox.next() => invocation(function, event, clock, random),
        () = clock.sleep(TICK) => tick(function, clock, random),
    }
}

/// Removes expired rows of the embedded engine until `stop`.
pub async fn sweep(engine: Engine, clock: &dyn Clock, stop: CancellationToken) {
    let sweeps = async {
        loop {
            if let Err(error) = engine.sweep_ttl().await {
                tracing::warn!(error = %pudu_app::chain::Chain(&error), "expired rows were not removed");
            }
            clock.sleep(SWEEP).await;
        }
    };
    let _: Option<()> = stop.run_until_cancelled(sweeps).await;
}

/// The invocation of a function with `event`.
pub fn invocation(
    function: &str,
    event: Value,
    clock: &dyn Clock,
    random: &dyn Random,
) -> LambdaEvent<Value> {
    let mut context = Context::default();
    context.request_id = id(random);
    context.deadline = (clock.now() + TIMEOUT).as_millis();
    context.invoked_function_arn = format!("arn:aws:lambda:local:000000000000:function:{function}");
    LambdaEvent::new(event, context)
}

/// What `EventBridge` Scheduler sends to a target that names no input, and the context of that invocation.
pub fn tick(function: &str, clock: &dyn Clock, random: &dyn Random) -> LambdaEvent<Value> {
    let now = clock.now();
    let millis = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
    let seconds = Moment::from_second(millis / 1000).unwrap_or(Moment::MAX);
    let event = json!({
        "version": "0",
        "id": id(random),
        "detail-type": "Scheduled Event",
        "source": "aws.scheduler",
        "account": "000000000000",
        "time": seconds.to_string(),
        "region": "local",
        "resources": [format!("arn:aws:scheduler:local:000000000000:schedule/default/{function}")],
        "detail": "{}",
    });
    invocation(function, event, clock, random)
}

fn id(random: &dyn Random) -> String {
    let mut bytes = [0; 16];
    random.fill(&mut bytes);
    uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
}

#[cfg(test)]
mod tests;
