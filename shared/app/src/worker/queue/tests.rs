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

fn found(number: u64, server: &str) -> Found {
    Found::new(1, Lane::Poll, hint(number, server))
}

fn now() -> Timestamp {
    Timestamp::from_millis(1_000_000)
}

#[test]
fn one_server_cannot_take_all_permits() {
    let limits = Limits { at_once: 10, at_once_per_server: 2, ..Limits::default() };
    let mut queue = Queue::default();
    for number in 0..20 {
        queue.offer(found(number, "slow"), now());
    }
    queue.offer(found(100, "quick"), now());
    let taken: Vec<_> = std::iter::from_fn(|| queue.take(&limits)).collect();
    assert_eq!(taken.len(), 3);
    assert_eq!(taken[2], found(100, "quick"));
}

#[test]
fn the_global_limit_holds_and_frees() {
    let limits = Limits { at_once: 1, ..Limits::default() };
    let mut queue = Queue::default();
    queue.offer(found(1, "a"), now());
    queue.offer(found(2, "b"), now());
    let first = queue.take(&limits).unwrap();
    assert_eq!(queue.take(&limits), None);
    queue.done(&first, None);
    assert_eq!(queue.take(&limits), Some(found(2, "b")));
}

#[test]
fn a_known_item_is_not_taken_twice() {
    let mut queue = Queue::default();
    assert!(queue.offer(found(1, "a"), now()));
    assert!(!queue.offer(found(1, "a"), now()));
    let running = queue.take(&Limits::default()).unwrap();
    assert!(!queue.offer(found(1, "a"), now()));
    queue.done(&running, None);
    assert!(queue.offer(found(1, "a"), now()));
}

#[test]
fn a_refused_item_is_left_alone_for_a_while() {
    let mut queue = Queue::default();
    queue.offer(found(1, "a"), now());
    let running = queue.take(&Limits::default()).unwrap();
    let later = now() + std::time::Duration::from_secs(5);
    queue.done(&running, Some(later));
    assert!(!queue.offer(found(1, "a"), now()));
    queue.prune(later);
    assert!(queue.offer(found(1, "a"), later));
}

#[test]
fn a_server_with_many_items_leaves_room_for_others() {
    let mut queue = Queue::default();
    for number in 0..5000 {
        queue.offer(found(number, "many"), now());
    }
    assert!(queue.offer(found(9999, "few"), now()));
}

#[test]
fn what_is_due_first_goes_first() {
    let mut queue = Queue::default();
    queue.offer(found(5, "a"), now());
    queue.offer(found(3, "b"), now());
    assert_eq!(queue.take(&Limits::default()), Some(found(3, "b")));
}

#[test]
fn a_cancel_goes_before_an_older_poll_of_its_server() {
    let mut queue = Queue::default();
    queue.offer(found(1, "a"), now());
    let cancel = Found::new(0, Lane::Cancel, hint(9, "a"));
    queue.offer(cancel.clone(), now());
    assert_eq!(queue.take(&Limits::default()), Some(cancel));
}

#[test]
fn recovering_an_intent_waits_for_no_server() {
    let limits = Limits { at_once_per_server: 1, ..Limits::default() };
    let mut queue = Queue::default();
    queue.offer(found(1, "a"), now());
    queue.offer(found(2, "a"), now());
    assert_eq!(queue.take(&limits), Some(found(1, "a")));
    let intent = Found::new(2, Lane::Intent, hint(9, "a"));
    queue.offer(intent.clone(), now());
    assert_eq!(queue.take(&limits), Some(intent));
}

#[test]
fn many_slow_servers_leave_permits_for_a_quick_one() {
    let limits = Limits { at_once: 8, at_once_per_server: 4, ..Limits::default() };
    let mut queue = Queue::default();
    for number in 0..40 {
        queue.offer(found(number, &format!("slow-{}", number % 2)), now());
    }
    let slow = std::iter::from_fn(|| queue.take(&limits)).count();
    assert_eq!(slow, 6, "two servers could take all eight");
    queue.offer(found(99, "quick"), now());
    assert_eq!(queue.take(&limits), Some(found(99, "quick")));
}
