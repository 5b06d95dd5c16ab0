//! Who owns a remote handle: the row whose existence makes a server's task tracked at most once.

use pudu_app::ports::StoreError;
use pudu_domain::{RemoteTaskId, TaskKey, TaskSpec};

use super::task;
use crate::key::Key;
use crate::row::{Reader, Row, Writer, attr};

pub(crate) const ITEM: &str = "remote handle";

/// The row by which `task` owns `remote`.
pub(crate) fn encode(task: &TaskKey, spec: &TaskSpec, remote: &RemoteTaskId) -> Row {
    let owner = Key::Task(task.clone());
    Writer::new(&Key::handle(&task.thread.user, &spec.server, &spec.identity, remote))
        .text(attr::OWNER_PK, owner.pk())
        .text(attr::OWNER_SK, owner.sk())
        .row()
}

/// The task that owns the handle.
pub(crate) fn decode(row: &Row) -> Result<TaskKey, StoreError> {
    task::key_of(Reader::new(ITEM, row)?, attr::OWNER_PK, attr::OWNER_SK)
}
