//! The note's rules: the whole table of states and commands, and what each change does to lease, lane and keeping.

mod table;
mod traces;
mod vectors;

use super::*;
use crate::durable::{Generation, Lease, Owner};
use crate::ids::{TaskId, ThreadId, ThreadKey, UserId};

fn at(secs: u64) -> Timestamp {
    Timestamp::from_millis(secs * 1000)
}

fn run(name: &str) -> RunId {
    RunId::parse(name).unwrap()
}

fn key() -> TaskKey {
    let thread =
        ThreadKey { user: UserId::parse("local:default").unwrap(), thread: ThreadId::parse("t1").unwrap() };
    TaskKey { thread, id: TaskId::new(at(0), [7; 10]) }
}

/// Version 3 of a question, made at 10.
fn fresh() -> Note {
    Note::new(key(), 3, Delivery::Event, Status::InputRequired, at(10))
}

/// The same, to be delivered by a run.
fn by_run() -> Note {
    Note { delivery: Delivery::Run, ..fresh() }
}

fn held(note: &Note) -> Note {
    let lease = Lease { owner: Owner::stored("n".into()), until: at(130) };
    Note { durable: note.durable.claimed(lease), ..note.clone() }
}

fn decided(note: &Note, command: Command, now: u64) -> Change {
    decide(note, command, at(now), &Policy::default()).unwrap()
}

/// A claim and its commit, both at `now`.
fn step(note: &Note, command: Command, now: u64) -> Note {
    assert!(note.durable.claimable(Lane::Notify, at(now)), "not due at {now}: {:?}", note.durable.due);
    let lease = Lease { owner: Owner::stored("n".into()), until: at(now + 120) };
    let claimed = Note { durable: note.durable.claimed(lease), ..note.clone() };
    let change = decided(&claimed, command, now);
    assert!(change.expect.holds(Some(&claimed.durable), at(now)));
    change.note
}

fn due(note: &Note) -> Option<(Lane, u64)> {
    note.durable.due.map(|due| (due.lane, due.at.as_millis() / 1000))
}

#[test]
fn a_new_note_is_due_at_once() {
    let note = fresh();
    assert_eq!(note.state, State::Pending);
    assert_eq!(note.durable, Durable::waiting(Due { lane: Lane::Notify, at: at(10) }));
    assert!(note.durable.claimable(Lane::Notify, at(10)) && !note.durable.claimable(Lane::Notify, at(9)));
}

/// The note has version 3: only that version is delivered, in either way.
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
    let run = held(&by_run());
    for (attention, state) in cases {
        let change = decided(&note, Command::Deliver { attention }, 20);
        assert_eq!((&change.note.state, change.deliver), (&state, attention == 3), "{attention}");
        assert_eq!(change.note.durable.due, None);
        assert_eq!(change.note.last_error, None);
        let change = decide(&run, Command::Deliver { attention }, at(20), &Policy::default());
        match change {
            Ok(change) => assert_eq!(change.note.state, state, "{attention}"),
            Err(refused) => {
                assert_eq!((refused, attention), (Rejected::WrongDelivery { command: "deliver" }, 3));
            }
        }
    }
}

/// Also when the task's row has left the table, and nobody can say any more which version was the last.
#[test]
fn what_tells_an_end_is_always_true() {
    for status in Status::ALL {
        let note = held(&Note { status, ..fresh() });
        for attention in [0, 2, 3, 4] {
            let change = decided(&note, Command::Deliver { attention }, 20);
            assert_eq!(change.deliver, status.is_terminal() || attention == 3, "{status:?} {attention}");
        }
    }
}

#[test]
fn a_holders_change_is_its_commit_and_anybodys_is_a_fence() {
    let pending = held(&by_run());
    let dispatched = held(&Note { state: State::Dispatched { run: run("r") }, ..by_run() });
    let commits = [
        (&pending, Command::Deliver { attention: 0 }),
        (&pending, Command::RecordLaunch(run("r"))),
        (&pending, Command::RecordFailure("no".into())),
        (&pending, Command::RecordMissingThread("gone".into())),
        (&dispatched, Command::RecordRunning),
        (&dispatched, Command::RecordRunSuccess),
    ];
    for (note, command) in commits {
        let change = decided(note, command, 20);
        assert_eq!(change.expect, note.durable.held());
        assert_eq!(
            (change.note.durable.lease.clone(), change.note.durable.generation),
            (None, Generation::new(1))
        );
        assert!(
            !change.expect.holds(Some(&change.note.durable), at(20)),
            "the same commit cannot apply twice"
        );
    }
    let dead = Note { state: State::Dead, ..fresh() };
    for (note, command) in [(&pending, Command::Drop), (&dead, Command::Replay), (&dead, Command::Drop)] {
        let change = decided(note, command, 20);
        assert_eq!(change.expect, note.durable.unchanged());
        assert_eq!(change.note.durable.generation, note.durable.generation.next());
        assert!(!note.durable.held().holds(Some(&change.note.durable), at(20)), "a holder has lost");
    }
}

/// A note and what shows of it leave some time after its end; a dead letter waits for its operator, with its event.
#[test]
fn what_has_ended_is_kept_for_a_while_and_a_dead_letter_for_ever() {
    let policy = Policy::default();
    let month = Some(at(20) + policy.retention);
    let pending = held(&fresh());
    let dispatched = held(&Note { state: State::Dispatched { run: run("r") }, ..by_run() });
    let dead = Note { state: State::Dead, attempts: 5, ..fresh() };
    let late = Keep::Until(at(20) + policy.retention + Duration::from_hours(24));
    let cases = [
        (&pending, Command::Deliver { attention: 3 }, month, Keep::AsItIs),
        (&pending, Command::Deliver { attention: 0 }, month, Keep::AsItIs),
        (&pending, Command::Deliver { attention: 4 }, month, Keep::AsItIs),
        (&pending, Command::Drop, month, Keep::AsItIs),
        (&pending, Command::RecordFailure("no".into()), None, Keep::AsItIs),
        (&pending, Command::RecordMissingThread("no".into()), None, Keep::Always),
        (&dispatched, Command::RecordRunSuccess, month, Keep::AsItIs),
        (&dispatched, Command::RecordRunning, None, Keep::AsItIs),
        (&dead, Command::Replay, None, late),
        (&dead, Command::Drop, month, late),
    ];
    for (note, command, expires, keep) in cases {
        let change = decided(note, command.clone(), 20);
        assert_eq!((change.expires, change.keep), (expires, keep), "{command:?}");
    }
}

#[test]
fn each_launch_that_came_to_nothing_gives_the_next_a_key_of_its_own() {
    let note = by_run();
    assert_eq!(note.idempotency_key(), format!("mcp-task:{}:3:0", key().id));
    assert_eq!(
        Note { dispatch: 2, version: 7, ..note }.idempotency_key(),
        format!("mcp-task:{}:7:2", key().id)
    );
}
