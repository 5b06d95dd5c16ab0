//! Rows that no codec of ours makes: below the ports, so not a case of a suite, but on both engines.

use acceptance::skipped;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use pudu::engine::Engine;
use pudu_app::ports::{DueIndex, ItemKey, StoreError, TaskStore};
use pudu_domain::{Lane, TaskKey};
use pudu_dynamo::key::{Key, shard_of};
use pudu_testkit::clock::EPOCH;
use pudu_testkit::conformance::World;
use pudu_testkit::fixture::{lease, task_key, thread};

use super::worlds;

/// Takes the generation from a task's row, so that no claim can be made, and leaves it a lease that is over.
async fn spoil(client: &Client, table: &str, key: &TaskKey) {
    let key = Key::Task(key.clone());
    let spoilt = client
        .update_item()
        .table_name(table)
        .key("pk", AttributeValue::S(key.pk()))
        .key("sk", AttributeValue::S(key.sk()))
        .update_expression("SET #lo = :dead, #lu = :over REMOVE #gen")
        .condition_expression("attribute_exists(#gen)")
        .expression_attribute_names("#lo", "lo")
        .expression_attribute_names("#lu", "lu")
        .expression_attribute_names("#gen", "gen")
        .expression_attribute_values(":dead", AttributeValue::S("dead:1".to_owned()))
        .expression_attribute_values(":over", AttributeValue::N(EPOCH.as_millis().to_string()));
    spoilt.send().await.unwrap();
}

async fn an_unfit_row_with_an_old_lease_is_put_away(world: World, client: &Client, table: &str) {
    let key = task_key(&thread("t1"), EPOCH, 1);
    world.tracked(&key).await;
    spoil(client, table, &key).await;
    world.at(5000);
    let claimed = world.tasks.claim(&key, Lane::Poll, lease("w", world.now())).await;
    assert!(matches!(claimed, Err(StoreError::Corrupt { attribute: "gen", .. })), "{claimed:?}");
    let row = client
        .get_item()
        .table_name(table)
        .key("pk", AttributeValue::S(Key::Task(key.clone()).pk()))
        .key("sk", AttributeValue::S(Key::Task(key.clone()).sk()))
        .consistent_read(true)
        .send()
        .await
        .unwrap()
        .item
        .unwrap();
    let corrupt = format!("corrupt#{:02}", shard_of(&key.id));
    assert_eq!(row["due_pk"], AttributeValue::S(corrupt));
    assert!(!row.contains_key("lo") && !row.contains_key("lu"), "{row:?}");
    let again = world.tasks.claim(&key, Lane::Poll, lease("w2", world.now())).await.unwrap();
    assert_eq!(again, None, "nobody tries it again");
}
