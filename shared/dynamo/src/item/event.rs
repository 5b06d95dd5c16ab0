//! An event as its thread has it, and the highest version that a task has delivered.

use pudu_app::ports::{DeliveredEvent, NoteKey, StoreError};
use pudu_domain::{Event, TaskKey, Timestamp};

use crate::body::{self, EncodeError};
use crate::key::Key;
use crate::row::{Reader, Row, Writer, attr};

pub(crate) const ITEM: &str = "event";

const BODY: &str = "event";
const DELIVERED_AT: &str = "at";

pub(crate) fn encode(key: &NoteKey, delivered_at: Timestamp, event: &Event) -> Result<Row, EncodeError> {
    Ok(Writer::new(&Key::Event(key.clone()))
        .time(DELIVERED_AT, delivered_at)
        .value(BODY, body::encode(ITEM, event)?)
        .row())
}

pub(crate) fn decode(row: &Row) -> Result<DeliveredEvent, StoreError> {
    let reader = Reader::new(ITEM, row)?;
    let Key::Event(NoteKey { version, .. }) = reader.key()? else {
        return Err(reader.corrupt(attr::SK, "is not the key of an event"));
    };
    Ok(DeliveredEvent {
        version,
        delivered_at: reader.time(DELIVERED_AT)?,
        event: body::decode(reader, BODY)?,
    })
}

/// The row that says that `version` of the task's event, and so none before it, was delivered.
pub(crate) fn notified(task: &TaskKey, version: u32) -> Row {
    Writer::new(&Key::Notified(task.clone())).number(attr::VERSION, version).row()
}
