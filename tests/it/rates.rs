//! How often a user may call: over all instances, at the price of a write per second and not per call.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use acceptance::{Answer, World, request, send};
use async_trait::async_trait;
use http::Method;
use pudu_app::ports::{Allowances, Clock, StoreError, Swapped};
use pudu_app::rates::{Rates, TooMany};
use pudu_domain::bucket::{Bucket, Rate};
use pudu_domain::{Timestamp, UserId};
use pudu_lambda::settings::Admission;
use pudu_testkit::{FakeStore, FakeTable, Gate, ManualClock};

const PER_SECOND: u32 = 50;
const BURST: u32 = 100;
const TICK: Duration = Duration::from_millis(10);

/// The table as instances see it: counts, and fails or hangs when a test says so.
struct Table {
    store: FakeStore,
    writes: AtomicUsize,
    fails: AtomicBool,
    hangs: AtomicBool,
}

#[async_trait]
impl Allowances for Table {
    async fn swap(&self, user: &UserId, before: Bucket, after: Bucket) -> Result<Swapped, StoreError> {
        self.writes.fetch_add(1, Ordering::SeqCst);
        if self.hangs.load(Ordering::SeqCst) {
            return std::future::pending().await;
        }
        if self.fails.load(Ordering::SeqCst) {
            return Err(StoreError::Unavailable { operation: "swap_bucket", source: "is away".into() });
        }
        self.store.swap(user, before, after).await
    }
}

struct Scene {
    clock: Arc<ManualClock>,
    table: Arc<Table>,
}

impl Scene {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::start());
        let store = FakeTable::new().store(clock.clone(), Gate::open());
        let table = Table { store, writes: AtomicUsize::default(), fails: false.into(), hangs: false.into() };
        Self { clock, table: Arc::new(table) }
    }

    fn instance(&self) -> Rates {
        self.instance_at(PER_SECOND, BURST)
    }

    fn instance_at(&self, per_second: u32, burst: u32) -> Rates {
        Rates::new(Rate::new(per_second, burst).unwrap(), self.table.clone(), self.clock.clone())
    }

    fn writes(&self) -> usize {
        self.table.writes.load(Ordering::SeqCst)
    }

    /// How many of `calls` at this moment are let through.
    async fn calls(&self, instance: &Rates, calls: usize) -> usize {
        let mut passed = 0;
        for _ in 0..calls {
            passed += usize::from(instance.spend(&user("a")).await.is_ok());
        }
        passed
    }
}

fn user(name: &str) -> UserId {
    UserId::parse(format!("key:{name}")).unwrap()
}

#[tokio::test]
async fn a_burst_passes_and_the_rest_waits() {
    let (scene, user) = (Scene::new(), user("a"));
    let instance = scene.instance();
    assert_eq!(scene.calls(&instance, 500).await, BURST as usize);
    assert_eq!(instance.spend(&user).await, Err(TooMany { wait: Duration::from_secs(1) }));
    // A second is the least: what would come back sooner is waited for too.
    scene.clock.pass(Duration::from_millis(999));
    assert!(instance.spend(&user).await.is_err());
    scene.clock.pass(Duration::from_millis(1));
    assert_eq!(scene.calls(&instance, 500).await, PER_SECOND as usize);
}

#[tokio::test]
async fn the_time_to_wait_is_told_in_whole_seconds() {
    let (scene, user) = (Scene::new(), user("a"));
    let slow = scene.instance_at(1, 3);
    assert_eq!(scene.calls(&slow, 10).await, 3);
    scene.clock.pass(Duration::from_millis(100));
    let left = slow.spend(&user).await.unwrap_err();
    assert_eq!(left.wait, Duration::from_secs(1), "0.9 s, rounded up");
    assert_eq!(left.to_string(), "too many calls; wait 1 s and call again");
}

#[tokio::test]
async fn a_thousand_calls_are_a_few_writes() {
    // At the rate that is allowed: 20 s.
    let scene = Scene::new();
    let instance = scene.instance();
    let mut passed = 0;
    for _ in 0..1000 {
        passed += scene.calls(&instance, 1).await;
        scene.clock.pass(Duration::from_millis(20));
    }
    assert_eq!(passed, 1000);
    assert_eq!(scene.writes(), 20, "one for each second");

    // A thousand calls each second for ten seconds.
    let scene = Scene::new();
    let instance = scene.instance();
    for _ in 0..10_000 {
        scene.calls(&instance, 1).await;
        scene.clock.pass(Duration::from_millis(1));
    }
    assert!(scene.writes() <= 2 + 2 * 10, "{} writes in 10 s", scene.writes());

    // A bit more than is allowed: what an instance takes gets smaller and smaller before it is nothing.
    let scene = Scene::new();
    let instance = scene.instance();
    for _ in 0..6000 {
        scene.calls(&instance, 1).await;
        scene.clock.pass(Duration::from_micros(16_667));
    }
    assert!(scene.writes() <= 6000 / 5, "{} writes for 6,000 calls", scene.writes());
}

#[tokio::test]
async fn two_instances_together_keep_the_limit() {
    for calls_per_tick in [1, 3, 20] {
        let scene = Scene::new();
        let instances = [scene.instance(), scene.instance()];
        let (mut passed, mut ticks) = (0, 0_u32);
        while ticks < 3000 {
            for instance in &instances {
                passed += scene.calls(instance, calls_per_tick).await;
            }
            // In hundredths, because a tick is one of a second.
            let most = (BURST + 2 * PER_SECOND) * 100 + PER_SECOND * ticks;
            assert!(passed * 100 <= most as usize, "{passed} after {ticks} ticks");
            scene.clock.pass(TICK);
            ticks += 1;
        }
        // And they get what is theirs: at least nine tenths of it over half a minute.
        assert!(passed >= 9 * PER_SECOND as usize * 30 / 10, "{passed}");
        assert!(scene.writes() <= 30 * 2 * 4, "{} writes in 30 s", scene.writes());
    }
}

#[tokio::test]
async fn users_do_not_share_a_bucket() {
    let scene = Scene::new();
    let instance = scene.instance();
    assert_eq!(scene.calls(&instance, 200).await, BURST as usize);
    assert!(instance.spend(&user("b")).await.is_ok());
}

#[tokio::test]
async fn who_was_turned_away_costs_nothing_until_the_time_is_over() {
    let scene = Scene::new();
    let instance = scene.instance();
    scene.calls(&instance, 200).await;
    let writes = scene.writes();
    assert_eq!(scene.calls(&instance, 10_000).await, 0);
    assert_eq!(scene.writes(), writes);
}

#[tokio::test]
async fn a_table_that_is_away_neither_shuts_nor_opens_the_door() {
    let scene = Scene::new();
    let instances = [scene.instance(), scene.instance()];
    scene.table.fails.store(true, Ordering::SeqCst);
    for second in 0..5 {
        for instance in &instances {
            assert_eq!(scene.calls(instance, 1000).await, PER_SECOND as usize, "{second}");
        }
        scene.clock.pass(Duration::from_secs(1));
    }
    assert_eq!(scene.writes(), 2 * 5, "asked once a second by each");
    scene.table.fails.store(false, Ordering::SeqCst);
    assert_eq!(scene.calls(&instances[0], 1000).await, BURST as usize, "counted together again");
    assert_eq!(scene.calls(&instances[1], 1000).await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_table_that_hangs_delays_a_call_by_a_second_at_most() {
    let scene = Scene::new();
    let instance = scene.instance();
    scene.table.hangs.store(true, Ordering::SeqCst);
    let began = tokio::time::Instant::now();
    assert_eq!(scene.calls(&instance, 1000).await, PER_SECOND as usize);
    assert_eq!(began.elapsed(), Duration::from_secs(1));
}

#[tokio::test]
async fn a_clock_that_is_set_back_locks_nobody_out() {
    let scene = Scene::new();
    let instance = scene.instance();
    scene.calls(&instance, 200).await;
    let now = scene.clock.now();
    scene.clock.set(Timestamp::from_millis(now.as_millis() - 3_600_000));
    assert_eq!(scene.calls(&instance, 500).await, BURST as usize, "what was counted then is in the future");
}

async fn healthz(world: &World) -> Answer {
    world.call(Method::GET, "/healthz", None).await
}

#[tokio::test]
async fn the_gateway_turns_away_with_the_time_to_wait() {
    let admission = Admission { tokens: None, rate: Rate::new(2, 3), origins: Vec::new() };
    let world = World::holding(admission).await;
    let second = world.second_house().gateway();
    let tools = || request(Method::GET, "/api/tools", None);
    for _ in 0..3 {
        send(&world.gateway, tools()).await.expect(200);
    }
    let refused = send(&world.gateway, tools()).await;
    assert!(refused.refused(429).contains("wait 1 s"));
    assert_eq!(refused.headers["retry-after"], "1");
    assert_eq!(send(&second, tools()).await.status, 429, "another instance knows it too");
    // What is refused reaches nothing, whatever it is; and whoever watches is not counted.
    assert_eq!(world.put_config(&serde_json::json!({})).await.status, 429);
    for _ in 0..10 {
        healthz(&world).await.expect(200);
    }
    world.advance(1);
    send(&world.gateway, tools()).await.expect(200);
    let rows = world.rows().await.keys();
    assert!(rows.contains(&("rate#local%3Adefault".to_owned(), "-".to_owned())), "{rows:?}");
}

#[tokio::test]
async fn one_machine_counts_nobody() {
    let world = World::new().await;
    for _ in 0..150 {
        healthz(&world).await.expect(200);
        world.get("/api/threads/t/mcp-tasks").await;
    }
    assert!(!world.rows().await.keys().iter().any(|(pk, _)| pk.starts_with("rate#")));
}
