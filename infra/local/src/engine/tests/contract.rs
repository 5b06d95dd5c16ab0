//! Conditions, transactions, index and capacity: each of these is a promise that a store is built on.

use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{
    Capacity, ConditionCheck, ConsumedCapacity, Put, ReturnConsumedCapacity, ReturnValue,
    ReturnValuesOnConditionCheckFailure, TransactWriteItem, Update,
};
use tokio::task::JoinSet;

use super::{get, memory, n, put, row, s};
use crate::engine::{Engine, Mode, client_over};

#[tokio::test]
async fn a_row_comes_back_as_it_was_put() {
    let client = memory().await;
    let pairs = [("pk", s("p")), ("sk", s("a")), ("n", n(7))];
    put(&client, &pairs).await;
    assert_eq!(get(&client, "p", "a").await, Some(row(&pairs)));
    assert_eq!(get(&client, "p", "b").await, None);
}

#[tokio::test]
async fn a_failed_condition_shows_the_old_row_in_the_typed_error() {
    let client = memory().await;
    put(&client, &[("pk", s("p")), ("sk", s("a")), ("owner", s("first"))]).await;
    let error = client
        .put_item()
        .table_name("table")
        .set_item(Some(row(&[("pk", s("p")), ("sk", s("a")), ("owner", s("second"))])))
        .condition_expression("attribute_not_exists(pk)")
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
        .send()
        .await
        .unwrap_err()
        .into_service_error();
    let PutItemError::ConditionalCheckFailedException(failed) = error else { panic!("{error:?}") };
    assert_eq!(failed.item.unwrap().get("owner"), Some(&s("first")));
    assert_eq!(get(&client, "p", "a").await.unwrap().get("owner"), Some(&s("first")));
}

#[tokio::test]
async fn a_failed_condition_on_an_absent_row_shows_no_row() {
    let client = memory().await;
    let error = client
        .update_item()
        .table_name("table")
        .set_key(Some(row(&[("pk", s("p")), ("sk", s("a"))])))
        .update_expression("SET n = :n")
        .condition_expression("attribute_exists(pk)")
        .expression_attribute_values(":n", n(1))
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
        .send()
        .await
        .unwrap_err()
        .into_service_error();
    let UpdateItemError::ConditionalCheckFailedException(failed) = error else { panic!("{error:?}") };
    assert_eq!(failed.item, None);
    assert_eq!(get(&client, "p", "a").await, None, "a refused update must not create the row");
}

#[tokio::test]
async fn a_cancelled_transaction_gives_a_reason_and_the_old_row_for_each_element() {
    let client = memory().await;
    put(&client, &[("pk", s("p")), ("sk", s("a")), ("n", n(1))]).await;
    put(&client, &[("pk", s("p")), ("sk", s("b")), ("n", n(2))]).await;
    let all_old = ReturnValuesOnConditionCheckFailure::AllOld;
    let update = Update::builder()
        .table_name("table")
        .set_key(Some(row(&[("pk", s("p")), ("sk", s("a"))])))
        .update_expression("SET n = :new")
        .condition_expression("n = :seen")
        .expression_attribute_values(":new", n(9))
        .expression_attribute_values(":seen", n(5))
        .return_values_on_condition_check_failure(all_old.clone())
        .build()
        .unwrap();
    let check = ConditionCheck::builder()
        .table_name("table")
        .set_key(Some(row(&[("pk", s("p")), ("sk", s("b"))])))
        .condition_expression("attribute_not_exists(pk)")
        .return_values_on_condition_check_failure(all_old)
        .build()
        .unwrap();
    let put = Put::builder()
        .table_name("table")
        .set_item(Some(row(&[("pk", s("p")), ("sk", s("c"))])))
        .build()
        .unwrap();
    let error = client
        .transact_write_items()
        .transact_items(TransactWriteItem::builder().update(update).build())
        .transact_items(TransactWriteItem::builder().put(put).build())
        .transact_items(TransactWriteItem::builder().condition_check(check).build())
        .send()
        .await
        .unwrap_err()
        .into_service_error();
    let TransactWriteItemsError::TransactionCanceledException(cancelled) = error else { panic!("{error:?}") };
    let seen: Vec<_> = cancelled
        .cancellation_reasons()
        .iter()
        .map(|reason| {
            (reason.code().unwrap().to_owned(), reason.item().and_then(|item| item.get("n").cloned()))
        })
        .collect();
    let failed = || "ConditionalCheckFailed".to_owned();
    assert_eq!(seen, [(failed(), Some(n(1))), ("None".to_owned(), None), (failed(), Some(n(2)))]);
    assert_eq!(get(&client, "p", "c").await, None, "nothing of a cancelled transaction is written");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thirty_two_racers_have_one_winner() {
    let client = memory().await;
    put(&client, &[("pk", s("p")), ("sk", s("a")), ("generation", n(0))]).await;
    let mut racers = JoinSet::new();
    for racer in 0..32_i64 {
        let client = client.clone();
        racers.spawn(async move {
            client
                .update_item()
                .table_name("table")
                .set_key(Some(row(&[("pk", s("p")), ("sk", s("a"))])))
                .update_expression("SET generation = generation + :one, winner = :me")
                .condition_expression("generation = :seen")
                .expression_attribute_values(":one", n(1))
                .expression_attribute_values(":seen", n(0))
                .expression_attribute_values(":me", n(racer))
                .return_values(ReturnValue::AllNew)
                .send()
                .await
                .map(|output| output.attributes.unwrap())
                .map_err(aws_sdk_dynamodb::error::SdkError::into_service_error)
        });
    }
    let mut winners = Vec::new();
    while let Some(result) = racers.join_next().await {
        match result.unwrap() {
            Ok(new) => winners.push(new),
            Err(UpdateItemError::ConditionalCheckFailedException(_)) => {}
            Err(other) => panic!("{other:?}"),
        }
    }
    assert_eq!(winners.len(), 1);
    assert_eq!(get(&client, "p", "a").await.as_ref(), winners.first());
}

#[tokio::test]
async fn only_rows_with_both_index_keys_are_in_the_index_and_it_shows_what_it_projects() {
    let client = memory().await;
    let due = [("pk", s("p")), ("sk", s("a")), ("due_pk", s("poll#00")), ("due_at", n(5))];
    put(&client, &[&due[..], &[("server", s("x")), ("status", s("working"))]].concat()).await;
    put(&client, &[("pk", s("p")), ("sk", s("b")), ("due_pk", s("poll#00"))]).await;
    put(&client, &[("pk", s("p")), ("sk", s("c")), ("due_at", n(1))]).await;
    let query = || {
        client
            .query()
            .table_name("table")
            .index_name("due")
            .key_condition_expression("due_pk = :shard AND due_at <= :now")
            .expression_attribute_values(":shard", s("poll#00"))
            .expression_attribute_values(":now", n(10))
    };
    let found = query().send().await.unwrap();
    assert_eq!(found.items(), [row(&[&due[..], &[("server", s("x"))]].concat())]);

    client
        .update_item()
        .table_name("table")
        .set_key(Some(row(&[("pk", s("p")), ("sk", s("a"))])))
        .update_expression("REMOVE due_pk, due_at")
        .send()
        .await
        .unwrap();
    assert_eq!(query().send().await.unwrap().count(), 0);
}

#[tokio::test]
async fn an_index_is_paged_in_order_without_loss_even_when_all_are_due_at_once() {
    let client = memory().await;
    for i in 0..7 {
        put(
            &client,
            &[("pk", s("p")), ("sk", s(&format!("{i}"))), ("due_pk", s("poll#00")), ("due_at", n(5))],
        )
        .await;
    }
    let mut seen = Vec::new();
    let mut start = None;
    loop {
        let page = client
            .query()
            .table_name("table")
            .index_name("due")
            .key_condition_expression("due_pk = :shard AND due_at <= :now")
            .expression_attribute_values(":shard", s("poll#00"))
            .expression_attribute_values(":now", n(10))
            .limit(3)
            .set_exclusive_start_key(start)
            .send()
            .await
            .unwrap();
        assert!(page.count() <= 3);
        seen.extend(page.items().iter().map(|item| item.get("sk").unwrap().as_s().unwrap().clone()));
        start = page.last_evaluated_key;
        if start.is_none() {
            break;
        }
    }
    seen.sort();
    assert_eq!(seen, ["0", "1", "2", "3", "4", "5", "6"]);
}

#[tokio::test]
async fn the_newest_of_a_prefix_is_the_first_of_a_backwards_query() {
    let client = memory().await;
    for sk in ["note#9", "task#1", "task#2", "task#3", "text#0"] {
        put(&client, &[("pk", s("p")), ("sk", s(sk))]).await;
    }
    let page = client
        .query()
        .table_name("table")
        .key_condition_expression("pk = :pk AND begins_with(sk, :prefix)")
        .expression_attribute_values(":pk", s("p"))
        .expression_attribute_values(":prefix", s("task#"))
        .scan_index_forward(false)
        .limit(2)
        .send()
        .await
        .unwrap();
    let seen: Vec<_> = page.items().iter().map(|item| item.get("sk").unwrap().as_s().unwrap()).collect();
    assert_eq!(seen, ["task#3", "task#2"]);
    assert!(page.last_evaluated_key().is_some(), "task#1 is still to come");
}

#[tokio::test]
async fn a_counter_starts_at_its_default_and_only_grows() {
    let client = memory().await;
    let bump = || {
        client
            .update_item()
            .table_name("table")
            .set_key(Some(row(&[("pk", s("p")), ("sk", s("counter"))])))
            .update_expression("SET seq = if_not_exists(seq, :zero) + :one")
            .expression_attribute_values(":zero", n(0))
            .expression_attribute_values(":one", n(1))
            .return_values(ReturnValue::UpdatedNew)
    };
    for expected in 1..=3 {
        let new = bump().send().await.unwrap().attributes.unwrap();
        assert_eq!(new, row(&[("seq", n(expected))]));
    }
}

/// The units of each kind of write of a task's life, table and index apart, as DynamoDB documents them.
#[tokio::test]
async fn capacity_counts_the_index_only_when_the_index_changes() {
    let client = memory().await;
    put(
        &client,
        &[("pk", s("p")), ("sk", s("a")), ("due_pk", s("poll#00")), ("due_at", n(5)), ("server", s("x"))],
    )
    .await;
    let mut seen = Vec::new();
    for expression in ["SET lease = :v", "SET due_at = :v", "SET due_at = :v", "REMOVE due_at"] {
        let mut update = client
            .update_item()
            .table_name("table")
            .set_key(Some(row(&[("pk", s("p")), ("sk", s("a"))])))
            .update_expression(expression)
            .return_consumed_capacity(ReturnConsumedCapacity::Indexes);
        if expression.starts_with("SET") {
            update = update.expression_attribute_values(":v", n(6));
        }
        let used = update.send().await.unwrap().consumed_capacity.unwrap();
        let index = used.global_secondary_indexes().and_then(|all| all.get("due")?.capacity_units());
        seen.push((used.capacity_units(), used.table().and_then(Capacity::capacity_units), index));
    }
    assert_eq!(
        seen,
        [
            (Some(1.0), Some(1.0), None),
            // A moved index key is a delete and an insert.
            (Some(3.0), Some(1.0), Some(2.0)),
            // The same value again is no change of the index.
            (Some(1.0), Some(1.0), None),
            (Some(2.0), Some(1.0), Some(1.0)),
        ]
    );
}

#[tokio::test]
async fn capacity_of_reads_and_transactions_is_returned() {
    let client = memory().await;
    put(&client, &[("pk", s("p")), ("sk", s("a"))]).await;
    let read = |consistent: bool| {
        client
            .get_item()
            .table_name("table")
            .set_key(Some(row(&[("pk", s("p")), ("sk", s("a"))])))
            .consistent_read(consistent)
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .send()
    };
    let units = |used: Option<ConsumedCapacity>| used.unwrap().capacity_units();
    assert_eq!(units(read(false).await.unwrap().consumed_capacity), Some(0.5));
    assert_eq!(units(read(true).await.unwrap().consumed_capacity), Some(1.0));

    let put = |sk: &str| {
        let put =
            Put::builder().table_name("table").set_item(Some(row(&[("pk", s("p")), ("sk", s(sk))]))).build();
        TransactWriteItem::builder().put(put.unwrap()).build()
    };
    let used = client
        .transact_write_items()
        .transact_items(put("x"))
        .transact_items(put("y"))
        .return_consumed_capacity(ReturnConsumedCapacity::Total)
        .send()
        .await
        .unwrap()
        .consumed_capacity
        .unwrap();
    assert_eq!(used.iter().map(ConsumedCapacity::capacity_units).collect::<Vec<_>>(), [Some(4.0)]);
}

#[tokio::test]
async fn an_operation_it_does_not_have_is_named_as_such_and_is_not_retried() {
    let client = memory().await;
    let error = client.describe_limits().send().await.unwrap_err().into_service_error();
    assert_eq!(error.code(), Some("UnknownOperationException"));
}

#[tokio::test]
async fn an_invalid_request_shows_no_marker_of_the_engine() {
    let client = memory().await;
    let error = client
        .put_item()
        .table_name("table")
        .set_item(Some(row(&[
            ("pk", s("p")),
            ("sk", s("a")),
            ("empty", aws_sdk_dynamodb::types::AttributeValue::Null(false)),
        ])))
        .send()
        .await
        .unwrap_err()
        .into_service_error();
    assert_eq!(error.code(), Some("ValidationException"));
    let message = error.message().unwrap();
    assert!(!message.contains("VALIDATION") && !message.contains(" at line "), "{message}");
}

/// On one thread, so that a blocking pool would be seen as another order.
#[tokio::test]
async fn inline_mode_yields_before_each_call_and_runs_in_a_fixed_order() {
    let engine = Engine::in_memory().unwrap();
    let client = client_over(engine.connector(Mode::Inline));
    super::create_table(&client).await;
    let trace = || async {
        let order = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let mut tasks = JoinSet::new();
        for name in ["a", "b", "c"] {
            let (client, order) = (client.clone(), std::sync::Arc::clone(&order));
            tasks.spawn(async move {
                for turn in 0..3 {
                    put(&client, &[("pk", s("p")), ("sk", s(name))]).await;
                    order.lock().unwrap().push((turn, name));
                }
            });
        }
        while tasks.join_next().await.is_some() {}
        order.lock().unwrap().clone()
    };
    let first = trace().await;
    assert_eq!(first, trace().await);
    let turns: Vec<_> = first.iter().map(|(turn, _)| *turn).collect();
    assert_eq!(turns, [0, 0, 0, 1, 1, 1, 2, 2, 2], "tasks interleave at store calls");
}
