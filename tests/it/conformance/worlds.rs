//! One empty table behind every port, per case.

use std::any::Any;
use std::sync::Arc;

use acceptance::unique_table;
use async_trait::async_trait;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use pudu::engine::Engine;
use pudu_app::ports::NoteKey;
use pudu_domain::{RunKey, TaskKey};
use pudu_dynamo::{Key, Table, schema};
use pudu_lambda::clock::SystemClock;
use pudu_lambda::random::OsRandom;
use pudu_testkit::ManualClock;
use pudu_testkit::conformance::{Vandal, World};

/// On an embedded engine of its own, in memory.
pub(super) async fn embedded() -> World {
    let engine = Engine::in_memory().unwrap();
    world(engine.client(), "embedded".to_owned(), Arc::new(engine)).await
}

/// On the second engine, which all tests share: a table of its own.
pub(super) async fn second(client: &Client) -> World {
    world(client.clone(), unique_table(), Arc::new(())).await
}

pub(super) async fn world(client: Client, name: String, keep: Arc<dyn Any + Send + Sync>) -> World {
    // The real clock: an engine that makes its tables in the background does not know the case's.
    schema::create_table(&client, &name, &SystemClock).await.unwrap();
    let clock = Arc::new(ManualClock::start());
    // Not a seeded generator: request tokens are one space for a whole engine, and two cases must not share one.
    let table = Arc::new(Table::new(&client, &name, clock.clone(), Arc::new(OsRandom)));
    World {
        tasks: table.clone(),
        notes: table.clone(),
        runs: table.clone(),
        threads: table.clone(),
        due: table.clone(),
        events: table.clone(),
        config: table.clone(),
        catalogs: table.clone(),
        tokens: table.clone(),
        wrapped_keys: table.clone(),
        peers: table.clone(),
        beacons: table.clone(),
        audit: table.clone(),
        keys: table.clone(),
        allowances: table.clone(),
        breakers: table.clone(),
        memories: table.clone(),
        feedback: table,
        clock,
        vandal: Some(Arc::new(Breaker { client, name })),
        keep,
    }
}

/// Breaks rows by giving them a format version that nobody knows.
struct Breaker {
    client: Client,
    name: String,
}

impl Breaker {
    async fn damage(&self, key: &Key) {
        let broken = self
            .client
            .update_item()
            .table_name(&self.name)
            .key("pk", AttributeValue::S(key.pk()))
            .key("sk", AttributeValue::S(key.sk()))
            .update_expression("SET #v = :unknown")
            .condition_expression("attribute_exists(pk)")
            .expression_attribute_names("#v", "v")
            .expression_attribute_values(":unknown", AttributeValue::N("999".to_owned()));
        broken.send().await.unwrap();
    }
}

#[async_trait]
impl Vandal for Breaker {
    async fn break_task(&self, key: &TaskKey) {
        self.damage(&Key::Task(key.clone())).await;
    }

    async fn break_note(&self, key: &NoteKey) {
        self.damage(&Key::Note(key.clone())).await;
    }

    async fn break_run(&self, key: &RunKey) {
        self.damage(&Key::Run(key.clone())).await;
    }
}
