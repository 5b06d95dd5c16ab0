//! What a poll brings: an answer, a failure to answer, or an answer against the protocol (reference 6.5 and 6.6).

use super::decide::{Context, Draft};
use super::submit::outcome_of;
use super::{Change, Outcome, State, Task, Tracking};
use crate::backoff;
use crate::payload::Payload;
use crate::snapshot::{Snapshot, Status};
use crate::text::Snippet;
use crate::time::Timestamp;

/// The server answered: its word replaces what was known.
pub(super) fn status(task: &Task, snapshot: Snapshot, now: Timestamp, context: Context<'_>) -> Change {
    let (status, hint) = (snapshot.status, snapshot.poll_after);
    let question = snapshot.input_required.as_ref().filter(|_| status == Status::InputRequired);
    let answer = task.answer.clone().and_then(|answer| answer.when_asked(question, now, context.policy));
    let payload = match Payload::bounded(snapshot, context.policy) {
        Ok(payload) => payload,
        Err(error) => return violation(task, &error.to_string(), now, context),
    };
    let mut draft = Draft::of(task, now);
    draft.task.tracking = Tracking { last_polled_at: Some(now), ..Tracking::default() };
    match outcome_of(status) {
        Ok(outcome) => draft.end(outcome, now, context),
        Err(phase) => {
            let pause = match &answer {
                None => backoff::after_answer(context.policy, status, hint),
                Some(answer) => answer.pause(hint, context.policy),
            };
            draft.task.state = State::Active { phase, next_poll_at: now + pause };
            draft.task.answer = answer;
        }
    }
    draft.carry(payload);
    draft.commit(task, now, context)
}

/// The server did not answer: ask again later, counting from now, the end of the call.
pub(super) fn failure(task: &Task, error: &str, now: Timestamp, context: Context<'_>) -> Change {
    let mut draft = Draft::of(task, now);
    let wait = backoff::after_failure(context.policy, task.tracking.errors);
    if let State::Active { next_poll_at, .. } = &mut draft.task.state {
        *next_poll_at = now + wait;
    }
    draft.task.tracking.errors = task.tracking.errors.saturating_add(1);
    draft.task.tracking.last_error = Some(Snippet::of(error));
    draft.commit(task, now, context)
}

/// The server broke the protocol: asking again cannot help.
pub(super) fn violation(task: &Task, error: &str, now: Timestamp, context: Context<'_>) -> Change {
    let mut draft = Draft::of(task, now);
    draft.end(Outcome::Failed, now, context);
    draft.carry(Payload::of_error(error));
    draft.commit(task, now, context)
}
