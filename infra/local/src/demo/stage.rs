//! Where a story is told: a Pudu of its own, a caller of its gateway, and a reader of its table.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use http::Method;
use pudu_app::ports::{Clock, DeliveredEvent, EventLog, RunStore, TaskStore};
use pudu_domain::run::Outcome;
use pudu_domain::{Run, RunKey, Task, TaskId, TaskKey, ThreadId, ThreadKey};
use pudu_lambda::clock::SystemClock;
use pudu_lambda::random::OsRandom;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::policy;
use crate::cli::DemoArgs;
use crate::engine::Engine;
use crate::example::Example;
use crate::folder::DataFolder;
use crate::house::{House, LEASE, Plan, limits, new_key};
use crate::machine::{Machine, listen_anywhere};
use crate::seed;

/// The server's name in the demo's config: another one than that of `pudu`, whose config is not the demo's to change.
pub(super) const SERVER: &str = "demo";
/// The table's name.
pub(super) const TABLE: &str = "pudu";
/// Pause between two looks into the table.
pub(super) const LOOK: Duration = Duration::from_millis(20);
/// How long the gateway may take to answer.
const ANSWER: Duration = Duration::from_secs(50);

/// Everything that a story needs.
pub(super) struct Stage {
    pub(super) engine: Engine,
    pub(super) house: Arc<House>,
    pub(super) folder: DataFolder,
    pub(super) example: Example,
    pub(super) example_url: String,
    pub(super) thread: ThreadKey,
    machine: Machine,
    http: reqwest::Client,
    /// Last, so that it is removed after everything in it is closed.
    _temporary: Option<TempDir>,
}

impl Stage {
    /// Starts a gateway, a notifier, an example server, and for a story without crash the poller.
    pub(super) async fn set(args: &DemoArgs) -> anyhow::Result<Self> {
        let temporary = match &args.data_dir {
            Some(_) => None,
            None => Some(tempfile::Builder::new().prefix("pudu-demo-").tempdir()?),
        };
        let path = args.data_dir.as_deref().or(temporary.as_ref().map(TempDir::path));
        let folder = DataFolder::new(path.context("there is no folder")?);
        let engine = Engine::open(folder.path())?;
        let lease = if args.crash { super::crash::LEASE } else { LEASE };
        let plan = Plan {
            policy: policy(),
            limits: limits(lease),
            ..Plan::new(engine.client(), TABLE.to_owned(), folder.seal_key())
        };
        let house = Arc::new(House::new(plan)?);
        house.create_table().await?;
        house.table.lower_beacons().await?;
        let current = house.wiring.configs.current().await?;
        if current.servers.keys().any(|name| name != SERVER) {
            bail!(
                "the folder {} has a config of its own, which the demo does not touch: choose an empty folder",
                folder.path().display()
            );
        }
        let example = Example::open(&folder.example(), Arc::new(SystemClock), Arc::new(OsRandom))?;
        let mut machine = Machine::start(Arc::clone(&house), listen_anywhere().await?)?;
        let listener = listen_anywhere().await?;
        let example_url = machine.example(example.clone(), listener)?;
        machine.notify();
        if !args.crash {
            machine.act();
            machine.poll();
        }
        let thread = ThreadId::parse(format!("demo-{}", new_key(&OsRandom)))?;
        let thread = ThreadKey { user: house.user.clone(), thread };
        let http = reqwest::Client::builder().no_proxy().timeout(ANSWER).build()?;
        Ok(Self { engine, house, folder, example, example_url, thread, machine, http, _temporary: temporary })
    }

    /// Stops everything.
    pub(super) async fn close(self) {
        self.machine.stop().await;
    }

    /// Calls the gateway over HTTP; an answer that is not a success is an error with its detail.
    pub(super) async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<Value> {
        let url = format!("http://{}{path}", self.machine.gateway);
        let mut request = self.http.request(method.clone(), url).bearer_auth(self.house.key().expose());
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await.with_context(|| format!("{method} {path} was not answered"))?;
        let status = response.status();
        let body: Value =
            response.json().await.with_context(|| format!("{method} {path} was not answered with JSON"))?;
        if !status.is_success() {
            bail!("{method} {path} was answered with {status}: {body}");
        }
        Ok(body)
    }

    /// Stores the demo's config by HTTP, and returns the revision that the table now has.
    pub(super) async fn store_config(&self) -> anyhow::Result<u64> {
        use pudu_app::ports::ConfigStore;

        let before = self.house.table.pointer().await?.unwrap_or(0);
        let servers = seed::servers(SERVER, &self.example_url);
        self.call(Method::PUT, "/api/mcp/config", Some(&servers)).await?;
        let number = self.house.table.pointer().await?.context("the table has no config")?;
        let revision = self.house.table.revision(number).await?.context("the table lacks the revision")?;
        let url = revision.sealed.pointer("/mcpServers/demo/url").and_then(Value::as_str);
        if number != before + 1 || url != Some(self.example_url.as_str()) {
            bail!("revision {number} in the table is not the config that was stored");
        }
        Ok(number)
    }

    /// Submits a report by HTTP, and returns its task as the table has it.
    pub(super) async fn submit(&self, arguments: Value) -> anyhow::Result<Task> {
        let path = format!("/api/threads/{}/tools/{SERVER}_submit_report", self.thread.thread);
        let answer = self.call(Method::POST, &path, Some(&json!({ "arguments": arguments }))).await?;
        let id = answer.get("task_id").and_then(Value::as_str).context("the answer has no task_id")?;
        let key = TaskKey { thread: self.thread.clone(), id: TaskId::parse(id)? };
        self.task(&key).await
    }

    /// The task's row.
    pub(super) async fn task(&self, key: &TaskKey) -> anyhow::Result<Task> {
        let task = TaskStore::load(&*self.house.table, key).await?;
        task.ok_or_else(|| anyhow!("the table has no row of task {}", key.id))
    }

    /// Looks at the task's row again and again, until `enough` finds in it what it wants or says why it never will.
    pub(super) async fn watch<T>(
        &self,
        key: &TaskKey,
        enough: impl Fn(&Task) -> anyhow::Result<Option<T>>,
    ) -> anyhow::Result<T> {
        loop {
            if let Some(found) = enough(&self.task(key).await?)? {
                return Ok(found);
            }
            SystemClock.sleep(LOOK).await;
        }
    }

    /// The run's row.
    pub(super) async fn run(&self, key: &RunKey) -> anyhow::Result<Run> {
        let run = RunStore::load(&*self.house.table, key).await?;
        run.ok_or_else(|| anyhow!("the table has no row of run {}", key.id))
    }

    /// Waits until a run has ended well; any other end is an error.
    pub(super) async fn watch_run(&self, key: &RunKey) -> anyhow::Result<Run> {
        loop {
            let run = self.run(key).await?;
            match run.end() {
                None => SystemClock.sleep(LOOK).await,
                Some(end) if end.outcome == Outcome::Success => return Ok(run),
                Some(end) => bail!("run {} ended otherwise: {end:?}", key.id),
            }
        }
    }

    /// The events of the thread in the table.
    pub(super) async fn events(&self) -> anyhow::Result<Vec<DeliveredEvent>> {
        Ok(self.house.table.events(&self.thread, 100).await?)
    }

    /// Waits for the thread's first event in the table, and checks that the gateway shows the same.
    pub(super) async fn event(&self) -> anyhow::Result<DeliveredEvent> {
        let event = loop {
            if let Some(event) = self.events().await?.into_iter().next() {
                break event;
            }
            SystemClock.sleep(LOOK).await;
        };
        let path = format!("/api/threads/{}/events", self.thread.thread);
        let shown = self.call(Method::GET, &path, None).await?;
        if shown.pointer("/0/event") != Some(&serde_json::to_value(&event.event)?) {
            bail!("the gateway shows other events than the table has: {shown}");
        }
        Ok(event)
    }
}
