//! The gate: what each fate does to a call, and that a dead worker stays silent.

use std::sync::Arc;
use std::time::Duration;

use pudu_app::ports::{Caller, Clock, Committed, Random, StoreError, TaskDriver, TaskStore};
use pudu_domain::task::{Change, Command, Context, decide};
use pudu_domain::{Lane, Payload, Policy, Status};
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::clock::{EPOCH, VirtualClock};
use crate::fixture::{intent, lease, remote, said, server, task_key, thread};
use crate::gate::{Call, CrashAt, Fate, Gate, Gated, Mishaps, Open, Script};
use crate::random::SeededRandom;
use crate::server::{FakeServer, Plan};
use crate::table::{FakeStore, FakeTable, Wrote};
use crate::trace::Trace;

/// The first calls meet these fates, all later ones pass.
struct First(Vec<Fate>);

impl Script for First {
    fn fate(&mut self, _: Call<'_>) -> Fate {
        if self.0.is_empty() { Fate::Pass } else { self.0.remove(0) }
    }
}

struct Bench {
    table: FakeTable,
    clock: VirtualClock,
    trace: Trace,
}

impl Bench {
    fn new() -> Self {
        Self { table: FakeTable::new(), clock: VirtualClock::start(), trace: Trace::kept() }
    }

    fn gate(&self, script: impl Script + 'static) -> Gate {
        Gate::new("w", Arc::new(self.clock), self.trace.clone(), script)
    }

    fn store(&self, script: impl Script + 'static) -> Arc<dyn TaskStore> {
        Arc::new(self.table.store(Arc::new(self.clock), self.gate(script)))
    }

    fn birth(&self) -> Change {
        intent(&task_key(&thread("t1"), EPOCH, 1), "submitter", self.clock.now())
    }
}

async fn with(fates: &[Fate]) -> (Result<Committed, StoreError>, usize, Duration) {
    let bench = Bench::new();
    let began = Instant::now();
    let outcome = bench.store(First(fates.to_vec())).commit(&bench.birth()).await;
    (outcome, bench.table.tasks().len(), began.elapsed())
}

#[tokio::test(start_paused = true)]
async fn a_store_repeats_what_got_no_answer_and_judges_it_by_the_row() {
    for lost in [Fate::LoseAnswer, Fate::FailBefore] {
        assert!(matches!(with(&[lost]).await, (Ok(Committed::Done), 1, _)), "{lost:?} once");
    }
    assert!(matches!(with(&[Fate::LoseAnswer; 3]).await, (Err(StoreError::Unavailable { .. }), 1, _)));
    assert!(matches!(with(&[Fate::FailBefore; 3]).await, (Err(StoreError::Unavailable { .. }), 0, _)));
}

#[tokio::test(start_paused = true)]
async fn a_commit_whose_answer_was_lost_is_done_and_a_claim_is_won() {
    let bench = Bench::new();
    let plain = bench.store(Open);
    let birth = bench.birth();
    assert_eq!(plain.commit(&birth).await.unwrap(), Committed::Done);
    let spec = birth.spec.clone().unwrap();
    let (payload, policy) = (Payload::default(), Policy::default());
    let context = Context { spec: &spec, payload: &payload, policy: &policy };
    let took = Command::RecordSubmit {
        remote: remote("r"),
        snapshot: said(Status::Working),
        started_at: bench.clock.now(),
    };
    let change = decide(&birth.task, took, bench.clock.now(), context).unwrap().unwrap();
    let forgetful = || bench.store(First(vec![Fate::LoseAnswer]));
    assert_eq!(forgetful().commit(&change).await.unwrap(), Committed::Done);
    tokio::time::advance(Duration::from_secs(5)).await;
    let claim = forgetful().claim(&birth.task.key, Lane::Poll, lease("w", bench.clock.now())).await.unwrap();
    assert_eq!(claim.map(|task| task.durable.generation.number()), Some(2), "claimed once");
    let kinds: Vec<_> = bench.table.writes().iter().map(|write| write.kind).collect();
    assert_eq!(kinds, [Wrote::Birth, Wrote::Held, Wrote::Claim]);
}

#[tokio::test(start_paused = true)]
async fn slowness_passes_time_before_or_after_the_call() {
    let by = Duration::from_secs(7);
    for fate in [Fate::Delay(by), Fate::Late(by)] {
        assert!(matches!(with(&[fate]).await, (Ok(Committed::Done), 1, took) if took == by), "{fate:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_crash_tells_the_harness_and_nothing_of_the_worker_gets_through_any_more() {
    for after in [false, true] {
        let bench = Bench::new();
        let gate = bench.gate(CrashAt { number: 0, after });
        let store: Arc<dyn TaskStore> = Arc::new(bench.table.store(Arc::new(bench.clock), gate.clone()));
        let birth = bench.birth();
        tokio::select! {
            biased;
            () = gate.crashed() => {}
            outcome = store.commit(&birth) => panic!("a dead worker has an answer: {outcome:?}"),
        }
        assert_eq!(
            (gate.has_crashed(), gate.calls(), bench.table.tasks().len()),
            (true, 1, usize::from(after))
        );
        let later = tokio::time::timeout(Duration::from_secs(3600), store.commit(&birth)).await;
        assert!(later.is_err() && bench.table.tasks().len() == usize::from(after));
    }
}

#[tokio::test(start_paused = true)]
async fn any_store_can_stand_behind_a_gate() {
    let bench = Bench::new();
    let gated: Gated<dyn TaskStore> =
        Gated::new(bench.store(Open), bench.gate(First(vec![Fate::LoseAnswer])));
    assert!(matches!(gated.commit(&bench.birth()).await, Err(StoreError::Unavailable { .. })));
    assert_eq!(bench.table.tasks().len(), 1);
    assert_eq!(gated.commit(&bench.birth()).await.unwrap(), Committed::Done, "a birth knows its own row");
}

/// A server that takes a minute has timed out after the limit, and may have acted.
#[tokio::test(start_paused = true)]
async fn a_gated_driver_keeps_the_limit_of_a_call() {
    let bench = Bench::new();
    let remote_world =
        FakeServer::new(Arc::new(bench.clock), |_| Plan::completes_after(Duration::from_secs(9)));
    let driver: Arc<dyn TaskDriver> = Arc::new(remote_world.driver());
    for (fate, acted) in [(Fate::Delay(Duration::from_mins(1)), 0), (Fate::Late(Duration::from_mins(1)), 1)] {
        let gated: Gated<dyn TaskDriver> = Gated::new(driver.clone(), bench.gate(First(vec![fate])));
        let began = Instant::now();
        let limit = Duration::from_secs(10);
        let answer = gated
            .submit(&server(), &Caller::of(crate::fixture::thread("t")), &Value::Null, Map::new(), limit)
            .await;
        assert!(matches!(answer, Err(pudu_app::ports::SubmitError::Unknown(_))), "{answer:?}");
        assert_eq!((began.elapsed(), remote_world.tasks().len()), (limit, acted));
    }
}

/// Two workers with mishaps on one task, as a simulation would run them.
async fn run(seed: u64) -> (u64, Vec<String>) {
    let bench = Bench::new();
    let random = SeededRandom::new(seed);
    let key = task_key(&thread("t1"), EPOCH, 1);
    let mut workers = Vec::new();
    for _ in 0..2 {
        let mishaps = Mishaps {
            random: random.fork(),
            crash: 20,
            fail: 100,
            slow: 100,
            slowest: Duration::from_secs(90),
        };
        let store: FakeStore = bench.table.store(Arc::new(bench.clock), bench.gate(mishaps));
        let (random, key, clock) = (random.fork(), key.clone(), bench.clock);
        workers.push(async move {
            let store: Arc<dyn TaskStore> = Arc::new(store);
            for _ in 0..20 {
                let owner = random.owner("w");
                let _ = store.commit(&intent(&key, owner.as_str(), clock.now())).await;
                let _ = store.claim(&key, Lane::Intent, lease(owner.as_str(), clock.now())).await;
                clock.sleep(random.millis(1..60_000)).await;
            }
        });
    }
    let all = futures_util::future::join_all(workers);
    let _ = tokio::time::timeout(Duration::from_hours(10), all).await;
    (bench.trace.hash(), bench.trace.lines())
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    let once = |seed| {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(run(seed))
    };
    let (first, again) = (once(3), once(3));
    assert_eq!(first, again);
    assert!(first.1.len() > 40, "{:#?}", first.1);
    assert_ne!(first.0, once(4).0);
}

#[tokio::test(start_paused = true)]
async fn a_lagging_index_shows_what_was_true_before() {
    let clock = VirtualClock::start();
    let table = FakeTable::lagging(Arc::new(clock), Duration::from_secs(2));
    let store = Arc::new(table.store(Arc::new(clock), Gate::open()));
    let tasks: Arc<dyn TaskStore> = store.clone();
    let due: Arc<dyn pudu_app::ports::DueIndex> = store;
    let seen = async || {
        let mut found = 0;
        for shard in 0..pudu_app::ports::SHARDS {
            found += due
                .due(Lane::Intent, shard, EPOCH + Duration::from_hours(1), 10, None)
                .await
                .unwrap()
                .hints
                .len();
        }
        found
    };
    tasks.commit(&intent(&task_key(&thread("t1"), EPOCH, 1), "s", clock.now())).await.unwrap();
    assert_eq!(seen().await, 0);
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(seen().await, 1);
}

#[tokio::test(start_paused = true)]
async fn clocks_of_workers_differ_by_their_skew() {
    let clock = VirtualClock::start();
    tokio::time::advance(Duration::from_secs(3)).await;
    assert_eq!(clock.now(), EPOCH + Duration::from_secs(3));
    assert_eq!(clock.skewed(-1500).now(), EPOCH + Duration::from_millis(1500));
    assert_eq!(clock.skewed(250).now(), EPOCH + Duration::from_millis(3250));
}
