//! The verbs that cases are told in, and the whole life of a task: what is written is what is read, field by field.

use pudu_app::ports::{Committed, NoteKey};
use pudu_domain::task::{Change, Command, Context, PayloadWrite, Refusal, decide};
use pudu_domain::{Lane, Note, Payload, Policy, Snapshot, Status, Task, TaskKey, TaskSpec, Timestamp, note};
use serde_json::json;

use super::{Case, World, cases};
use crate::clock::EPOCH;
use crate::fixture::{self, intent, lease, remote, said, task_key, thread};

pub(super) const CASES: &[Case] = cases![
    every_state_is_read_as_it_was_written,
    the_spec_is_seen_with_its_task,
    the_payload_is_put_kept_and_cleared,
    a_large_payload_is_read_as_it_was_written,
    names_of_every_kind_are_read_as_they_were_written,
];

/// The one task that most cases are about.
pub(super) fn key() -> TaskKey {
    task_key(&thread("t1"), EPOCH, 1)
}

impl World {
    pub(super) fn now(&self) -> Timestamp {
        pudu_app::ports::Clock::now(self.clock.as_ref())
    }

    /// The clock shows so many milliseconds after the beginning.
    pub(super) fn at(&self, millis: u64) {
        self.clock.set(EPOCH + std::time::Duration::from_millis(millis));
    }

    pub(super) async fn load(&self, key: &TaskKey) -> Task {
        let loaded = self.tasks.load(key).await;
        loaded.unwrap_or_else(|e| fail(&e)).unwrap_or_else(|| fail(&"no such task"))
    }

    pub(super) async fn spec(&self, task: &Task) -> TaskSpec {
        let spec = self.tasks.spec(task).await;
        spec.unwrap_or_else(|e| fail(&e)).unwrap_or_else(|| fail(&"no such spec"))
    }

    pub(super) async fn payload(&self, key: &TaskKey) -> Payload {
        self.tasks.payload(key).await.unwrap_or_else(|e| fail(&e))
    }

    pub(super) async fn commit(&self, change: &Change) -> Committed {
        self.tasks.commit(change).await.unwrap_or_else(|e| fail(&e))
    }

    pub(super) async fn claim(&self, key: &TaskKey, lane: Lane, owner: &str) -> Option<Task> {
        self.tasks.claim(key, lane, lease(owner, self.now())).await.unwrap_or_else(|e| fail(&e))
    }

    pub(super) async fn claimed(&self, key: &TaskKey, lane: Lane, owner: &str) -> Task {
        self.claim(key, lane, owner).await.unwrap_or_else(|| fail(&"the claim was refused"))
    }

    /// What `command` makes of the image that somebody holds.
    pub(super) async fn decided(&self, image: &Task, command: Command) -> Change {
        let (spec, payload, policy) =
            (self.spec(image).await, self.payload(&image.key).await, Policy::default());
        let context = Context { spec: &spec, payload: &payload, policy: &policy };
        let change = decide(image, command, self.now(), context);
        change.unwrap_or_else(|e| fail(&e)).unwrap_or_else(|| fail(&"nothing changes"))
    }

    /// Decides and commits, and insists that it stands.
    pub(super) async fn settle(&self, image: &Task, command: Command) -> Task {
        let change = self.decided(image, command).await;
        assert_eq!(self.commit(&change).await, Committed::Done);
        change.task
    }

    /// Writes an intent.
    pub(super) async fn born(&self, key: &TaskKey) -> Task {
        let change = intent(key, "submitter", self.now());
        assert_eq!(self.commit(&change).await, Committed::Done);
        change.task
    }

    /// A task that is tracked under its own handle; its first poll is due in 5 s.
    pub(super) async fn tracked(&self, key: &TaskKey) -> Task {
        let born = self.born(key).await;
        self.settle(&born, took(key.id.as_str(), Status::Submitted, self.now())).await
    }

    /// Claims the task in the lane that it wants, once it is due, and settles `snapshot`.
    pub(super) async fn polled(&self, key: &TaskKey, snapshot: Snapshot) -> Task {
        let due = self.load(key).await.durable.due.unwrap_or_else(|| fail(&"the task is at its end"));
        if due.at > self.now() {
            self.clock.set(due.at);
        }
        let image = self.claimed(key, due.lane, "poller").await;
        self.settle(&image, Command::RecordStatus(snapshot)).await
    }

    pub(super) async fn note(&self, key: &NoteKey) -> Option<Note> {
        self.notes.load(key).await.unwrap_or_else(|e| fail(&e))
    }

    pub(super) async fn claimed_note(&self, key: &NoteKey, owner: &str) -> Note {
        let claim = self.notes.claim(key, Lane::Notify, lease(owner, self.now())).await;
        claim.unwrap_or_else(|e| fail(&e)).unwrap_or_else(|| fail(&"the claim of the note was refused"))
    }

    pub(super) async fn commit_note(&self, change: &note::Change) -> Committed {
        self.notes.commit(change).await.unwrap_or_else(|e| fail(&e))
    }
}

/// Ends a case.
#[expect(clippy::panic, reason = "a case fails by a panic, like every test; here it is library code")]
pub(super) fn fail(why: &dyn std::fmt::Display) -> ! {
    panic!("unexpected: {why}")
}

/// The server took the submission under `handle`.
pub(super) fn took(handle: &str, status: Status, started_at: Timestamp) -> Command {
    Command::RecordSubmit { remote: remote(handle), snapshot: said(status), started_at }
}

pub(super) fn version(key: &TaskKey, version: u32) -> NoteKey {
    NoteKey { task: key.clone(), version }
}

async fn every_state_is_read_as_it_was_written(world: World) {
    let key = key();
    assert_eq!(world.tasks.load(&key).await.unwrap_or_else(|e| fail(&e)), None);
    let mut written = world.born(&key).await;
    assert_eq!(world.load(&key).await, written);
    written = world.settle(&written, took("r", Status::Submitted, world.now())).await;
    assert_eq!(world.load(&key).await, written);
    world.at(5000);
    for snapshot in [said(Status::InputRequired), said(Status::Working)] {
        written = world.polled(&key, snapshot).await;
        assert_eq!(world.load(&key).await, written);
    }
    for _ in 0..3 {
        let due = written.durable.due.unwrap_or_else(|| fail(&"not due"));
        world.clock.set(due.at);
        let image = world.claimed(&key, due.lane, "poller").await;
        assert_eq!(world.load(&key).await, image, "a claimed row");
        written =
            world.settle(&image, Command::RecordPollFailure("Verbindung verweigert: é".repeat(30))).await;
        assert_eq!(world.load(&key).await, written, "with an error and, in the end, degraded");
    }
    written = world.settle(&written, Command::RequestCancel).await;
    assert_eq!(world.load(&key).await, written, "with a cancel");
    let image = world.claimed(&key, Lane::Cancel, "poller").await;
    written = world.settle(&image, Command::RecordCancelFailure("not now".into())).await;
    assert_eq!(world.load(&key).await, written, "with a failed cancel");
    written = world.polled(&key, said(Status::Failed)).await;
    assert_eq!(world.load(&key).await, written, "ended");
    for (last, status) in [(2, Status::Completed), (3, Status::Cancelled)] {
        let other = task_key(&key.thread, world.now(), last);
        let born = world.born(&other).await;
        let ended = world.settle(&born, took(other.id.as_str(), status, world.now())).await;
        assert_eq!(world.load(&other).await, ended);
    }
    let refused = task_key(&key.thread, world.now(), 4);
    let born = world.born(&refused).await;
    let ended = world.settle(&born, Command::RecordRefusal(Refusal::Refused("no".into()))).await;
    assert_eq!(world.load(&refused).await, ended);
    assert_eq!(world.load(&key).await, written, "and nothing of it touches another task");
}

async fn the_spec_is_seen_with_its_task(world: World) {
    let born = world.born(&key()).await;
    let spec = world.spec(&born).await;
    assert_eq!(Some(&spec), intent(&key(), "submitter", world.now()).spec.as_ref());
    let tracked = world.settle(&born, took("r", Status::Submitted, world.now())).await;
    assert_eq!(world.spec(&tracked).await, TaskSpec { remote: Some(remote("r")), ..spec.clone() });
    world.at(5000);
    let polled = world.polled(&key(), said(Status::Working)).await;
    assert_eq!(world.spec(&polled).await.remote, Some(remote("r")), "a poll leaves it alone");
    let stranger = Task { key: task_key(&thread("t1"), EPOCH, 9), ..tracked };
    assert_eq!(world.tasks.spec(&stranger).await.unwrap_or_else(|e| fail(&e)), None);
}

async fn the_payload_is_put_kept_and_cleared(world: World) {
    let key = key();
    world.tracked(&key).await;
    assert_eq!(world.payload(&key).await, Payload::default());
    world.polled(&key, said(Status::InputRequired)).await;
    let question = Payload { input_required: Some(json!({"prompt": "which year?"})), ..Payload::default() };
    assert_eq!(world.payload(&key).await, question);
    let due = world.load(&key).await.durable.due.unwrap_or_else(|| fail(&"not due"));
    world.clock.set(due.at);
    let image = world.claimed(&key, Lane::Poll, "poller").await;
    let change = world.decided(&image, Command::RecordPollFailure("late".into())).await;
    assert_eq!(change.payload, PayloadWrite::Keep);
    assert_eq!(world.commit(&change).await, Committed::Done);
    assert_eq!(world.payload(&key).await, question);
    world.polled(&key, said(Status::Working)).await;
    assert_eq!(world.payload(&key).await, Payload::default());
    world.polled(&key, said(Status::Completed)).await;
    let result = Some(json!({"pages": 3, "title": "größer"}));
    assert_eq!(world.payload(&key).await, Payload { result, ..Payload::default() });
}

async fn a_large_payload_is_read_as_it_was_written(world: World) {
    let key = key();
    world.tracked(&key).await;
    let text: String = ('a'..='z').cycle().take(65_000).collect();
    let nested = json!({"text": text, "n": [1, -2.5, 1e300, u64::MAX, null, true, {"": {}}], "empty": [], "ü": "\u{0}"});
    let snapshot = Snapshot { result: Some(nested.clone()), ..said(Status::Completed) };
    world.polled(&key, snapshot).await;
    let read = world.payload(&key).await;
    assert_eq!(read.result.or(read.result_preview.map(Into::into)), Some(nested));
}

async fn names_of_every_kind_are_read_as_they_were_written(world: World) {
    let long = "ü#/%".repeat(25);
    for (n, (user, server, handle)) in [
        ("key:a#b/c", "a#b", "r#1/%20"),
        ("oidc:ß:x", "ü server", " r "),
        ("x:y", long.as_str(), long.as_str()),
    ]
    .into_iter()
    .enumerate()
    {
        let at = EPOCH + std::time::Duration::from_millis(n as u64);
        let key = task_key(&fixture::thread_of(user, "t1"), at, 1);
        let mut wanted = fixture::wanted(&key);
        wanted.server = pudu_domain::ServerName::parse(server).unwrap_or_else(|e| fail(&e));
        wanted.identity = format!("http {long}");
        let change = pudu_domain::task::intend(wanted, lease("submitter", world.now()), world.now());
        assert_eq!(world.commit(&change).await, Committed::Done);
        let tracked = world.settle(&change.task, took(handle, Status::Working, world.now())).await;
        assert_eq!(world.load(&key).await, tracked);
        let spec = world.spec(&tracked).await;
        assert_eq!((spec.server.as_str(), spec.remote), (server, Some(remote(handle))));
        assert_eq!(spec.identity, format!("http {long}"));
        let listed = world.tasks.list(&key.thread, 10, None).await.unwrap_or_else(|e| fail(&e));
        assert_eq!(listed.iter().map(|(task, _)| &task.key).collect::<Vec<_>>(), [&key]);
    }
}
