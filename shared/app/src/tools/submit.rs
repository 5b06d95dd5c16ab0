//! Submitting a task: intent first, then the server, then the handle (DESIGN "Flows", reference 6.4).
//!
//! Whatever dies in between, the task is tracked, or its row says that the outcome is unknown and its thread is told.
//! A task that the server took and we cannot track is cancelled there.

use pudu_config::Server;
use pudu_domain::task::{Command, Intent, Refusal, Repeatable, State, intend};
use pudu_domain::{Lease, RemoteTaskId, ServerName, Snapshot, Task, TaskKey, TaskName, TaskSpec, Timestamp};
use serde_json::{Map, Value};
use std::time::Duration;

use super::{InvokeError, Invoked, Terms, Tools, storable};
use crate::chain::Chain;
use crate::drivers::ORDINARY_TOOLS;
use crate::ports::{
    Caller, Cancelled, Committed, DriverError, StoreError, Submission, SubmitError, Submits,
    Submitted as Taken, TaskDriver,
};
use crate::settle::Settled;

/// What a submitter keeps beyond its call to record the outcome, or to undo it.
const RECORDING: Duration = Duration::from_secs(15);
/// How long an undo may take.
const UNDO: Duration = Duration::from_secs(5);
/// How often a handle is committed and read back before recovery is left to decide.
const RECORDINGS: usize = 3;

/// What the caller gets of a submitted task: nothing of the server's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submitted {
    /// The local id.
    pub task_id: String,
    /// The toolset's name.
    pub task_name: String,
    /// Its status word.
    pub status: &'static str,
    /// When it was submitted.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// How often it changes at most, as far as is known.
    pub pace: Option<Duration>,
}

/// What is to be submitted.
pub(super) struct Order<'a> {
    /// What the user calls the task.
    pub(super) name: &'a str,
    /// The name of the driver that speaks for it.
    pub(super) driver: &'static str,
    pub(super) by: Submits<'a>,
    pub(super) arguments: Map<String, Value>,
    /// By what a repetition is recognised.
    pub(super) repeatable: Option<Repeatable>,
    pub(super) terms: &'a Terms,
}

/// A submission under way.
struct Attempt<'a> {
    terms: &'a Terms,
    server: &'a Server,
    caller: &'a Caller,
    driver: &'a dyn TaskDriver,
    task: Task,
    spec: TaskSpec,
}

impl Tools {
    pub(super) async fn submit(
        &self,
        caller: &Caller,
        server: &Server,
        order: Order<'_>,
        limit: Duration,
    ) -> Result<Invoked, InvokeError> {
        let Order { name, driver: speaks, by, arguments, repeatable, terms } = order;
        let unusable = |problem: String| InvokeError::Unusable { server: server.name.clone(), problem };
        let driver =
            self.drivers.get(speaks).ok_or_else(|| unusable(format!("there is no driver '{speaks}'")))?;
        let started_at = self.settle.clock.now();
        let intent = Intent {
            key: TaskKey { thread: caller.thread.clone(), id: self.random.task_id(started_at) },
            name: TaskName::parse(name).map_err(|error| unusable(error.to_string()))?,
            server: ServerName::parse(server.name.as_str()).map_err(|error| unusable(error.to_string()))?,
            identity: self.configs.identity(server).map_err(|error| unusable(error.to_string()))?,
            driver: speaks.to_owned(),
            driver_data: driver.data(by),
            delivery: terms.delivery,
            repeatable,
        };
        if terms.is_abandoned() {
            return Err(InvokeError::HungUp);
        }
        let (task, spec) = match self.write_intent(intent, started_at + limit + RECORDING).await? {
            Written::Intent(written) => *written,
            Written::Before(submitted) => return Ok(Invoked::Submitted(submitted)),
        };
        let attempt = Attempt { terms, server, caller, driver: driver.as_ref(), task, spec };
        let call = attempt.driver.submit(server, caller, &attempt.spec.driver_data, arguments, limit);
        let answer = tokio::time::timeout(limit, call).await.unwrap_or_else(|_| {
            Err(SubmitError::Unknown(format!(
                "the submit call did not answer within {} ms",
                limit.as_millis()
            )))
        });
        let submitted = match answer {
            Ok(Taken::Task(submission)) => self.track(attempt, submission, started_at).await,
            Ok(Taken::Answered(result)) => {
                self.erase(attempt).await;
                return Ok(Invoked::Result(result));
            }
            Err(SubmitError::Call(error)) => {
                self.erase(attempt).await;
                return Err(error.into());
            }
            Err(SubmitError::Refused(message)) => self.refuse(attempt, Refusal::Refused(message)).await,
            Err(SubmitError::Denied(error)) => {
                self.end(attempt, Refusal::Refused(error.to_string()), error.into()).await
            }
            Err(SubmitError::Unknown(message)) => self.refuse(attempt, Refusal::Unknown(message)).await,
            Err(SubmitError::Violation { handle, message }) => {
                let refusal = self.undo(&attempt, handle.as_deref(), message).await;
                self.refuse(attempt, refusal).await
            }
        };
        submitted.map(Invoked::Submitted)
    }

    /// The call has ended and its caller hears how: nothing of it is kept, as of any other call. If that fails, recovery tells the
    /// thread that the outcome is not known, when the submitter's time is over.
    async fn erase(&self, attempt: Attempt<'_>) {
        log_unrecorded(self.settle.held(attempt.task, &attempt.spec, Command::RecordAnswered).await);
    }

    /// Writes the intent down, or finds the submission that this one repeats. Nothing has been sent when this fails; an intent whose
    /// write failed may stand all the same, and is taken back: recovery would say that its outcome is not known.
    async fn write_intent(&self, intent: Intent, until: Timestamp) -> Result<Written, InvokeError> {
        let request = intent.repeatable.as_ref().map(|repeatable| repeatable.request.clone());
        let lease = Lease { owner: self.random.owner(&self.worker), until };
        let change = intend(intent, lease, self.settle.clock.now());
        let spec = change.spec.clone();
        let mut outcome = Committed::Lost;
        for _ in 0..RECORDINGS {
            outcome = match self.settle.tasks.commit(&change).await {
                Ok(outcome) => outcome,
                Err(error) => {
                    self.take_back(change.task, spec).await;
                    return Err(error.into());
                }
            };
            match (&outcome, &spec) {
                (Committed::Done, Some(spec)) => {
                    return Ok(Written::Intent(Box::new((change.task, spec.clone()))));
                }
                (Committed::KeyTaken { request: first, .. }, _) if Some(first) != request.as_ref() => {
                    return Err(InvokeError::KeyReused);
                }
                (Committed::KeyTaken { task, .. }, _) => {
                    if let Some(before) = self.submitted_before(task).await? {
                        return Ok(Written::Before(before));
                    }
                }
                (Committed::ThreadGone, _) => return Err(InvokeError::ThreadGone),
                _ => break,
            }
        }
        Err(InvokeError::Store(StoreError::Unavailable {
            operation: "writing the intent",
            source: format!("the write ended as {outcome:?}").into(),
        }))
    }

    /// Erases an intent of which nothing was sent, if it is there. Tried once: what fails now has just failed.
    async fn take_back(&self, task: Task, spec: Option<TaskSpec>) {
        let Some(spec) = spec else { return };
        let id = task.key.id.clone();
        if let Err(error) = self.settle.held(task, &spec, Command::RecordAnswered).await {
            tracing::warn!(task.id = %id, error = %Chain(&error), "an intent of which nothing was sent may stand; recovery will end it as if that were not known");
        }
    }

    /// The task of an earlier submission with the same key, as it is now: an intent too, if it will be a task. None when it has
    /// gone: its call was answered without a task, or its time is over just now.
    async fn submitted_before(&self, key: &TaskKey) -> Result<Option<Submitted>, InvokeError> {
        let Some(task) = self.settle.tasks.load(key).await? else { return Ok(None) };
        let Some(spec) = self.settle.tasks.spec(&task).await? else { return Ok(None) };
        if matches!(task.state, State::Intent { .. }) && spec.driver != ORDINARY_TOOLS {
            return Err(InvokeError::UnderWay);
        }
        Ok(Some(Submitted::of(&task, &spec)))
    }

    /// Commits the handle. The row is read back before anything is undone, because an answer may have been lost.
    async fn track(
        &self,
        mut attempt: Attempt<'_>,
        submission: Submission,
        started_at: Timestamp,
    ) -> Result<Submitted, InvokeError> {
        if let Err(problem) = storable(&submission.snapshot, self.policy()) {
            let refusal = self.undo(&attempt, Some(submission.remote.as_str()), problem).await;
            return self.refuse(attempt, refusal).await;
        }
        let mut failure = None;
        let mut unrecorded = false;
        for _ in 0..RECORDINGS {
            let command = Command::RecordSubmit {
                remote: submission.remote.clone(),
                snapshot: submission.snapshot.clone(),
                started_at,
            };
            match self.settle.held(attempt.task.clone(), &attempt.spec, command).await {
                Ok(Settled::Done { task, announced }) => {
                    self.settle.wake(&task, announced).await;
                    return Ok(self.hand_over(&attempt, &task).await);
                }
                Ok(Settled::Lost(Committed::HandleTaken(_))) => return self.duplicate(attempt).await,
                Ok(_) => {}
                Err(error) => failure = Some(error),
            }
            match self.read_back(&attempt, &submission).await {
                Ok(ReadBack::Tracked(task)) => {
                    self.settle.wake(&task, task.attention.version > 0).await;
                    return Ok(self.hand_over(&attempt, &task).await);
                }
                Ok(ReadBack::StillOurs(task)) => (attempt.task, unrecorded) = (task, true),
                Ok(ReadBack::Gone) => {
                    unrecorded = true;
                    break;
                }
                Err(error) => (failure, unrecorded) = (Some(error), false),
            }
        }
        if !unrecorded {
            // The table cannot be asked: the handle may be stored, so nothing is undone. If it is not, recovery tells
            // the thread when the submitter's time is over.
            return Err(attempt.uncertain(failure.map_or_else(String::new, |error| error.to_string())));
        }
        let late = || "the answer came after the submitter's time was over".to_owned();
        let message = failure.as_ref().map_or_else(late, ToString::to_string);
        match self.undo(&attempt, Some(submission.remote.as_str()), message).await {
            Refusal::Unknown(message) => Err(attempt.uncertain(message)),
            undone @ Refusal::Refused(_) => {
                // The table's own failure is what the caller hears, now that nothing is left of the submission.
                let refused = self.refuse(attempt, undone).await;
                match failure {
                    Some(error) => Err(error.into()),
                    None => refused,
                }
            }
        }
    }

    /// The task is recorded. If nobody is there to hear of it, it is cancelled like any other: a cancel at the server before its
    /// handle is recorded could be lost, and could hit another task, if the server gave a handle twice.
    async fn hand_over(&self, attempt: &Attempt<'_>, task: &Task) -> Submitted {
        if attempt.terms.is_abandoned() {
            match self.settle.beside(&task.key, Command::RequestCancel).await {
                Ok(_) => {
                    tracing::info!(task.id = %task.key.id, "a task whose caller hung up is being cancelled");
                }
                Err(error) => {
                    tracing::warn!(task.id = %task.key.id, %error, "a task whose caller hung up could not be cancelled; it goes on");
                }
            }
        }
        Submitted::of(task, &attempt.spec)
    }

    async fn read_back(
        &self,
        attempt: &Attempt<'_>,
        submission: &Submission,
    ) -> Result<ReadBack, StoreError> {
        let Some(task) = self.settle.tasks.load(&attempt.task.key).await? else { return Ok(ReadBack::Gone) };
        let ours = task.durable.generation == attempt.task.durable.generation && task.durable.lease.is_some();
        if matches!(task.state, State::Intent { .. }) && ours {
            return Ok(ReadBack::StillOurs(task));
        }
        let spec = self.settle.tasks.spec(&task).await?;
        let tracked = spec.is_some_and(|spec| spec.remote.as_ref() == Some(&submission.remote));
        Ok(if tracked { ReadBack::Tracked(task) } else { ReadBack::Gone })
    }

    /// Cancels what the server started and we cannot track; says whether anything may still run there.
    async fn undo(&self, attempt: &Attempt<'_>, handle: Option<&str>, message: String) -> Refusal {
        let Some(handle) = handle else { return Refusal::Unknown(message) };
        match tokio::time::timeout(UNDO, attempt.cancel(handle)).await {
            Ok(Ok(snapshot)) if snapshot.status.is_terminal() => Refusal::Refused(message),
            outcome => {
                let why = match outcome {
                    Ok(Ok(_)) => "it did not end".to_owned(),
                    Ok(Err(error)) => error.to_string(),
                    Err(_) => "it did not answer in time".to_owned(),
                };
                tracing::warn!(task.id = %attempt.task.key.id, error = %why, "a task that cannot be tracked could not be cancelled at its server");
                Refusal::Unknown(message)
            }
        }
    }

    async fn duplicate(&self, attempt: Attempt<'_>) -> Result<Submitted, InvokeError> {
        let server = attempt.server.name.clone();
        let refusal = Refusal::Refused(
            "the server answered with the handle of a task that is already tracked".to_owned(),
        );
        self.end(attempt, refusal, InvokeError::Duplicate { server }).await
    }

    async fn refuse(&self, attempt: Attempt<'_>, refusal: Refusal) -> Result<Submitted, InvokeError> {
        let error = match refusal.clone() {
            Refusal::Refused(message) => {
                InvokeError::NotTaken { server: attempt.server.name.clone(), message }
            }
            Refusal::Unknown(message) => attempt.uncertain(message),
        };
        self.end(attempt, refusal, error).await
    }

    /// Records that nothing came of it. If that fails too, recovery does it when the submitter's time is over.
    async fn end(
        &self,
        attempt: Attempt<'_>,
        refusal: Refusal,
        error: InvokeError,
    ) -> Result<Submitted, InvokeError> {
        let command = Command::RecordRefusal(refusal);
        match self.settle.held(attempt.task, &attempt.spec, command).await {
            Ok(Settled::Done { task, announced }) => self.settle.wake(&task, announced).await,
            other => log_unrecorded(other),
        }
        Err(error)
    }
}

/// What came of writing an intent.
enum Written {
    Intent(Box<(Task, TaskSpec)>),
    /// The caller had submitted this before.
    Before(Submitted),
}

/// What the table says about a handle whose commit did not say it.
enum ReadBack {
    Tracked(Task),
    StillOurs(Task),
    Gone,
}

impl Attempt<'_> {
    /// Cancels at the server, and says how the task stands then: a server that only acknowledges is asked once.
    async fn cancel(&self, handle: &str) -> Result<Snapshot, DriverError> {
        let (server, caller, data) = (self.server, self.caller, &self.spec.driver_data);
        match self.driver.cancel(server, caller, data, handle, UNDO).await? {
            Cancelled::Snapshot(snapshot) => Ok(snapshot),
            Cancelled::Acknowledged => {
                let remote =
                    RemoteTaskId::parse(handle).map_err(|error| DriverError::Retry(error.to_string()))?;
                self.driver.status(server, caller, data, &remote, UNDO).await
            }
        }
    }

    fn uncertain(&self, message: String) -> InvokeError {
        InvokeError::Uncertain {
            server: self.server.name.clone(),
            task_id: self.task.key.id.to_string(),
            message,
        }
    }
}

impl Submitted {
    fn of(task: &Task, spec: &TaskSpec) -> Self {
        Self {
            task_id: task.key.id.to_string(),
            task_name: spec.name.to_string(),
            status: task.status().as_str(),
            created_at: task.created_at,
            updated_at: task.updated_at,
            pace: task.pace(),
        }
    }
}

fn log_unrecorded(outcome: Result<Settled, StoreError>) {
    match outcome {
        Ok(Settled::Done { .. }) => {}
        Ok(other) => {
            tracing::info!(outcome = ?other, "an outcome was not recorded; recovery will end the task");
        }
        Err(error) => tracing::warn!(%error, "an outcome was not recorded; recovery will end the task"),
    }
}
