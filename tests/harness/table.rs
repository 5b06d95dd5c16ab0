//! A table on an engine, with every request seen and its price known.

use std::sync::{Arc, Mutex, PoisonError};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, HttpClient, Region};
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use pudu::engine::{self, EmbeddedConnector, Engine, Mode};
use pudu_app::ports::{Clock, Random};
use pudu_dynamo::{Table, schema};
use pudu_lambda::clock::SystemClock;
use pudu_lambda::env::{Process, Source};
use pudu_lambda::random::OsRandom;

/// Names an endpoint of a second DynamoDB-compatible engine; `.ci/second-engine start` prints it.
const SECOND_ENGINE: &str = "PUDU_TEST_DYNAMODB_ENDPOINT";

/// The operations that reached the engine, in order.
#[derive(Debug, Clone, Default)]
pub struct Calls(Arc<Mutex<Vec<String>>>);

impl Calls {
    /// The operations since the last look.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn record(&self, request: &HttpRequest) {
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let operation = target.rsplit('.').next().unwrap_or_default().to_owned();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(operation);
    }
}

/// The SDK's HTTP client over the embedded engine, counting.
#[derive(Debug, Clone)]
struct Counted {
    inner: EmbeddedConnector,
    calls: Calls,
}

impl HttpConnector for Counted {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        self.calls.record(&request);
        self.inner.call(request)
    }
}

impl HttpClient for Counted {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

/// What one port operation cost, in units.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cost {
    /// Write units.
    pub write: f64,
    /// Read units.
    pub read: f64,
}

/// What was paid since the last look.
#[derive(Debug, Clone, Default)]
pub struct Costs(Arc<Mutex<Cost>>);

impl Costs {
    /// The sum since the last look.
    pub fn take(&self) -> Cost {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, write: f64, read: f64) {
        let mut sum = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sum.write += write;
        sum.read += read;
    }
}

/// A table on an embedded engine in memory.
pub struct MeteredTable {
    /// The stores.
    pub table: Arc<Table>,
    /// What was called.
    pub calls: Calls,
    /// What was paid.
    pub costs: Costs,
    client: Client,
    clock: Arc<dyn Clock>,
}

impl MeteredTable {
    /// The table's name.
    pub const NAME: &str = "metered";

    /// An empty table whose stores read `clock`.
    pub async fn new(clock: Arc<dyn Clock>) -> Self {
        Self::answering(clock, Mode::Blocking).await
    }

    /// The same, answered as `mode` says.
    pub async fn answering(clock: Arc<dyn Clock>, mode: Mode) -> Self {
        let calls = Calls::default();
        let inner = Engine::in_memory().unwrap().connector(mode);
        let client = engine::client_over(Counted { inner, calls: calls.clone() });
        schema::create_table(&client, Self::NAME, &SystemClock).await.unwrap();
        calls.take();
        let costs = Costs::default();
        let table = Self::stores(&client, &clock, &costs);
        Self { table, calls, costs, client, clock }
    }

    /// The way past the stores, to the table [`MeteredTable::NAME`].
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The same table as a process sees it that has just started: nothing is remembered.
    pub fn cold(&self) -> Arc<Table> {
        Self::stores(&self.client, &self.clock, &self.costs)
    }

    fn stores(client: &Client, clock: &Arc<dyn Clock>, costs: &Costs) -> Arc<Table> {
        let costs = costs.clone();
        let observer = Arc::new(move |_: &'static str, write: f64, read: f64| costs.add(write, read));
        let table = Table::new(client, Self::NAME, Arc::clone(clock), Arc::new(OsRandom));
        Arc::new(table.with_capacity(observer))
    }
}

/// A client of the second engine; none where there is none.
pub fn second_engine() -> Option<Client> {
    let endpoint = Process.get(SECOND_ENGINE)?;
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .endpoint_url(endpoint)
        .credentials_provider(Credentials::new("test", "test", None, None, "test"))
        .retry_config(RetryConfig::disabled())
        .build();
    Some(Client::from_conf(config))
}

/// A table's name that no other test has, also not in another run against the same engine.
pub fn unique_table() -> String {
    let mut random = [0; 8];
    OsRandom.fill(&mut random);
    format!("pudu-it-{:016x}", u64::from_be_bytes(random))
}
