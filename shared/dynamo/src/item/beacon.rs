//! Who is awake of a background function. It is written attribute by attribute, so there is no encoding of the whole.

use pudu_app::ports::{Awake, Beacon, StoreError};
use pudu_domain::Owner;

use crate::row::{Reader, Row, attr};

pub(crate) const ITEM: &str = "beacon";

/// When its holder stops beginning anything.
pub(crate) const ENDS: &str = "ends";
/// When its holder last wrote it; absent in rows of before that was noted.
pub(crate) const SEEN: &str = "seen";
/// How often word was left.
pub(crate) const KNOCKS: &str = "knocks";

pub(crate) fn decode(row: &Row) -> Result<Beacon, StoreError> {
    let reader = Reader::new(ITEM, row)?;
    let awake = match reader.text_maybe(attr::LEASE_OWNER)? {
        None => None,
        Some(owner) => Some(Awake {
            holder: Owner::stored(owner.to_owned()),
            until: reader.time(attr::LEASE_UNTIL)?,
            ends: reader.time(ENDS)?,
        }),
    };
    Ok(Beacon { awake, knocks: reader.number(KNOCKS)?, seen: reader.time_maybe(SEEN)? })
}
