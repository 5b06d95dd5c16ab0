//! Deliveries over scripted answers.

use std::time::Duration;

use pudu_domain::note::{Command, decide};
use pudu_domain::task::Delivery;
use pudu_domain::{
    Owner, Payload, Policy, RunId, Status, TaskId, TaskKey, TaskName, ThreadId, ThreadKey, Timestamp, UserId,
};

use super::*;
use crate::scripted::{Script, Step, cancelled, condition_failed, done};

const NOW: Timestamp = Timestamp::from_millis(1_793_491_200_000);

fn held() -> Note {
    let user = UserId::parse("local:default").unwrap();
    let thread = ThreadKey { user, thread: ThreadId::parse("t").unwrap() };
    let key = TaskKey { thread, id: TaskId::new(NOW, [1; 10]) };
    let mut note = Note::new(key, 2, Delivery::Event, Status::InputRequired, NOW);
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
    let note = note::encode(&change.note, change.expires).unwrap();
    let marker = Marker { key: NoteKey::of(&change.note), delivered_at: NOW, carried: None };
    let event = event::encode(&marker, change.expires).unwrap();
    let failed = cancelled([
        ("ConditionalCheckFailed", Some(&note)),
        ("ConditionalCheckFailed", Some(&event)),
        ("ConditionalCheckFailed", Some(&event::notified(&change.note.task, 2, None))),
    ]);
    assert_eq!(commit(&change, [Step::Silence, failed.clone()]).await.0, Committed::Done);
    assert_eq!(commit(&change, [failed]).await.0, Committed::Lost);
}

#[tokio::test]
async fn what_was_delivered_before_is_lost_although_the_note_is_held() {
    let newer = event::notified(&held().task, 3, None);
    let failed = cancelled([("None", None), ("None", None), ("ConditionalCheckFailed", Some(&newer))]);
    assert_eq!(commit(&delivered(), [failed]).await.0, Committed::Lost);
}

#[tokio::test]
async fn a_note_that_may_not_be_claimed_is_an_everyday_answer() {
    let script = Script::new([condition_failed(None)]);
    let lease = Lease { owner: Owner::new("w", 2), until: NOW };
    let claimed = NoteStore::claim(&script.table(NOW), &NoteKey::of(&held()), Lane::Notify, lease).await;
    assert_eq!(claimed.unwrap(), None);
}

fn conditions(asked: &serde_json::Value) -> Vec<(String, String)> {
    let elements = asked["TransactItems"].as_array().unwrap();
    let of = |element: &serde_json::Value| {
        let (kind, write) = element.as_object().unwrap().iter().next().unwrap();
        let key = write.get("Key").unwrap_or_else(|| &write["Item"]);
        let kind = key["sk"]["S"].as_str().unwrap().split('#').next().unwrap().to_owned() + " " + kind;
        (kind, write["ConditionExpression"].as_str().unwrap().to_owned())
    };
    elements.iter().map(of).collect()
}

/// What a run has told stands, also if a newer event was noticed to be told before.
#[tokio::test]
async fn a_delivery_by_a_run_does_not_ask_for_newer_ones() {
    let state = State::Dispatched { run: RunId::parse("r").unwrap() };
    let note = Note { delivery: Delivery::Run, state, ..held() };
    let change = decide(&note, Command::RecordRunSuccess, NOW, &Policy::default()).unwrap();
    let (committed, asked) = commit(&change, [done()]).await;
    assert_eq!(committed, Committed::Done);
    let kinds: Vec<String> = conditions(&asked[0]).into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["note Put", "event Put"]);
}

#[tokio::test]
async fn a_dead_letter_keeps_its_event_and_one_whose_event_has_left_dies_all_the_same() {
    let death = Command::RecordMissingThread("no such thread".into());
    let change = decide(&held(), death, NOW, &Policy::default()).unwrap();
    let (committed, asked) = commit(&change, [done()]).await;
    assert_eq!(committed, Committed::Done);
    let present = ("body Update".to_owned(), "attribute_exists(#pk)".to_owned());
    assert_eq!(conditions(&asked[0])[1], present);
    assert_eq!(asked[0]["TransactItems"][1]["Update"]["UpdateExpression"], "REMOVE #ttl");

    let gone = cancelled([("None", None), ("ConditionalCheckFailed", None)]);
    let (committed, asked) = commit(&change, [gone, done()]).await;
    assert_eq!(committed, Committed::Done);
    assert!(asked[1].get("Item").is_some(), "the note alone: {}", asked[1]);

    let replay = decide(&change.note, Command::Replay, NOW, &Policy::default()).unwrap();
    let (_, asked) = commit(&replay, [done()]).await;
    assert_eq!(asked[0]["TransactItems"][1]["Update"]["UpdateExpression"], "SET #ttl = :ttl");
}

/// A note of the time when its row carried the event: its delivery leaves a row that carries it too.
#[tokio::test]
async fn an_event_that_its_note_carries_is_delivered_with_it() {
    let name = TaskName::parse("report").unwrap();
    let carried = Event::new(held().task.id, name, Status::InputRequired, Payload::default(), None);
    let note = Note { carried: Some(Box::new(carried.clone())), ..held() };
    let change = decide(&note, Command::Deliver { attention: 2 }, NOW, &Policy::default()).unwrap();
    let (_, asked) = commit(&change, [done()]).await;
    let marker = &asked[0]["TransactItems"][1]["Put"]["Item"];
    assert_eq!(marker["event"]["S"], serde_json::to_string(&carried).unwrap());
    assert_eq!(marker["v"]["N"], "1");
    let script = Script::new([]);
    assert_eq!(script.table(NOW).event(&note).await.unwrap(), Some(carried), "and is read without a request");
}
