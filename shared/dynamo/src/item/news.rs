//! What a notification tells: the event, written once, in the commit of the task that made it.
//!
//! A row of its own, because it may be large and nothing of it ever changes: the note beside it is claimed and committed
//! again and again, and pays for its own few bytes only.

use pudu_app::ports::{NoteKey, StoreError};
use pudu_domain::Event;
use pudu_domain::note::Announced;

use crate::body::{self, EncodeError};
use crate::key::Key;
use crate::row::{Reader, Row, Writer, attr};

pub(crate) const ITEM: &str = "event";

const BODY: &str = "event";

pub(crate) fn encode(news: &Announced) -> Result<Row, EncodeError> {
    Ok(Writer::new(&Key::Body(NoteKey::of(&news.note)))
        .value(BODY, body::encode(ITEM, &news.event)?)
        .ends(news.kept_until)
        .row())
}

pub(crate) fn decode(row: &Row) -> Result<(NoteKey, Event), StoreError> {
    let reader = Reader::new(ITEM, row)?;
    let Key::Body(key) = reader.key()? else {
        return Err(reader.corrupt(attr::SK, "is not the key of an event"));
    };
    Ok((key, body::decode(reader, BODY)?))
}
