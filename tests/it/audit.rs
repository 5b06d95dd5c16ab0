//! The audit of a soak sees each thing that it counts, and nothing else.

use acceptance::audit::{Facts, Promise, RemoteFacts, TaskFacts, Verdict};
use pudu_domain::Status;

const THREAD: &str = "t1";

/// A task `a` with a question that was withdrawn and an end that was told, and its remote.
fn fine() -> Facts {
    let task = TaskFacts {
        id: "a".to_owned(),
        thread: THREAD.to_owned(),
        status: Status::Completed,
        remote: Some("r1".to_owned()),
        attention: 2,
        versions: 2,
        notes: [(1, "withdrawn"), (2, "delivered")].into(),
    };
    let remote = RemoteFacts {
        id: "r1".to_owned(),
        thread: THREAD.to_owned(),
        status: Status::Completed,
        cancel_asked: false,
    };
    Facts {
        promised: vec![promise("a")],
        tasks: vec![task],
        told: vec![("a".to_owned(), 2)],
        seen: [(("a".to_owned(), 2), "noon".to_owned())].into(),
        claimed: [(("a".to_owned(), 2), 1)].into(),
        remotes: vec![remote],
        ..Facts::default()
    }
}

fn promise(task: &str) -> Promise {
    Promise { task: task.to_owned(), thread: THREAD.to_owned() }
}

/// What the audit says when `spoil` has been at the facts.
fn counts<T>(spoil: impl FnOnce(&mut Facts) -> T) -> (usize, usize, usize) {
    let mut facts = fine();
    spoil(&mut facts);
    let Verdict { lost, duplicated, untracked, findings, .. } = facts.judge();
    assert_eq!(findings.len(), lost + duplicated + untracked, "{findings:?}");
    (lost, duplicated, untracked)
}

#[test]
fn a_run_without_fault_is_clean_and_says_so() {
    let verdict = fine().judge();
    assert!(verdict.is_clean());
    assert_eq!(verdict.to_string(), "tasks 1, lost 0, duplicated 0, untracked 0");
}

#[test]
fn a_task_without_its_end_or_row_is_lost() {
    assert_eq!(counts(|facts| facts.tasks[0].status = Status::Working), (1, 0, 0));
    assert_eq!(counts(|facts| facts.promised.push(promise("b"))), (1, 0, 0));
    assert_eq!(counts(|facts| facts.refused.push("503".to_owned())), (1, 0, 0));
    assert_eq!(
        counts(|facts| facts.remotes[0].status = Status::Failed),
        (1, 0, 0),
        "another end than its own"
    );
}

#[test]
fn a_version_that_was_not_told_is_lost() {
    let unseen = |facts: &mut Facts| (facts.told.clear(), facts.seen.clear());
    assert_eq!(counts(|facts| unseen(facts)), (1, 0, 0), "delivered, and not in the thread");
    for state in ["pending", "dead_letter", "withdrawn", "superseded"] {
        let spoil = |facts: &mut Facts| {
            unseen(facts);
            facts.tasks[0].notes.insert(2, state);
        };
        assert_eq!(counts(spoil), (1, 0, 0), "the end is true and {state}");
    }
    assert_eq!(counts(|facts| facts.tasks[0].notes.remove(&1)), (1, 0, 0), "its note is gone");
    assert_eq!(counts(|facts| facts.tasks[0].attention = 0), (1, 0, 0), "nothing tells the end");
    let gone = |facts: &mut Facts| facts.seen.insert((("a".to_owned(), 1), "dawn".to_owned()));
    assert_eq!(counts(gone), (1, 0, 0), "a reader saw it, and it is gone");
}

#[test]
fn what_is_told_twice_or_too_late_is_duplicated() {
    assert_eq!(counts(|facts| facts.told.push(("a".to_owned(), 2))), (0, 1, 0));
    let late = |facts: &mut Facts| {
        facts.tasks[0].notes.insert(1, "delivered");
        facts.told.push(("a".to_owned(), 1));
    };
    assert_eq!(counts(late), (0, 1, 0), "version 1 after version 2");
    let again = |facts: &mut Facts| facts.seen.insert((("a".to_owned(), 2), "one".to_owned()));
    assert_eq!(counts(again), (0, 1, 0), "a reader saw it at two moments");
    let twice = |facts: &mut Facts| facts.claimed.insert(("a".to_owned(), 2), 2);
    assert_eq!(counts(twice), (0, 1, 0), "two workers delivered it");
}

#[test]
fn a_remote_task_needs_an_owner_a_cancel_or_a_report() {
    let orphan = |facts: &mut Facts| {
        facts.remotes.push(RemoteFacts { id: "r2".to_owned(), ..facts.remotes[0].clone() });
    };
    assert_eq!(counts(orphan), (0, 0, 1));
    let cancelled = |facts: &mut Facts| {
        orphan(facts);
        facts.remotes[1].cancel_asked = true;
    };
    assert_eq!(counts(cancelled), (0, 0, 0));
    let reported = |facts: &mut Facts| {
        orphan(facts);
        facts.tasks.push(TaskFacts {
            id: "b".to_owned(),
            status: Status::Failed,
            remote: None,
            attention: 1,
            versions: 1,
            notes: [(1, "delivered")].into(),
            ..facts.tasks[0].clone()
        });
        facts.told.push(("b".to_owned(), 1));
    };
    assert_eq!(counts(reported), (0, 0, 0));
    let one_report_for_two = |facts: &mut Facts| {
        reported(facts);
        facts.remotes.push(RemoteFacts { id: "r3".to_owned(), ..facts.remotes[0].clone() });
    };
    assert_eq!(counts(one_report_for_two), (0, 0, 1), "one report is of one remote task");
}

#[test]
fn a_deleted_thread_takes_everything_with_it() {
    let erased = |facts: &mut Facts| {
        facts.deleted.insert(THREAD.to_owned());
        (facts.tasks, facts.told) = (Vec::new(), Vec::new());
    };
    assert_eq!(counts(erased), (0, 0, 0));
    let mut facts = fine();
    erased(&mut facts);
    assert_eq!(facts.judge().tasks, 1, "it counts all the same");
    let left_over = |facts: &mut Facts| {
        erased(facts);
        facts.left_over.push("thread#t1 task#a".to_owned());
    };
    assert_eq!(counts(left_over), (1, 0, 0));
    let running = |facts: &mut Facts| {
        erased(facts);
        facts.remotes[0].status = Status::Working;
    };
    assert_eq!(counts(running), (0, 0, 1), "it still runs at its server");
    let cancelled = |facts: &mut Facts| {
        running(facts);
        facts.remotes[0].cancel_asked = true;
    };
    assert_eq!(counts(cancelled), (0, 0, 0));
}
