//! The worked trace of reference 7.8, and its vectors about failures.

use super::*;

fn fails(error: &str) -> Command {
    Command::RecordFailure(error.into())
}

/// The end of the key, attempts and pause, as the reference's table has them.
fn row(note: &Note, now: u64) -> (String, u32, u64) {
    let key = note.idempotency_key();
    let (_, end) = key.split_at(key.len() - 3);
    (end.to_owned(), note.attempts, note.durable.due.map_or(0, |due| due.at.since(at(now)).as_secs()))
}

/// Reference 7.8; the note has version 3 here. Dead at the fifth failure, not at the claim after it.
#[test]
fn the_worked_trace_of_failing_deliveries() {
    let mut note = by_run();
    note = step(&note, Command::RecordLaunch(run("r1")), 10);
    assert_eq!(row(&note, 10), ("3:0".into(), 0, 5));
    note = step(&note, Command::RecordRunFailure("it broke".into()), 15);
    assert_eq!(row(&note, 15), ("3:1".into(), 1, 5));
    note = step(&note, Command::RecordLaunch(run("r2")), 20);
    assert_eq!(note.state, State::Dispatched { run: run("r2") });
    note = step(&note, Command::RecordRunVanished, 25);
    assert_eq!(row(&note, 25), ("3:2".into(), 2, 10));
    note = step(&note, fails("the launch raised"), 35);
    assert_eq!(row(&note, 35), ("3:2".into(), 3, 20));
    note = step(&note, fails("the launch raised"), 55);
    assert_eq!(row(&note, 55), ("3:2".into(), 4, 40));
    note = step(&note, Command::RecordBusy, 95);
    assert_eq!(row(&note, 95), ("3:2".into(), 4, 5));
    note = step(&note, fails("the launch raised"), 100);
    assert_eq!((note.state.as_str(), note.attempts, due(&note)), ("dead_letter", 5, Some((Lane::Dead, 100))));
    note = decided(&note, Command::Replay, 500).note;
    assert_eq!(
        row(&note, 500),
        ("3:2".into(), 0, 0),
        "the key of a launch that may have been answered stays"
    );
    assert_eq!((note.state, note.last_error), (State::Pending, None));
}

#[test]
fn vector_83_a_run_that_failed_is_followed_by_another_with_its_own_key() {
    let note = step(&by_run(), Command::RecordLaunch(run("r1")), 10);
    let note = step(&note, Command::RecordRunFailure("timeout".into()), 15);
    assert_eq!((note.dispatch, note.attempts, note.state.as_str()), (1, 1, "pending"));
    assert!(note.idempotency_key().ends_with(":3:1"));
    assert_eq!(note.last_error, Some(Snippet::of("timeout")));
}

#[test]
fn vector_85_five_failures_are_the_end_a_busy_thread_never_is_a_missing_one_at_once() {
    let mut note = fresh();
    let mut now = 10;
    for pause in [5, 10, 20, 40] {
        note = step(&note, fails("no answer"), now);
        assert_eq!((note.state.clone(), due(&note)), (State::Pending, Some((Lane::Notify, now + pause))));
        now += pause;
    }
    note = step(&note, fails("no answer"), now);
    assert_eq!((&note.state, note.attempts, due(&note)), (&State::Dead, 5, Some((Lane::Dead, now))));
    assert_eq!(note.last_error, Some(Snippet::of("no answer")));
    assert!(!note.durable.claimable(Lane::Notify, at(now + 1000)), "no notifier takes it again");

    let mut busy = by_run();
    for now in (10..).step_by(5).take(100) {
        busy = step(&busy, Command::RecordBusy, now);
    }
    assert_eq!((&busy.state, busy.attempts, busy.dispatch), (&State::Pending, 0, 0));

    let missing = step(&by_run(), Command::RecordMissingThread("no such thread".into()), 10);
    assert_eq!((&missing.state, missing.attempts), (&State::Dead, 1));
}

#[test]
fn vector_86_three_failures_are_followed_by_forty_seconds() {
    let note = step(&Note { attempts: 3, ..fresh() }, fails("no"), 10);
    assert_eq!(due(&note), Some((Lane::Notify, 50)));
}

/// Whatever the order of failures, the end comes with the fifth.
#[test]
fn failures_of_every_kind_are_counted_together() {
    let note = Note { attempts: 4, ..by_run() };
    let dispatched = Note { state: State::Dispatched { run: run("r") }, ..note.clone() };
    for (note, command) in [
        (&note, fails("no")),
        (&dispatched, fails("the run could not be looked up")),
        (&dispatched, Command::RecordRunFailure("no".into())),
        (&dispatched, Command::RecordRunVanished),
    ] {
        assert_eq!(step(note, command, 10).state, State::Dead);
    }
}
