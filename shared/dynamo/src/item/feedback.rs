//! What a user thinks of a run.

use pudu_app::ports::StoreError;
use pudu_domain::Timestamp;
use pudu_domain::feedback::{Feedback, Rating};

use crate::key::Key;
use crate::row::{Reader, Row, Writer};

pub(crate) const ITEM: &str = "feedback";

const RATING: &str = "rating";
const COMMENT: &str = "comment";
const MESSAGE: &str = "message";
const AT: &str = "at";
/// Each rating as it is stored.
const WORDS: [(Rating, &str); 2] = [(Rating::Good, "good"), (Rating::Bad, "bad")];

/// The row of `feedback`, which is kept until `until`.
pub(crate) fn encode(feedback: &Feedback, until: Timestamp) -> Row {
    let word = WORDS.iter().find(|(known, _)| *known == feedback.rating).map_or("", |(_, word)| word);
    Writer::new(&Key::Feedback(feedback.run.clone()))
        .text(RATING, word)
        .maybe(feedback.comment.as_ref(), |row, comment| row.text(COMMENT, comment))
        .maybe(feedback.message.as_ref(), |row, message| row.text(MESSAGE, message))
        .time(AT, feedback.at)
        .ends(until)
        .row()
}

pub(crate) fn decode(row: &Row) -> Result<Feedback, StoreError> {
    let reader = Reader::new(ITEM, row)?;
    let Key::Feedback(run) = reader.key()? else {
        return Err(reader.corrupt(crate::row::attr::SK, "is not the key of feedback"));
    };
    let known = |text: &str| WORDS.iter().find(|(_, word)| *word == text).map(|(rating, _)| *rating);
    Ok(Feedback {
        run,
        rating: reader.parsed(RATING, known)?,
        comment: reader.text_maybe(COMMENT)?.map(str::to_owned),
        message: reader.text_maybe(MESSAGE)?.map(str::to_owned),
        at: reader.time(AT)?,
    })
}
