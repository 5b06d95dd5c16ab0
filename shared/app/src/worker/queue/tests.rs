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
    queue.done(&first, now());
    assert_eq!(queue.take(&limits), Some(found(2, "b")));
}

#[test]
fn a_known_item_is_not_taken_twice() {
    let mut queue = Queue::default();
    assert!(queue.offer(found(1, "a"), now()));
    assert!(!queue.offer(found(1, "a"), now()));
    let running = queue.take(&Limits::default()).unwrap();
    assert!(!queue.offer(found(1, "a"), now()));
    queue.done(&running, now());
    assert!(!queue.offer(found(1, "a"), now()), "the index may still show what led to the run that is over");
    let again = running.next(1, Due { lane: Lane::Poll, at: Timestamp::from_millis(2) });
    assert!(queue.offer(again, now()), "and what is due since then is news");
}

#[test]
fn what_led_to_a_claim_is_left_alone_for_a_while() {
    let mut queue = Queue::default();
    queue.offer(found(1, "a"), now());
    let running = queue.take(&Limits::default()).unwrap();
    queue.done(&running, now());
    let over = now() + STALE_FOR;
    assert!(!queue.offer(found(1, "a"), now()));
    queue.look_again(now());
    assert!(!queue.offer(found(1, "a"), now()), "also by the next look");
    queue.look_again(over);
    assert!(queue.offer(found(1, "a"), over), "a lease may have ended meanwhile");
}

#[test]
fn a_cancel_does_not_wait_for_the_poll_that_it_fenced() {
    let mut queue = Queue::default();
    queue.offer(found(1, "a"), now());
    queue.take(&Limits::default()).unwrap();
    let cancel = Found::new(0, Lane::Cancel, hint(1, "a"));
    assert!(queue.offer(cancel.clone(), now()));
    assert_eq!(queue.take(&Limits::default()), Some(cancel));
}

#[test]
fn what_is_due_later_waits_for_its_time() {
    let mut queue = Queue::default();
    let later = now() + Duration::from_secs(3);
    let item = Found::new(1, Lane::Poll, Hint { due_at: later, ..hint(7, "a") });
    assert!(queue.offer(item.clone(), now()));
    assert_eq!((queue.is_empty(), queue.nearest()), (true, Some(later)));
    queue.ripen(now());
    assert_eq!(queue.take(&Limits::default()), None);
    queue.ripen(later);
    assert_eq!(queue.nearest(), None);
    assert_eq!(queue.take(&Limits::default()), Some(item));
}

#[test]
fn the_newest_due_time_of_an_item_stands() {
    let mut queue = Queue::default();
    let at = |seconds| now() + Duration::from_secs(seconds);
    let item = |seconds| Found::new(1, Lane::Poll, Hint { due_at: at(seconds), ..hint(7, "a") });
    queue.offer(item(3), now());
    queue.offer(item(9), now());
    assert_eq!(queue.nearest(), Some(at(9)));
    queue.offer(item(4), now());
    assert_eq!(queue.nearest(), Some(at(4)));
    queue.forget(item(4).key());
    assert_eq!(queue.nearest(), None);
    queue.ripen(at(60));
    assert!(queue.is_empty());
}

#[test]
fn of_too_many_that_wait_for_their_time_the_last_are_left_in_the_index() {
    let mut queue = Queue::default();
    let at = |number: u64| Timestamp::from_millis(now().as_millis() + number);
    let total = u64::try_from(LATER).unwrap() + 2;
    // The latest first, as a shard of its own may bring them.
    for number in (1..=total).rev() {
        queue.offer(Found::new(1, Lane::Poll, Hint { due_at: at(number), ..hint(number, "a") }), now());
    }
    assert_eq!((queue.nearest(), queue.forgotten()), (Some(at(1)), Some(at(total - 1))));
    queue.look_again(now());
    assert_eq!(queue.forgotten(), None);
}

#[test]
fn there_is_room_again_when_a_servers_line_is_short() {
    let limits = Limits { at_once: 1000, at_once_per_server: 1000, ..Limits::default() };
    let mut queue = Queue::default();
    let total = u64::try_from(PER_SERVER).unwrap() + 1;
    for number in 0..total {
        queue.offer(found(number, "many"), now());
    }
    let few = Limits { at_once_per_server: 8, ..limits.clone() };
    assert!(!queue.is_hungry(&few), "the line is as long as it may be");
    for _ in 0..PER_SERVER - 8 {
        queue.take(&limits).unwrap();
    }
    assert!(queue.is_hungry(&few));
    queue.look_again(now());
    assert!(!queue.is_hungry(&few), "nobody was turned away since");
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
