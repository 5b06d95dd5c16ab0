//! Wake-ups: whoever makes something due wakes the function that works on it, unless it is awake; and a wake-up that comes
//! twice, late or never changes nothing but the time.

mod attended;
mod functions;
mod shifts;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use acceptance::ports::wired_waking;
use pudu_app::configs::By;
use pudu_app::deadline::Deadline;
use pudu_app::ports::{Awake, Background, Beacons, Caller, Clock, ItemKey, Wake};
use pudu_app::tools::Terms;
use pudu_app::wiring::Wiring;
use pudu_app::worker::{Call, Report};
use pudu_domain::{Lane, Owner, TaskKey};
use pudu_testkit::gate::Open;
use pudu_testkit::server::{Plan, Request};
use pudu_testkit::{FakeServer, FakeTable, FakeWaker, Gate, Trace, VirtualClock, fixture};
use serde_json::{Map, json};

/// How far the index is behind where nothing may depend on it.
const NEVER: Duration = Duration::from_hours(24);

/// A table, a server, and what was to be invoked.
struct Bench {
    clock: VirtualClock,
    table: FakeTable,
    server: FakeServer,
    waker: FakeWaker,
    gate: Gate,
    processes: AtomicU64,
}

impl Bench {
    /// With an index that is `lag` behind, and tasks that go on for hours.
    async fn lagging(lag: Duration) -> Self {
        let clock = VirtualClock::start();
        let table = FakeTable::lagging(Arc::new(clock), lag);
        let server = FakeServer::new(Arc::new(clock), |_| Plan::completes_after(Duration::from_hours(10)));
        let gate = Gate::new("it", Arc::new(clock), Trace::hashed(), Open);
        let bench =
            Self { clock, table, server, waker: FakeWaker::default(), gate, processes: AtomicU64::new(1) };
        let servers = fixture::config().pointer("/mcpServers").cloned().unwrap();
        bench.wiring().configs.put(&json!({ "mcp_servers": servers }), By::default()).await.unwrap();
        fixture::a_poller_was_here(&*bench.beacons(), clock.now()).await.unwrap();
        bench
    }

    /// A process that has just started.
    fn wiring(&self) -> Wiring {
        let waker = Arc::new(self.waker.clone());
        let seed = self.processes.fetch_add(1, Ordering::SeqCst);
        wired_waking(seed, self.clock, &self.table, &self.server, &self.gate, waker)
    }

    fn beacons(&self) -> Arc<dyn Beacons> {
        Arc::new(self.table.store(Arc::new(self.clock), self.gate.clone()))
    }

    /// Somebody who is awake for ten minutes, as long as he renews it.
    async fn somebody_is_awake(&self, function: Background) {
        let now = self.clock.now();
        let (holder, ends) = (Owner::stored("somebody".to_owned()), now + Duration::from_mins(10));
        let awake = Awake { holder, until: now + Duration::from_secs(15), ends };
        self.beacons().raise(function, &awake, None).await.unwrap();
    }

    async fn submit(&self) -> TaskKey {
        let name = format!("{}_{}", fixture::SERVER, fixture::SUBMIT_TOOL);
        let caller = Caller::of(fixture::thread("t"));
        let keys = || self.table.tasks().into_iter().map(|row| row.task.key).collect::<BTreeSet<_>>();
        let before = keys();
        self.wiring()
            .tools()
            .invoke(&fixture::principal(), caller, &name, Map::new(), Terms::default())
            .await
            .unwrap();
        keys().difference(&before).next().unwrap().clone()
    }

    async fn call(&self, call: Call, seconds: u64) -> Report {
        let wiring = self.wiring();
        let deadline = Deadline::at(self.clock.now() + Duration::from_secs(seconds));
        wiring.drain().answer(Arc::new(wiring.poller()), call, deadline).await
    }

    async fn tick(&self, seconds: u64) -> Report {
        self.call(Call::Tick, seconds).await
    }

    fn polls(&self) -> usize {
        self.server.log().iter().filter(|asked| asked.what == Request::Status).count()
    }

    /// The one invocation that there was, which must have been for the poller.
    fn woken(&self) -> Vec<Wake> {
        let mut invoked = self.waker.take();
        let (function, items) = invoked.pop().expect("somebody is woken");
        assert_eq!((function, invoked.len()), (Background::Poller, 0));
        items
    }

    /// How often word was left with whoever was awake.
    async fn knocks(&self, function: Background) -> u64 {
        self.beacons().look(function).await.unwrap().knocks
    }
}

/// Asleep is what the poller is when nothing is due: then a submission invokes it, for exactly its task.
#[tokio::test(start_paused = true)]
async fn a_submission_wakes_a_poller_that_sleeps() {
    let bench = Bench::lagging(Duration::ZERO).await;
    let key = bench.submit().await;
    let items = bench.woken();
    let due = bench.table.task(&key).unwrap().task.durable.due.unwrap();
    let wanted =
        Wake { lane: Lane::Poll, item: ItemKey::Task(key), server: items[0].server.clone(), due_at: due.at };
    assert_eq!(items, [wanted]);
    assert!(items[0].server.is_some(), "its server's limit holds for it too");
}

/// With one that is awake word is left: nothing is invoked.
#[tokio::test(start_paused = true)]
async fn a_poller_that_is_awake_is_not_invoked_again() {
    let bench = Bench::lagging(Duration::ZERO).await;
    bench.somebody_is_awake(Background::Poller).await;
    let key = bench.submit().await;
    assert_eq!((bench.waker.take(), bench.knocks(Background::Poller).await), (Vec::new(), 1));
    bench.wiring().tasks().cancel(&key).await.unwrap();
    assert_eq!((bench.waker.take(), bench.knocks(Background::Poller).await), (Vec::new(), 2));
    // Whoever was killed is not awake for longer than his beacon shines.
    bench.clock.sleep(Duration::from_secs(16)).await;
    bench.submit().await;
    assert_eq!(bench.woken().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_wakes_the_poller_and_its_repeat_wakes_nobody() {
    let bench = Bench::lagging(Duration::ZERO).await;
    let key = bench.submit().await;
    bench.waker.take();
    bench.wiring().tasks().cancel(&key).await.unwrap();
    assert_eq!(bench.woken()[0].lane, Lane::Cancel);
    bench.wiring().tasks().cancel(&key).await.unwrap();
    assert_eq!(bench.waker.take(), []);
}

/// A wake-up is best effort: what was committed before it stands, and the caller hears nothing of its failure.
#[tokio::test(start_paused = true)]
async fn a_waker_that_fails_fails_no_submission() {
    let bench = Bench::lagging(Duration::ZERO).await;
    bench.waker.down(true);
    bench.submit().await;
    bench.clock.sleep(Duration::from_secs(6)).await;
    assert_eq!(bench.tick(12).await.worked, 1, "the next tick finds it");
}
