//! A wake-up as the event of an invocation: the same JSON in the cloud and on one machine.

use pudu_app::ports::Wake;
use pudu_app::worker::Call;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What tells it from an event of the schedule.
const SOURCE: &str = "pudu.wake";
/// Items that are read of one event: more than anybody sends.
const MOST: usize = 1000;

#[derive(Debug, Serialize, Deserialize)]
struct Event {
    source: String,
    items: Vec<Wake>,
}

/// The event that wakes a function for `items`.
pub fn encode(items: &[Wake]) -> Result<Value, serde_json::Error> {
    serde_json::to_value(Event { source: SOURCE.to_owned(), items: items.to_vec() })
}

/// What an event calls for. Whatever is no wake-up of ours counts as a tick: what is due is in the table.
pub fn decode(event: &Value) -> Call {
    if event.get("source").and_then(Value::as_str) != Some(SOURCE) {
        return Call::Tick;
    }
    match Event::deserialize(event) {
        Ok(Event { mut items, .. }) => {
            items.truncate(MOST);
            Call::Wake(items)
        }
        Err(error) => {
            tracing::warn!(%error, "a wake-up could not be read; it counts as a tick");
            Call::Tick
        }
    }
}

#[cfg(test)]
mod tests {
    use pudu_app::ports::{ItemKey, NoteKey};
    use pudu_domain::{Lane, ServerTag, TaskId, TaskKey, ThreadId, ThreadKey, Timestamp, UserId};
    use serde_json::json;

    use super::*;

    fn task() -> TaskKey {
        let thread = ThreadKey {
            user: UserId::parse("local:default").unwrap(),
            thread: ThreadId::parse("t").unwrap(),
        };
        TaskKey { thread, id: TaskId::new(Timestamp::from_millis(5), [7; 10]) }
    }

    #[test]
    fn a_wake_up_is_read_as_it_was_written() {
        let items = vec![
            Wake {
                lane: Lane::Cancel,
                item: ItemKey::Task(task()),
                server: Some(ServerTag::stored("example".to_owned())),
                due_at: Timestamp::from_millis(77),
            },
            Wake::of_event(task(), 3, Timestamp::from_millis(78)),
        ];
        let event = encode(&items).unwrap();
        let id = task().id.to_string();
        let key = json!({"thread": {"user": "local:default", "thread": "t"}, "id": id});
        assert_eq!(
            event,
            json!({"source": "pudu.wake", "items": [
                {"lane": "cancel", "item": {"task": key}, "server": "example", "due_at": 77},
                {"lane": "notify", "item": {"note": {"task": key, "version": 3}}, "server": null, "due_at": 78},
            ]}),
            "functions of two versions speak it with each other during a deployment"
        );
        assert_eq!(decode(&event), Call::Wake(items));
        let none = NoteKey { task: task(), version: 3 };
        assert!(matches!(decode(&event), Call::Wake(items) if items[1].item == ItemKey::Note(none)));
    }

    #[test]
    fn whatever_is_no_wake_up_is_a_tick() {
        for event in [
            Value::Null,
            json!({}),
            json!({"source": "aws.scheduler", "items": []}),
            json!({"source": "pudu.wake"}),
            json!({"source": "pudu.wake", "items": [{"lane": "no such lane"}]}),
            json!([1, 2]),
        ] {
            assert_eq!(decode(&event), Call::Tick, "{event}");
        }
    }
}
