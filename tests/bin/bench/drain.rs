//! Polls per second: N due tasks, each asked once over real HTTP, claimed and committed in the embedded engine.
//!
//! The status server is the example server in a task of this same process, so its CPU counts against us.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use pudu::engine::Engine;
use pudu::example::{Example, Order};
use pudu_app::deadline::Deadline;
use pudu_app::limits::Limits;
use pudu_app::ports::{Clock, Random, TaskStore};
use pudu_app::wiring::Wiring;
use pudu_app::worker::Work;
use pudu_compose::{Base, Egress, ports};
use pudu_config::{Document, NoSecrets};
use pudu_domain::task::{Command, Context as Facts, Delivery, Intent, decide, intend};
use pudu_domain::{
    Lease, Payload, Policy, RemoteTaskId, ServerName, Snapshot, Status, TaskKey, TaskName, ThreadId,
    ThreadKey, UserId,
};
use pudu_dynamo::Table;
use pudu_lambda::clock::SystemClock;
use pudu_lambda::random::OsRandom;
use pudu_lambda::seal_keys::FileKeys;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::row::Row;

/// How many tasks are due.
const SIZES: [usize; 3] = [500, 2_000, 10_000];
/// Reports and rows are made this many at a time.
const SEEDING: usize = 64;
const SERVER: &str = "example";

/// Measures every size on disk and in memory.
pub(crate) async fn run(out: &mut impl FnMut(Row)) -> anyhow::Result<()> {
    for engine in ["memory", "disk"] {
        for size in SIZES {
            out(one(engine, size).await?);
        }
    }
    Ok(())
}

async fn one(kind: &'static str, size: usize) -> anyhow::Result<Row> {
    let folder = tempfile::tempdir()?;
    let engine =
        if kind == "disk" { Engine::open(&folder.path().join("data"))? } else { Engine::in_memory()? };
    let (clock, random): (Arc<dyn Clock>, Arc<dyn Random>) = (Arc::new(SystemClock), Arc::new(OsRandom));
    let client = engine.client();
    pudu_dynamo::schema::create_table(&client, "pudu", clock.as_ref()).await?;
    let table = Arc::new(Table::new(&client, "pudu", Arc::clone(&clock), Arc::clone(&random)));

    let example = Example::open(&folder.path().join("reports"), Arc::clone(&clock), Arc::clone(&random))?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/mcp", listener.local_addr()?);
    let mut serving = JoinSet::new();
    let server = example.clone();
    serving.spawn(async move { server.serve(listener, std::future::pending()).await });

    let ports = ports(Base {
        table: Arc::clone(&table),
        config: None,
        keys: Arc::new(FileKeys::new(folder.path().join("seal.key"), Arc::clone(&random))),
        secrets: Arc::new(NoSecrets),
        egress: Egress::machine(),
        stdio: None,
        clock: Arc::clone(&clock),
        random: Arc::clone(&random),
    })?;
    // One server has all tasks here, so its share of the permits is the whole.
    let limits = Limits { at_once_per_server: 64, linger: Duration::ZERO, ..Limits::default() };
    let wiring = Wiring::new(ports, Policy::default(), limits, "bench".to_owned());
    wiring.configs.seed(config(&url)?).await?;
    let current = wiring.configs.current().await?;
    let identity =
        wiring.configs.identity(current.servers.get(SERVER).context("the server is configured")?)?;
    seed(&example, &table, size, &identity).await?;

    let before = example.log().status_calls;
    let began = Instant::now();
    let work: Arc<dyn Work> = Arc::new(wiring.poller());
    let report = wiring.drain().run(work, Deadline::at(clock.now() + Duration::from_secs(3600))).await;
    let took = began.elapsed().as_secs_f64();
    let calls = example.log().status_calls - before;
    anyhow::ensure!(report.worked == size, "{} of {size} tasks were worked on", report.worked);
    anyhow::ensure!(calls == size as u64, "{calls} status calls for {size} tasks");
    serving.abort_all();
    Ok(Row::of("drain")
        .with("engine", kind)
        .with("due", size)
        .number("seconds", took)
        .number("polls_per_second", size as f64 / took))
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

/// Reports that run for long, and for each the rows of a task that is due now.
async fn seed(example: &Example, table: &Arc<Table>, size: usize, identity: &str) -> anyhow::Result<()> {
    let mut making: JoinSet<anyhow::Result<()>> = JoinSet::new();
    for number in 0..size {
        if making.len() >= SEEDING {
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
        duration: Duration::from_secs(86_400),
        failure: None,
        question: None,
        poll_after_seconds: Some(86_000.0),
        status_delay: Duration::ZERO,
    };
    let report = example.submit(order).await?;
    let thread = ThreadKey {
        user: UserId::parse("local:default")?,
        thread: ThreadId::parse(format!("thread-{}", number % 100))?,
    };
    let now = SystemClock.now();
    let intent = Intent {
        key: TaskKey { thread, id: OsRandom.task_id(now) },
        name: TaskName::parse("report")?,
        server: ServerName::parse(SERVER)?,
        identity,
        driver: "ordinary-tools".to_owned(),
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
        started_at: pudu_domain::Timestamp::from_millis(0),
    };
    let change =
        decide(&born.task, tracked, SystemClock.now(), facts)?.context("a submit changes the task")?;
    table.commit(&change).await?;
    Ok(())
}

fn tools() -> Value {
    json!({"submit_tool": "submit_report", "status_tool": "get_report_status", "cancel_tool": "cancel_report"})
}
