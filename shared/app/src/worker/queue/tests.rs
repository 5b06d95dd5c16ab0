use pudu_domain::{ServerName, TaskId, TaskKey, ThreadId, ThreadKey, UserId};

use super::*;

fn hint(number: u64, server: &str) -> Hint {
    let thread =
        ThreadKey { user: UserId::parse("local:default").unwrap(), thread: ThreadId::parse("t").unwrap() };
    let id = TaskId::new(Timestamp::from_millis(number), [0; 10]);
    Hint {
        key: ItemKey::Task(TaskKey { thread, id }),
        server: Some(ServerTag::of(&ServerName::parse(server).unwrap())),
        due_at: Timestamp::from_millis(number),
    }
}

fn now() -> Timestamp {
    Timestamp::from_millis(1_000_000)
}

#[test]
fn one_server_cannot_take_all_permits() {
    let limits = Limits { at_once: 10, at_once_per_server: 2, ..Limits::default() };
    let mut queue = Queue::default();
    for number in 0..20 {
        queue.offer(Lane::Poll, hint(number, "slow"), now());
    }
    queue.offer(Lane::Poll, hint(100, "quick"), now());
    let taken: Vec<_> = std::iter::from_fn(|| queue.take(&limits)).collect();
    assert_eq!(taken.len(), 3);
    assert_eq!(taken[2].hint, hint(100, "quick"));
}

#[test]
fn the_global_limit_holds_and_frees() {
    let limits = Limits { at_once: 1, ..Limits::default() };
    let mut queue = Queue::default();
    queue.offer(Lane::Poll, hint(1, "a"), now());
    queue.offer(Lane::Poll, hint(2, "b"), now());
    let first = queue.take(&limits).unwrap();
    assert_eq!(queue.take(&limits), None);
    queue.done(&first.hint, None);
    assert_eq!(queue.take(&limits).map(|f| f.hint), Some(hint(2, "b")));
}

#[test]
fn a_known_item_is_not_taken_twice() {
    let mut queue = Queue::default();
    assert!(queue.offer(Lane::Poll, hint(1, "a"), now()));
    assert!(!queue.offer(Lane::Poll, hint(1, "a"), now()));
    let running = queue.take(&Limits::default()).unwrap();
    assert!(!queue.offer(Lane::Poll, hint(1, "a"), now()));
    queue.done(&running.hint, None);
    assert!(queue.offer(Lane::Poll, hint(1, "a"), now()));
}

#[test]
fn a_refused_item_is_left_alone_for_a_while() {
    let mut queue = Queue::default();
    queue.offer(Lane::Poll, hint(1, "a"), now());
    let running = queue.take(&Limits::default()).unwrap();
    let later = now() + std::time::Duration::from_secs(5);
    queue.done(&running.hint, Some(later));
    assert!(!queue.offer(Lane::Poll, hint(1, "a"), now()));
    queue.prune(later);
    assert!(queue.offer(Lane::Poll, hint(1, "a"), later));
}

#[test]
fn a_server_with_many_items_leaves_room_for_others() {
    let mut queue = Queue::default();
    for number in 0..5000 {
        queue.offer(Lane::Poll, hint(number, "many"), now());
    }
    assert!(queue.offer(Lane::Poll, hint(9999, "few"), now()));
}

#[test]
fn what_is_due_first_goes_first() {
    let mut queue = Queue::default();
    queue.offer(Lane::Poll, hint(5, "a"), now());
    queue.offer(Lane::Poll, hint(3, "b"), now());
    assert_eq!(queue.take(&Limits::default()).map(|f| f.hint), Some(hint(3, "b")));
}
