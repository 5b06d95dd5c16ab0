//! Rows that do not decode: put away once, and told so that an alarm hears it.

use std::time::Duration;

use pudu_app::ports::TaskStore;
use pudu_domain::{Owner, Task, TaskKey, ThreadId, ThreadKey, Timestamp, UserId};
use serde_json::{Value, json};

use pudu_domain::TaskId;

use super::*;
use crate::captured::Captured;
use crate::key::shard_of;
use crate::row::key_of;
use crate::scripted::{Script, Step, condition_failed, done, error, wire};

const NOW: Timestamp = Timestamp::from_millis(1_793_491_200_000);
const PUT_ASIDE: &str = "a row was put aside";

fn key() -> TaskKey {
    let user = UserId::parse("local:default").unwrap();
    let thread = ThreadKey { user, thread: ThreadId::parse("t").unwrap() };
    TaskKey { thread, id: TaskId::new(NOW, [1; 10]) }
}

/// A row of no format that is known, in `lane`, with a lease that is over.
fn unknown(lane: Lane) -> Row {
    let mut row = key_of(&Key::Task(key()));
    row.insert(attr::FORMAT.to_owned(), number(999_u64));
    row.insert(attr::DUE_PK.to_owned(), AttributeValue::S(due_pk(lane, shard_of(&key().id))));
    row.insert(attr::DUE_AT.to_owned(), number(NOW.as_millis()));
    row.insert(attr::LEASE_OWNER.to_owned(), AttributeValue::S("dead:1".to_owned()));
    row.insert(attr::LEASE_UNTIL.to_owned(), number(NOW.as_millis() - 1));
    row
}

async fn claim(script: &Script) -> Result<Option<Task>, StoreError> {
    let lease = Lease { owner: Owner::new("w", 7), until: NOW + Duration::from_secs(60) };
    TaskStore::claim(&script.table(NOW), &key(), Lane::Poll, lease).await
}

fn claimed() -> Step {
    Step::Answer(200, json!({"Attributes": wire(&unknown(Lane::Poll))}))
}

/// What a claim of an unknown row logs, when its quarantine ends so.
async fn told(quarantine: impl IntoIterator<Item = Step>) -> Vec<Value> {
    let (log, _guard) = Captured::start();
    let script = Script::new(std::iter::once(claimed()).chain(quarantine));
    let answer = claim(&script).await;
    assert!(matches!(answer, Err(StoreError::Corrupt { attribute: "v", .. })), "{answer:?}");
    log.saying(PUT_ASIDE)
}

/// The alarm of template.yaml counts these very lines.
#[tokio::test]
async fn a_row_put_aside_is_told_once_with_its_key() {
    let lines = told([done()]).await;
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0]["level"], "ERROR");
    assert_eq!(lines[0]["store.key"], Key::Task(key()).to_string());
}

#[tokio::test]
async fn a_row_that_somebody_else_took_meanwhile_is_not_told() {
    let taken = unknown(Lane::Poll);
    assert_eq!(told([condition_failed(Some(&taken))]).await, [] as [Value; 0]);
    let moved = unknown(Lane::Corrupt);
    assert_eq!(told([condition_failed(Some(&moved))]).await, [] as [Value; 0], "whoever moved it told it");
}

#[tokio::test]
async fn a_row_put_aside_by_an_attempt_without_an_answer_is_told() {
    let moved = unknown(Lane::Corrupt);
    assert_eq!(told([Step::Silence, condition_failed(Some(&moved))]).await.len(), 1);
}

/// A row without a generation can never be claimed; with a lease on top it was not even put away.
#[tokio::test]
async fn an_unfit_row_with_a_lease_that_is_over_is_put_away() {
    let (log, _guard) = Captured::start();
    let row = unknown(Lane::Poll);
    let found = Step::Answer(200, json!({"Item": wire(&row)}));
    let script = Script::new([error(400, "ValidationException"), found, done()]);
    assert!(matches!(claim(&script).await, Err(StoreError::Corrupt { .. })));
    let fence = script.asked().remove(2);
    assert_eq!(
        fence["ConditionExpression"],
        "#due_pk = :due_pk AND (attribute_not_exists(#lu) OR #lu < :now)"
    );
    assert_eq!(fence["UpdateExpression"], "SET #due_pk = :corrupt, #due_at = :at REMOVE #lo, #lu");
    assert_eq!(log.saying(PUT_ASIDE).len(), 1);
}
