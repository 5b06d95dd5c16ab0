//! Who owns a caller's key: the row by which a repeated submission finds the first one.

use pudu_app::ports::StoreError;
use pudu_domain::task::Repeatable;
use pudu_domain::{TaskKey, ThreadKey};

use super::task;
use crate::key::Key;
use crate::row::{Reader, Row, Writer, attr};

pub(crate) const ITEM: &str = "idempotency key";

/// Where that row is.
pub(crate) fn key(thread: &ThreadKey, repeatable: &Repeatable) -> Key {
    Key::Idempotency { thread: thread.clone(), digest: repeatable.key.clone() }
}

/// The row by which `task` owns the key of its submission.
pub(crate) fn encode(task: &TaskKey, repeatable: &Repeatable) -> Row {
    let owner = Key::Task(task.clone());
    Writer::new(&key(&task.thread, repeatable))
        .text(attr::OWNER_PK, owner.pk())
        .text(attr::OWNER_SK, owner.sk())
        .text(attr::REQUEST, &repeatable.request)
        .row()
}

/// The task that owns the key, and the digest of what it was asked for.
pub(crate) fn decode(row: &Row) -> Result<(TaskKey, String), StoreError> {
    let reader = Reader::new(ITEM, row)?;
    let task = task::key_of(reader, attr::OWNER_PK, attr::OWNER_SK)?;
    Ok((task, reader.text(attr::REQUEST)?.to_owned()))
}
