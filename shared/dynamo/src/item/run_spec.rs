//! What was settled when a run was wanted: written once.

use pudu_app::ports::StoreError;
use pudu_domain::{RunKey, RunSpec, Timestamp};

use crate::body::{self, EncodeError};
use crate::key::Key;
use crate::row::{Reader, Row, Writer, end_of, number};
use crate::schema::TTL;
use crate::write::{Update, When, Write};

pub(crate) const ITEM: &str = "run spec";

const BODY: &str = "body";
/// The digest of the caller's key, beside the body, so that an erasure finds its row.
const REPEAT_KEY: &str = super::spec::REPEAT_KEY;

/// The row outside of the thread that the spec names, as far as it can be read.
pub(crate) fn owned(row: &Row, run: &RunKey) -> Option<Key> {
    let digest = Reader::unversioned(ITEM, row).text_maybe(REPEAT_KEY).ok().flatten()?;
    Some(Key::RunKeyed { user: run.thread.user.clone(), digest: digest.to_owned() })
}

/// Has the spec go when its run goes.
pub(crate) fn ends(run: &RunKey, at: Timestamp) -> Write {
    Write::Update(Update {
        key: Key::RunSpec(run.clone()),
        set: "SET #ttl = :ttl",
        names: vec![TTL],
        values: vec![(":ttl", number(end_of(at)))],
        // Its run's row is in the same transaction, and the two come and go together.
        when: When::Always,
    })
}

pub(crate) fn encode(run: &RunKey, spec: &RunSpec) -> Result<Row, EncodeError> {
    Ok(Writer::new(&Key::RunSpec(run.clone()))
        .value(BODY, body::encode(ITEM, spec)?)
        .maybe(spec.key.as_ref(), |w, key| w.text(REPEAT_KEY, key))
        .row())
}

pub(crate) fn decode(row: &Row) -> Result<RunSpec, StoreError> {
    body::decode(Reader::new(ITEM, row)?, BODY)
}
