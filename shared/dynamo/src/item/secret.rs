//! The sealed secrets of a run's caller: a row of its own, which goes when the run ends, and after a day whatever happens.

use std::time::Duration;

use pudu_app::ports::StoreError;
use pudu_domain::{RunKey, Timestamp};

use crate::key::Key;
use crate::row::{Reader, Row, Writer};

pub(crate) const ITEM: &str = "secrets of a run";

/// How long they are kept, if the run does not end before.
const KEPT: Duration = Duration::from_hours(24);

const SEALED: &str = "sealed";

pub(crate) fn encode(run: &RunKey, sealed: &str, at: Timestamp) -> Row {
    Writer::new(&Key::Secret(run.clone())).text(SEALED, sealed).ends(at + KEPT).row()
}

pub(crate) fn decode(row: &Row) -> Result<String, StoreError> {
    Ok(Reader::new(ITEM, row)?.text(SEALED)?.to_owned())
}
