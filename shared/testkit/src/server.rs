//! A remote MCP world: tasks that live by scripted plans, and the server's own ledger of everything that was asked of it.
//!
//! Invariants are computed from this ledger and the table, never from what workers report. Faults of the way there are the
//! gate's business; here only the server itself misbehaves, as its plans say.

mod client;
mod driver;
mod plan;

use std::sync::{Arc, Mutex};

use pudu_app::ports::Clock;
use pudu_domain::{Snapshot, Status, Timestamp};
use serde_json::{Map, Value, json};

pub use client::FakeClient;
pub use driver::FakeDriver;
pub use plan::{OnAnswer, OnCancel, Plan, Planner, Question};

use crate::lock::lock;

/// One task at the server.
#[derive(Debug, Clone, PartialEq)]
pub struct RemoteTask {
    /// Its handle.
    pub handle: String,
    /// What it was submitted with: whoever submits puts a mark of his own in, to find it again.
    pub arguments: Map<String, Value>,
    /// When.
    pub submitted_at: Timestamp,
    /// How it lives.
    pub plan: Plan,
    /// When it was cancelled, if it let itself be cancelled before its end.
    pub cancelled_at: Option<Timestamp>,
    /// The answers that it took, with the question of its plan that each was for.
    pub answers: Vec<(usize, Value)>,
}

/// Something that the server was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// When, by the server's clock.
    pub at: Timestamp,
    /// By which handle.
    pub handle: String,
    /// For what.
    pub what: Request,
    /// The status that it answered; none for an error.
    pub answer: Option<Status>,
}

/// What a server is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// To start a task.
    Submit,
    /// How a task is.
    Status,
    /// To end a task.
    Cancel,
    /// To take the answer to a task's question.
    Answer,
}

/// How the server fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// It answers with an error; asking again may help.
    Error(String),
    /// It answers against the protocol.
    Nonsense(String),
    /// It knows no such task.
    NotFound,
}

/// The server. Clones are the same server.
#[derive(Clone)]
pub struct FakeServer {
    clock: Arc<dyn Clock>,
    state: Arc<Mutex<Ledger>>,
}

struct Ledger {
    planner: Planner,
    tasks: Vec<RemoteTask>,
    log: Vec<Asked>,
    down: bool,
}

impl FakeServer {
    /// A server whose n-th task lives by what `planner` says.
    pub fn new(clock: Arc<dyn Clock>, planner: impl FnMut(usize) -> Plan + Send + 'static) -> Self {
        let ledger = Ledger { planner: Box::new(planner), tasks: Vec::new(), log: Vec::new(), down: false };
        Self { clock, state: Arc::new(Mutex::new(ledger)) }
    }

    /// Every task that it ever started.
    pub fn tasks(&self) -> Vec<RemoteTask> {
        lock(&self.state).tasks.clone()
    }

    /// Everything that it was asked, in order.
    pub fn log(&self) -> Vec<Asked> {
        lock(&self.state).log.clone()
    }

    /// Where a task stands now.
    pub fn status_of(&self, handle: &str) -> Option<Status> {
        let now = self.clock.now();
        lock(&self.state).tasks.iter().find(|task| task.handle == handle).map(|task| task.status(now))
    }

    /// Makes it answer everything with an error, or work again.
    pub fn set_down(&self, down: bool) {
        lock(&self.state).down = down;
    }

    pub(crate) fn submit(&self, arguments: Map<String, Value>) -> Result<(String, Snapshot), Failure> {
        let now = self.clock.now();
        let ledger = &mut *lock(&self.state);
        if ledger.down {
            return Err(Failure::Error("the server is down".into()));
        }
        let number = ledger.tasks.len();
        let plan = (ledger.planner)(number);
        let handle = plan.handle.clone().unwrap_or_else(|| format!("remote-{number}"));
        let task = RemoteTask {
            handle: handle.clone(),
            arguments,
            submitted_at: now,
            plan,
            cancelled_at: None,
            answers: Vec::new(),
        };
        let snapshot = task.first_answer(now);
        let answer = Some(snapshot.status);
        ledger.tasks.push(task);
        ledger.log.push(Asked { at: now, handle: handle.clone(), what: Request::Submit, answer });
        Ok((handle, snapshot))
    }

    pub(crate) fn status(&self, handle: &str) -> Result<Snapshot, Failure> {
        let now = self.clock.now();
        let ledger = &mut *lock(&self.state);
        let asked = ledger.log.iter().filter(|a| a.handle == handle && a.what == Request::Status).count();
        let answer = ledger.find(handle).and_then(|task| {
            if task.plan.nonsense_at == Some(asked) {
                return Err(Failure::Nonsense("the status answer names another task".into()));
            }
            Ok(task.snapshot(now))
        });
        ledger.note(now, handle, Request::Status, answer)
    }

    pub(crate) fn cancel(&self, handle: &str) -> Result<Snapshot, Failure> {
        let now = self.clock.now();
        let ledger = &mut *lock(&self.state);
        let answer = ledger.find(handle).and_then(|task| {
            let over = task.status(now).is_terminal();
            match task.plan.on_cancel {
                _ if over => Ok(task.snapshot(now)),
                OnCancel::Ends => {
                    task.cancelled_at = Some(now);
                    Ok(task.snapshot(now))
                }
                OnCancel::Acknowledges => Ok(task.snapshot(now)),
                OnCancel::Refuses => Err(Failure::Error("this task cannot be cancelled now".into())),
            }
        });
        ledger.note(now, handle, Request::Cancel, answer)
    }
}

impl FakeServer {
    pub(crate) fn answer(&self, handle: &str, input: &Value) -> Result<Snapshot, Failure> {
        let now = self.clock.now();
        let ledger = &mut *lock(&self.state);
        let answer = ledger.find(handle).and_then(|task| match (task.question(now), task.plan.on_answer) {
            (None, _) => Err(Failure::Nonsense("this task asks nothing".into())),
            (Some(_), OnAnswer::Refuses) => Err(Failure::Nonsense("this is no answer".into())),
            (Some((number, _)), OnAnswer::Takes) => {
                task.answers.push((number, input.clone()));
                Ok(task.snapshot(now))
            }
            (Some((number, _)), OnAnswer::GoesOnAsking) => {
                task.answers.push((number + task.plan.questions.len(), input.clone()));
                Ok(task.snapshot(now))
            }
        });
        ledger.note(now, handle, Request::Answer, answer)
    }
}

impl Ledger {
    fn find(&mut self, handle: &str) -> Result<&mut RemoteTask, Failure> {
        if self.down {
            return Err(Failure::Error("the server is down".into()));
        }
        self.tasks.iter_mut().find(|task| task.handle == handle).ok_or(Failure::NotFound)
    }

    fn note(
        &mut self,
        at: Timestamp,
        handle: &str,
        what: Request,
        answer: Result<Snapshot, Failure>,
    ) -> Result<Snapshot, Failure> {
        let status = answer.as_ref().ok().map(|snapshot| snapshot.status);
        self.log.push(Asked { at, handle: handle.to_owned(), what, answer: status });
        answer
    }
}

impl RemoteTask {
    /// Where it stands at `now`.
    pub fn status(&self, now: Timestamp) -> Status {
        if self.cancelled_at.is_some() {
            return Status::Cancelled;
        }
        let age = now.since(self.submitted_at);
        if age >= self.plan.runs_for {
            return self.plan.end;
        }
        if self.question(now).is_some() { Status::InputRequired } else { Status::Working }
    }

    /// The question that stands at `now`, with its number.
    fn question(&self, now: Timestamp) -> Option<(usize, &Question)> {
        if self.cancelled_at.is_some() {
            return None;
        }
        let age = now.since(self.submitted_at);
        let mut asked = self.plan.questions.iter().enumerate();
        asked.find(|(number, question)| {
            let answered = self.answers.iter().any(|(of, _)| of == number);
            (question.from..question.until).contains(&age) && !answered
        })
    }

    /// The whole answer at `now`.
    pub fn snapshot(&self, now: Timestamp) -> Snapshot {
        let status = self.status(now);
        let mut snapshot = Snapshot { poll_after: self.plan.hint, ..Snapshot::bare(status) };
        match status {
            Status::Completed => {
                snapshot.result = Some(json!({"report": "x".repeat(self.plan.result_chars)}));
            }
            Status::Failed => snapshot.error = Some("the report failed".into()),
            Status::InputRequired => {
                snapshot.input_required = self.question(now).map(|(_, question)| question.asked());
            }
            Status::Submitted | Status::Working | Status::Cancelled => {}
        }
        snapshot
    }

    /// What the submit answers: nothing but that it was taken, unless the task is over already.
    fn first_answer(&self, now: Timestamp) -> Snapshot {
        let snapshot = self.snapshot(now);
        if snapshot.status.is_terminal() { snapshot } else { Snapshot::bare(Status::Submitted) }
    }
}
