//! A table that answers from a script, below the real SDK: for what no engine does on demand (an answer lost after the
//! write, a transaction conflict, throttling). Whether expressions mean what they should is asked of real engines, by the
//! conformance suites.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_dynamodb::types::AttributeValue;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use pudu_app::ports::{Clock, Random};
use pudu_domain::Timestamp;
use serde_json::{Map, Value, json};

use crate::row::Row;
use crate::table::Table;

/// One answer.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// The connection breaks after the request was sent.
    Silence,
    /// A status and a body.
    Answer(u16, Value),
}

/// The script, and what was asked.
#[derive(Debug, Clone, Default)]
pub(crate) struct Script {
    steps: Arc<Mutex<VecDeque<Step>>>,
    asked: Arc<Mutex<Vec<Value>>>,
}

impl Script {
    pub(crate) fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self { steps: Arc::new(Mutex::new(steps.into_iter().collect())), asked: Arc::default() }
    }

    /// The bodies of the requests so far.
    pub(crate) fn asked(&self) -> Vec<Value> {
        self.asked.lock().unwrap().clone()
    }

    /// A table over it, whose clock stands at `now` and is moved by sleeping alone.
    pub(crate) fn table(&self, now: Timestamp) -> Table {
        let config = aws_sdk_dynamodb::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("local"))
            .endpoint_url("http://scripted.invalid")
            .credentials_provider(Credentials::new("a", "b", None, None, "scripted"))
            // On, to show that the table turns them off.
            .retry_config(RetryConfig::standard().with_max_attempts(3).with_initial_backoff(Duration::ZERO))
            .http_client(self.clone())
            .build();
        let world = Arc::new(World(Mutex::new(now), Mutex::new(0)));
        Table::new(&Client::from_conf(config), "table", world.clone(), world)
    }
}

impl HttpConnector for Script {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let body = request.body().bytes().unwrap_or_default();
        self.asked.lock().unwrap().push(serde_json::from_slice(body).unwrap());
        let step = self.steps.lock().unwrap().pop_front().expect("a request after the end of the script");
        HttpConnectorFuture::ready(match step {
            Step::Silence => Err(ConnectorError::io("the connection broke".into())),
            Step::Answer(status, body) => {
                Ok(HttpResponse::new(status.try_into().unwrap(), SdkBody::from(body.to_string())))
            }
        })
    }
}

impl HttpClient for Script {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

#[derive(Debug)]
struct World(Mutex<Timestamp>, Mutex<u8>);

#[async_trait]
impl Clock for World {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }

    async fn sleep(&self, duration: Duration) {
        let mut now = self.0.lock().unwrap();
        *now = *now + duration;
    }
}

impl Random for World {
    fn fill(&self, bytes: &mut [u8]) {
        let mut next = self.1.lock().unwrap();
        *next = next.wrapping_add(1);
        bytes.fill(*next);
    }
}

/// A success without content.
pub(crate) fn done() -> Step {
    Step::Answer(200, json!({}))
}

/// An error of the service.
pub(crate) fn error(status: u16, class: &str) -> Step {
    Step::Answer(
        status,
        json!({"__type": format!("com.amazonaws.dynamodb.v20120810#{class}"), "message": "m"}),
    )
}

/// A failed condition of a single write, on `row`.
pub(crate) fn condition_failed(row: Option<&Row>) -> Step {
    let mut body = json!({"__type": "x#ConditionalCheckFailedException", "message": "m"});
    if let Some(row) = row {
        body["Item"] = wire(row);
    }
    Step::Answer(400, body)
}

/// A cancelled transaction; per element a code and the row.
pub(crate) fn cancelled<'a>(reasons: impl IntoIterator<Item = (&'a str, Option<&'a Row>)>) -> Step {
    let reasons: Vec<Value> = reasons
        .into_iter()
        .map(|(code, row)| match row {
            Some(row) => json!({"Code": code, "Item": wire(row)}),
            None => json!({"Code": code}),
        })
        .collect();
    Step::Answer(400, json!({"__type": "x#TransactionCanceledException", "CancellationReasons": reasons}))
}

/// A row as it is on the wire.
pub(crate) fn wire(row: &Row) -> Value {
    let value = |value: &AttributeValue| match value {
        AttributeValue::S(text) => json!({"S": text}),
        AttributeValue::N(digits) => json!({"N": digits}),
        AttributeValue::B(blob) => json!({"B": aws_smithy_types::base64::encode(blob)}),
        other => panic!("{other:?} in a scripted row"),
    };
    Value::Object(row.iter().map(|(name, v)| (name.clone(), value(v))).collect::<Map<_, _>>())
}
