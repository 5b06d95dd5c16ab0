//! The task's rules, three ways: the whole transition table, the reference's worked traces, and laws under random commands.

mod answers;
mod cancels;
mod laws;
mod table;
mod traces;

use std::time::Duration;

use serde_json::json;

use super::*;
use crate::durable::{Expect, Lease, Owner};
use crate::ids::{TaskId, ThreadId, ThreadKey, UserId};
use crate::note::Announced;
use crate::snapshot::Snapshot;

/// The reference's default lease.
const LEASE: Duration = Duration::from_mins(2);

fn at(secs: u64) -> Timestamp {
    Timestamp::from_millis(secs * 1000)
}

fn lease(owner: &str, until: u64) -> Lease {
    Lease { owner: Owner::stored(owner.into()), until: at(until) }
}

fn key() -> TaskKey {
    let thread =
        ThreadKey { user: UserId::parse("local:default").unwrap(), thread: ThreadId::parse("t1").unwrap() };
    TaskKey { thread, id: TaskId::new(at(0), [7; 10]) }
}

fn remote() -> RemoteTaskId {
    RemoteTaskId::parse("r-1").unwrap()
}

/// The intent of this module's one task, leased to `owner` until `until`.
fn intent(owner: &str, until: u64, now: u64) -> Change {
    let intent = Intent {
        key: key(),
        name: TaskName::parse("report").unwrap(),
        server: ServerName::parse("example").unwrap(),
        identity: "http://127.0.0.1:8081".into(),
        driver: "ordinary-tools".into(),
        driver_data: json!({"status_tool": "get_report_status"}),
        delivery: Delivery::Event,
        repeatable: None,
    };
    intend(intent, lease(owner, until), at(now))
}

/// A snapshot with what a server says along with `status`.
fn said(status: Status) -> Snapshot {
    let bare = Snapshot::bare(status);
    match status {
        Status::Completed => Snapshot { result: Some(json!({"pages": 3})), ..bare },
        Status::Failed => Snapshot { error: Some("no data".into()), ..bare },
        Status::InputRequired => asked("which year?"),
        Status::Submitted | Status::Working | Status::Cancelled => bare,
    }
}

fn asked(question: &str) -> Snapshot {
    Snapshot { input_required: Some(json!({"prompt": question})), ..Snapshot::bare(Status::InputRequired) }
}

fn hinted(status: Status, secs: f64) -> Snapshot {
    Snapshot { poll_after: Some(Duration::from_secs_f64(secs)), ..said(status) }
}

/// The rows of one task, kept as a store keeps them: a write whose condition fails changes nothing.
#[derive(Clone)]
struct Rows {
    task: Task,
    spec: TaskSpec,
    payload: Payload,
    notes: Vec<Announced>,
    /// The row of an answer that is to be sent.
    answer: Option<serde_json::Value>,
    policy: Policy,
}

impl Rows {
    /// A task that is tracked: submitted at 0, first poll due at 5.
    fn tracked() -> Self {
        let mut rows = Self::intended();
        let image = rows.task.clone();
        let command =
            Command::RecordSubmit { remote: remote(), snapshot: said(Status::Submitted), started_at: at(0) };
        assert!(rows.write(&image, command, 0));
        rows
    }

    /// A task whose submitter has time until 60.
    fn intended() -> Self {
        let born = intent("submitter", 60, 0);
        let spec = born.spec.unwrap();
        Self {
            task: born.task,
            spec,
            payload: Payload::default(),
            notes: Vec::new(),
            answer: None,
            policy: Policy::default(),
        }
    }

    fn context(&self) -> Context<'_> {
        Context { spec: &self.spec, payload: &self.payload, policy: &self.policy }
    }

    /// Claims the row at `now`; the claimed image is what the worker goes on with.
    fn claim(&mut self, worker: &str, lane: Lane, now: u64) -> Option<Task> {
        if !self.task.durable.claimable(lane, at(now)) {
            return None;
        }
        let lease = Lease { owner: Owner::stored(worker.into()), until: at(now) + LEASE };
        self.task.durable = self.task.durable.claimed(lease);
        Some(self.task.clone())
    }

    /// Decides on `image` and applies the change if its condition holds for the row.
    fn write(&mut self, image: &Task, command: Command, now: u64) -> bool {
        let Some(change) = decide(image, command, at(now), self.context()).unwrap() else { return false };
        if !change.expect.holds(Some(&self.task.durable), at(now)) {
            return false;
        }
        self.task = change.task;
        self.spec = change.spec.unwrap_or_else(|| self.spec.clone());
        match change.payload {
            PayloadWrite::Keep => {}
            PayloadWrite::Put(payload) => self.payload = payload,
            PayloadWrite::Clear => self.payload = Payload::default(),
        }
        match change.answer {
            AnswerWrite::Keep => {}
            AnswerWrite::Put(input) => self.answer = Some(input),
            AnswerWrite::Clear => self.answer = None,
        }
        self.notes.extend(change.note);
        true
    }

    /// One claim and one write, both at `now`.
    fn step(&mut self, lane: Lane, command: Command, now: u64) {
        let image = self.claim("w", lane, now).unwrap();
        assert!(self.write(&image, command, now));
    }

    /// Somebody who has just read the row asks for the cancel.
    fn request_cancel(&mut self, now: u64) -> bool {
        let image = self.task.clone();
        self.write(&image, Command::RequestCancel, now)
    }

    /// Somebody who has just read the row answers the question that is stored.
    fn give(&self, input: &str) -> Command {
        let question = self.payload.input_required.as_ref().map(question_digest).unwrap_or_default();
        Command::GiveAnswer(Given { question, version: None, input: json!(input) })
    }

    fn next_poll(&self) -> Option<Timestamp> {
        match self.task.state {
            State::Active { next_poll_at, .. } => Some(next_poll_at),
            _ => None,
        }
    }

    fn due(&self) -> Option<(Lane, u64)> {
        self.task.durable.due.map(|due| (due.lane, due.at.as_millis() / 1000))
    }
}
