//! The poller when something is not as it should be: what counts against a server, what does not, and what is put aside.

mod answers;
mod cancels;
mod drift;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use acceptance::ports::{wired, wired_with};
use pudu_app::configs::By;
use pudu_app::deadline::Deadline;
use pudu_app::ports::{Caller, Clock};
use pudu_app::tools::Terms;
use pudu_app::worker::Report;
use pudu_domain::task::State;
use pudu_domain::{Lane, Status, TaskKey};
use pudu_testkit::gate::{Call, Open};
use pudu_testkit::server::{Plan, Request};
use pudu_testkit::table::StoredTask;
use pudu_testkit::{FakeServer, FakeTable, FakeVault, Fate, Gate, Trace, VirtualClock, fixture};
use serde_json::{Map, Value, json};

/// One tracked task that is due, and a poller whose calls go wrong as a script says.
struct Bench {
    clock: VirtualClock,
    table: FakeTable,
    server: FakeServer,
    key: TaskKey,
}

impl Bench {
    async fn new() -> Self {
        Self::living(Plan::completes_after(Duration::from_secs(86_400))).await
    }

    /// The same with a task that lives by `plan`.
    async fn living(plan: Plan) -> Self {
        let clock = VirtualClock::start();
        let table = FakeTable::new();
        let server = FakeServer::new(Arc::new(clock), move |_| plan.clone());
        let key = fixture::task_key(&fixture::thread("t"), clock.now(), 1);
        let mut bench = Self { clock, table, server, key };
        bench.configure(fixture::config()).await;
        let open = wired(clock, &bench.table, &bench.server, &bench.gate(Open));
        let name = format!("{}_{}", fixture::SERVER, fixture::SUBMIT_TOOL);
        open.tools()
            .invoke(
                &fixture::principal(),
                Caller::of(fixture::thread("t")),
                &name,
                Map::new(),
                Terms::default(),
            )
            .await
            .unwrap();
        bench.key = bench.table.tasks()[0].task.key.clone();
        clock.sleep(Duration::from_secs(10)).await;
        bench
    }

    async fn configure(&self, config: Value) {
        let open = wired(self.clock, &self.table, &self.server, &self.gate(Open));
        let servers = config.pointer("/mcpServers").cloned().unwrap_or_default();
        open.configs.put(&json!({ "mcp_servers": servers }), By::default()).await.unwrap();
    }

    fn gate(&self, script: impl pudu_testkit::Script + 'static) -> Gate {
        Gate::new("poller", Arc::new(self.clock), Trace::hashed(), script)
    }

    fn row(&self) -> StoredTask {
        self.table.task(&self.key).unwrap()
    }

    fn polls(&self) -> usize {
        self.server.log().iter().filter(|asked| asked.what == Request::Status).count()
    }

    /// One tick of `seconds` in which nothing but the variables can go wrong.
    async fn tick_with(&self, seconds: u64, vault: &FakeVault) -> Report {
        let secrets = Arc::new(vault.clone());
        let wiring = wired_with(self.clock, &self.table, &self.server, &self.gate(Open), secrets);
        let deadline = Deadline::at(self.clock.now() + Duration::from_secs(seconds));
        wiring.drain().run(Arc::new(wiring.poller()), deadline).await
    }

    /// One tick of `seconds` with a script.
    async fn tick(&self, seconds: u64, script: impl FnMut(Call<'_>) -> Fate + Send + 'static) -> Report {
        let wiring = wired(self.clock, &self.table, &self.server, &self.gate(script));
        let deadline = Deadline::at(self.clock.now() + Duration::from_secs(seconds));
        wiring.drain().run(Arc::new(wiring.poller()), deadline).await
    }
}

/// A config that cannot be read says nothing of the server: nothing is counted, and the next tick polls.
#[tokio::test(start_paused = true)]
async fn an_outage_of_ours_is_not_the_servers_failure() {
    let bench = Bench::new().await;
    let out = Arc::new(AtomicBool::new(true));
    let is_out = out.clone();
    let down = move |call: Call<'_>| {
        let fails = call.op.starts_with("config.") && is_out.load(Ordering::SeqCst);
        if fails { Fate::FailBefore } else { Fate::Pass }
    };
    let report = bench.tick(12, down).await;
    assert_eq!((report.worked, bench.polls()), (0, 0));
    let row = bench.row().task;
    assert_eq!((row.tracking.errors, row.durable.lease), (0, None));
    out.store(false, Ordering::SeqCst);
    bench.clock.sleep(Duration::from_secs(10)).await;
    assert_eq!(bench.tick(60, |_: Call<'_>| Fate::Pass).await.worked, 1);
    assert_eq!((bench.row().task.status(), bench.polls()), (Status::Working, 1));
}

/// So it is with a variable of its entry whose source is out of reach. One that is not set is the operator's, and shown.
#[tokio::test(start_paused = true)]
async fn a_variable_that_cannot_be_read_is_not_the_servers_failure() {
    let bench = Bench::new().await;
    let mut config = fixture::config();
    config["mcpServers"][fixture::SERVER]["headers"] = json!({"Authorization": "$TOKEN"});
    bench.configure(config).await;
    let vault = FakeVault::default();
    vault.down(true);
    assert_eq!(bench.tick_with(12, &vault).await.worked, 0);
    let row = bench.row().task;
    assert_eq!((row.tracking.errors, row.durable.lease, bench.polls()), (0, None, 0));
    let asked = vault.asked();
    assert!(!asked.is_empty() && asked.iter().all(|names| names.iter().eq(["TOKEN"])), "{asked:?}");
    vault.down(false);
    vault.set("TOKEN", "sek");
    bench.clock.sleep(Duration::from_secs(10)).await;
    assert_eq!((bench.tick_with(60, &vault).await.worked, bench.polls()), (1, 1));
}

/// An outage of the table is not waited for: the tick fails, which an alarm sees, and the next one tries again.
#[tokio::test(start_paused = true)]
async fn a_tick_gives_up_when_the_index_cannot_be_read() {
    let bench = Bench::new().await;
    let soon = bench.clock.elapsed() + Duration::from_secs(60);
    let down = |call: Call<'_>| if call.op == "due.due" { Fate::FailBefore } else { Fate::Pass };
    let report = bench.tick(900, down).await;
    assert!(report.scans_failed > 0 && report.clean().is_err(), "{report:?}");
    assert!(bench.clock.elapsed() < soon);
    bench.tick(60, |_: Call<'_>| Fate::Pass).await;
    assert_eq!(bench.polls(), 1, "nothing was lost by it");
}

/// A call that the end of the invocation cut short is not the server's failure either; a call that used its own limit is.
#[tokio::test(start_paused = true)]
async fn only_a_limit_of_its_own_counts_against_a_server() {
    let slow = |call: Call<'_>| match call.op {
        "driver.status" => Fate::Delay(Duration::from_secs(3600)),
        _ => Fate::Pass,
    };
    let bench = Bench::new().await;
    assert_eq!(bench.tick(30, slow).await.refused, 1, "given back");
    assert_eq!((bench.row().task.tracking.errors, bench.row().task.durable.lease.clone()), (0, None));
    bench.clock.sleep(Duration::from_secs(10)).await;
    assert_eq!(bench.tick(100, slow).await.worked, 1);
    assert_eq!(bench.row().task.tracking.errors, 1);
}

/// A server that is gone is shown, counted, and polled again when it is back.
#[tokio::test(start_paused = true)]
async fn a_task_of_a_server_that_is_gone_waits_and_says_why() {
    let bench = Bench::new().await;
    bench.configure(json!({"mcpServers": {}})).await;
    bench.tick(60, |_: Call<'_>| Fate::Pass).await;
    let task = bench.row().task;
    assert_eq!((task.tracking.errors, bench.polls()), (1, 0));
    assert!(task.tracking.last_error.unwrap().as_str().contains("no longer in the config"));
    bench.configure(fixture::config()).await;
    bench.clock.sleep(Duration::from_secs(10)).await;
    bench.tick(60, |_: Call<'_>| Fate::Pass).await;
    assert_eq!((bench.row().task.tracking.errors, bench.polls()), (0, 1));
}

/// A server that became another one under the same name is not asked about a task that it never had.
#[tokio::test(start_paused = true)]
async fn a_task_is_not_asked_of_another_server_under_its_servers_name() {
    let bench = Bench::new().await;
    let mut moved = fixture::config();
    moved["mcpServers"][fixture::SERVER]["url"] = json!("http://127.0.0.1:9/mcp");
    bench.configure(moved).await;
    bench.tick(60, |_: Call<'_>| Fate::Pass).await;
    assert_eq!(bench.polls(), 0);
    assert!(bench.row().task.tracking.last_error.unwrap().as_str().contains("another transport or origin"));
}

/// A task whose other rows do not decode is put aside, once, instead of being claimed for ever.
#[tokio::test(start_paused = true)]
async fn a_task_that_nobody_can_work_on_is_put_aside() {
    let bench = Bench::new().await;
    bench.table.corrupt_spec(&bench.key);
    let report = bench.tick(60, |_: Call<'_>| Fate::Pass).await;
    assert_eq!((report.failed, report.worked), (1, 0));
    assert!(report.clean().is_err(), "an alarm must see it");
    let task = bench.row().task;
    assert_eq!(task.durable.due.map(|due| due.lane), Some(Lane::Corrupt));
    assert!(matches!(task.state, State::Active { .. }), "nothing of it is lost");
    bench.clock.sleep(Duration::from_secs(600)).await;
    assert_eq!(bench.tick(60, |_: Call<'_>| Fate::Pass).await, Report::default());
}
