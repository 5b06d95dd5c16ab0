//! A notification: the state of one delivery, a few hundred bytes, whatever it tells.
//!
//! Format 1 carried the whole event. Format 2 has the status word instead, and the event in a row of its own
//! ([`super::news`]); a note that was written in format 1 keeps its event with it until its end, in format 2 as well.

use pudu_app::ports::{NoteKey, StoreError};
use pudu_domain::note::State;
use pudu_domain::text::Snippet;
use pudu_domain::{Event, Note, RunId, Status, Timestamp};

use super::durable;
use super::task::{delivery_word, parse_delivery};
use crate::body::{self, EncodeError};
use crate::key::Key;
use crate::row::{Reader, Row, Writer, attr};

pub(crate) const ITEM: &str = "notification";

const CARRYING: u64 = 1;
const FORMAT: u64 = 2;

const STATE: &str = "st";
const DELIVERED_AT: &str = "at";
const RUN: &str = "run";
const DELIVERY: &str = "dl";
/// The task's status when the event was made.
const STATUS: &str = "ts";
const EVENT: &str = "event";
const ATTEMPTS: &str = "tries";
const DISPATCH: &str = "da";
const ERROR: &str = "er";

/// The row of `note`, which is kept until `expires`, if that is known.
pub(crate) fn encode(note: &Note, expires: Option<Timestamp>) -> Result<Row, EncodeError> {
    let (delivered_at, run) = match &note.state {
        State::Delivered { at } => (Some(*at), None),
        State::Dispatched { run } => (None, Some(run)),
        State::Pending | State::Withdrawn | State::Superseded | State::Dead => (None, None),
    };
    let carried = note.carried.as_ref().map(|event| body::encode(ITEM, event)).transpose()?;
    let writer = Writer::of(&Key::Note(NoteKey::of(note)), FORMAT)
        .text(STATE, note.state.as_str())
        .maybe(delivered_at, |w, at| w.time(DELIVERED_AT, at))
        .maybe(run, |w, run| w.text(RUN, run.as_str()))
        .text(DELIVERY, delivery_word(note.delivery))
        .text(STATUS, note.status.as_str())
        .maybe(carried, |w, event| w.value(EVENT, event))
        .number(ATTEMPTS, note.attempts)
        .number(DISPATCH, note.dispatch)
        .maybe(note.last_error.as_ref(), |w, error| w.text(ERROR, error.as_str()))
        .time(attr::CREATED_AT, note.created_at)
        .maybe(expires, Writer::ends);
    Ok(durable::encode(writer, &note.durable, &note.task.id).row())
}

pub(crate) fn decode(row: &Row) -> Result<Note, StoreError> {
    let (reader, format) = Reader::of(ITEM, row, &[CARRYING, FORMAT])?;
    let Key::Note(NoteKey { task, version }) = reader.key()? else {
        return Err(reader.corrupt(attr::SK, "is not the key of a notification"));
    };
    let carried: Option<Box<Event>> =
        if row.contains_key(EVENT) || format == CARRYING { Some(body::decode(reader, EVENT)?) } else { None };
    let (status, dispatch) = match (format, &carried) {
        (CARRYING, Some(event)) => (event.status, 0),
        _ => (reader.parsed(STATUS, parse_status)?, reader.number(DISPATCH)?),
    };
    Ok(Note {
        task,
        version,
        delivery: reader.parsed(DELIVERY, parse_delivery)?,
        status,
        state: state(reader)?,
        durable: durable::decode(reader)?,
        attempts: reader.number(ATTEMPTS)?,
        dispatch,
        last_error: reader.text_maybe(ERROR)?.map(Snippet::of),
        created_at: reader.time(attr::CREATED_AT)?,
        carried,
    })
}

fn state(reader: Reader<'_>) -> Result<State, StoreError> {
    let run = match reader.text_maybe(RUN)? {
        None => None,
        Some(_) => Some(reader.parsed(RUN, |text| RunId::parse(text).ok())?),
    };
    let word = reader.text(STATE)?;
    let state = match (reader.time_maybe(DELIVERED_AT)?, run) {
        (Some(at), None) => Some(State::Delivered { at }),
        (None, Some(run)) => Some(State::Dispatched { run }),
        (None, None) => [State::Pending, State::Withdrawn, State::Superseded, State::Dead]
            .into_iter()
            .find(|state| state.as_str() == word),
        (Some(_), Some(_)) => None,
    };
    state
        .filter(|state| state.as_str() == word)
        .ok_or_else(|| reader.corrupt(STATE, "is not one of the known values"))
}

fn parse_status(word: &str) -> Option<Status> {
    Status::ALL.into_iter().find(|status| status.as_str() == word)
}
