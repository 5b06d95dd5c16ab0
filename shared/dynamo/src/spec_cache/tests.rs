use pudu_domain::{RemoteTaskId, ServerName, TaskId, TaskName, ThreadId, ThreadKey, Timestamp, UserId};
use serde_json::Value;

use super::*;

fn key(n: u64) -> TaskKey {
    let thread =
        ThreadKey { user: UserId::parse("local:default").unwrap(), thread: ThreadId::parse("t").unwrap() };
    TaskKey { thread, id: TaskId::new(Timestamp::from_millis(n), [0; 10]) }
}

fn spec(remote: Option<&str>) -> TaskSpec {
    TaskSpec {
        name: TaskName::parse("report").unwrap(),
        server: ServerName::parse("s").unwrap(),
        identity: String::new(),
        driver: "ordinary".into(),
        driver_data: Value::Null,
        remote: remote.map(|text| RemoteTaskId::parse(text).unwrap()),
        repeatable: None,
    }
}

#[test]
fn a_spec_without_a_handle_may_change_and_is_not_kept() {
    let cache = SpecCache::default();
    cache.keep(&key(1), &spec(None));
    assert_eq!(cache.get(&key(1)), None);
    cache.keep(&key(1), &spec(Some("r")));
    assert_eq!(cache.get(&key(1)), Some(spec(Some("r"))));
}

#[test]
fn it_is_bounded_and_forgets_what_is_not_used() {
    let cache = SpecCache::default();
    let many = u64::try_from(GENERATION).unwrap() * 5;
    for n in 0..many {
        cache.keep(&key(n), &spec(Some("r")));
        assert!(cache.get(&key(0)).is_some(), "used all the time, forgotten at {n}");
        assert!(cache.len() <= 2 * GENERATION + 1);
    }
    assert!(cache.get(&key(1)).is_none());
    assert!(cache.get(&key(many - 1)).is_some());
}
