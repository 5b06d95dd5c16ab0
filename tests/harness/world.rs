//! The whole house with its example server, in verbs; time passes only when a test says so.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use axum::Router;
use http::Method;
use pudu::engine::Engine;
use pudu::house::{House, Plan, limits};
use pudu::workers::tick;
use pudu_app::limits::Limits;
use pudu_app::ports::Clock;
use pudu_app::worker::Report;
use pudu_compose::Launcher;
use pudu_config::{Document, NoSecrets};
use pudu_lambda::settings::Admission;
use pudu_testkit::fixture;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::answer::{Answer, request, send};
use crate::clock::HandClock;
use crate::example::ExampleServer;
use crate::logs::Logs;
use crate::rows::Rows;

const TABLE: &str = "pudu";

/// A house over an embedded engine in a folder of its own, and the example server beside it.
pub struct World {
    /// The time.
    pub clock: Arc<HandClock>,
    /// The example server.
    pub example: ExampleServer,
    /// The public door.
    pub gateway: Router,
    /// The use cases.
    pub house: House,
    client: Client,
    folder: TempDir,
    terms: Terms,
}

/// What a house holds its callers to.
#[derive(Clone)]
struct Terms {
    no_auth: bool,
    admission: Admission,
}

impl World {
    /// A new house that knows the example server.
    pub async fn new() -> Self {
        let world = Self::without_servers().await;
        assert!(world.house.seed(&world.example.url()).await.unwrap());
        world
    }

    /// A new house in whose table nothing was ever stored; its example server runs all the same.
    pub async fn without_servers() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(HandClock::default());
        let example = ExampleServer::start(folder.path(), clock.clone()).await;
        Self::open(folder, clock, example, Terms::everybody()).await
    }

    /// A new house whose config is the file [`World::config_file`]; `config` is told where the example server is.
    pub async fn on_file(config: impl FnOnce(&str) -> Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(HandClock::default());
        let example = ExampleServer::start(folder.path(), clock.clone()).await;
        std::fs::write(config_file(&folder), config(&example.url()).to_string()).unwrap();
        Self::open(folder, clock, example, Terms::everybody()).await
    }

    /// A new house that tells callers apart by their keys, and knows the example server.
    pub async fn with_callers() -> Self {
        Self::seeded(Terms { no_auth: false, ..Terms::everybody() }).await
    }

    /// The same, on these terms.
    pub async fn admitting(admission: Admission) -> Self {
        Self::seeded(Terms { no_auth: false, admission }).await
    }

    /// A new house that does not tell callers apart, and holds them to something.
    pub async fn holding(admission: Admission) -> Self {
        Self::seeded(Terms { no_auth: true, admission }).await
    }

    async fn seeded(terms: Terms) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(HandClock::default());
        let example = ExampleServer::start(folder.path(), clock.clone()).await;
        let world = Self::open(folder, clock, example, terms).await;
        assert!(world.house.seed(&world.example.url()).await.unwrap());
        world
    }

    /// The process ends and another one opens the same folder; the example server goes on.
    pub async fn restarted(self) -> Self {
        let Self { clock, example, gateway, house, client, folder, terms } = self;
        drop((gateway, house, client));
        Self::open(folder, clock, example, terms).await
    }

    /// Where the table is.
    pub fn data_dir(&self) -> PathBuf {
        self.folder.path().join("table")
    }

    /// Where the blobs are.
    pub fn blobs(&self) -> PathBuf {
        self.folder.path().join("blobs")
    }

    /// Where the folders of threads are.
    pub fn files(&self) -> PathBuf {
        files(&self.folder)
    }

    /// Where the config is, if it is in a file.
    pub fn config_file(&self) -> PathBuf {
        config_file(&self.folder)
    }

    async fn open(folder: TempDir, clock: Arc<HandClock>, example: ExampleServer, terms: Terms) -> Self {
        // Whatever a test is about: no secret of it may be logged.
        Logs::capture();
        let client = Engine::open(&folder.path().join("table")).unwrap().client();
        let house = house(client.clone(), &folder, clock.clone(), terms.clone());
        house.create_table().await.unwrap();
        // Else nobody could be asked to cancel anything before the first tick.
        fixture::a_poller_was_here(&*house.table, clock.now()).await.unwrap();
        let gateway = house.gateway();
        Self { clock, example, gateway, house, client, folder, terms }
    }

    /// Another process on the same table, as in the cloud.
    pub fn second_house(&self) -> House {
        house(self.client.clone(), &self.folder, self.clock.clone(), self.terms.clone())
    }

    /// Lets time pass.
    pub fn advance(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    /// A request to the gateway.
    pub async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Answer {
        send(&self.gateway, request(method, path, body)).await
    }

    /// What a GET brings.
    pub async fn get(&self, path: &str) -> Value {
        self.call(Method::GET, path, None).await.expect(200)
    }

    /// Sends a server map.
    pub async fn put_config(&self, servers: &Value) -> Answer {
        self.call(Method::PUT, "/api/mcp/config", Some(&json!({ "mcp_servers": servers }))).await
    }

    /// Stores a first config as the operator's own, which may have what the API refuses.
    pub async fn import_config(&self, servers: &Value) {
        let document = Document::parse(json!({ "mcpServers": servers })).unwrap();
        assert!(self.house.wiring.configs.seed(document).await.unwrap(), "there was a config already");
    }

    /// Calls a tool in a thread.
    pub async fn invoke(&self, thread: &str, tool: &str, arguments: &Value) -> Answer {
        let path = format!("/api/threads/{thread}/tools/{tool}");
        self.call(Method::POST, &path, Some(&json!({ "arguments": arguments }))).await
    }

    /// Submits a report and returns its local id.
    pub async fn submit(&self, thread: &str, arguments: &Value) -> String {
        let answer = self.invoke(thread, "example_submit_report", arguments).await.expect(200);
        answer["task_id"].as_str().unwrap().to_owned()
    }

    /// A task as the gateway shows it.
    pub async fn task(&self, thread: &str, id: &str) -> Value {
        self.get(&format!("/api/threads/{thread}/mcp-tasks/{id}")).await
    }

    /// Asks for a task to be cancelled.
    pub async fn cancel(&self, thread: &str, id: &str) -> Value {
        let path = format!("/api/threads/{thread}/mcp-tasks/{id}/cancel");
        self.call(Method::POST, &path, None).await.expect(200)
    }

    /// What a thread was told: the status that each event tells, oldest first.
    pub async fn told(&self, thread: &str) -> Vec<String> {
        let events = self.get(&format!("/api/threads/{thread}/events")).await;
        let status = |event: &Value| event["event"]["status"].as_str().unwrap().to_owned();
        events.as_array().unwrap().iter().map(status).collect()
    }

    /// One tick of the poller.
    pub async fn tick_poller(&self) -> Report {
        poll(&self.house).await
    }

    /// One tick of the notifier.
    pub async fn tick_notifier(&self) -> Report {
        notify(&self.house).await
    }

    /// One tick of the agent.
    pub async fn tick_agent(&self) -> Report {
        let tick = tick("agent", self.house.clock().as_ref(), self.house.random().as_ref());
        self.house.agent("agent").handle(tick).await
    }

    /// The table past all stores.
    pub async fn rows(&self) -> Rows {
        Rows::scan(&self.client, TABLE).await
    }

    /// Makes every row undecodable whose sort key begins so, below all stores: its format is one that nobody knows.
    pub async fn break_rows(&self, begin: &str) {
        for (pk, sk) in self.rows().await.keys().into_iter().filter(|(_, sk)| sk.starts_with(begin)) {
            let update = self
                .client
                .update_item()
                .table_name(TABLE)
                .key("pk", AttributeValue::S(pk))
                .key("sk", AttributeValue::S(sk))
                .update_expression("SET #v = :unknown")
                .expression_attribute_names("#v", "v")
                .expression_attribute_values(":unknown", AttributeValue::N("999".to_owned()));
            update.send().await.unwrap();
        }
    }

    /// Ends the story: nothing is left that a worker would still have to do, now or ever.
    pub async fn nothing_is_pending(&self) {
        self.advance(3600);
        assert_eq!(
            (self.tick_poller().await, self.tick_notifier().await),
            (Report::default(), Report::default())
        );
        let text = self.rows().await.text();
        let waiting: Vec<&str> =
            text.lines().filter(|l| l.starts_with("due_pk=") || l.starts_with("lo=")).collect();
        assert!(waiting.is_empty(), "{waiting:?}");
    }
}

impl Terms {
    fn everybody() -> Self {
        Self { no_auth: true, admission: Admission { tokens: None, rate: None, origins: Vec::new() } }
    }
}

fn house(client: Client, folder: &TempDir, clock: Arc<HandClock>, terms: Terms) -> House {
    let Terms { no_auth, admission } = terms;
    let seal_key = folder.path().join("seal.key");
    let plan = Plan::new(client, TABLE.to_owned(), seal_key);
    // No lingering: a tick does what is due now and ends, so that a test says when time passes.
    let limits = Limits { linger: Duration::ZERO, ..limits(Duration::from_secs(120)) };
    let config_file = Some(config_file(folder)).filter(|path| path.is_file());
    let stdio =
        Some(Launcher::new(files(folder), |name| (name == "PATH").then(|| "/usr/bin:/bin".to_owned()), true));
    House::new(Plan {
        clock,
        limits,
        config_file,
        secrets: Arc::new(NoSecrets),
        stdio,
        no_auth,
        admission,
        ..plan
    })
    .unwrap()
}

fn files(folder: &TempDir) -> PathBuf {
    folder.path().join("files")
}

fn config_file(folder: &TempDir) -> PathBuf {
    folder.path().join("extensions_config.json")
}

/// One tick of a house's poller.
pub async fn poll(house: &House) -> Report {
    let tick = tick("task-poller", house.clock().as_ref(), house.random().as_ref());
    house.poller("poller").handle(tick).await
}

/// One tick of a house's notifier.
pub async fn notify(house: &House) -> Report {
    let tick = tick("notifier", house.clock().as_ref(), house.random().as_ref());
    house.notifier("notifier").handle(tick).await
}
