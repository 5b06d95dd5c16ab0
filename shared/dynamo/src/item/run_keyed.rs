//! Which run a caller's key stands for: the row by which a repeated request finds the first one's run.

use pudu_app::ports::StoreError;
use pudu_domain::{IdempotencyKey, RunKey, Timestamp};

use super::run;
use crate::key::Key;
use crate::row::{Reader, Row, Writer, attr};

pub(crate) const ITEM: &str = "key of a run";

/// The row by which `run` owns the key of its caller until that moment.
pub(crate) fn encode(run: &RunKey, key: &IdempotencyKey, request: &str, until: Timestamp) -> Row {
    let owner = Key::Run(run.clone());
    Writer::new(&Key::RunKeyed { user: run.thread.user.clone(), digest: key.digest() })
        .text(attr::OWNER_PK, owner.pk())
        .text(attr::OWNER_SK, owner.sk())
        .text(attr::REQUEST, request)
        .ends(until)
        .row()
}

/// The run that owns the key, and the digest of what was asked for.
pub(crate) fn decode(row: &Row) -> Result<(RunKey, String), StoreError> {
    let reader = Reader::new(ITEM, row)?;
    let run = run::key_of(reader, attr::OWNER_PK, attr::OWNER_SK)?;
    Ok((run, reader.text(attr::REQUEST)?.to_owned()))
}
