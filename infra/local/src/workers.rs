//! The background functions as loops: each tick is the event that the schedule would send, handled by the same library.
//!
//! A loop stops at once when its token is cancelled, in the middle of whatever it does: leases protect what was begun,
//! exactly as when a function is killed.

use std::time::Duration;

use jiff::Timestamp as Moment;
use lambda_runtime::{Context, LambdaEvent};
use pudu_app::ports::{Clock, Random};
use pudu_notifier::Notifier;
use pudu_task_poller::TaskPoller;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::engine::Engine;

/// Pause between two ticks: what falls due while nothing is worked on waits at most this long.
pub const TICK: Duration = Duration::from_secs(1);

/// How long a tick may last: as long as a function may at most. The template's is shorter, because there the next tick
/// comes while the last one ends; here nothing new is begun meanwhile, so that should be rare.
const TIMEOUT: Duration = Duration::from_secs(900);

/// Pause between two sweeps of expired rows, which the cloud's table does by itself.
const SWEEP: Duration = Duration::from_secs(60);

/// Ticks the task-poller until `stop`.
pub async fn poll(poller: TaskPoller, clock: &dyn Clock, random: &dyn Random, stop: CancellationToken) {
    let ticks = async {
        loop {
            poller.handle(tick("task-poller", clock, random)).await;
            clock.sleep(TICK).await;
        }
    };
    let _: Option<()> = stop.run_until_cancelled(ticks).await;
}

/// Ticks the notifier until `stop`.
pub async fn notify(notifier: Notifier, clock: &dyn Clock, random: &dyn Random, stop: CancellationToken) {
    let ticks = async {
        loop {
            notifier.handle(tick("notifier", clock, random)).await;
            clock.sleep(TICK).await;
        }
    };
    let _: Option<()> = stop.run_until_cancelled(ticks).await;
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

/// What `EventBridge` Scheduler sends to a target that names no input, and the context of that invocation.
pub fn tick(function: &str, clock: &dyn Clock, random: &dyn Random) -> LambdaEvent<Value> {
    let now = clock.now();
    let millis = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
    let seconds = Moment::from_second(millis / 1000).unwrap_or(Moment::MAX);
    let mut context = Context::default();
    context.request_id = id(random);
    context.deadline = (now + TIMEOUT).as_millis();
    context.invoked_function_arn = format!("arn:aws:lambda:local:000000000000:function:{function}");
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
    LambdaEvent::new(event, context)
}

fn id(random: &dyn Random) -> String {
    let mut bytes = [0; 16];
    random.fill(&mut bytes);
    uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
}

#[cfg(test)]
mod tests;
