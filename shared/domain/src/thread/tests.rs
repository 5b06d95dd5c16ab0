use super::*;
use crate::durable::{Lease, Owner};
use crate::ids::{ThreadId, UserId};

fn at(secs: u64) -> Timestamp {
    Timestamp::from_millis(secs * 1000)
}

fn open() -> Thread {
    let user = UserId::parse("local:default").unwrap();
    Thread::open(ThreadKey { user, thread: ThreadId::parse("t").unwrap() }, at(1))
}

fn decided(thread: &Thread, command: Command, secs: u64) -> Change {
    decide(thread, command, at(secs), &Policy::default()).unwrap().unwrap()
}

fn held(thread: &Thread, until: u64) -> Thread {
    let lease = Lease { owner: Owner::new("w", 1), until: at(until) };
    Thread { durable: thread.durable.claimed(lease), ..thread.clone() }
}

#[test]
fn an_open_thread_is_nobodys_work() {
    let thread = open();
    assert_eq!((thread.durable.due, thread.is_going()), (None, false));
    for command in [Command::Wait, Command::GiveBack, Command::Finish] {
        assert_eq!(decide(&thread, command, at(2), &Policy::default()), Err(Rejected), "{command:?}");
    }
}

#[test]
fn a_request_sets_the_tombstone_and_is_due_at_once() {
    let change = decided(&open(), Command::RequestDelete, 5);
    assert_eq!(change.thread.state, State::Deleting { since: at(5), looks: 0 });
    assert_eq!(change.thread.durable.due, Some(Due { lane: Lane::Delete, at: at(5) }));
    assert_eq!(change.thread.durable.generation, open().durable.generation.next());
    assert_eq!((change.expect, change.removed), (open().durable.unchanged(), false));
}

#[test]
fn a_repeated_request_changes_nothing_whoever_is_at_work() {
    let going = decided(&open(), Command::RequestDelete, 5).thread;
    for thread in [held(&going, 100), going] {
        assert_eq!(decide(&thread, Command::RequestDelete, at(6), &Policy::default()), Ok(None));
    }
}

#[test]
fn only_the_holder_goes_on() {
    let going = decided(&open(), Command::RequestDelete, 5).thread;
    assert_eq!(decide(&going, Command::Finish, at(6), &Policy::default()), Err(Rejected));
}

#[test]
fn looks_in_vain_become_rarer_up_to_a_minute() {
    let mut thread = decided(&open(), Command::RequestDelete, 0).thread;
    let mut pauses = Vec::new();
    for _ in 0..6 {
        let change = decided(&held(&thread, 1000), Command::Wait, 100);
        assert_eq!(change.expect, held(&thread, 1000).durable.held());
        pauses.push(change.thread.durable.due.map(|due| due.at.since(at(100)).as_secs()));
        thread = change.thread;
    }
    assert_eq!(pauses, [5, 10, 20, 40, 60, 60].map(Some));
    assert!(matches!(thread.state, State::Deleting { looks: 6, .. }) && thread.durable.lease.is_none());
}

#[test]
fn a_claim_given_back_is_due_again_at_once_and_counts_nothing() {
    let going = decided(&open(), Command::RequestDelete, 0).thread;
    let change = decided(&held(&going, 100), Command::GiveBack, 7);
    assert_eq!(change.thread.durable.due, Some(Due { lane: Lane::Delete, at: at(7) }));
    assert_eq!(change.thread.state, going.state);
}

#[test]
fn a_later_thread_by_the_same_name_is_no_business_of_who_held_the_first() {
    let first = held(&decided(&open(), Command::RequestDelete, 2).thread, 100);
    let late = decided(&first, Command::Finish, 50);
    let second = Thread::open(first.key.clone(), at(3));
    let second = held(&decided(&second, Command::RequestDelete, 4).thread, 100);
    assert!(late.expect.holds(Some(&first.durable), at(50)));
    assert!(!late.expect.holds(Some(&second.durable), at(50)), "its claim is as new, its generation is not");
}

#[test]
fn the_last_row_goes_under_its_holders_claim() {
    let going = decided(&open(), Command::RequestDelete, 0).thread;
    let change = decided(&held(&going, 100), Command::Finish, 7);
    assert!(change.removed && change.thread.durable.due.is_none());
    assert_eq!(change.expect, held(&going, 100).durable.held());
}
