//! The simulation's table as the real one: `pudu-dynamo` and the AWS SDK on an embedded engine in memory, with every HTTP
//! request of every worker passing that worker's gate.
//!
//! A request that fails before it is sent comes back as what DynamoDB answers when it refuses without applying (a
//! transaction conflict, throttling) or as a connection error; one whose answer is lost was applied all the same.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use pudu::engine::{EmbeddedConnector, Engine, Mode, client_over};
use pudu_app::ports::{Clock, EventLog, NoteKey, NoteStore, Random, TaskStore, ThreadStore};
use pudu_domain::{TaskKey, ThreadKey};
use pudu_dynamo::Table;
use pudu_testkit::gate::Broken;
use pudu_testkit::sim::{Backend, Seen, Stores};
use pudu_testkit::table::StoredTask;
use pudu_testkit::{Gate, SeededRandom, VirtualClock};

const TABLE: &str = "pudu";

/// A table on an engine of its own.
pub struct DynamoBackend {
    connector: EmbeddedConnector,
    open: Table,
    random: Arc<SeededRandom>,
}

impl DynamoBackend {
    /// An empty table in memory.
    pub async fn new(clock: &VirtualClock, random: &SeededRandom) -> Result<Self, String> {
        let engine = Engine::in_memory().map_err(|error| error.to_string())?;
        let connector = engine.connector(Mode::Inline);
        let client = client_over(connector.clone());
        pudu_dynamo::schema::create_table(&client, TABLE, clock).await.map_err(|error| error.to_string())?;
        let random = Arc::new(random.fork());
        let open = Table::new(&client, TABLE, Arc::new(*clock), random.clone());
        Ok(Self { connector, open, random })
    }
}

impl Backend for DynamoBackend {
    fn stores(&self, clock: Arc<dyn Clock>, gate: &Gate) -> Stores {
        let client = client_over(Faulty { inner: self.connector.clone(), gate: gate.clone() });
        let random: Arc<dyn Random> = Arc::new(self.random.fork());
        let table = Arc::new(Table::new(&client, TABLE, clock, random));
        Stores {
            tasks: table.clone(),
            notes: table.clone(),
            threads: table.clone(),
            runs: table.clone(),
            memories: table.clone(),
            due: table.clone(),
            beacons: table.clone(),
            audit: table.clone(),
            api_keys: table.clone(),
            config: table.clone(),
            catalogs: table,
        }
    }

    async fn seen(&self, tasks: &[TaskKey], threads: &[ThreadKey]) -> Result<Seen, String> {
        let mut seen = Seen { delivered: BTreeMap::new(), ..Seen::default() };
        let failed = |error: pudu_app::ports::StoreError| format!("{}", pudu_app::chain::Chain(&error));
        for key in threads {
            seen.threads.extend(ThreadStore::load(&self.open, key).await.map_err(failed)?);
            let events = self.open.events(key, 1000).await.map_err(failed)?;
            seen.delivered.insert(key.clone(), events);
        }
        for key in tasks {
            let Some(task) = TaskStore::load(&self.open, key).await.map_err(failed)? else { continue };
            let spec = self.open.spec(&task).await.map_err(failed)?.ok_or("a task without its spec")?;
            for version in 1..=task.attention.last {
                let note = NoteStore::load(&self.open, &NoteKey { task: key.clone(), version }).await;
                seen.notes.push(note.map_err(failed)?.ok_or("an event without its note")?);
            }
            let payload = self.open.payload(key).await.map_err(failed)?;
            let answer = self.open.answer(key).await.map_err(failed)?;
            seen.tasks.push(StoredTask { task, spec, payload, answer });
        }
        Ok(seen)
    }
}

/// The embedded connector behind a gate.
#[derive(Clone)]
struct Faulty {
    inner: EmbeddedConnector,
    gate: Gate,
}

impl fmt::Debug for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Faulty")
    }
}

/// An answer whose debug form is the same in every run: bodies hold maps without an order, headers hold random ids.
struct Told(Result<HttpResponse, ConnectorError>);

impl fmt::Debug for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Ok(response) => write!(f, "{}", response.status().as_u16()),
            Err(error) => write!(f, "{error}"),
        }
    }
}

impl HttpConnector for Faulty {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let op = operation(&request);
        let (inner, gate) = (self.inner.clone(), self.gate.clone());
        HttpConnectorFuture::new(async move {
            let number = gate.calls();
            match gate.call(op, async { Told(inner.call(request).await) }).await {
                Ok(Told(answer)) => answer,
                Err(Broken::AnswerLost) => {
                    Err(ConnectorError::timeout("injected: the answer was lost".into()))
                }
                Err(Broken::NotSent) => refused(op, number),
            }
        })
    }
}

impl HttpClient for Faulty {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

/// One of the ways in which a request is not applied.
fn refused(op: &'static str, number: u64) -> Result<HttpResponse, ConnectorError> {
    match (number % 3, op) {
        (0, _) => Err(ConnectorError::io("injected: the connection was refused".into())),
        (1, "TransactWriteItems") => answer(
            r#"{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","Message":"injected","CancellationReasons":[{"Code":"TransactionConflict","Message":"injected"}]}"#,
        ),
        (1, "PutItem" | "UpdateItem") => answer(
            r#"{"__type":"com.amazonaws.dynamodb.v20120810#TransactionConflictException","message":"injected"}"#,
        ),
        _ => answer(
            r#"{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException","message":"injected"}"#,
        ),
    }
}

fn answer(body: &'static str) -> Result<HttpResponse, ConnectorError> {
    let status = StatusCode::try_from(400).map_err(|error| ConnectorError::other(error.into(), None))?;
    Ok(HttpResponse::new(status, SdkBody::from(body)))
}

/// The operation that a request names.
fn operation(request: &HttpRequest) -> &'static str {
    let target = request.headers().get("x-amz-target").unwrap_or_default();
    match target.rsplit_once('.').map(|(_, op)| op) {
        Some("GetItem") => "GetItem",
        Some("PutItem") => "PutItem",
        Some("UpdateItem") => "UpdateItem",
        Some("Query") => "Query",
        Some("TransactWriteItems") => "TransactWriteItems",
        _ => "other",
    }
}
