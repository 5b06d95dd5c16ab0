//! The hot row of a task. It is written on every poll, so it stays within one write unit (1 KB) whatever happens.

use pudu_app::ports::StoreError;
use pudu_domain::event::Fingerprint;
use pudu_domain::policy::CANCEL_DEADLINE;
use pudu_domain::task::{Answer, Attention, Cancel, Delivery, Outcome, Phase, Stand, State, Tracking};
use pudu_domain::text::Snippet;
use pudu_domain::{Generation, ServerTag, Task, TaskKey};

use super::durable;
use crate::key::Key;
use crate::row::{Reader, Row, Writer, attr};

/// Largest hot row, in bytes: one write unit.
pub(crate) const MAX_BYTES: usize = 1024;

pub(crate) const ITEM: &str = "task";

const STATE: &str = "st";
/// The moment that belongs to the state: the intent's deadline, the next poll, or the end.
const STATE_AT: &str = "at";
const DELIVERY: &str = "dl";
const CANCEL_REQUESTED: &str = "cr";
/// Since there is a time for cancels; a row without it has the default.
const CANCEL_UNTIL: &str = "cu";
const CANCEL_ATTEMPTS: &str = "ca";
const CANCEL_NEXT: &str = "cn";
const CANCEL_ERROR: &str = "ce";
const ANSWER: &str = "an";
const ANSWER_QUESTION: &str = "aq";
const ANSWER_GENERATION: &str = "ag";
/// How often a waiting answer was sent, or when it was taken.
const ANSWER_NUMBER: &str = "ai";
const ANSWER_ERROR: &str = "ae";
const POLLED_AT: &str = "tp";
const POLL_ERRORS: &str = "tn";
const POLL_ERROR: &str = "te";
const ATTENTION: &str = "av";
const ATTENTION_LAST: &str = "al";
const ATTENTION_PRINT: &str = "af";
const ERROR: &str = "er";
const PAYLOAD: &str = "pd";
const UPDATED_AT: &str = "ut";

/// The row of `task`. Errors are cut further than their 200 bytes when the longest legal names, the room that a claim
/// needs and several errors at once would not fit [`MAX_BYTES`]; the full text of the server's own is in the payload row.
pub(crate) fn encode(task: &Task) -> Row {
    let (state, at) = match task.state {
        State::Intent { deadline } => ("intent", deadline),
        State::Active { phase, next_poll_at } => (phase_word(phase), next_poll_at),
        State::Ended { outcome, at } => (outcome_word(outcome), at),
    };
    let writer = Writer::new(&Key::Task(task.key.clone()))
        .text(attr::SERVER, task.server.as_str())
        .text(DELIVERY, delivery_word(task.delivery))
        .text(STATE, state)
        .time(STATE_AT, at)
        .maybe(task.cancel.as_ref(), |w, cancel| {
            w.time(CANCEL_REQUESTED, cancel.requested_at)
                .time(CANCEL_UNTIL, cancel.until)
                .number(CANCEL_ATTEMPTS, cancel.attempts)
                .maybe(cancel.next_at, |w, at| w.time(CANCEL_NEXT, at))
        })
        .maybe(task.answer.as_ref(), with_answer)
        .maybe(task.tracking.last_polled_at, |w, at| w.time(POLLED_AT, at))
        .number(POLL_ERRORS, task.tracking.errors)
        .number(ATTENTION, task.attention.version)
        .number(ATTENTION_LAST, task.attention.last)
        .maybe(task.attention.fingerprint.as_ref(), |w, print| w.text(ATTENTION_PRINT, print.as_str()))
        .maybe(task.payload.as_deref(), |w, digest| w.text(PAYLOAD, digest))
        .time(attr::CREATED_AT, task.created_at)
        .time(UPDATED_AT, task.updated_at);
    with_errors(durable::encode(writer, &task.durable, &task.key.id), task).row()
}

/// The task in `row`.
pub(crate) fn decode(row: &Row) -> Result<Task, StoreError> {
    let reader = Reader::new(ITEM, row)?;
    let Key::Task(key) = reader.key()? else {
        return Err(reader.corrupt(attr::SK, "is not the key of a task"));
    };
    let snippet = |name| Ok::<_, StoreError>(reader.text_maybe(name)?.map(Snippet::of));
    let cancel = match reader.time_maybe(CANCEL_REQUESTED)? {
        None => None,
        Some(requested_at) => Some(Cancel {
            requested_at,
            until: reader.time_maybe(CANCEL_UNTIL)?.unwrap_or(requested_at + CANCEL_DEADLINE),
            attempts: reader.number(CANCEL_ATTEMPTS)?,
            next_at: reader.time_maybe(CANCEL_NEXT)?,
            last_error: snippet(CANCEL_ERROR)?,
        }),
    };
    Ok(Task {
        key,
        server: ServerTag::stored(reader.text(attr::SERVER)?.to_owned()),
        delivery: reader.parsed(DELIVERY, parse_delivery)?,
        state: state(reader)?,
        durable: durable::decode(reader)?,
        cancel,
        answer: answer(reader)?,
        tracking: Tracking {
            last_polled_at: reader.time_maybe(POLLED_AT)?,
            errors: reader.number(POLL_ERRORS)?,
            last_error: snippet(POLL_ERROR)?,
        },
        attention: Attention {
            version: reader.number(ATTENTION)?,
            last: reader.number(ATTENTION_LAST)?,
            fingerprint: reader.text_maybe(ATTENTION_PRINT)?.map(|text| Fingerprint::stored(text.to_owned())),
        },
        error: snippet(ERROR)?,
        payload: reader.text_maybe(PAYLOAD)?.map(str::to_owned),
        created_at: reader.time(attr::CREATED_AT)?,
        updated_at: reader.time(UPDATED_AT)?,
    })
}

/// The task whose hot row a stored pk and sk name.
pub(crate) fn key_of(reader: Reader<'_>, pk: &'static str, sk: &'static str) -> Result<TaskKey, StoreError> {
    match Key::parse(reader.text(pk)?, reader.text(sk)?) {
        Some(Key::Task(key)) => Ok(key),
        _ => Err(reader.corrupt(sk, "is not the key of a task")),
    }
}

/// Adds the errors, all cut to the same length if they would not fit otherwise.
fn with_errors(writer: Writer, task: &Task) -> Writer {
    let errors = [
        (ERROR, task.error.as_ref()),
        (POLL_ERROR, task.tracking.last_error.as_ref()),
        (CANCEL_ERROR, task.cancel.as_ref().and_then(|cancel| cancel.last_error.as_ref())),
        (ANSWER_ERROR, task.answer.as_ref().and_then(answer_error)),
    ];
    let errors: Vec<(&str, &str)> =
        errors.into_iter().filter_map(|(name, error)| Some((name, error?.as_str()))).collect();
    let names: usize = errors.iter().map(|(name, _)| name.len()).sum();
    let room = MAX_BYTES.saturating_sub(writer.size() + names + durable::claim_room(&task.durable));
    let fits = |most: usize| errors.iter().map(|(_, text)| text.len().min(most)).sum::<usize>() <= room;
    let longest = errors.iter().map(|(_, text)| text.len()).max().unwrap_or_default();
    let most = (0..=longest).rev().find(|most| fits(*most)).unwrap_or_default();
    errors.into_iter().fold(writer, |w, (name, text)| w.text(name, cut(text, most)))
}

/// The first `most` bytes, cut at a character.
fn cut(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    end.and_then(|end| text.get(..end)).unwrap_or_default()
}

/// The answer without its error.
fn with_answer(writer: Writer, answer: &Answer) -> Writer {
    let writer = writer
        .text(ANSWER_QUESTION, answer.question.as_str())
        .number(ANSWER_GENERATION, answer.given_in.number())
        .text(ANSWER, stand_word(&answer.stand));
    match answer.stand {
        Stand::Waiting { attempts, .. } => writer.number(ANSWER_NUMBER, attempts),
        Stand::Taken { at } => writer.time(ANSWER_NUMBER, at),
        Stand::Refused(_) => writer,
    }
}

fn answer(reader: Reader<'_>) -> Result<Option<Answer>, StoreError> {
    let Some(word) = reader.text_maybe(ANSWER)? else { return Ok(None) };
    let error = reader.text_maybe(ANSWER_ERROR)?.map(Snippet::of);
    let stand = match word {
        "waiting" => Stand::Waiting { attempts: reader.number(ANSWER_NUMBER)?, last_error: error },
        "taken" => Stand::Taken { at: reader.time(ANSWER_NUMBER)? },
        "refused" => Stand::Refused(error.unwrap_or_else(|| Snippet::of(""))),
        _ => return Err(reader.corrupt(ANSWER, "is not one of the known values")),
    };
    let question = reader.text(ANSWER_QUESTION)?.to_owned();
    Ok(Some(Answer { question, given_in: Generation::new(reader.number(ANSWER_GENERATION)?), stand }))
}

const fn stand_word(stand: &Stand) -> &'static str {
    match stand {
        Stand::Waiting { .. } => "waiting",
        Stand::Taken { .. } => "taken",
        Stand::Refused(_) => "refused",
    }
}

const fn answer_error(answer: &Answer) -> Option<&Snippet> {
    match &answer.stand {
        Stand::Waiting { last_error, .. } => last_error.as_ref(),
        Stand::Taken { .. } => None,
        Stand::Refused(why) => Some(why),
    }
}

fn state(reader: Reader<'_>) -> Result<State, StoreError> {
    let at = reader.time(STATE_AT)?;
    reader.parsed(STATE, |word| {
        if word == "intent" {
            return Some(State::Intent { deadline: at });
        }
        let phases = [Phase::Submitted, Phase::Working, Phase::InputRequired];
        if let Some(phase) = phases.into_iter().find(|phase| phase_word(*phase) == word) {
            return Some(State::Active { phase, next_poll_at: at });
        }
        let outcomes = [Outcome::Completed, Outcome::Failed, Outcome::Cancelled];
        let outcome = outcomes.into_iter().find(|outcome| outcome_word(*outcome) == word)?;
        Some(State::Ended { outcome, at })
    })
}

const fn phase_word(phase: Phase) -> &'static str {
    match phase {
        Phase::Submitted => "submitted",
        Phase::Working => "working",
        Phase::InputRequired => "input",
    }
}

const fn outcome_word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Completed => "completed",
        Outcome::Failed => "failed",
        Outcome::Cancelled => "cancelled",
    }
}

pub(crate) const fn delivery_word(delivery: Delivery) -> &'static str {
    match delivery {
        Delivery::Event => "event",
        Delivery::Run => "run",
    }
}

pub(crate) fn parse_delivery(word: &str) -> Option<Delivery> {
    [Delivery::Event, Delivery::Run].into_iter().find(|delivery| delivery_word(*delivery) == word)
}
