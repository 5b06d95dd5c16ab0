//! What an invocation works on: everything, what it was woken for, or what nobody has worked on for long.

use std::sync::atomic::AtomicUsize;

use pudu_app::configs::By;
use pudu_testkit::gate::Call as Asked;
use pudu_testkit::{Fate, Script};

use super::*;

/// Counts the calls of one operation.
struct Counting(&'static str, Arc<AtomicUsize>);

impl Script for Counting {
    fn fate(&mut self, call: Asked<'_>) -> Fate {
        if call.op == self.0 {
            self.1.fetch_add(1, Ordering::SeqCst);
        }
        Fate::Pass
    }
}

/// The index is told of nothing here: the item is claimed by the key of the event, and worked on again when it is due again.
#[tokio::test(start_paused = true)]
async fn a_woken_poller_needs_no_index() {
    let bench = Bench::lagging(NEVER).await;
    bench.submit().await;
    let items = bench.woken();
    assert_eq!(bench.tick(180).await, Report::default(), "by the index there is nothing");
    let report = bench.call(Call::Wake(items), 60).await;
    // Due after 5 s and then every 5 s; nothing begins in the last 10 s.
    assert_eq!((report.worked, bench.polls()), (9, 9), "{report:?}");
}

/// What a wake-up says may long be over: then its claim is refused, whoever asks how often.
#[tokio::test(start_paused = true)]
async fn a_wake_up_that_comes_twice_polls_once() {
    let bench = Bench::lagging(NEVER).await;
    bench.submit().await;
    let items = bench.woken();
    bench.clock.sleep(Duration::from_secs(5)).await;
    let (one, two) =
        tokio::join!(bench.call(Call::Wake(items.clone()), 12), bench.call(Call::Wake(items.clone()), 12));
    assert_eq!((one.worked + two.worked, one.failed + two.failed, bench.polls()), (1, 0, 1));
    let again = bench.call(Call::Wake(items), 12).await;
    assert_eq!((again.worked, again.refused, bench.polls()), (0, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_tick_that_comes_twice_at_once_polls_once() {
    let bench = Bench::lagging(Duration::ZERO).await;
    bench.submit().await;
    bench.clock.sleep(Duration::from_secs(5)).await;
    let (one, two) = tokio::join!(bench.tick(12), bench.tick(12));
    assert_eq!((one.worked + two.worked, bench.polls()), (1, 1), "{one:?} {two:?}");
    assert_eq!((one.failed + two.failed, one.scans_failed + two.scans_failed), (0, 0));
}

/// The tick is a safety net: while somebody is awake it takes only what he should have worked on long ago.
#[tokio::test(start_paused = true)]
async fn a_tick_beside_a_poller_that_is_awake_takes_only_what_is_overdue() {
    let bench = Bench::lagging(Duration::ZERO).await;
    bench.submit().await;
    bench.clock.sleep(Duration::from_secs(14)).await;
    bench.somebody_is_awake(Background::Poller).await;
    assert_eq!((bench.tick(180).await, bench.polls()), (Report::default(), 0), "9 s late");
    bench.clock.sleep(Duration::from_secs(2)).await;
    let began = bench.clock.now();
    assert_eq!((bench.tick(180).await.worked, bench.polls()), (1, 1), "11 s late");
    assert_eq!(bench.clock.now(), began, "and it does not wait for the next due time");
}

#[tokio::test(start_paused = true)]
async fn a_woken_poller_beside_one_that_is_awake_works_only_on_its_own() {
    let bench = Bench::lagging(Duration::ZERO).await;
    bench.submit().await;
    let own = bench.woken();
    bench.submit().await;
    bench.clock.sleep(Duration::from_secs(30)).await;
    bench.somebody_is_awake(Background::Poller).await;
    assert_eq!((bench.call(Call::Wake(own), 180).await.worked, bench.polls()), (1, 1));
}

/// One who would end before the next tick is relieved by a tick, so that nobody is missing until then.
#[tokio::test(start_paused = true)]
async fn a_tick_relieves_a_poller_that_ends_before_the_next_one() {
    let bench = Bench::lagging(Duration::ZERO).await;
    bench.submit().await;
    let (first, second) = tokio::join!(bench.tick(70), async {
        bench.clock.sleep(Duration::from_secs(30)).await;
        bench.tick(70).await
    });
    // From 5 s on one poll in 5 s, by whoever was there, until nothing begins any more at 90 s.
    assert_eq!(bench.polls(), 17, "{first:?} {second:?}");
    assert!(first.worked < 8 && second.worked > 9, "{first:?} {second:?}");
}

/// Word that is left is heard within a moment, also by one who waits for something else.
#[tokio::test(start_paused = true)]
async fn one_who_is_awake_hears_of_a_cancel_at_once() {
    let bench = Bench::lagging(Duration::ZERO).await;
    let key = bench.submit().await;
    let (_, heard) = tokio::join!(bench.tick(40), async {
        bench.clock.sleep(Duration::from_secs(17)).await;
        bench.wiring().tasks().cancel(&key).await.unwrap();
        bench.clock.sleep(Duration::from_secs(2)).await;
        bench.server.log().iter().filter(|asked| asked.what == Request::Cancel).count()
    });
    let pollers = bench.waker.take().into_iter().filter(|(function, _)| *function == Background::Poller);
    assert_eq!((heard, pollers.count()), (1, 1), "only the submission invoked a poller");
}

/// The events of a shift wake the notifier at once, and together while they come fast.
#[tokio::test(start_paused = true)]
async fn events_that_come_together_wake_the_notifier_once() {
    let bench = Bench::lagging(NEVER).await;
    let mut items = Vec::new();
    for _ in 0..5 {
        bench.submit().await;
        items.extend(bench.woken());
    }
    // Its server is gone: the third failed poll in a row is news.
    bench.wiring().configs.put(&json!({"mcp_servers": {}}), By::default()).await.unwrap();
    bench.call(Call::Wake(items), 120).await;
    let invoked = bench.waker.take();
    let told: usize = invoked.iter().map(|(_, items)| items.len()).sum();
    assert!(invoked.iter().all(|(function, _)| *function == Background::Notifier));
    assert_eq!((told, invoked.len() <= 2), (5, true), "{invoked:?}");
}

/// A pass asks 49 places of the index. A minute of a lone task needs few: what is due is known from what was committed.
#[tokio::test(start_paused = true)]
async fn a_minute_of_a_lone_task_looks_through_the_index_a_few_times() {
    let mut bench = Bench::lagging(Duration::ZERO).await;
    bench.submit().await;
    let asked = Arc::new(AtomicUsize::new(0));
    bench.gate =
        Gate::new("it", Arc::new(bench.clock), Trace::hashed(), Counting("due.due", Arc::clone(&asked)));
    let report = bench.tick(70).await;
    assert_eq!(report.worked, 11, "{report:?}");
    let passes = asked.load(Ordering::SeqCst) / 49;
    assert!((1..=6).contains(&passes), "{passes} looks through the index");
}
