//! That an event shows in its thread, and the highest version that a task has delivered.
//!
//! Format 1 had the event in the row. Format 2 has it in a row of its own ([`super::news`]); a note that carries its event
//! itself still leaves a row of format 1.

use pudu_app::ports::{NoteKey, StoreError};
use pudu_domain::{Event, TaskKey, Timestamp};

use crate::body::{self, EncodeError};
use crate::key::Key;
use crate::row::{Reader, Row, Writer, attr};

pub(crate) const ITEM: &str = "delivered event";

const CARRYING: u64 = 1;
const FORMAT: u64 = 2;

const BODY: &str = "event";
const DELIVERED_AT: &str = "at";

/// One row, read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Marker {
    pub(crate) key: NoteKey,
    pub(crate) delivered_at: Timestamp,
    /// The event, of a row that carries it.
    pub(crate) carried: Option<Event>,
}

pub(crate) fn encode(marker: &Marker, expires: Option<Timestamp>) -> Result<Row, EncodeError> {
    let key = Key::Event(marker.key.clone());
    let writer = match &marker.carried {
        None => Writer::of(&key, FORMAT),
        Some(event) => Writer::of(&key, CARRYING).value(BODY, body::encode(ITEM, event)?),
    };
    Ok(writer.time(DELIVERED_AT, marker.delivered_at).maybe(expires, Writer::ends).row())
}

pub(crate) fn decode(row: &Row) -> Result<Marker, StoreError> {
    let (reader, format) = Reader::of(ITEM, row, &[CARRYING, FORMAT])?;
    let Key::Event(key) = reader.key()? else {
        return Err(reader.corrupt(attr::SK, "is not the key of a delivered event"));
    };
    let carried = if format == CARRYING { Some(body::decode(reader, BODY)?) } else { None };
    Ok(Marker { key, delivered_at: reader.time(DELIVERED_AT)?, carried })
}

/// The row that says that `version` of the task's event, and so none before it, was delivered.
pub(crate) fn notified(task: &TaskKey, version: u32, expires: Option<Timestamp>) -> Row {
    Writer::new(&Key::Notified(task.clone()))
        .number(attr::VERSION, version)
        .maybe(expires, Writer::ends)
        .row()
}
