//! How a server is spoken with.

use pudu_app::ports::{Era, StoreError};
use pudu_domain::Timestamp;

use crate::key::Key;
use crate::row::{Reader, Row, Writer};

pub(crate) const ITEM: &str = "peer";

const ERA: &str = "era";
const UNTIL: &str = "until";
/// Each era as it is stored.
const WORDS: [(Era, &str); 3] =
    [(Era::Stateless, "stateless"), (Era::Session, "session"), (Era::Events, "events")];

/// The row of what is remembered at `now`.
pub(crate) fn encode(key: &Key, era: Era, now: Timestamp) -> Row {
    let word = WORDS.iter().find(|(known, _)| *known == era).map_or("", |(_, word)| word);
    let until = now + era.kept();
    Writer::new(key).text(ERA, word).time(UNTIL, until).ends(until).row()
}

/// What is known at `now`, whether or not the table has removed what is over.
pub(crate) fn decode(row: &Row, now: Timestamp) -> Result<Option<Era>, StoreError> {
    let known = |text: &str| WORDS.iter().find(|(_, word)| *word == text).map(|(era, _)| *era);
    let reader = Reader::new(ITEM, row)?;
    let era = reader.parsed(ERA, known)?;
    // A row from before rows had an end is over: it may be from any time.
    Ok(reader.time_maybe(UNTIL)?.is_some_and(|until| now < until).then_some(era))
}
