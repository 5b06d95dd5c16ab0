//! Polls per second: N due tasks, each asked once, claimed and committed in the embedded engine; over real HTTP, and with a
//! driver that answers without a server. Beside them what a poll is made of: status calls without a table, in the same run.
//!
//! The status server is the example server in a task of this same process, so its CPU counts against us.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use async_trait::async_trait;
use pudu::engine::Engine;
use pudu::example::{Example, Order};
use pudu_app::deadline::Deadline;
use pudu_app::drivers::{Drivers, ORDINARY_TOOLS};
use pudu_app::limits::Limits;
use pudu_app::ports::{Caller, Clock, Random, TaskDriver, TaskStore};
use pudu_app::wiring::{Ports, Wiring};
use pudu_app::worker::Work;
use pudu_compose::{Base, Egress, ports};
use pudu_config::{Document, NoSecrets, Server};
use pudu_domain::task::{Command, Context as Facts, Delivery, Intent, decide, intend};
use pudu_domain::{
    Lease, Payload, Policy, RemoteTaskId, ServerName, Snapshot, Status, TaskKey, TaskName, ThreadId,
    ThreadKey, Timestamp, UserId,
};
use pudu_dynamo::Table;
use pudu_lambda::clock::SystemClock;
use pudu_lambda::random::OsRandom;
use pudu_testkit::{FakeBlobs, FixedKeys};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::row::Row;
use crate::still::Still;

/// How many tasks are due, on which engine.
const RUNS: [(&str, usize); 3] = [("memory", 2_000), ("memory", 10_000), ("disk", 10_000)];
/// Reports and rows are made this many at a time, and as many are worked on.
const AT_ONCE: usize = 64;
/// Status calls without a table.
const DIRECT: usize = 10_000;
const SERVER: &str = "example";
const DAY: Duration = Duration::from_secs(86_400);
/// What the reference does on this kind of machine, measured elsewhere: at its defaults, and flat out over HTTP.
const REFERENCE: (f64, f64) = (1.46, 32.0);
/// The same with a stub driver.
const REFERENCE_STUB: f64 = 225.0;

/// Measures each.
pub(crate) async fn run(out: &mut impl FnMut(Row)) -> anyhow::Result<()> {
    for (number, (engine, size)) in RUNS.into_iter().enumerate() {
        let bench = Bench::open(engine, size).await?;
        out(bench.over_http().await?);
        out(bench.without_server().await?);
        if number == 0 {
            out(bench.without_table().await?);
        }
    }
    Ok(())
}

/// The system's clock, which can be moved into another day: what was worked off is due again then.
#[derive(Default)]
struct Calendar(AtomicU64);

#[async_trait]
impl Clock for Calendar {
    fn now(&self) -> Timestamp {
        SystemClock.now() + Duration::from_millis(self.0.load(Ordering::SeqCst))
    }

    async fn sleep(&self, duration: Duration) {
        SystemClock.sleep(duration).await;
    }
}

/// A table with due tasks, and their server.
struct Bench {
    kind: &'static str,
    size: usize,
    calendar: Arc<Calendar>,
    ports: Ports,
    example: Example,
    server: Arc<Server>,
    _serving: JoinSet<std::io::Result<()>>,
    /// Last, so that it is removed after everything in it is closed.
    _folder: tempfile::TempDir,
}

impl Bench {
    async fn open(kind: &'static str, size: usize) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let engine =
            if kind == "disk" { Engine::open(&folder.path().join("data"))? } else { Engine::in_memory()? };
        let calendar = Arc::new(Calendar::default());
        let (clock, random): (Arc<dyn Clock>, Arc<dyn Random>) = (calendar.clone(), Arc::new(OsRandom));
        let client = engine.client();
        pudu_dynamo::schema::create_table(&client, "pudu", clock.as_ref()).await?;
        let table = Arc::new(Table::new(&client, "pudu", Arc::clone(&clock), Arc::clone(&random)));
        let example =
            Example::open(&folder.path().join("reports"), Arc::new(SystemClock), Arc::clone(&random))?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/mcp", listener.local_addr()?);
        let mut serving = JoinSet::new();
        let server = example.clone();
        serving.spawn(async move { server.serve(listener, std::future::pending()).await });
        let ports = ports(Base {
            table: Arc::clone(&table),
            blobs: Arc::new(FakeBlobs::default()),
            config: None,
            keys: Arc::new(FixedKeys),
            secrets: Arc::new(NoSecrets),
            egress: Egress::machine(),
            waker: None,
            tokens: None,
            stdio: None,
            clock,
            random,
        })?;
        let wiring = wiring(ports.clone());
        wiring.configs.seed(config(&url)?).await?;
        let current = wiring.configs.current().await?;
        let server = Arc::clone(current.servers.get(SERVER).context("the server is configured")?);
        let identity = wiring.configs.identity(&server)?;
        seed(&example, &table, size, &identity).await?;
        Ok(Self { kind, size, calendar, ports, example, server, _serving: serving, _folder: folder })
    }

    async fn over_http(&self) -> anyhow::Result<Row> {
        let before = self.example.log().status_calls;
        let took = self.drain(self.ports.clone()).await?;
        let calls = self.example.log().status_calls - before;
        anyhow::ensure!(calls == self.size as u64, "{calls} status calls for {} tasks", self.size);
        let rate = self.size as f64 / took;
        Ok(self
            .row("http", took)
            .number("times_reference_defaults", rate / REFERENCE.0)
            .number("times_reference_flat_out", rate / REFERENCE.1))
    }

    /// A day later all of them are due again.
    async fn without_server(&self) -> anyhow::Result<Row> {
        self.calendar.0.store(DAY.as_secs() * 1000, Ordering::SeqCst);
        let asked = Arc::new(AtomicU64::new(0));
        let still = Arc::new(Still { poll_after: DAY, asked: Arc::clone(&asked) });
        let took = self.drain(Ports { drivers: Drivers::new(vec![still]), ..self.ports.clone() }).await?;
        let asked = asked.load(Ordering::SeqCst);
        anyhow::ensure!(asked == self.size as u64, "{asked} status calls for {} tasks", self.size);
        Ok(self.row("stub", took).number("times_reference_stub", self.size as f64 / took / REFERENCE_STUB))
    }

    /// The same driver, server and number at once, with nothing claimed and nothing written.
    async fn without_table(&self) -> anyhow::Result<Row> {
        let driver = self.ports.drivers.get(ORDINARY_TOOLS).context("there is the ordinary driver")?;
        let remote = self.example.reports().first().map(|report| report.id.clone()).context("a report")?;
        let remote = RemoteTaskId::parse(remote)?;
        let began = Instant::now();
        let mut calling = JoinSet::new();
        for _ in 0..DIRECT {
            if calling.len() >= AT_ONCE {
                calling.join_next().await.context("one is calling")???;
            }
            let (driver, server, remote) = (Arc::clone(driver), Arc::clone(&self.server), remote.clone());
            calling.spawn(async move { status(driver.as_ref(), &server, &remote).await });
        }
        while let Some(called) = calling.join_next().await {
            called??;
        }
        let took = began.elapsed().as_secs_f64();
        Ok(Row::of("drain")
            .with("way", "status calls alone")
            .number("seconds", took)
            .number("calls_per_second", DIRECT as f64 / took))
    }

    async fn drain(&self, ports: Ports) -> anyhow::Result<f64> {
        let wiring = wiring(ports);
        let work: Arc<dyn Work> = Arc::new(wiring.poller());
        let deadline = Deadline::at(self.calendar.now() + Duration::from_secs(3600));
        let began = Instant::now();
        let report = wiring.drain().run(work, deadline).await;
        let took = began.elapsed().as_secs_f64();
        anyhow::ensure!(
            report.worked == self.size,
            "{} of {} tasks were worked on",
            report.worked,
            self.size
        );
        Ok(took)
    }

    fn row(&self, way: &str, took: f64) -> Row {
        Row::of("drain")
            .with("engine", self.kind)
            .with("way", way)
            .with("due", self.size)
            .number("seconds", took)
            .number("polls_per_second", self.size as f64 / took)
    }
}

async fn status(driver: &dyn TaskDriver, server: &Server, remote: &RemoteTaskId) -> anyhow::Result<()> {
    let caller = Caller::background(thread(0)?);
    driver.status(server, &caller, &tools(), remote, Duration::from_secs(60)).await?;
    Ok(())
}

fn wiring(ports: Ports) -> Wiring {
    // One server has all tasks here, so its share of the permits is the whole.
    let limits =
        Limits { at_once: AT_ONCE, at_once_per_server: AT_ONCE, linger: Duration::ZERO, ..Limits::default() };
    Wiring::new(ports, Policy::default(), limits, "bench".to_owned())
}

fn config(url: &str) -> anyhow::Result<Document> {
    let config = json!({"mcpServers": {SERVER: {
        "type": "http",
        "url": url,
        "task_toolsets": [{
            "name": "report",
            "submit_tool": "submit_report",
            "status_tool": "get_report_status",
            "cancel_tool": "cancel_report",
        }],
    }}});
    Document::parse(config).map_err(|problems| anyhow::anyhow!("{problems:?}"))
}

fn thread(number: usize) -> anyhow::Result<ThreadKey> {
    let thread = ThreadId::parse(format!("thread-{}", number % 100))?;
    Ok(ThreadKey { user: UserId::parse("local:default")?, thread })
}

/// Reports that run for long, and for each the rows of a task that is due now.
async fn seed(example: &Example, table: &Arc<Table>, size: usize, identity: &str) -> anyhow::Result<()> {
    let mut making: JoinSet<anyhow::Result<()>> = JoinSet::new();
    for number in 0..size {
        if making.len() >= AT_ONCE {
            making.join_next().await.context("one is being made")???;
        }
        let (example, table, identity) = (example.clone(), Arc::clone(table), identity.to_owned());
        making.spawn(async move { due_task(&example, &table, number, identity).await });
    }
    while let Some(made) = making.join_next().await {
        made??;
    }
    Ok(())
}

async fn due_task(example: &Example, table: &Table, number: usize, identity: String) -> anyhow::Result<()> {
    let order = Order {
        title: format!("report {number}"),
        duration: DAY,
        failure: None,
        question: None,
        poll_after_seconds: Some(80_000.0),
        status_delay: Duration::ZERO,
    };
    let report = example.submit(order).await?;
    let now = SystemClock.now();
    let intent = Intent {
        key: TaskKey { thread: thread(number)?, id: OsRandom.task_id(now) },
        name: TaskName::parse("report")?,
        server: ServerName::parse(SERVER)?,
        identity,
        driver: ORDINARY_TOOLS.to_owned(),
        driver_data: tools(),
        delivery: Delivery::Event,
        repeatable: None,
    };
    let lease = Lease { owner: OsRandom.owner("bench"), until: now + Duration::from_secs(3600) };
    let born = intend(intent, lease, now);
    table.commit(&born).await?;
    let spec = born.spec.context("a birth has a spec")?;
    let facts = Facts { spec: &spec, payload: &Payload::default(), policy: &Policy::default() };
    let tracked = Command::RecordSubmit {
        remote: RemoteTaskId::parse(report.id)?,
        snapshot: Snapshot::bare(Status::Submitted),
        // Long ago, so that the first poll is due at once.
        started_at: Timestamp::from_millis(0),
    };
    let change =
        decide(&born.task, tracked, SystemClock.now(), facts)?.context("a submit changes the task")?;
    table.commit(&change).await?;
    Ok(())
}

fn tools() -> Value {
    json!({"submit_tool": "submit_report", "status_tool": "get_report_status", "cancel_tool": "cancel_report"})
}
