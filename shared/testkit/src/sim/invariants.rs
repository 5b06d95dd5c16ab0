//! The promises, checked when everything has come to rest (DESIGN section 9, last row).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use pudu_app::ports::{ItemKey, NoteKey};
use pudu_domain::note::State as NoteState;
use pudu_domain::task::State;
use pudu_domain::{Lane, Policy, Status, Task, TaskKey};
use serde_json::Value;

use super::backend::Seen;
use super::story::{MARK, Submission};
use crate::server::{Asked, RemoteTask, Request};
use crate::table::{StoredTask, Write, Wrote};

/// A promise that was broken.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// Which promise.
    pub promise: &'static str,
    /// By what.
    pub evidence: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.promise, self.evidence)
    }
}

struct Findings(Vec<Violation>);

impl Findings {
    fn add(&mut self, promise: &'static str, evidence: impl fmt::Display) {
        self.0.push(Violation { promise, evidence: evidence.to_string() });
    }
}

/// Every broken promise.
pub(super) fn check(
    seen: &Seen,
    remote: &[RemoteTask],
    asked: &[Asked],
    ops: &BTreeMap<u64, Submission>,
) -> Vec<Violation> {
    let mut found = Findings(Vec::new());
    let rows: BTreeMap<&TaskKey, &StoredTask> = seen.tasks.iter().map(|row| (&row.task.key, row)).collect();
    for row in &seen.tasks {
        everything_ends(row, &mut found);
        its_events_are_told(row, seen, &mut found);
    }
    for note in &seen.notes {
        if note.state == NoteState::Pending {
            found.add(
                "every event is delivered or ended",
                format!("{} v{} is pending", note.task.id, note.version),
            );
        }
    }
    for task in remote {
        tracked_or_reported(task, &rows, asked, ops, &mut found);
    }
    for op in ops.values() {
        what_was_said_stands(op, &rows, &mut found);
    }
    nothing_is_delivered_twice(seen, &mut found);
    nothing_stale_is_delivered(seen, &mut found);
    only_owners_write(&seen.writes, &mut found);
    one_handle_one_task(seen, &mut found);
    found.0
}

fn everything_ends(row: &StoredTask, found: &mut Findings) {
    let task = &row.task;
    if !matches!(task.state, State::Ended { .. }) {
        found.add(
            "no task is lost",
            format!("{} stands at {} with due {:?}", task.key.id, task.state.name(), task.durable.due),
        );
    }
    if task.durable.due.is_some_and(|due| due.lane == Lane::Corrupt) {
        found.add("no row is corrupt", &task.key.id);
    }
}

/// Whoever heard that something was taken is not deceived.
fn what_was_said_stands(op: &Submission, rows: &BTreeMap<&TaskKey, &StoredTask>, found: &mut Findings) {
    let row = rows.get(&op.key());
    if op.taken && row.is_none_or(|row| row.spec.remote.is_none()) {
        found.add("a task that its caller was told of is tracked", &op.task);
    }
    if op.cancel_stands && row.is_none_or(|row| row.task.cancel.is_none()) {
        found.add("no request to cancel is lost", &op.task);
    }
}

/// The current event of a task at its end stands in its thread.
fn its_events_are_told(row: &StoredTask, seen: &Seen, found: &mut Findings) {
    let task = &row.task;
    let version = task.attention.version;
    if version == 0 {
        return;
    }
    let told = seen
        .delivered
        .get(&task.key.thread)
        .into_iter()
        .flatten()
        .filter(|told| told.event.task_id == task.key.id);
    let last = told.max_by_key(|told| told.version);
    match last {
        Some(last) if last.version == version && last.event.status == task.status() => {}
        Some(last) => found.add(
            "the last event tells the end",
            format!(
                "{} ended {:?} as v{version}, told v{} {:?}",
                task.key.id,
                task.status(),
                last.version,
                last.event.status
            ),
        ),
        None => found.add("no event is lost", format!("{} v{version} was never delivered", task.key.id)),
    }
}

/// Every remote task is tracked to its end, or undone at the server, or its thread was told that it is not known.
fn tracked_or_reported(
    remote: &RemoteTask,
    rows: &BTreeMap<&TaskKey, &StoredTask>,
    asked: &[Asked],
    ops: &BTreeMap<u64, Submission>,
    found: &mut Findings,
) {
    const PROMISE: &str = "every remote task is tracked or reported";
    let number = remote.arguments.get(MARK).and_then(Value::as_u64);
    let Some(op) = number.and_then(|number| ops.get(&number)) else {
        found.add(PROMISE, format!("{} was submitted by nobody", remote.handle));
        return;
    };
    let Some(row) = rows.get(&op.key()) else {
        found.add(PROMISE, format!("{} has no row", remote.handle));
        return;
    };
    if row.spec.remote.as_ref().map(pudu_domain::RemoteTaskId::as_str) == Some(remote.handle.as_str()) {
        ended_as_it_did(remote, row, found);
        return;
    }
    let undone = asked.iter().any(|asked| {
        let over = asked.answer.is_some_and(Status::is_terminal);
        asked.handle == remote.handle && asked.what == Request::Cancel && over
    });
    let shared = rows.values().any(|other| {
        other.spec.remote.as_ref().map(pudu_domain::RemoteTaskId::as_str) == Some(remote.handle.as_str())
    });
    let reported = row.task.attention.version > 0;
    if !undone && !shared && !reported {
        found.add(
            PROMISE,
            format!("{} runs at the server, and {} says nothing of it", remote.handle, row.task.key.id),
        );
    }
}

/// A tracked task ends as its server says it did.
fn ended_as_it_did(remote: &RemoteTask, row: &StoredTask, found: &mut Findings) {
    let State::Ended { at, .. } = row.task.state else { return };
    let (here, there) = (row.task.status(), remote.status(at + std::time::Duration::from_secs(86_400)));
    let nonsense = remote.plan.nonsense_at.is_some() && here == Status::Failed;
    // Two remote tasks with one handle: the server answers for the first, so the second's plan says nothing.
    if here != there && !nonsense && remote.plan.handle.is_none() {
        found.add(
            "a task ends as its server says",
            format!("{} is {here:?}, {} is {there:?}", row.task.key.id, remote.handle),
        );
    }
}

fn nothing_is_delivered_twice(seen: &Seen, found: &mut Findings) {
    for events in seen.delivered.values() {
        let mut newest = BTreeMap::new();
        for told in events {
            let before = newest.insert(&told.event.task_id, told.version).unwrap_or(0);
            if told.version <= before {
                found.add(
                    "nothing is delivered twice or after a newer version",
                    format!("{} v{} after v{before}", told.event.task_id, told.version),
                );
            }
        }
    }
}

/// An event is delivered only if it was true when its notifier looked, which is after its claim.
fn nothing_stale_is_delivered(seen: &Seen, found: &mut Findings) {
    let policy = Policy::default();
    let mut state: BTreeMap<&TaskKey, &Task> = BTreeMap::new();
    let mut newest: BTreeMap<&TaskKey, u32> = BTreeMap::new();
    // What was true since the claim of each note that is under way.
    let mut fresh: BTreeMap<&NoteKey, bool> = BTreeMap::new();
    let delivered: BTreeSet<NoteKey> = seen
        .notes
        .iter()
        .filter(|note| matches!(note.state, NoteState::Delivered { .. }))
        .map(|note| NoteKey { task: note.task.clone(), version: note.version })
        .collect();
    for write in &seen.writes {
        match &write.key {
            ItemKey::Task(key) => {
                if let Some(task) = &write.task {
                    state.insert(key, task);
                }
            }
            ItemKey::Note(key) if write.kind == Wrote::Birth => {
                newest.insert(&key.task, key.version);
            }
            ItemKey::Note(key) if write.kind == Wrote::Claim => {
                let needs = state.get(&key.task).is_some_and(|task| {
                    task.status().is_terminal()
                        || task.status() == Status::InputRequired
                        || task.is_degraded(&policy)
                });
                fresh.insert(key, needs && newest.get(&key.task) == Some(&key.version));
            }
            ItemKey::Note(_) | ItemKey::Thread(_) => {}
        }
    }
    for key in &delivered {
        // The last claim of a delivered note is the one that delivered it.
        if fresh.get(key) == Some(&false) {
            found.add("no event is delivered that was not true", format!("{} v{}", key.task.id, key.version));
        }
    }
}

/// Claims, commits and fences keep to the lease and the generation.
fn only_owners_write(writes: &[Write], found: &mut Findings) {
    for write in writes {
        let Some(before) = &write.before else { continue };
        let (after, at) = (&write.after, write.at);
        let kept = match write.kind {
            Wrote::Birth => true,
            Wrote::Claim => {
                after.generation == before.generation.next()
                    && before.lease.as_ref().is_none_or(|lease| lease.until < at)
            }
            Wrote::Held => {
                after.generation == before.generation
                    && after.lease.is_none()
                    && before.lease.as_ref().is_some_and(|lease| lease.until >= at)
            }
            Wrote::Beside | Wrote::Corrupt => {
                let fenced = after.generation == before.generation.next() && after.lease.is_none();
                let woken = after.generation == before.generation && after.wake == before.wake + 1;
                fenced || woken
            }
        };
        if !kept {
            found.add(
                "no write by a holder whose lease ended",
                format!("{:?} of {:?}: {before:?} became {after:?} at {at:?}", write.kind, write.key),
            );
        }
    }
}

fn one_handle_one_task(seen: &Seen, found: &mut Findings) {
    let mut owners = BTreeMap::new();
    for row in &seen.tasks {
        let Some(remote) = &row.spec.remote else { continue };
        let handle = (&row.task.key.thread.user, &row.spec.server, &row.spec.identity, remote);
        if let Some(other) = owners.insert(handle, &row.task.key.id) {
            found.add(
                "a remote handle belongs to one task",
                format!("{other} and {} share {remote}", row.task.key.id),
            );
        }
    }
}
