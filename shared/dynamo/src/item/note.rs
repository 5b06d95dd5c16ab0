//! A notification with the event that it carries.

use pudu_app::ports::{NoteKey, StoreError};
use pudu_domain::Note;
use pudu_domain::note::State;
use pudu_domain::text::Snippet;

use super::durable;
use super::task::{delivery_word, parse_delivery};
use crate::body::{self, EncodeError};
use crate::key::Key;
use crate::row::{Reader, Row, Writer, attr};

pub(crate) const ITEM: &str = "notification";

const STATE: &str = "st";
const DELIVERED_AT: &str = "at";
const DELIVERY: &str = "dl";
const EVENT: &str = "event";
const ATTEMPTS: &str = "tries";
const ERROR: &str = "er";

pub(crate) fn key_of(note: &Note) -> NoteKey {
    NoteKey { task: note.task.clone(), version: note.version }
}

pub(crate) fn encode(note: &Note) -> Result<Row, EncodeError> {
    let delivered_at = match note.state {
        State::Delivered { at } => Some(at),
        State::Pending | State::Withdrawn | State::Superseded | State::Dead => None,
    };
    let writer = Writer::new(&Key::Note(key_of(note)))
        .text(STATE, note.state.as_str())
        .maybe(delivered_at, |w, at| w.time(DELIVERED_AT, at))
        .text(DELIVERY, delivery_word(note.delivery))
        .value(EVENT, body::encode(ITEM, &note.event)?)
        .number(ATTEMPTS, note.attempts)
        .maybe(note.last_error.as_ref(), |w, error| w.text(ERROR, error.as_str()))
        .time(attr::CREATED_AT, note.created_at);
    Ok(durable::encode(writer, &note.durable, &note.task.id).row())
}

pub(crate) fn decode(row: &Row) -> Result<Note, StoreError> {
    let reader = Reader::new(ITEM, row)?;
    let Key::Note(NoteKey { task, version }) = reader.key()? else {
        return Err(reader.corrupt(attr::SK, "is not the key of a notification"));
    };
    let word = reader.text(STATE)?;
    let state = match reader.time_maybe(DELIVERED_AT)? {
        Some(at) => Some(State::Delivered { at }).filter(|state| state.as_str() == word),
        None => [State::Pending, State::Withdrawn, State::Superseded, State::Dead]
            .into_iter()
            .find(|state| state.as_str() == word),
    };
    Ok(Note {
        task,
        version,
        delivery: reader.parsed(DELIVERY, parse_delivery)?,
        event: body::decode(reader, EVENT)?,
        state: state.ok_or_else(|| reader.corrupt(STATE, "is not one of the known values"))?,
        durable: durable::decode(reader)?,
        attempts: reader.number(ATTEMPTS)?,
        last_error: reader.text_maybe(ERROR)?.map(Snippet::of),
        created_at: reader.time(attr::CREATED_AT)?,
    })
}
