//! Answers to questions: durable until the server has them, sent at most once for certain, and forgotten with the question.
//!
//! A question with an answer on its way needs nobody's attention, so its event is withdrawn; what makes it need attention
//! again (the server refuses the answer, or goes on asking) is a new version.

use std::time::Duration;

use serde_json::Value;

use super::decide::{Context, Draft, Rejected, quiet};
use super::{Attention, Change, Phase, State, Task, poll};
use crate::backoff;
use crate::durable::Generation;
use crate::event::digest;
use crate::policy::Policy;
use crate::snapshot::{Snapshot, Status};
use crate::text::Snippet;
use crate::time::Timestamp;

/// An answer that somebody gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Which question it answers: its [`question_digest`].
    pub question: String,
    /// The generation that giving it made. The claim after that one is the first that can have sent it.
    pub given_in: Generation,
    /// How far it got.
    pub stand: Stand,
}

/// How far an answer got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stand {
    /// It is to be sent; its row holds it.
    Waiting {
        /// How often it was sent without anybody knowing whether it was taken.
        attempts: u32,
        /// Why that is not known.
        last_error: Option<Snippet>,
    },
    /// The server took it.
    Taken {
        /// When.
        at: Timestamp,
    },
    /// The server refused it, and why: the question may be answered anew.
    Refused(Snippet),
}

/// An answer as it is given.
#[derive(Debug, Clone, PartialEq)]
pub struct Given {
    /// The [`question_digest`] of the question that was read, and that the answer fits.
    pub question: String,
    /// The event version that its author saw, if he says.
    pub version: Option<u32>,
    /// The answer, bounded by its caller.
    pub input: Value,
}

/// What became of an answer that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sent {
    /// The server took it.
    Taken,
    /// Nobody knows, and why.
    Unsure(String),
    /// The server certainly did not take it, and why.
    Refused(String),
}

/// What a poll brought.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one per poll, moved once; a box would only cost its readers"
)]
pub enum Heard {
    /// An answer.
    Status(Snapshot),
    /// A failure; it is tried again.
    Failure(String),
    /// An answer against the protocol.
    Violation(String),
}

/// What happens to the answer's row: it is there as long as the answer waits.
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerWrite {
    /// It stays as it is.
    Keep,
    /// It is written.
    Put(Value),
    /// It is removed.
    Clear,
}

/// Tells questions apart: sixteen hex digits, whatever the order of keys.
pub fn question_digest(question: &Value) -> String {
    digest(question)
}

impl Answer {
    /// Whether it is still to be sent.
    pub const fn is_waiting(&self) -> bool {
        matches!(self.stand, Stand::Waiting { .. })
    }

    /// Whether the question counts as answered.
    pub const fn counts(&self) -> bool {
        matches!(self.stand, Stand::Waiting { .. } | Stand::Taken { .. })
    }

    /// Whether the holder of `generation` is the first who can send it. Any other may repeat what a worker did that died,
    /// or that never heard what came of it: it asks first whether the question still stands.
    pub fn is_fresh(&self, generation: Generation) -> bool {
        matches!(self.stand, Stand::Waiting { attempts: 0, .. }) && generation <= self.given_in.next()
    }

    /// What is left of it when the server asks `question`, or nothing. A question that stands a whole pause after it was
    /// answered is asked anew: whoever answered it would else wait for ever.
    pub(super) fn when_asked(
        self,
        question: Option<&Value>,
        now: Timestamp,
        policy: &Policy,
    ) -> Option<Self> {
        let same = question.is_some_and(|question| question_digest(question) == self.question);
        let anew = matches!(self.stand, Stand::Taken { at } if at + policy.input_required_interval <= now);
        (same && !anew).then_some(self)
    }

    /// The pause before the next poll while its question stands.
    pub(super) fn pause(&self, hint: Option<Duration>, policy: &Policy) -> Duration {
        match self.stand {
            Stand::Waiting { attempts, .. } => backoff::after_failure(policy, attempts.saturating_sub(1)),
            // The server goes on any moment now: it is not the slow wait for a person.
            Stand::Taken { .. } => backoff::after_answer(policy, Status::Working, hint)
                .min(policy.input_required_interval.max(policy.poll_interval)),
            Stand::Refused(_) => backoff::after_answer(policy, Status::InputRequired, hint),
        }
    }
}

impl AnswerWrite {
    /// What the change of a task means for the row.
    pub(super) fn between(before: &Task, after: &Task) -> Self {
        let waits = |task: &Task| task.answer.as_ref().is_some_and(Answer::is_waiting);
        if waits(before) && !waits(after) { Self::Clear } else { Self::Keep }
    }
}

/// Somebody answers. The poll in flight, if any, knows nothing of it: it is fenced, and the next one comes at once.
pub(super) fn give(
    task: &Task,
    given: Given,
    now: Timestamp,
    context: Context<'_>,
) -> Result<Change, Rejected> {
    match task.state {
        State::Active { phase: Phase::InputRequired, .. } => {}
        State::Ended { .. } => return Err(Rejected::Ended),
        State::Active { .. } | State::Intent { .. } => return Err(Rejected::NoQuestion),
    }
    if task.cancel.is_some() {
        return Err(Rejected::Cancelling);
    }
    let current = task.attention.version;
    let asked = context.payload.input_required.as_ref().map(question_digest);
    let same = asked.as_ref() == Some(&given.question);
    if same && task.answer.as_ref().is_some_and(|old| old.counts() && old.question == given.question) {
        return Err(Rejected::Answered);
    }
    if !same || given.version.is_some_and(|version| version != current) {
        return Err(Rejected::OtherQuestion { current });
    }
    let mut answered = Task { updated_at: now, ..task.clone() };
    answered.answer = Some(Answer {
        question: given.question,
        given_in: task.durable.generation.next(),
        stand: Stand::Waiting { attempts: 0, last_error: None },
    });
    if !task.is_degraded(context.policy) {
        answered.attention = Attention { last: task.attention.last, ..Attention::default() };
    }
    if let State::Active { next_poll_at, .. } = &mut answered.state {
        *next_poll_at = now;
    }
    answered.durable = task.durable.fenced(answered.wants());
    Ok(Change { answer: AnswerWrite::Put(given.input), ..quiet(task, task.durable.unchanged(), answered) })
}

/// It was sent; `heard` is what a poll in the same claim brought after that, so that there is one commit for both.
pub(super) fn record(
    task: &Task,
    sent: Sent,
    heard: Option<Heard>,
    now: Timestamp,
    context: Context<'_>,
) -> Change {
    let mut after = task.clone();
    if let Some(answer) = &mut after.answer {
        answer.stand = match (&answer.stand, sent) {
            (_, Sent::Taken) => Stand::Taken { at: now },
            (_, Sent::Refused(why)) => Stand::Refused(Snippet::of(&why)),
            (Stand::Waiting { attempts, .. }, Sent::Unsure(why)) => {
                Stand::Waiting { attempts: attempts.saturating_add(1), last_error: Some(Snippet::of(&why)) }
            }
            (stand, Sent::Unsure(_)) => stand.clone(),
        };
    }
    let change = match heard {
        Some(Heard::Status(snapshot)) => poll::status(&after, snapshot, now, context),
        Some(Heard::Failure(error)) => poll::failure(&after, &error, now, context),
        Some(Heard::Violation(error)) => poll::violation(&after, &error, now, context),
        None => unheard(&after, now, context),
    };
    Change { answer: AnswerWrite::between(task, &change.task), ..change }
}

/// There was no time to poll: that is done at once, or after the pause of an answer that is sent again.
fn unheard(after: &Task, now: Timestamp, context: Context<'_>) -> Change {
    let mut draft = Draft::of(after, now);
    let waiting = after.answer.as_ref().filter(|answer| answer.is_waiting());
    let pause = waiting.map_or(Duration::ZERO, |answer| answer.pause(None, context.policy));
    if let State::Active { next_poll_at, .. } = &mut draft.task.state {
        *next_poll_at = now + pause;
    }
    draft.commit(after, now, context)
}
