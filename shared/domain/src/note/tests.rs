//! The note's rules: the whole table of states, commands and attention versions, and the reference's vectors 82 to 88.

use super::*;
use crate::durable::{Generation, Lease, Owner};
use crate::ids::{TaskId, TaskName, ThreadId, ThreadKey, UserId};
use crate::payload::Payload;
use crate::snapshot::Status;

fn at(secs: u64) -> Timestamp {
    Timestamp::from_millis(secs * 1000)
}

fn fresh() -> Note {
    let thread =
        ThreadKey { user: UserId::parse("local:default").unwrap(), thread: ThreadId::parse("t1").unwrap() };
    let id = TaskId::new(at(0), [7; 10]);
    let event = Event::new(
        id.clone(),
        TaskName::parse("report").unwrap(),
        Status::Completed,
        Payload::default(),
        None,
    );
    Note::new(TaskKey { thread, id }, 3, Delivery::Event, event, at(10))
}

fn held(note: &Note) -> Note {
    let lease = Lease { owner: Owner::stored("n".into()), until: at(130) };
    Note { durable: note.durable.claimed(lease), ..note.clone() }
}

fn fail(note: &Note, now: u64) -> Change {
    decide(note, Command::RecordFailure("no answer".into()), at(now), &Policy::default()).unwrap()
}

#[test]
fn a_new_note_is_due_at_once() {
    let note = fresh();
    assert_eq!(note.state, State::Pending);
    assert_eq!(note.durable, Durable::waiting(Due { lane: Lane::Notify, at: at(10) }));
    assert!(note.durable.claimable(Lane::Notify, at(10)) && !note.durable.claimable(Lane::Notify, at(9)));
}

/// The note has version 3: only that version is delivered (vector 88: nothing that is no longer true).
#[test]
fn only_the_version_that_is_true_now_is_delivered() {
    let cases = [
        (0, State::Withdrawn),
        (1, State::Superseded),
        (2, State::Superseded),
        (3, State::Delivered { at: at(20) }),
        (4, State::Superseded),
        (u32::MAX, State::Superseded),
    ];
    let note = held(&Note { attempts: 2, last_error: Some(Snippet::of("earlier")), ..fresh() });
    for (attention, state) in cases {
        let change = decide(&note, Command::Deliver { attention }, at(20), &Policy::default()).unwrap();
        assert_eq!((change.note.state, change.deliver), (state, attention == 3), "{attention}");
        assert_eq!(change.note.durable.due, None);
        assert_eq!(change.note.last_error, None);
        assert_eq!(change.note.event, note.event, "an event is frozen");
    }
}

#[test]
fn an_end_or_a_missing_lease_refuses_every_command() {
    let ends = [State::Delivered { at: at(1) }, State::Withdrawn, State::Superseded, State::Dead];
    let commands = [
        Command::Deliver { attention: 3 },
        Command::Deliver { attention: 0 },
        Command::RecordFailure("x".into()),
    ];
    let ended = ends.map(|state| held(&Note { state, ..fresh() }));
    for note in ended.into_iter().chain([fresh()]) {
        for command in commands.clone() {
            let refused = Rejected { state: note.state.as_str() };
            assert_eq!(decide(&note, command, at(20), &Policy::default()), Err(refused));
        }
    }
}

#[test]
fn every_change_is_the_holders_commit() {
    let note = held(&fresh());
    let deliver = decide(&note, Command::Deliver { attention: 3 }, at(20), &Policy::default()).unwrap();
    for change in [deliver, fail(&note, 20)] {
        assert_eq!(change.expect, note.durable.held());
        assert_eq!(change.note.durable.lease, None);
        assert_eq!(change.note.durable.generation, Generation::new(1));
        assert!(
            !change.expect.holds(Some(&change.note.durable), at(20)),
            "the same commit cannot apply twice"
        );
    }
}

/// Vectors 85 and 86; the fifth failure is the end, with no further claim for it.
#[test]
fn failures_back_off_and_the_fifth_is_the_last() {
    let mut note = fresh();
    let mut now = 10;
    for pause in [5, 10, 20, 40] {
        let change = fail(&held(&note), now);
        assert_eq!((change.note.state, change.deliver), (State::Pending, false));
        assert_eq!(change.note.durable.due, Some(Due { lane: Lane::Notify, at: at(now + pause) }));
        note = change.note;
        now += pause;
    }
    let last = fail(&held(&note), now).note;
    assert_eq!((last.state, last.attempts), (State::Dead, 5));
    assert_eq!(last.durable.due, Some(Due { lane: Lane::Dead, at: at(now) }));
    assert_eq!(last.last_error, Some(Snippet::of("no answer")));
    assert!(!last.durable.claimable(Lane::Notify, at(now + 1000)), "no notifier takes it again");
}

/// Vector 87: an old note that kept failing does not stand in the way of a newer one, and dies of it or is superseded.
#[test]
fn a_newer_note_lives_its_own_life() {
    let old = held(&Note { attempts: 4, ..fresh() });
    let newer = Note { version: 4, ..fresh() };
    let change = decide(&old, Command::Deliver { attention: 4 }, at(20), &Policy::default()).unwrap();
    assert_eq!((change.note.state, change.deliver), (State::Superseded, false));
    let change =
        decide(&held(&newer), Command::Deliver { attention: 4 }, at(20), &Policy::default()).unwrap();
    assert_eq!((change.note.attempts, change.deliver), (0, true));
}
