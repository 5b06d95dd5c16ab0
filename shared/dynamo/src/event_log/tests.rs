//! A thread's events over scripted answers.

use pudu_app::ports::NoteKey;
use pudu_domain::note::Announced;
use pudu_domain::task::Delivery;
use pudu_domain::{Event, Note, Payload, Status, TaskId, TaskKey, TaskName, ThreadId, Timestamp, UserId};
use serde_json::json;

use super::*;
use crate::captured::Captured;
use crate::row::{Row, number};
use crate::scripted::{Script, Step, wire};

/// The scripted table.
const TABLE: &str = "table";
const NOW: Timestamp = Timestamp::from_millis(1_793_491_200_000);

fn thread() -> ThreadKey {
    ThreadKey { user: UserId::parse("local:default").unwrap(), thread: ThreadId::parse("t").unwrap() }
}

fn key(n: u8) -> NoteKey {
    NoteKey { task: TaskKey { thread: thread(), id: TaskId::new(NOW, [n; 10]) }, version: 1 }
}

fn told(n: u8) -> Event {
    let name = TaskName::parse("report").unwrap();
    Event::new(key(n).task.id, name, Status::Completed, Payload::default(), None)
}

fn marker(n: u8, carried: Option<Event>) -> Row {
    event::encode(&Marker { key: key(n), delivered_at: NOW, carried }, None).unwrap()
}

fn body(n: u8) -> Row {
    let NoteKey { task, version } = key(n);
    let note = Note::new(task, version, Delivery::Event, Status::Completed, NOW);
    news::encode(&Announced { note, event: told(n), kept_until: NOW }).unwrap()
}

fn page(rows: &[Row]) -> Step {
    let rows: Vec<_> = rows.iter().map(wire).collect();
    Step::Answer(200, json!({ "Items": rows }))
}

/// A part of a batch, and what was put off.
fn part(rows: &[Row], put_off: &[u8]) -> Step {
    let rows: Vec<_> = rows.iter().map(wire).collect();
    let keys: Vec<_> = put_off.iter().map(|n| wire(&crate::row::key_of(&Key::Body(key(*n))))).collect();
    let put_off =
        if keys.is_empty() { json!({}) } else { json!({TABLE: {"Keys": keys, "ConsistentRead": true}}) };
    Step::Answer(200, json!({"Responses": {TABLE: rows}, "UnprocessedKeys": put_off}))
}

async fn read(script: &Script) -> Vec<DeliveredEvent> {
    script.table(NOW).events(&thread(), 10).await.unwrap()
}

fn shown(numbers: impl IntoIterator<Item = u8>) -> Vec<DeliveredEvent> {
    let of = |n| DeliveredEvent { version: 1, delivered_at: NOW, event: told(n) };
    numbers.into_iter().map(of).collect()
}

/// One bad row must not hide a thread's other events.
#[tokio::test]
async fn an_event_that_does_not_read_is_left_out_and_told() {
    let (log, _guard) = Captured::start();
    let mut bad = marker(2, None);
    bad.insert(attr::FORMAT.to_owned(), number(999_u64));
    let markers = [marker(1, None), bad, marker(3, None), marker(4, None)];
    let script = Script::new([page(&markers), part(&[body(3), body(1)], &[])]);
    assert_eq!(read(&script).await, shown([1, 3]));
    let lines = log.saying("an event was left out of its thread's list");
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0]["level"], "ERROR");
    let error = lines[0]["error"].as_str().unwrap();
    assert!(error.contains("event#") && error.contains("attribute v"), "{error}");
    let lines = log.saying("an event was left out of its thread's list: its body is missing");
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0]["store.key"].as_str().unwrap().contains(key(4).task.id.as_str()), "{lines:?}");
}

/// Rows of before and of now stand in one list, and only what is elsewhere is fetched.
#[tokio::test]
async fn events_in_their_rows_and_events_apart_are_one_list() {
    let markers = [marker(1, Some(told(1))), marker(2, None)];
    let script = Script::new([page(&markers), part(&[body(2)], &[])]);
    assert_eq!(read(&script).await, shown([1, 2]));
    let keys = &script.asked()[1]["RequestItems"][TABLE]["Keys"];
    assert_eq!(keys.as_array().map(Vec::len), Some(1), "{keys}");
    let script = Script::new([page(&[marker(1, Some(told(1)))])]);
    assert_eq!(read(&script).await, shown([1]));
}

#[tokio::test]
async fn what_the_table_puts_off_is_asked_for_again() {
    let markers = [1, 2, 3].map(|n| marker(n, None));
    let steps =
        [page(&markers), part(&[body(2)], &[1, 3]), part(&[], &[1, 3]), part(&[body(1), body(3)], &[])];
    let script = Script::new(steps);
    assert_eq!(read(&script).await, shown([1, 2, 3]));
    assert_eq!(script.asked().len(), 4);
    let nothing = Script::new([
        page(&markers),
        part(&[], &[1, 2, 3]),
        part(&[], &[1, 2, 3]),
        part(&[], &[1, 2, 3]),
        part(&[], &[1, 2, 3]),
    ]);
    let failed = nothing.table(NOW).events(&thread(), 10).await;
    assert!(matches!(failed, Err(StoreError::Unavailable { .. })), "{failed:?}");
}
