//! The decision point: every command that can meet a task, and what comes of it.

use super::answer::{self, AnswerWrite, Given, Heard, Sent};
use super::{Attention, Change, PayloadWrite, State, Task, TaskSpec, cancel, poll, recover, submit};
use crate::durable::{Due, Expect, Lane};
use crate::event::Event;
use crate::ids::RemoteTaskId;
use crate::note::Announced;
use crate::payload::Payload;
use crate::policy::Policy;
use crate::snapshot::Snapshot;
use crate::time::Timestamp;

/// What somebody wants of a task.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// The server took the submission: track it. By the submitter, who holds the intent.
    RecordSubmit {
        /// The server's handle.
        remote: RemoteTaskId,
        /// What it said.
        snapshot: Snapshot,
        /// When the call began: the first poll counts from there (reference 6.4).
        started_at: Timestamp,
    },
    /// The submission came to nothing. By the submitter, who holds the intent.
    RecordRefusal(submit::Refusal),
    /// The call that could have become a task ended at once, and its caller has the outcome: nothing is left to track. By the
    /// submitter, who holds the intent.
    RecordAnswered,
    /// The server answered a poll. By the holder.
    RecordStatus(Snapshot),
    /// A poll failed; it is tried again. By the holder.
    RecordPollFailure(String),
    /// A poll was answered against the protocol: the task has failed. By the holder.
    RecordPollViolation(String),
    /// Somebody asks for the task to be cancelled. By anybody; fences the holder.
    RequestCancel,
    /// The server answered a cancel. By the holder.
    RecordCancel(Snapshot),
    /// The server has heard the cancel, and no more: the end is seen by polling. By the holder.
    RecordCancelAcknowledged,
    /// A cancel failed; it is tried again. By the holder.
    RecordCancelFailure(String),
    /// Somebody answers the question that the task waits with. By anybody; fences the holder.
    GiveAnswer(Given),
    /// An answer was sent, and the task was polled after it in the same claim, if there was time. By the holder.
    RecordAnswer {
        /// What became of the answer.
        sent: Sent,
        /// What the poll brought.
        heard: Option<Heard>,
    },
    /// The submitter's time is over. By the holder.
    Recover,
    /// The holder could not do its work, for a reason that is none of the task's or its server's: the claim ends, and
    /// nothing is counted. By the holder.
    GiveBack,
}

/// What a decision may look at beside the task and the clock.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// What was settled at submission.
    pub spec: &'a TaskSpec,
    /// The payload as stored; only a failing poll of a task that has one needs it.
    pub payload: &'a Payload,
    /// The numbers.
    pub policy: &'a Policy,
}

/// A command that this task, as it stands, cannot take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Rejected {
    /// The task has ended; its row never changes again.
    #[error("the task has already ended")]
    Ended,
    /// The task has no handle yet, or has one already.
    #[error("a task in state {state} cannot take the command {command}")]
    WrongState {
        /// Where it stands.
        state: &'static str,
        /// What was wanted.
        command: &'static str,
    },
    /// The command is for the holder of a lease, and there is no lease.
    #[error("the command {command} is for the holder of a lease, and nobody holds one")]
    NotHeld {
        /// What was wanted.
        command: &'static str,
    },
    /// The task asks nothing.
    #[error("the task does not wait for input")]
    NoQuestion,
    /// The question has an answer.
    #[error("this question was answered already")]
    Answered,
    /// The task asks something else than what was answered.
    #[error("the task asks another question now; read it again (its event has version {current})")]
    OtherQuestion {
        /// The version of the event that is current; 0 when none is.
        current: u32,
    },
    /// The task is being cancelled.
    #[error("the task is being cancelled and takes no answer")]
    Cancelling,
}

impl Command {
    /// The command's name, for messages.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::RecordSubmit { .. } => "record_submit",
            Self::RecordRefusal(_) => "record_refusal",
            Self::RecordAnswered => "record_answered",
            Self::RecordStatus(_) => "record_status",
            Self::RecordPollFailure(_) => "record_poll_failure",
            Self::RecordPollViolation(_) => "record_poll_violation",
            Self::RequestCancel => "request_cancel",
            Self::RecordCancel(_) => "record_cancel",
            Self::RecordCancelAcknowledged => "record_cancel_acknowledged",
            Self::RecordCancelFailure(_) => "record_cancel_failure",
            Self::GiveAnswer(_) => "give_answer",
            Self::RecordAnswer { .. } => "record_answer",
            Self::Recover => "recover",
            Self::GiveBack => "give_back",
        }
    }
}

impl State {
    /// The state's name, for messages.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Intent { .. } => "intent",
            Self::Active { .. } => "active",
            Self::Ended { .. } => "ended",
        }
    }
}

/// What becomes of `task` by `command` at `now`: a change to commit, or none when nothing changes.
pub fn decide(
    task: &Task,
    command: Command,
    now: Timestamp,
    context: Context<'_>,
) -> Result<Option<Change>, Rejected> {
    let name = command.name();
    let command = match command {
        Command::RequestCancel => return Ok(cancel::request(task, now, context)),
        Command::GiveAnswer(given) => return answer::give(task, given, now, context).map(Some),
        held => held,
    };
    let wrong = || Rejected::WrongState { state: task.state.name(), command: name };
    let fits = match (&task.state, &command) {
        (State::Ended { .. }, _) => return Err(Rejected::Ended),
        (
            State::Intent { .. },
            Command::RecordSubmit { .. }
            | Command::RecordRefusal(_)
            | Command::RecordAnswered
            | Command::Recover,
        )
        | (
            State::Active { .. },
            Command::RecordStatus(_) | Command::RecordPollFailure(_) | Command::RecordPollViolation(_),
        )
        | (_, Command::GiveBack) => true,
        // Nobody reports a cancel that nobody asked for.
        (
            State::Active { .. },
            Command::RecordCancel(_) | Command::RecordCancelAcknowledged | Command::RecordCancelFailure(_),
        ) => task.cancel.is_some(),
        (State::Active { .. }, Command::RecordAnswer { .. }) => {
            task.answer.as_ref().is_some_and(answer::Answer::is_waiting)
        }
        _ => false,
    };
    if !fits {
        return Err(wrong());
    }
    if task.durable.lease.is_none() {
        return Err(Rejected::NotHeld { command: name });
    }
    let change = match command {
        Command::RecordSubmit { remote, snapshot, started_at } => {
            submit::record(task, remote, snapshot, started_at, now, context)
        }
        Command::RecordRefusal(refusal) => submit::refuse(task, refusal, now, context),
        Command::RecordAnswered => submit::erase(task, now, context),
        Command::RecordStatus(snapshot) => poll::status(task, snapshot, now, context),
        Command::RecordPollFailure(error) => poll::failure(task, &error, now, context),
        Command::RecordPollViolation(error) => poll::violation(task, &error, now, context),
        Command::RecordCancel(snapshot) => cancel::answer(task, snapshot, now, context),
        Command::RecordCancelAcknowledged => cancel::acknowledged(task, now, context),
        Command::RecordCancelFailure(error) => cancel::failure(task, &error, now, context),
        Command::RecordAnswer { sent, heard } => answer::record(task, sent, heard, now, context),
        Command::Recover => recover::recover(task, now, context),
        Command::GiveBack => release(task, task.wants(), now),
        Command::RequestCancel | Command::GiveAnswer(_) => return Err(wrong()),
    };
    // Whatever the holder brings: what is no end does not keep a task past the time for its cancel.
    let late = matches!((&task.state, &change.task.state), (State::Active { .. }, State::Active { .. }))
        && change.task.cancel.as_ref().is_some_and(|cancel| cancel.until <= now);
    Ok(Some(if late { cancel::unconfirmed(task, change.task, now, context) } else { change }))
}

/// A new image in the making: the task as its holder leaves it, and the payload that goes with it.
pub(super) struct Draft {
    pub(super) task: Task,
    /// The new payload, if it may have changed.
    pub(super) payload: Option<Payload>,
    pub(super) spec: Option<TaskSpec>,
    /// When what the task leaves goes, if this ends it.
    expires: Option<Timestamp>,
}

impl Draft {
    pub(super) fn of(task: &Task, now: Timestamp) -> Self {
        Self { task: Task { updated_at: now, ..task.clone() }, payload: None, spec: None, expires: None }
    }

    /// Ends the task: no poll, no cancel, no error of tracking outlives it, and all its rows go when the retention is over.
    /// The spec goes along, because the store finds the handle's row by it.
    pub(super) fn end(&mut self, outcome: super::Outcome, now: Timestamp, context: Context<'_>) {
        self.expires = Some(now + context.policy.retention);
        self.spec.get_or_insert_with(|| context.spec.clone());
        self.task.state = State::Ended { outcome, at: now };
        self.task.answer = None;
        self.task.tracking =
            super::Tracking { last_polled_at: self.task.tracking.last_polled_at, ..Default::default() };
        if let Some(cancel) = &mut self.task.cancel {
            cancel.next_at = None;
            cancel.last_error = None;
        }
    }

    /// Sets the payload, and the part of its error that the hot row shows.
    pub(super) fn carry(&mut self, payload: Payload) {
        self.task.error = payload.error.as_deref().map(crate::text::Snippet::of);
        self.payload = Some(payload);
    }

    /// Turns the draft into the holder's commit, with the event that it makes.
    pub(super) fn commit(mut self, before: &Task, now: Timestamp, context: Context<'_>) -> Change {
        let note = self.announce(now, context);
        self.seal(before, note)
    }

    /// The same without an event: there is none to tell, or the caller has the outcome in hand.
    pub(super) fn commit_told(self, before: &Task) -> Change {
        self.seal(before, None)
    }

    fn seal(mut self, before: &Task, note: Option<Announced>) -> Change {
        self.task.durable = before.durable.committed(self.task.wants());
        let payload = match self.payload {
            None => PayloadWrite::Keep,
            Some(payload) => {
                let digest = payload.digest();
                let write = match &digest {
                    // At the end it is written again even when it stays the same: its row gets its time to go.
                    _ if digest == before.payload && self.expires.is_none() => PayloadWrite::Keep,
                    Some(_) => PayloadWrite::Put(payload),
                    None if before.payload.is_none() => PayloadWrite::Keep,
                    None => PayloadWrite::Clear,
                };
                self.task.payload = digest;
                write
            }
        };
        let answer = AnswerWrite::between(before, &self.task);
        let (spec, expires) = (self.spec, self.expires);
        Change {
            expect: before.durable.held(),
            task: self.task,
            spec,
            payload,
            answer,
            note,
            expires,
            erased: false,
        }
    }

    /// Makes the next version when attention begins or its content changes; forgets the current one when it ends, so
    /// that the same question asked again is news again (vectors 88 and 89).
    fn announce(&mut self, now: Timestamp, context: Context<'_>) -> Option<Announced> {
        let task = &mut self.task;
        let degraded = task.is_degraded(context.policy);
        let asks = task.status() == crate::Status::InputRequired
            && !task.answer.as_ref().is_some_and(answer::Answer::counts);
        let needed = degraded || task.status().is_terminal() || asks;
        if !needed {
            task.attention = Attention { last: task.attention.last, ..Attention::default() };
            return None;
        }
        let cause = task.tracking.last_error.as_ref().filter(|_| degraded).map(|e| e.as_str().to_owned());
        let payload = self.payload.as_ref().unwrap_or(context.payload).clone();
        let event = Event::new(task.key.id.clone(), context.spec.name.clone(), task.status(), payload, cause);
        let fingerprint = event.fingerprint();
        if task.attention.version != 0 && task.attention.fingerprint.as_ref() == Some(&fingerprint) {
            return None;
        }
        let version = task.attention.last + 1;
        task.attention = Attention { version, last: version, fingerprint: Some(fingerprint) };
        Some(Announced::new(task, version, event, now, context.policy))
    }
}

/// The change by which the holder of a task moves it out of everybody's way, for an operator: what belongs to it does not
/// decode, so no command can be decided.
pub fn put_aside(task: &Task, now: Timestamp) -> Change {
    release(task, Some(Due { lane: Lane::Corrupt, at: now }), now)
}

/// The holder's claim ends, and the task stays as it was.
pub(super) fn release(task: &Task, due: Option<Due>, now: Timestamp) -> Change {
    let released = Task { durable: task.durable.committed(due), updated_at: now, ..task.clone() };
    quiet(task, task.durable.held(), released)
}

/// A change of the row alone that makes no event.
pub(super) fn quiet(before: &Task, expect: Expect, task: Task) -> Change {
    let answer = AnswerWrite::between(before, &task);
    Change {
        expect,
        task,
        spec: None,
        payload: PayloadWrite::Keep,
        answer,
        note: None,
        expires: None,
        erased: false,
    }
}
