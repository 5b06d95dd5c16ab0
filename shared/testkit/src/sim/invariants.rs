//! The promises, checked when everything has come to rest (DESIGN section 9, last row).

mod answers;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use pudu_app::ports::{ItemKey, NoteKey};
use pudu_domain::note::State as NoteState;
use pudu_domain::task::{Outcome, State};
use pudu_domain::{Lane, Policy, Status, Task, TaskKey, ThreadKey};
use serde_json::Value;

use super::backend::Seen;
use super::ops::{MARK, Ops, Submission};
use crate::server::{Asked, RemoteTask, Request};
use crate::table::{StoredTask, Write, Wrote};

const ENDED_EVENTS: &str = "every event is delivered or ended";
const NO_TASK_LOST: &str = "no task is lost";
const NO_CORRUPTION: &str = "no row is corrupt";
const TOLD_IS_TRACKED: &str = "a task that its caller was told of is tracked";
const CANCEL_STANDS: &str = "no request to cancel is lost";
const ONE_KEY_ONE_TASK: &str = "a key stands for one task";
const LAST_TELLS_END: &str = "the last event tells the end";
const NO_EVENT_LOST: &str = "no event is lost";
const ENDS_AS_SAID: &str = "a task ends as its server says";
const ONCE: &str = "nothing is delivered twice or after a newer version";
const TRUE_EVENTS: &str = "no event is delivered that was not true";
const OWNERS_WRITE: &str = "no write by a holder whose lease ended";
const ONE_HANDLE: &str = "a remote handle belongs to one task";
const TRACKED: &str = "every remote task is tracked or reported";
const ENDED_WITH_THREAD: &str = "what a deleted thread had at its server is ended there";
const ANSWER_STANDS: &str = "an answer that its giver was told of stands until it is heard of";
const ONE_ANSWER: &str = "an answer is handed over again only after a look";
const GOES_WHOLE: &str = "a deleted thread goes whole";

/// Every promise.
pub const PROMISES: [&str; 18] = [
    ENDED_EVENTS,
    NO_TASK_LOST,
    NO_CORRUPTION,
    TOLD_IS_TRACKED,
    CANCEL_STANDS,
    ONE_KEY_ONE_TASK,
    LAST_TELLS_END,
    NO_EVENT_LOST,
    ENDS_AS_SAID,
    ONCE,
    TRUE_EVENTS,
    OWNERS_WRITE,
    ONE_HANDLE,
    TRACKED,
    ENDED_WITH_THREAD,
    GOES_WHOLE,
    ANSWER_STANDS,
    ONE_ANSWER,
];

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
pub(super) fn check(seen: &Seen, remote: &[RemoteTask], asked: &[Asked], callers: &Ops) -> Vec<Violation> {
    let mut found = Findings(Vec::new());
    let (ops, unwanted) = (&callers.submitted(), callers.unwanted());
    let rows: BTreeMap<&TaskKey, &StoredTask> = seen.tasks.iter().map(|row| (&row.task.key, row)).collect();
    for row in &seen.tasks {
        everything_ends(row, &mut found);
        its_events_are_told(row, seen, &mut found);
    }
    for note in &seen.notes {
        if matches!(note.state, NoteState::Pending | NoteState::Dispatched { .. }) {
            let stands = note.state.as_str();
            found.add(ENDED_EVENTS, format!("{} v{} is {stands}", note.task.id, note.version));
        }
    }
    for task in remote {
        match submission_of(task, ops) {
            None => found.add(TRACKED, format!("{} was submitted by nobody", task.handle)),
            Some(op) if unwanted.contains(&op.thread) => {
                gone_with_its_thread(task, op, (&rows, &seen.writes), asked, &mut found);
            }
            Some(op) => {
                let twins = remote.iter().filter(|other| other.handle == task.handle).count() > 1;
                tracked_or_reported((task, twins), op, &rows, asked, &mut found);
            }
        }
    }
    for op in ops.values().filter(|op| !unwanted.contains(&op.thread)) {
        what_was_said_stands(op, &rows, &mut found);
    }
    threads_go_whole(seen, &mut found);
    answers::they_stand(&seen.writes, ops, &mut found);
    answers::they_are_not_repeated(remote, asked, &mut found);
    nothing_is_delivered_twice(seen, &mut found);
    nothing_stale_is_delivered(seen, &mut found);
    found.0.extend(only_owners_write(&seen.writes));
    one_handle_one_task(seen, &mut found);
    found.0
}

fn everything_ends(row: &StoredTask, found: &mut Findings) {
    let task = &row.task;
    if !matches!(task.state, State::Ended { .. }) {
        found.add(
            NO_TASK_LOST,
            format!("{} stands at {} with due {:?}", task.key.id, task.state.name(), task.durable.due),
        );
    }
    if task.durable.due.is_some_and(|due| due.lane == Lane::Corrupt) {
        found.add(NO_CORRUPTION, &task.key.id);
    }
}

/// Whoever heard that something was taken is not deceived.
fn what_was_said_stands(op: &Submission, rows: &BTreeMap<&TaskKey, &StoredTask>, found: &mut Findings) {
    let row = op.key().and_then(|key| rows.get(&key));
    // A repetition may be told of a submission that is still under way, and that comes to nothing: its row says so.
    if let Some(told) = &op.told
        && row.is_none_or(|row| row.spec.remote.is_none() && !op.keyed)
    {
        found.add(TOLD_IS_TRACKED, told);
    }
    if op.cancel_stands && row.is_none_or(|row| row.task.cancel.is_none()) {
        found.add(CANCEL_STANDS, format!("{:?}", op.drawn));
    }
    if op.told_another || op.keyed && op.keys().filter(|key| rows.contains_key(key)).count() > 1 {
        found.add(ONE_KEY_ONE_TASK, format!("{:?}", op.drawn));
    }
}

/// Whether a thread was told of a task that its server does not have, or may not have.
fn reported(row: &StoredTask) -> bool {
    row.task.attention.version > 0
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
            LAST_TELLS_END,
            format!(
                "{} ended {:?} as v{version}, told v{} {:?}",
                task.key.id,
                task.status(),
                last.version,
                last.event.status
            ),
        ),
        None => found.add(NO_EVENT_LOST, format!("{} v{version} was never delivered", task.key.id)),
    }
}

/// Whose submission a remote task is.
fn submission_of<'a>(remote: &RemoteTask, ops: &'a BTreeMap<u64, Submission>) -> Option<&'a Submission> {
    let number = remote.arguments.get(MARK).and_then(Value::as_u64)?;
    ops.get(&number)
}

/// What a thread that was deleted had at a server has ended, or the server was asked to end it. Nobody is left to be told more.
fn gone_with_its_thread(
    remote: &RemoteTask,
    op: &Submission,
    (rows, writes): (&BTreeMap<&TaskKey, &StoredTask>, &[Write]),
    asked: &[Asked],
    found: &mut Findings,
) {
    let here = op.keys().any(|key| rows.contains_key(&key));
    // A server that is not in the config any more cannot be asked; what it has is given up when the time for a cancel is over.
    let out_of_time = writes.iter().filter_map(|write| write.task.as_ref()).any(|task| {
        let late = |at| task.cancel.as_ref().is_some_and(|cancel| at >= cancel.until);
        op.keys().any(|key| key == task.key)
            && matches!(task.state, State::Ended { outcome: Outcome::Cancelled, at } if late(at))
    });
    // A submission whose answer was lost has no handle to cancel by; its thread was told that its outcome is not known.
    let mut images = writes.iter().filter_map(|write| write.task.as_ref());
    let tracked =
        images.any(|task| op.keys().any(|key| key == task.key) && matches!(task.state, State::Active { .. }));
    let unknown = !writes.is_empty() && !tracked;
    let seen_to = asked.iter().any(|asked| {
        let over = asked.answer.is_some_and(Status::is_terminal);
        asked.handle == remote.handle && (over || asked.what == Request::Cancel)
    });
    // A submitter that was gone before it knew the handle leaves an intent, and its end is told to nobody any more.
    // One that broke the protocol was given up before, and its thread was told.
    let given_up = remote.plan.nonsense_at.is_some();
    if !here && !seen_to && !given_up && !out_of_time && !unknown && op.told.is_some() {
        found.add(ENDED_WITH_THREAD, format!("{} runs on, and its thread is gone", remote.handle));
    }
}

/// A deleted thread leaves no row, and no row is without its thread.
fn threads_go_whole(seen: &Seen, found: &mut Findings) {
    let there: BTreeSet<&ThreadKey> = seen.threads.iter().map(|thread| &thread.key).collect();
    for thread in seen.threads.iter().filter(|thread| thread.is_going()) {
        found.add(GOES_WHOLE, format!("{} is being deleted for ever", thread.key.thread));
    }
    let tasks = seen.tasks.iter().map(|row| &row.task.key.thread);
    let notes = seen.notes.iter().map(|note| &note.task.thread);
    let events = seen.delivered.iter().filter(|(_, events)| !events.is_empty()).map(|(thread, _)| thread);
    for thread in tasks.chain(notes).chain(events).filter(|thread| !there.contains(thread)) {
        found.add(GOES_WHOLE, format!("{} is gone, and a row of it is not", thread.thread));
    }
}

/// Every remote task is tracked to its end, or undone at the server, or its thread was told that it is not known.
fn tracked_or_reported(
    (remote, twins): (&RemoteTask, bool),
    op: &Submission,
    rows: &BTreeMap<&TaskKey, &StoredTask>,
    asked: &[Asked],
    found: &mut Findings,
) {
    let mine: Vec<_> = op.keys().filter_map(|key| rows.get(&key).copied()).collect();
    if mine.is_empty() {
        found.add(TRACKED, format!("{} has no row", remote.handle));
    }
    let tracks = |row: &StoredTask| {
        row.spec.remote.as_ref().map(pudu_domain::RemoteTaskId::as_str) == Some(remote.handle.as_str())
    };
    if let Some(row) = mine.iter().find(|row| tracks(row)) {
        ended_as_it_did(remote, row, found);
        return;
    }
    let undone = asked.iter().any(|asked| {
        let over = asked.answer.is_some_and(Status::is_terminal);
        asked.handle == remote.handle && asked.what == Request::Cancel && over
    });
    // Its submitter was told that another task has its handle, whose thread may be gone by now.
    let refused = |row: &StoredTask| matches!(row.task.state, State::Ended { outcome: Outcome::Failed, .. });
    for row in mine.into_iter().filter(|row| !(undone || reported(row) || twins && refused(row))) {
        found.add(
            TRACKED,
            format!("{} runs at the server, and {} says nothing of it", remote.handle, row.task.key.id),
        );
    }
}

/// A tracked task ends as its server says it did.
fn ended_as_it_did(remote: &RemoteTask, row: &StoredTask, found: &mut Findings) {
    let State::Ended { at, .. } = row.task.state else { return };
    let (here, there) = (row.task.status(), remote.status(at + std::time::Duration::from_secs(86_400)));
    let nonsense = remote.plan.nonsense_at.is_some() && here == Status::Failed;
    // A cancel that no server confirmed in time ends the task here.
    let unconfirmed = row.task.cancel.as_ref().is_some_and(|cancel| at >= cancel.until);
    if unconfirmed && here == Status::Cancelled {
        return;
    }
    // Two remote tasks with one handle: the server answers for the first, so the second's plan says nothing.
    if here != there && !nonsense && remote.plan.handle.is_none() {
        found.add(ENDS_AS_SAID, format!("{} is {here:?}, {} is {there:?}", row.task.key.id, remote.handle));
    }
}

fn nothing_is_delivered_twice(seen: &Seen, found: &mut Findings) {
    for events in seen.delivered.values() {
        let mut newest = BTreeMap::new();
        for told in events {
            let before = newest.insert(&told.event.task_id, told.version).unwrap_or(0);
            if told.version <= before {
                found.add(ONCE, format!("{} v{} after v{before}", told.event.task_id, told.version));
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
            ItemKey::Note(_) | ItemKey::Thread(_) | ItemKey::Run(_) => {}
        }
    }
    for key in &delivered {
        // The last claim of a delivered note is the one that delivered it.
        if fresh.get(key) == Some(&false) {
            found.add(TRUE_EVENTS, format!("{} v{}", key.task.id, key.version));
        }
    }
}

/// Claims, commits and fences keep to the lease and the generation; every write that does not. The holder of a run may go on
/// behind a commit: then the lease stays, and is longer.
pub fn only_owners_write(writes: &[Write]) -> Vec<Violation> {
    let mut found = Findings(Vec::new());
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
                    && (after.lease.is_none() || goes_on(write))
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
                OWNERS_WRITE,
                format!("{:?} of {:?}: {before:?} became {after:?} at {at:?}", write.kind, write.key),
            );
        }
    }
    found.0
}

/// Whether the holder of a run goes on with it.
fn goes_on(write: &Write) -> bool {
    let before = write.before.as_ref().and_then(|row| row.lease.as_ref());
    let longer = before.zip(write.after.lease.as_ref());
    let longer = longer.is_some_and(|(old, new)| old.owner == new.owner && old.until < new.until);
    longer && matches!(write.key, ItemKey::Run(_))
}

fn one_handle_one_task(seen: &Seen, found: &mut Findings) {
    let mut owners = BTreeMap::new();
    for row in &seen.tasks {
        let Some(remote) = &row.spec.remote else { continue };
        let handle = (&row.task.key.thread.user, &row.spec.server, &row.spec.identity, remote);
        if let Some(other) = owners.insert(handle, &row.task.key.id) {
            found.add(ONE_HANDLE, format!("{other} and {} share {remote}", row.task.key.id));
        }
    }
}
