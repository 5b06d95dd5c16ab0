//! What waits for an operator: dead letters, and the addresses of rows that do not decode.

use pudu_app::ports::{Hint, ItemKey};
use pudu_domain::{Note, RunId, TaskId, ThreadId, UserId};
use serde::Serialize;
use utoipa::ToSchema;

use super::moment;
use super::task::{NotificationStatus, TaskStatus, text};

/// A dead letter, or one that was one: its address, and how it came to that.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DeadLetter {
    #[schema(value_type = String)]
    user: UserId,
    #[schema(value_type = String)]
    thread: ThreadId,
    #[schema(value_type = String)]
    task_id: TaskId,
    version: u32,
    task_status: TaskStatus,
    notification_status: NotificationStatus,
    attempts: u32,
    /// Why the last delivery failed.
    error: Option<String>,
    #[schema(format = DateTime)]
    created_at: String,
}

impl From<Note> for DeadLetter {
    fn from(note: Note) -> Self {
        Self {
            task_status: note.status.into(),
            notification_status: NotificationStatus::from(&note.state),
            attempts: note.attempts,
            error: note.last_error.as_ref().map(text),
            created_at: moment(note.created_at),
            version: note.version,
            user: note.task.thread.user,
            thread: note.task.thread.thread,
            task_id: note.task.id,
        }
    }
}

/// What a row is of.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RowKind {
    Thread,
    Task,
    Notification,
    Run,
}

/// Where a row is that does not decode, and since when it is aside.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CorruptRow {
    kind: RowKind,
    #[schema(value_type = String)]
    user: UserId,
    #[schema(value_type = String)]
    thread: ThreadId,
    /// Null for a row of a thread or a run.
    #[schema(value_type = Option<String>)]
    task_id: Option<TaskId>,
    /// Only of a notification.
    version: Option<u32>,
    /// Only of a run.
    #[schema(value_type = Option<String>)]
    run_id: Option<RunId>,
    #[schema(format = DateTime)]
    aside_since: String,
}

impl From<Hint> for CorruptRow {
    fn from(hint: Hint) -> Self {
        let mut run_id = None;
        let (kind, thread, task_id, version) = match hint.key {
            ItemKey::Thread(thread) => (RowKind::Thread, thread, None, None),
            ItemKey::Run(run) => {
                run_id = Some(run.id);
                (RowKind::Run, run.thread, None, None)
            }
            ItemKey::Task(task) => (RowKind::Task, task.thread, Some(task.id), None),
            ItemKey::Note(note) => {
                (RowKind::Notification, note.task.thread, Some(note.task.id), Some(note.version))
            }
        };
        let aside_since = moment(hint.due_at);
        Self { kind, user: thread.user, thread: thread.thread, task_id, version, run_id, aside_since }
    }
}
