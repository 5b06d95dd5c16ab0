//! Submission: the intent is written first, already leased to its submitter; then the handle is committed (DESIGN "Flows").

use serde_json::Value;

use super::decide::{Context, Draft, release};
use super::{
    AnswerWrite, Attention, Change, Delivery, Outcome, PayloadWrite, Phase, Repeatable, State, Task,
    TaskSpec, Tracking,
};
use crate::backoff;
use crate::durable::{Due, Durable, Expect, Lane, Lease};
use crate::ids::{RemoteTaskId, ServerName, ServerTag, TaskKey, TaskName};
use crate::payload::Payload;
use crate::snapshot::{Snapshot, Status};
use crate::time::Timestamp;

/// What somebody wants to submit.
#[derive(Debug, Clone, PartialEq)]
pub struct Intent {
    /// The task's address, chosen by us.
    pub key: TaskKey,
    /// The toolset's name.
    pub name: TaskName,
    /// The server.
    pub server: ServerName,
    /// That server's identity today.
    pub identity: String,
    /// Which driver speaks for the task.
    pub driver: String,
    /// What that driver needs to remember.
    pub driver_data: Value,
    /// How events are delivered.
    pub delivery: Delivery,
    /// By what a repetition is recognised, if the caller may repeat it.
    pub repeatable: Option<Repeatable>,
}

/// Why a submission came to nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// Nothing runs at the server, and the caller gets the error: no event is needed.
    Refused(String),
    /// Something may run at the server that nobody tracks: the thread is told, whatever the caller saw.
    Unknown(String),
}

/// The change that writes an intent down, leased to its submitter until `lease.until`, when recovery takes over.
pub fn intend(intent: Intent, lease: Lease, now: Timestamp) -> Change {
    let deadline = lease.until;
    let expect = Expect::Absent { owner: Some(lease.owner.clone()) };
    let task = Task {
        key: intent.key,
        server: ServerTag::of(&intent.server),
        delivery: intent.delivery,
        state: State::Intent { deadline },
        durable: Durable::leased(Due { lane: Lane::Intent, at: deadline }, lease),
        cancel: None,
        answer: None,
        tracking: Tracking::default(),
        attention: Attention::default(),
        error: None,
        payload: None,
        created_at: now,
        updated_at: now,
    };
    let spec = TaskSpec {
        name: intent.name,
        server: intent.server,
        identity: intent.identity,
        driver: intent.driver,
        driver_data: intent.driver_data,
        remote: None,
        repeatable: intent.repeatable,
    };
    Change {
        expect,
        task,
        spec: Some(spec),
        payload: PayloadWrite::Keep,
        answer: AnswerWrite::Keep,
        note: None,
        expires: None,
        erased: false,
    }
}

/// The handle is known: track the task, or keep its end if it had one at once.
pub(super) fn record(
    task: &Task,
    remote: RemoteTaskId,
    snapshot: Snapshot,
    started_at: Timestamp,
    now: Timestamp,
    context: Context<'_>,
) -> Change {
    let mut draft = Draft::of(task, now);
    draft.spec = Some(TaskSpec { remote: Some(remote), ..context.spec.clone() });
    let (status, hint) = (snapshot.status, snapshot.poll_after);
    match Payload::bounded(snapshot, context.policy) {
        Ok(payload) => draft.carry(payload),
        // The submitter checks this before it commits and compensates; a task that is tracked all the same has failed.
        Err(error) => {
            draft.end(Outcome::Failed, now, context);
            draft.carry(Payload::of_error(&error.to_string()));
            return draft.commit(task, now, context);
        }
    }
    let next_poll_at = started_at + backoff::after_answer(context.policy, status, hint);
    match outcome_of(status) {
        Ok(outcome) => draft.end(outcome, now, context),
        Err(phase) => {
            let mut first_poll_at = next_poll_at;
            // A cancel that came while the handle was unknown is due at once, and before any poll.
            if let Some(cancel) = &mut draft.task.cancel {
                cancel.next_at = Some(now);
                first_poll_at = now.max(first_poll_at);
            }
            draft.task.state = State::Active { phase, next_poll_at: first_poll_at };
        }
    }
    draft.commit(task, now, context)
}

/// The submission came to nothing.
pub(super) fn refuse(task: &Task, refusal: Refusal, now: Timestamp, context: Context<'_>) -> Change {
    let mut draft = Draft::of(task, now);
    draft.end(Outcome::Failed, now, context);
    match refusal {
        Refusal::Refused(error) => {
            draft.carry(Payload::of_error(&error));
            draft.commit_told(task)
        }
        Refusal::Unknown(error) => {
            draft.carry(Payload::of_error(&error));
            draft.commit(task, now, context)
        }
    }
}

/// There was no task. The spec goes along, because the store finds the key's row by it.
pub(super) fn erase(task: &Task, now: Timestamp, context: Context<'_>) -> Change {
    let spec = Some(context.spec.clone());
    Change { spec, erased: true, ..release(task, task.wants(), now) }
}

/// How a status splits into an end and a phase.
pub(super) const fn outcome_of(status: Status) -> Result<Outcome, Phase> {
    match status {
        Status::Completed => Ok(Outcome::Completed),
        Status::Failed => Ok(Outcome::Failed),
        Status::Cancelled => Ok(Outcome::Cancelled),
        Status::Submitted => Err(Phase::Submitted),
        Status::Working => Err(Phase::Working),
        Status::InputRequired => Err(Phase::InputRequired),
    }
}
