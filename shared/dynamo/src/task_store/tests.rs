//! Commits and claims over scripted answers: what is judged how, and what each attempt asks for.

use std::time::Duration;

use pudu_domain::task::{Command, Context, Delivery, Intent, decide, intend};
use pudu_domain::{
    Owner, Policy, RemoteTaskId, ServerName, Snapshot, Status, TaskName, ThreadId, Timestamp, UserId,
};
use serde_json::{Value, json};

use super::*;
use crate::row::number;
use crate::scripted::{Script, Step, cancelled, condition_failed, done, error, wire};
use crate::strategies::noise;

const NOW: Timestamp = Timestamp::from_millis(1_793_491_200_000);

fn key(n: u8) -> TaskKey {
    let user = UserId::parse("local:default").unwrap();
    let thread = ThreadKey { user, thread: ThreadId::parse("t").unwrap() };
    TaskKey { thread, id: TaskId::new(NOW, [n; 10]) }
}

fn lease(nonce: u64) -> Lease {
    Lease { owner: Owner::new("w", nonce), until: NOW + Duration::from_secs(60) }
}

fn birth() -> Change {
    let intent = Intent {
        key: key(1),
        name: TaskName::parse("report").unwrap(),
        server: ServerName::parse("s").unwrap(),
        identity: "http x".into(),
        driver: "ordinary".into(),
        driver_data: json!({}),
        delivery: Delivery::Event,
        repeatable: None,
    };
    intend(intent, lease(1), NOW)
}

fn decided(task: &Task, command: Command) -> Change {
    let (spec, payload) = (birth().spec.unwrap(), Payload::default());
    let context = Context { spec: &spec, payload: &payload, policy: &Policy::default() };
    decide(task, command, NOW, context).unwrap().unwrap()
}

/// The submit's commit: hot row, spec, handle.
fn tracked() -> Change {
    let remote = RemoteTaskId::parse("r").unwrap();
    let snapshot = Snapshot::bare(Status::Working);
    decided(&birth().task, Command::RecordSubmit { remote, snapshot, started_at: NOW })
}

/// An unchanged poll: the hot row alone.
fn polled() -> Change {
    let mut task = tracked().task;
    task.durable = task.durable.claimed(lease(2));
    decided(&task, Command::RecordStatus(Snapshot::bare(Status::Working)))
}

async fn commit(change: &Change, steps: impl IntoIterator<Item = Step>) -> (Committed, Vec<Value>) {
    let script = Script::new(steps);
    let committed = TaskStore::commit(&script.table(NOW), change).await.unwrap();
    (committed, script.asked())
}

#[tokio::test]
async fn an_unchanged_poll_is_one_put() {
    let (committed, asked) = commit(&polled(), [done()]).await;
    assert_eq!(committed, Committed::Done);
    assert_eq!(asked.len(), 1);
    assert!(asked[0].get("Item").is_some() && asked[0].get("TransactItems").is_none());
    assert_eq!(asked[0]["ReturnValuesOnConditionCheckFailure"], "ALL_OLD");
}

#[tokio::test]
async fn a_put_whose_answer_was_lost_recognises_itself() {
    let change = polled();
    let applied = task::encode(&change.task);
    let (committed, asked) = commit(&change, [Step::Silence, condition_failed(Some(&applied))]).await;
    assert_eq!(committed, Committed::Done);
    let now = |request: &Value| request["ExpressionAttributeValues"][":now"]["N"].clone();
    assert_ne!(now(&asked[0]), now(&asked[1]), "the clock is read again");
    let (committed, _) = commit(&change, [condition_failed(Some(&applied))]).await;
    assert_eq!(committed, Committed::Lost, "without a silence before, it was somebody else's commit");
}

#[tokio::test]
async fn a_retry_that_meets_a_later_generation_is_unknown() {
    let change = polled();
    let mut later = change.task.clone();
    later.durable = later.durable.claimed(lease(3));
    let (committed, _) =
        commit(&change, [Step::Silence, condition_failed(Some(&task::encode(&later)))]).await;
    assert_eq!(committed, Committed::Unknown);
}

#[tokio::test]
async fn a_holder_that_was_woken_is_told_so() {
    let change = polled();
    let mut held = tracked().task;
    held.durable = held.durable.claimed(lease(2)).woken();
    let (committed, _) = commit(&change, [condition_failed(Some(&task::encode(&held)))]).await;
    assert_eq!(committed, Committed::Woken);
}

#[tokio::test]
async fn throttling_is_no_reason_to_doubt() {
    let change = polled();
    let applied = task::encode(&change.task);
    let steps = [error(400, "ProvisionedThroughputExceededException"), condition_failed(Some(&applied))];
    assert_eq!(commit(&change, steps).await.0, Committed::Lost);
}

/// A client with retries of its own would hide the first failure, and with it that the write may have been applied.
#[tokio::test]
async fn only_our_own_retries_run() {
    let steps = (0..4).map(|_| error(500, "InternalServerError"));
    let script = Script::new(steps);
    let failed = TaskStore::commit(&script.table(NOW), &polled()).await.unwrap_err();
    assert!(matches!(failed, StoreError::Unavailable { operation: "commit_task", .. }));
    assert_eq!(script.asked().len(), 4);
}

#[tokio::test]
async fn a_conflict_of_transactions_is_tried_again_under_a_new_token() {
    let conflict = cancelled([("TransactionConflict", None), ("None", None), ("ThrottlingError", None)]);
    let (committed, asked) = commit(&tracked(), [conflict, done()]).await;
    assert_eq!(committed, Committed::Done);
    assert_ne!(asked[0]["ClientRequestToken"], asked[1]["ClientRequestToken"]);
    for element in asked[0]["TransactItems"].as_array().unwrap() {
        let put = &element["Put"];
        let conditional = put.get("ConditionExpression").is_some();
        assert_eq!(conditional, put.get("ReturnValuesOnConditionCheckFailure") == Some(&json!("ALL_OLD")));
    }
}

#[tokio::test]
async fn a_transaction_whose_answer_was_lost_recognises_itself() {
    let change = tracked();
    let hot = task::encode(&change.task);
    let lost = cancelled([("ConditionalCheckFailed", Some(&hot)), ("None", None), ("None", None)]);
    assert_eq!(commit(&change, [Step::Silence, lost.clone()]).await.0, Committed::Done);
    assert_eq!(commit(&change, [lost]).await.0, Committed::Lost);
}

/// The loser of a lease must not cancel what another task tracks.
#[tokio::test]
async fn a_handle_of_another_task_outranks_a_lost_lease() {
    let change = tracked();
    let spec = change.spec.clone().unwrap();
    let owned = handle::encode(&key(2), &spec, spec.remote.as_ref().unwrap());
    let taken = cancelled([("None", None), ("None", None), ("ConditionalCheckFailed", Some(&owned))]);
    assert_eq!(commit(&change, [taken]).await.0, Committed::HandleTaken(key(2)));
    let mut recovered = birth().task;
    recovered.durable = recovered.durable.claimed(lease(9)).committed(None);
    let both = cancelled([
        ("ConditionalCheckFailed", Some(&task::encode(&recovered))),
        ("None", None),
        ("ConditionalCheckFailed", Some(&owned)),
    ]);
    assert_eq!(commit(&change, [both]).await.0, Committed::HandleTaken(key(2)));
}

#[tokio::test]
async fn nothing_is_born_in_a_thread_that_is_being_deleted() {
    let thread = Row::from([("deleting".to_owned(), number(1_u64))]);
    let gone = cancelled([("None", None), ("None", None), ("ConditionalCheckFailed", Some(&thread))]);
    assert_eq!(commit(&birth(), [gone]).await.0, Committed::ThreadGone);
}

#[tokio::test]
async fn a_birth_whose_answer_was_lost_recognises_itself_even_in_a_dying_thread() {
    let hot = task::encode(&birth().task);
    let failed =
        cancelled([("ConditionalCheckFailed", Some(&hot)), ("None", None), ("ConditionalCheckFailed", None)]);
    assert_eq!(commit(&birth(), [Step::Silence, failed]).await.0, Committed::Done);
}

#[tokio::test]
async fn a_claim_whose_answer_was_lost_is_won() {
    let mut waiting = tracked().task;
    let claimed = Task { durable: waiting.durable.claimed(lease(7)), ..waiting.clone() };
    let script = Script::new([Step::Silence, condition_failed(Some(&task::encode(&claimed)))]);
    let won = TaskStore::claim(&script.table(NOW), &key(1), Lane::Poll, lease(7)).await.unwrap();
    assert_eq!(won, Some(claimed));
    waiting.durable = waiting.durable.claimed(lease(8));
    let script = Script::new([Step::Silence, condition_failed(Some(&task::encode(&waiting)))]);
    assert_eq!(TaskStore::claim(&script.table(NOW), &key(1), Lane::Poll, lease(7)).await.unwrap(), None);
}

/// Lane and due time are the index's keys: a claim that wrote them would cost index writes.
#[tokio::test]
async fn a_claim_touches_only_lease_and_generation() {
    let script = Script::new([condition_failed(None)]);
    assert_eq!(TaskStore::claim(&script.table(NOW), &key(1), Lane::Poll, lease(7)).await.unwrap(), None);
    let asked = script.asked().remove(0);
    assert_eq!(asked["UpdateExpression"], "SET #lo = :lo, #lu = :lu, #gen = #gen + :one");
    assert_eq!(asked["ReturnValues"], "ALL_NEW");
    assert_eq!(asked["ReturnValuesOnConditionCheckFailure"], "ALL_OLD");
}

#[tokio::test]
async fn a_payload_too_large_for_a_row_is_refused_before_anything_is_sent() {
    let mut change = polled();
    change.payload =
        PayloadWrite::Put(Payload { result: Some(json!(noise(1_400_000))), ..Payload::default() });
    let script = Script::new([]);
    let refused = TaskStore::commit(&script.table(NOW), &change).await.unwrap_err();
    assert!(matches!(refused, StoreError::Refused { .. }));
    assert!(script.asked().is_empty());
}

/// The answer to a read.
fn found(row: Option<&Row>) -> Step {
    Step::Answer(200, row.map_or_else(|| json!({}), |row| json!({"Item": wire(row)})))
}

fn spec_row(change: &Change) -> Row {
    spec::encode(&change.task.key, change.spec.as_ref().unwrap()).unwrap()
}

#[tokio::test]
async fn a_spec_older_than_its_task_is_read_again_and_then_never() {
    let (old, new) = (birth(), tracked());
    let script = Script::new([found(Some(&spec_row(&old))), found(Some(&spec_row(&new)))]);
    let table = script.table(NOW);
    assert_eq!(table.spec(&new.task).await.unwrap(), new.spec);
    assert_eq!(table.spec(&new.task).await.unwrap(), new.spec);
    let consistent: Vec<_> = script.asked().iter().map(|request| request["ConsistentRead"].clone()).collect();
    assert_eq!(consistent, [json!(false), json!(true)]);
}

#[tokio::test]
async fn the_spec_of_an_intent_has_no_handle_and_may_change() {
    let old = birth();
    let script = Script::new([found(Some(&spec_row(&old))), found(Some(&spec_row(&old)))]);
    let table = script.table(NOW);
    for _ in 0..2 {
        assert_eq!(table.spec(&old.task).await.unwrap(), old.spec);
    }
    assert_eq!(script.asked().len(), 2);
}

#[tokio::test]
async fn a_spec_that_is_not_seen_yet_is_read_consistently() {
    let script = Script::new([found(None), found(None)]);
    assert_eq!(script.table(NOW).spec(&birth().task).await.unwrap(), None);
    assert_eq!(script.asked().len(), 2);
}

/// A submitter that goes on to poll has the spec in hand.
#[tokio::test]
async fn a_committed_handle_is_remembered_and_a_lost_one_is_not() {
    let change = tracked();
    let lost = cancelled([("ConditionalCheckFailed", None), ("None", None), ("None", None)]);
    let script = Script::new([lost, found(None), found(None), done()]);
    let table = script.table(NOW);
    assert_eq!(TaskStore::commit(&table, &change).await.unwrap(), Committed::Lost);
    assert_eq!(table.spec(&change.task).await.unwrap(), None);
    assert_eq!(TaskStore::commit(&table, &change).await.unwrap(), Committed::Done);
    assert_eq!(table.spec(&change.task).await.unwrap(), change.spec);
}

#[tokio::test]
async fn a_claimed_row_that_does_not_read_is_put_away_and_told() {
    let mut claimed = tracked().task;
    claimed.durable = claimed.durable.claimed(lease(7));
    let mut row = task::encode(&claimed);
    row.insert("st".to_owned(), AttributeValue::S("resting".to_owned()));
    let script = Script::new([Step::Answer(200, json!({"Attributes": wire(&row)})), done()]);
    let told = TaskStore::claim(&script.table(NOW), &key(1), Lane::Poll, lease(7)).await.unwrap_err();
    assert!(matches!(told, StoreError::Corrupt { item: "task", attribute: "st", .. }));
    let fence = script.asked().remove(1);
    assert_eq!(
        fence["UpdateExpression"],
        "SET #due_pk = :corrupt, #due_at = :at, #gen = #gen + :one REMOVE #lo, #lu"
    );
    assert_eq!(fence["ConditionExpression"], "#lo = :owner");
    let values = &fence["ExpressionAttributeValues"];
    assert_eq!(values[":corrupt"]["S"], format!("corrupt#{:02}", crate::key::shard_of(&key(1).id)));
}

/// One bad row must not hide a thread's other tasks.
#[tokio::test]
async fn a_list_leaves_out_what_does_not_read() {
    let mut bad = task::encode(&Task { key: key(2), ..birth().task });
    bad.insert("st".to_owned(), AttributeValue::S("resting".to_owned()));
    let bad_spec = spec::encode(&key(2), &birth().spec.unwrap()).unwrap();
    let rows = [wire(&bad_spec), wire(&bad), wire(&spec_row(&birth())), wire(&task::encode(&birth().task))];
    let script = Script::new([Step::Answer(200, json!({"Items": rows}))]);
    let listed = script.table(NOW).list(&key(1).thread, 10, None).await.unwrap();
    assert_eq!(listed, [(birth().task, birth().spec.unwrap())]);
}
