//! A thread: it exists from its first task on.

use pudu_domain::{ThreadKey, Timestamp};

use crate::key::Key;
use crate::row::{FORMAT, attr, number};
use crate::write::{Update, When, Write};

/// Makes the thread if there is none, and refuses one that is being deleted. An update and not a put: the row will carry
/// more than this.
pub(crate) fn touch(thread: &ThreadKey, at: Timestamp) -> Write {
    Write::Update(Update {
        key: Key::Thread(thread.clone()),
        set: "SET #ct = if_not_exists(#ct, :ct), #v = :v",
        names: vec![attr::CREATED_AT, attr::FORMAT],
        values: vec![(":ct", number(at.as_millis())), (":v", number(FORMAT))],
        when: When::Open,
    })
}
