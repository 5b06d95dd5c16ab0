//! Cancelling: the request is durable and fences the poll in flight; the task goes on being polled until it has ended, or
//! until the server had time enough to confirm it.

use super::decide::{Context, Draft, quiet};
use super::submit::outcome_of;
use super::{Cancel, Change, Outcome, State, Task};
use crate::backoff;
use crate::payload::Payload;
use crate::snapshot::Snapshot;
use crate::text::Snippet;
use crate::time::Timestamp;

/// Somebody asks. A repeat, and a request for a task that has ended, change nothing (vector 75).
pub(super) fn request(task: &Task, now: Timestamp, context: Context<'_>) -> Option<Change> {
    if task.cancel.is_some() {
        return None;
    }
    let known = match task.state {
        State::Ended { .. } => return None,
        State::Active { .. } => true,
        State::Intent { .. } => false,
    };
    let until = now + context.policy.cancel_deadline;
    let cancel =
        Cancel { requested_at: now, until, attempts: 0, next_at: known.then_some(now), last_error: None };
    // An answer that waits to be sent would make the server go on with what is to end.
    let answer = task.answer.clone().filter(|answer| !answer.is_waiting());
    let mut asked = Task { cancel: Some(cancel), answer, updated_at: now, ..task.clone() };
    // A poll that is overdue, or that is fenced here, waits for the cancel: on a tie the cancel goes first.
    if let State::Active { next_poll_at, .. } = &mut asked.state {
        *next_poll_at = now.max(*next_poll_at);
    }
    // An intent's holder is not fenced: its commit must still bring the handle, and then lands in the cancel lane.
    asked.durable = if known { task.durable.fenced(asked.wants()) } else { task.durable.woken() };
    Some(quiet(task, task.durable.unchanged(), asked))
}

/// The server has heard it and says no more: it is not asked again, and polled for the end.
pub(super) fn acknowledged(task: &Task, now: Timestamp, context: Context<'_>) -> Change {
    let mut draft = Draft::of(task, now);
    if let Some(cancel) = &mut draft.task.cancel {
        *cancel = Cancel {
            attempts: cancel.attempts.saturating_add(1),
            next_at: None,
            last_error: None,
            ..*cancel
        };
    }
    if let State::Active { next_poll_at, .. } = &mut draft.task.state {
        *next_poll_at = (now + context.policy.poll_interval).min(*next_poll_at);
    }
    draft.commit_told(task)
}

/// The time for the server's word is over: the task ends, and its owner learns that nobody knows what the server does.
/// `tried` is the task as it would stand otherwise.
pub(super) fn unconfirmed(task: &Task, tried: Task, now: Timestamp, context: Context<'_>) -> Change {
    let mut draft = Draft::of(task, now);
    let last_error = tried.cancel.as_ref().and_then(|cancel| cancel.last_error.clone());
    let waited = tried.cancel.as_ref().map_or(0, |cancel| cancel.until.since(cancel.requested_at).as_secs());
    draft.task.cancel = tried.cancel;
    draft.end(Outcome::Cancelled, now, context);
    if let Some(cancel) = &mut draft.task.cancel {
        cancel.last_error = last_error;
    }
    draft.carry(Payload::of_error(&format!(
        "cancelled on request, but the server did not confirm it within {waited} s: the task may still be running there"
    )));
    draft.commit(task, now, context)
}

/// The server answered. Whatever end it names is the task's end (vector 76); no end is a failed attempt.
pub(super) fn answer(task: &Task, snapshot: Snapshot, now: Timestamp, context: Context<'_>) -> Change {
    let Ok(outcome) = outcome_of(snapshot.status) else {
        let word = snapshot.status.as_str();
        return failure(
            task,
            &format!("the cancel tool answered with status {word}, which is no end"),
            now,
            context,
        );
    };
    match Payload::bounded(snapshot, context.policy) {
        Ok(payload) => {
            let mut draft = Draft::of(task, now);
            draft.end(outcome, now, context);
            draft.carry(payload);
            draft.commit(task, now, context)
        }
        Err(error) => failure(task, &error.to_string(), now, context),
    }
}

/// The attempt failed: try again later. The poll's own schedule stands, so that the real end is still seen.
pub(super) fn failure(task: &Task, error: &str, now: Timestamp, context: Context<'_>) -> Change {
    let mut draft = Draft::of(task, now);
    if let Some(cancel) = &mut draft.task.cancel {
        cancel.next_at = Some(now + backoff::after_failure(context.policy, cancel.attempts));
        cancel.attempts = cancel.attempts.saturating_add(1);
        cancel.last_error = Some(Snippet::of(error));
    }
    // It changes nothing that an event tells, so it makes none and needs no payload to compare with.
    draft.commit_told(task)
}
