//! A cancel that nobody would carry out is refused (reference 8.2, [seed-only]): who works shows by the beacon.

use pudu_app::tasks::CancelError;
use pudu_testkit::Fate;
use pudu_testkit::gate::Call as Asked;

use super::*;

/// Two periods of the schedule.
const UNATTENDED: Duration = Duration::from_secs(120);

async fn cancel(bench: &Bench, key: &TaskKey) -> Result<bool, CancelError> {
    let told = bench.wiring().tasks().cancel(key).await?;
    Ok(told.is_some_and(|task| task.listed.task.cancel.is_some()))
}

#[tokio::test(start_paused = true)]
async fn a_cancel_is_refused_when_no_poller_was_seen_for_two_periods_and_nothing_is_written() {
    let bench = Bench::lagging(Duration::ZERO).await;
    let keys = [bench.submit().await, bench.submit().await];
    bench.clock.sleep(UNATTENDED).await;
    assert!(cancel(&bench, &keys[0]).await.unwrap(), "in the last moment");
    bench.clock.sleep(Duration::from_millis(1)).await;
    let before = bench.table.task(&keys[1]).unwrap();
    bench.waker.take();
    let refused = cancel(&bench, &keys[1]).await.unwrap_err();
    assert!(matches!(refused, CancelError::Unattended { for_so_long: UNATTENDED }), "{refused}");
    assert!(
        refused.to_string().contains("120 s") && refused.to_string().contains("not recorded"),
        "{refused}"
    );
    assert_eq!(bench.table.task(&keys[1]).unwrap(), before);
    assert_eq!(bench.waker.take(), [], "nobody is woken for nothing");
    // A tick that finds nothing to do is enough, long after it has ended.
    bench.tick(60).await;
    bench.clock.sleep(UNATTENDED / 2).await;
    assert!(cancel(&bench, &keys[1]).await.unwrap());
}

/// What was recorded once is recorded, whoever works now.
#[tokio::test(start_paused = true)]
async fn a_repeated_cancel_is_answered_as_the_first_was() {
    let bench = Bench::lagging(Duration::ZERO).await;
    let key = bench.submit().await;
    assert!(cancel(&bench, &key).await.unwrap());
    bench.clock.sleep(UNATTENDED * 2).await;
    let before = bench.table.task(&key).unwrap();
    assert!(cancel(&bench, &key).await.unwrap());
    assert_eq!(bench.table.task(&key).unwrap(), before);
}

/// Absent means never.
#[tokio::test(start_paused = true)]
async fn a_poller_that_never_was_is_not_waited_for() {
    let bench = Bench::lagging(Duration::ZERO).await;
    let key = bench.submit().await;
    let empty = Bench { table: FakeTable::new(), ..bench };
    assert!(!empty.wiring().tasks().is_attended().await);
    let told = empty.wiring().tasks().cancel(&key).await.unwrap();
    assert_eq!(told, None, "what is not there is not there, whoever works");
}

/// Somebody who works for long renews his beacon; one who was killed is gone after a while.
#[tokio::test(start_paused = true)]
async fn whoever_is_awake_attends_and_whoever_was_killed_does_not() {
    let bench = Bench::lagging(Duration::ZERO).await;
    let key = bench.submit().await;
    bench.clock.sleep(UNATTENDED * 2).await;
    bench.somebody_is_awake(Background::Poller).await;
    bench.clock.sleep(UNATTENDED).await;
    assert!(cancel(&bench, &key).await.unwrap());
    let other = bench.submit().await;
    bench.clock.sleep(UNATTENDED).await;
    assert!(cancel(&bench, &other).await.is_err(), "a knock is no sign of life");
    // The notifier is somebody else.
    bench.somebody_is_awake(Background::Notifier).await;
    assert!(cancel(&bench, &other).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn what_has_ended_is_answered_whoever_works() {
    let bench = Bench::lagging(Duration::ZERO).await;
    let key = bench.submit().await;
    assert!(cancel(&bench, &key).await.unwrap());
    bench.tick(60).await;
    let ended = bench.table.task(&key).unwrap();
    assert!(ended.task.status().is_terminal());
    bench.clock.sleep(UNATTENDED * 2).await;
    assert!(cancel(&bench, &key).await.is_ok());
    assert_eq!(bench.table.task(&key).unwrap(), ended);
}

/// A request that can be written down is not refused for want of a hint.
#[tokio::test(start_paused = true)]
async fn a_beacon_that_cannot_be_read_refuses_no_cancel() {
    let bench = Bench::lagging(Duration::ZERO).await;
    let key = bench.submit().await;
    bench.clock.sleep(UNATTENDED * 2).await;
    let blind = |call: Asked<'_>| if call.op == "beacons.look" { Fate::FailBefore } else { Fate::Pass };
    let gate = Gate::new("blind", Arc::new(bench.clock), Trace::hashed(), blind);
    let blind = Bench { gate, ..bench };
    assert!(cancel(&blind, &key).await.unwrap());
}
