//! Ticks look as the schedule sends them, and a loop stops in the middle of one.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pudu_app::ports::{Background, Clock};
use pudu_domain::Timestamp;
use pudu_lambda::random::OsRandom;
use tokio_util::sync::CancellationToken;

use super::{act, notify, poll, sweep, tick};
use crate::engine::Engine;
use crate::house::House;
use crate::house::testing::plan;

/// Stands still: whoever sleeps by it never wakes.
struct Still;

#[async_trait]
impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_782_907_200_500)
    }

    async fn sleep(&self, _: Duration) {
        std::future::pending::<()>().await;
    }
}

#[test]
fn a_tick_is_what_the_scheduler_sends() {
    let (event, context) = tick("task-poller", &Still, &OsRandom).into_parts();
    let mut keys: Vec<_> = event.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!(
        keys,
        ["account", "detail", "detail-type", "id", "region", "resources", "source", "time", "version"]
    );
    assert_eq!(event["source"], "aws.scheduler");
    assert_eq!(event["detail"], "{}");
    assert_eq!(event["time"], "2026-07-01T12:00:00Z");
    assert_eq!(event["id"].as_str().unwrap().len(), 36);
    assert_eq!(context.deadline, 1_782_908_100_500);
    assert_ne!(context.request_id, event["id"].as_str().unwrap());
}

#[tokio::test]
async fn loops_stop_while_they_wait() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::in_memory().unwrap();
    let mut plan = plan(&folder, &engine);
    plan.clock = Arc::new(Still);
    let house = House::new(plan).unwrap();
    house.create_table().await.unwrap();
    let stop = CancellationToken::new();
    let stopped = stop.clone();
    // Each would wait for ever.
    tokio::join!(
        poll(house.poller("p"), house.mailbox(Background::Poller), &Still, &OsRandom, stop.clone()),
        notify(house.notifier("n"), house.mailbox(Background::Notifier), &Still, &OsRandom, stop.clone()),
        act(house.agent("a"), house.mailbox(Background::Agent), &Still, &OsRandom, stop.clone()),
        sweep(engine, &Still, stop),
        async move { stopped.cancel() },
    );
}
