//! A thread's events over scripted answers.

use pudu_app::ports::NoteKey;
use pudu_domain::{Event, Payload, Status, TaskId, TaskKey, TaskName, ThreadId, Timestamp, UserId};
use serde_json::json;

use super::*;
use crate::captured::Captured;
use crate::row::{Row, number};
use crate::scripted::{Script, Step, wire};

const NOW: Timestamp = Timestamp::from_millis(1_793_491_200_000);

fn thread() -> ThreadKey {
    ThreadKey { user: UserId::parse("local:default").unwrap(), thread: ThreadId::parse("t").unwrap() }
}

fn row(n: u8) -> Row {
    let task = TaskKey { thread: thread(), id: TaskId::new(NOW, [n; 10]) };
    let name = TaskName::parse("report").unwrap();
    let event = Event::new(task.id.clone(), name, Status::Completed, Payload::default(), None);
    event::encode(&NoteKey { task, version: 1 }, NOW, &event).unwrap()
}

/// One bad row must not hide a thread's other events.
#[tokio::test]
async fn an_event_that_does_not_read_is_left_out_and_told() {
    let (log, _guard) = Captured::start();
    let mut bad = row(2);
    bad.insert(attr::FORMAT.to_owned(), number(999_u64));
    let rows = [wire(&row(1)), wire(&bad), wire(&row(3))];
    let script = Script::new([Step::Answer(200, json!({"Items": rows}))]);
    let events = script.table(NOW).events(&thread(), 10).await.unwrap();
    let expected = [1, 3].map(|n| event::decode(&row(n)).unwrap());
    assert_eq!(events, expected);
    let lines = log.saying("an event was left out of its thread's list");
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0]["level"], "ERROR");
    let error = lines[0]["error"].as_str().unwrap();
    assert!(error.contains("event#") && error.contains("attribute v"), "{error}");
}
