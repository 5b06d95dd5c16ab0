//! Deliveries over scripted answers.

use std::time::Duration;

use pudu_domain::note::{Command, decide};
use pudu_domain::task::Delivery;
use pudu_domain::{
    Event, Owner, Payload, Policy, Status, TaskId, TaskKey, TaskName, ThreadId, ThreadKey, Timestamp, UserId,
};

use super::*;
use crate::scripted::{Script, Step, cancelled, condition_failed, done};

const NOW: Timestamp = Timestamp::from_millis(1_793_491_200_000);

fn held() -> Note {
    let user = UserId::parse("local:default").unwrap();
    let thread = ThreadKey { user, thread: ThreadId::parse("t").unwrap() };
    let key = TaskKey { thread, id: TaskId::new(NOW, [1; 10]) };
    let name = TaskName::parse("report").unwrap();
    let event = Event::new(key.id.clone(), name, Status::Completed, Payload::default(), None);
    let mut note = Note::new(key, 2, Delivery::Event, event, NOW);
    note.durable =
        note.durable.claimed(Lease { owner: Owner::new("w", 1), until: NOW + Duration::from_secs(60) });
    note
}

fn delivered() -> Change {
    decide(&held(), Command::Deliver { attention: 2 }, NOW, &Policy::default()).unwrap()
}

async fn commit(
    change: &Change,
    steps: impl IntoIterator<Item = Step>,
) -> (Committed, Vec<serde_json::Value>) {
    let script = Script::new(steps);
    let committed = NoteStore::commit(&script.table(NOW), change).await.unwrap();
    (committed, script.asked())
}

#[tokio::test]
async fn a_delivery_is_one_transaction_of_note_event_and_version() {
    let (committed, asked) = commit(&delivered(), [done()]).await;
    assert_eq!(committed, Committed::Done);
    let conditions: Vec<_> = asked[0]["TransactItems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|element| element["Put"]["ConditionExpression"].as_str().unwrap())
        .collect();
    assert_eq!(
        conditions,
        [
            "#gen = :gen AND #wake = :wake AND #lu >= :now",
            "attribute_not_exists(#pk)",
            "attribute_not_exists(#pk) OR #ver < :ver"
        ]
    );
}

#[tokio::test]
async fn a_note_that_is_not_delivered_is_one_put() {
    for attention in [0, 3] {
        let change = decide(&held(), Command::Deliver { attention }, NOW, &Policy::default()).unwrap();
        let (committed, asked) = commit(&change, [done()]).await;
        assert_eq!(committed, Committed::Done);
        assert!(asked[0].get("Item").is_some());
    }
}

#[tokio::test]
async fn a_delivery_whose_answer_was_lost_recognises_itself() {
    let change = delivered();
    let note = note::encode(&change.note).unwrap();
    let event = event::encode(&note::key_of(&change.note), NOW, &change.note.event).unwrap();
    let failed = cancelled([
        ("ConditionalCheckFailed", Some(&note)),
        ("ConditionalCheckFailed", Some(&event)),
        ("ConditionalCheckFailed", Some(&event::notified(&change.note.task, 2))),
    ]);
    assert_eq!(commit(&change, [Step::Silence, failed.clone()]).await.0, Committed::Done);
    assert_eq!(commit(&change, [failed]).await.0, Committed::Lost);
}

#[tokio::test]
async fn what_was_delivered_before_is_lost_although_the_note_is_held() {
    let newer = event::notified(&held().task, 3);
    let failed = cancelled([("None", None), ("None", None), ("ConditionalCheckFailed", Some(&newer))]);
    assert_eq!(commit(&delivered(), [failed]).await.0, Committed::Lost);
}

#[tokio::test]
async fn a_note_that_may_not_be_claimed_is_an_everyday_answer() {
    let script = Script::new([condition_failed(None)]);
    let lease = Lease { owner: Owner::new("w", 2), until: NOW };
    let claimed = NoteStore::claim(&script.table(NOW), &note::key_of(&held()), Lane::Notify, lease).await;
    assert_eq!(claimed.unwrap(), None);
}
