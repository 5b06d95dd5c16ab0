//! A row that no codec of ours makes, so not a case of a suite, but asked of both engines: without a generation it can never
//! be claimed, and the lease that it still carries is over.

use acceptance::{second_engine, skipped, unique_table};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use pudu::engine::Engine;
use pudu_app::ports::{Clock, StoreError};
use pudu_domain::{Lane, TaskKey};
use pudu_dynamo::Key;
use pudu_dynamo::key::shard_of;
use pudu_testkit::clock::EPOCH;
use pudu_testkit::fixture::{LEASE, intent, lease, task_key, thread};

use super::worlds;

#[tokio::test]
async fn the_embedded_engine_puts_it_away() {
    let engine = Engine::in_memory().unwrap();
    an_unfit_row_is_put_away(engine.client(), "unfit".to_owned()).await;
}

#[tokio::test]
async fn the_second_engine_puts_it_away() {
    let Some(client) = second_engine() else {
        return skipped(
            "unfit rows on the second engine",
            "export $(.ci/second-engine start), then run again",
        );
    };
    an_unfit_row_is_put_away(client, unique_table()).await;
}

async fn an_unfit_row_is_put_away(client: Client, table: String) {
    let world = worlds::world(client.clone(), table.clone(), std::sync::Arc::new(())).await;
    let key = task_key(&thread("t1"), EPOCH, 1);
    world.tasks.commit(&intent(&key, "dead", EPOCH)).await.unwrap();
    forget_generation(&client, &table, &key).await;

    let claim = async |owner| world.tasks.claim(&key, Lane::Intent, lease(owner, world.clock.now())).await;
    world.clock.set(EPOCH + LEASE);
    assert_eq!(claim("early").await.unwrap(), None, "the lease still counts");
    world.clock.pass(std::time::Duration::from_millis(1));
    let claimed = claim("w").await;
    assert!(matches!(claimed, Err(StoreError::Corrupt { attribute: "gen", .. })), "{claimed:?}");

    let row = client.get_item().table_name(&table).set_key(Some(address(&key))).consistent_read(true);
    let row = row.send().await.unwrap().item.unwrap();
    assert_eq!(row["due_pk"], AttributeValue::S(format!("corrupt#{:02}", shard_of(&key.id))));
    assert!(!row.contains_key("lo") && !row.contains_key("lu"), "{row:?}");
    assert_eq!(claim("again").await.unwrap(), None, "nobody tries it again");
}

fn address(key: &TaskKey) -> std::collections::HashMap<String, AttributeValue> {
    let key = Key::Task(key.clone());
    let text = AttributeValue::S;
    [("pk".to_owned(), text(key.pk())), ("sk".to_owned(), text(key.sk()))].into()
}

async fn forget_generation(client: &Client, table: &str, key: &TaskKey) {
    let update = client
        .update_item()
        .table_name(table)
        .set_key(Some(address(key)))
        .update_expression("REMOVE #gen")
        .condition_expression("attribute_exists(#gen) AND attribute_exists(#lo)")
        .expression_attribute_names("#gen", "gen")
        .expression_attribute_names("#lo", "lo");
    update.send().await.unwrap();
}
