//! The attributes that every durable row has: lane and due time (the index's keys), lease, generation, wake counter.

use pudu_app::ports::StoreError;
use pudu_domain::{Due, Durable, Generation, Lease, Owner, TaskId};

use crate::key::{due_pk, parse_due_pk, shard_of};
use crate::row::{Reader, Row, Writer, attr};

/// A lease at its largest: two names, the 49 bytes of the longest owner that `Owner::new` makes, a time.
const LEASE_BYTES: usize = 2 + 49 + 2 + 20;

/// Bytes that the next claim may add to the row: it writes a lease and raises the generation, and must not push the row
/// over a write unit.
pub(crate) fn claim_room(durable: &Durable) -> usize {
    let has = durable
        .lease
        .as_ref()
        .map_or(0, |lease| 4 + lease.owner.as_str().len() + lease.until.as_millis().to_string().len());
    LEASE_BYTES.saturating_sub(has) + 1
}

/// For what belongs to a task: its id is the shard.
pub(crate) fn encode(writer: Writer, durable: &Durable, task: &TaskId) -> Writer {
    encode_in(writer, durable, shard_of(task))
}

pub(crate) fn encode_in(writer: Writer, durable: &Durable, shard: u8) -> Writer {
    writer
        .maybe(durable.due, |w, due| w.text(attr::DUE_PK, due_pk(due.lane, shard)).time(attr::DUE_AT, due.at))
        .maybe(durable.lease.as_ref(), |w, lease| {
            w.text(attr::LEASE_OWNER, lease.owner.as_str()).time(attr::LEASE_UNTIL, lease.until)
        })
        .number(attr::GENERATION, durable.generation.number())
        .number(attr::WAKE, durable.wake)
}

pub(crate) fn decode(reader: Reader<'_>) -> Result<Durable, StoreError> {
    let due = match reader.text_maybe(attr::DUE_PK)? {
        None => None,
        Some(text) => {
            let (lane, _) =
                parse_due_pk(text).ok_or_else(|| reader.corrupt(attr::DUE_PK, "is no lane and shard"))?;
            Some(Due { lane, at: reader.time(attr::DUE_AT)? })
        }
    };
    let lease = match reader.text_maybe(attr::LEASE_OWNER)? {
        None => None,
        Some(owner) => {
            let owner = Owner::stored(owner.to_owned());
            Some(Lease { owner, until: reader.time(attr::LEASE_UNTIL)? })
        }
    };
    let generation = Generation::new(reader.number(attr::GENERATION)?);
    Ok(Durable { due, lease, generation, wake: reader.number(attr::WAKE)? })
}

/// The durable part of a row that made a condition fail.
pub(crate) fn of_image(item: &'static str, row: &Row) -> Result<Durable, StoreError> {
    decode(Reader::unversioned(item, row))
}
