//! A checkpoint: what a step has changed, the whole state, or the digest of the blob that has either.

use pudu_app::ports::StoreError;
use pudu_domain::conversation::Head;
use pudu_domain::run::{Body, Checkpoint, Source};

use crate::body::{self, EncodeError};
use crate::key::Key;
use crate::row::{Reader, Row, Writer, attr};

pub(crate) const ITEM: &str = "checkpoint";

const AT: &str = "at";
const SOURCE: &str = "src";
const PARENT: &str = "parent";
const BODY: &str = "body";

pub(crate) fn encode(checkpoint: &Checkpoint) -> Result<Row, EncodeError> {
    let parent = checkpoint.parent.as_ref().map(|head| body::encode(ITEM, head)).transpose()?;
    Ok(Writer::new(&Key::Checkpoint(checkpoint.run.clone(), checkpoint.number))
        .time(AT, checkpoint.at)
        .text(SOURCE, source_word(checkpoint.source))
        .maybe(parent, |w, parent| w.value(PARENT, parent))
        .value(BODY, body::encode(ITEM, &checkpoint.body)?)
        .row())
}

pub(crate) fn decode(row: &Row) -> Result<Checkpoint, StoreError> {
    let reader = Reader::new(ITEM, row)?;
    let Key::Checkpoint(run, number) = reader.key()? else {
        return Err(reader.corrupt(attr::SK, "is not the key of a checkpoint"));
    };
    Ok(Checkpoint {
        run,
        number,
        at: reader.time(AT)?,
        source: reader.parsed(SOURCE, super::run::word)?,
        parent: reader.has(PARENT).then(|| body::decode::<Head>(reader, PARENT)).transpose()?,
        body: body::decode::<Body>(reader, BODY)?,
    })
}

/// Whether it holds a whole state.
pub(crate) const fn is_whole(checkpoint: &Checkpoint) -> bool {
    matches!(checkpoint.body, Body::Snapshot(_) | Body::Blob { snapshot: true, .. })
}

const fn source_word(source: Source) -> &'static str {
    match source {
        Source::Input => "input",
        Source::Loop => "loop",
        Source::Update => "update",
    }
}
