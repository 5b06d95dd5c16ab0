//! A thread: it exists from its first task on.

use pudu_app::ports::StoreError;
use pudu_domain::thread::State;
use pudu_domain::{Thread, ThreadKey, Timestamp};

use super::durable;
use crate::key::{Key, THREAD_SHARD};
use crate::row::{FORMAT, Reader, Row, Writer, attr, number};
use crate::write::{Update, When, Write};

pub(crate) const ITEM: &str = "thread";

const LOOKS: &str = "looks";

/// Makes the thread if there is none, and refuses one that is being deleted. An update and not a put: a thread that is there
/// keeps what it has.
pub(crate) fn touch(thread: &ThreadKey, at: Timestamp) -> Write {
    Write::Update(Update {
        key: Key::Thread(thread.clone()),
        set: "SET #ct = if_not_exists(#ct, :ct), #v = :v",
        names: vec![attr::CREATED_AT, attr::FORMAT],
        values: vec![(":ct", number(at.as_millis())), (":v", number(FORMAT))],
        when: When::Open,
    })
}

/// Writes nothing new, and only into a thread that is there and is not being deleted: for what is written beside it and is to go
/// with it.
pub(crate) fn stands(thread: &ThreadKey) -> Write {
    Write::Update(Update {
        key: Key::Thread(thread.clone()),
        set: "SET #v = :v",
        names: vec![attr::FORMAT],
        values: vec![(":v", number(FORMAT))],
        when: When::Standing,
    })
}

/// The row of a thread that is being deleted; an open one's is made by [`touch`] and has no lane, lease or generation.
pub(crate) fn encode(thread: &Thread) -> Row {
    let writer = Writer::new(&Key::Thread(thread.key.clone())).time(attr::CREATED_AT, thread.created_at);
    match thread.state {
        State::Open => writer.row(),
        State::Deleting { since, looks } => {
            let writer = writer.time(attr::DELETING, since).number(LOOKS, looks);
            durable::encode_in(writer, &thread.durable, THREAD_SHARD).row()
        }
    }
}

pub(crate) fn decode(row: &Row) -> Result<Thread, StoreError> {
    let reader = Reader::new(ITEM, row)?;
    let Key::Thread(key) = reader.key()? else {
        return Err(reader.corrupt(attr::SK, "is not the key of a thread"));
    };
    let created_at = reader.time(attr::CREATED_AT)?;
    let open = Thread::open(key, created_at);
    Ok(match reader.time_maybe(attr::DELETING)? {
        None => open,
        Some(since) => Thread {
            state: State::Deleting { since, looks: reader.number(LOOKS)? },
            durable: durable::decode(reader)?,
            ..open
        },
    })
}
