//! How a server is spoken with.

use pudu_app::ports::{Era, StoreError};

use crate::key::Key;
use crate::row::{Reader, Row, Writer};

pub(crate) const ITEM: &str = "peer";

const ERA: &str = "era";
/// Each era as it is stored.
const WORDS: [(Era, &str); 3] =
    [(Era::Stateless, "stateless"), (Era::Session, "session"), (Era::Events, "events")];

pub(crate) fn encode(key: &Key, era: Era) -> Row {
    let word = WORDS.iter().find(|(known, _)| *known == era).map_or("", |(_, word)| word);
    Writer::new(key).text(ERA, word).row()
}

pub(crate) fn decode(row: &Row) -> Result<Era, StoreError> {
    let known = |text: &str| WORDS.iter().find(|(_, word)| *word == text).map(|(era, _)| *era);
    Reader::new(ITEM, row)?.parsed(ERA, known)
}
