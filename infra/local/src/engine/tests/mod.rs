//! What the stores rely on in the engine, seen through the SDK's typed errors, and the ways to reach it.

mod contract;
mod reach;

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType,
    Projection, ProjectionType, ScalarAttributeType,
};

type Row = HashMap<String, AttributeValue>;

/// A table like the real one: `pk` and `sk`, and a sparse index `due` that projects keys and `server`.
async fn create_table(client: &Client) {
    let key = |name: &str, kind: KeyType| {
        KeySchemaElement::builder().attribute_name(name).key_type(kind).build().unwrap()
    };
    let attribute = |name: &str, kind: ScalarAttributeType| {
        AttributeDefinition::builder().attribute_name(name).attribute_type(kind).build().unwrap()
    };
    client
        .create_table()
        .table_name("table")
        .billing_mode(BillingMode::PayPerRequest)
        .attribute_definitions(attribute("pk", ScalarAttributeType::S))
        .attribute_definitions(attribute("sk", ScalarAttributeType::S))
        .attribute_definitions(attribute("due_pk", ScalarAttributeType::S))
        .attribute_definitions(attribute("due_at", ScalarAttributeType::N))
        .key_schema(key("pk", KeyType::Hash))
        .key_schema(key("sk", KeyType::Range))
        .global_secondary_indexes(
            GlobalSecondaryIndex::builder()
                .index_name("due")
                .key_schema(key("due_pk", KeyType::Hash))
                .key_schema(key("due_at", KeyType::Range))
                .projection(
                    Projection::builder()
                        .projection_type(ProjectionType::Include)
                        .non_key_attributes("server")
                        .build(),
                )
                .build()
                .unwrap(),
        )
        .send()
        .await
        .unwrap();
}

async fn memory() -> Client {
    let client = super::Engine::in_memory().unwrap().client();
    create_table(&client).await;
    client
}

fn s(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

fn n(number: i64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

fn row(pairs: &[(&str, AttributeValue)]) -> Row {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

async fn put(client: &Client, pairs: &[(&str, AttributeValue)]) {
    client.put_item().table_name("table").set_item(Some(row(pairs))).send().await.unwrap();
}

async fn get(client: &Client, pk: &str, sk: &str) -> Option<Row> {
    let key = row(&[("pk", s(pk)), ("sk", s(sk))]);
    client.get_item().table_name("table").set_key(Some(key)).consistent_read(true).send().await.unwrap().item
}
