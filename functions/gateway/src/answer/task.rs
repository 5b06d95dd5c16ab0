//! A task: in a list, and with everything that it brought.

use pudu_app::tasks::follow::Followed;
use pudu_app::tasks::{Detailed, Listed};
use pudu_domain::note::State;
use pudu_domain::snapshot::{Artifact, Status};
use pudu_domain::task::{Answer, Stand};
use pudu_domain::text::Snippet;
use pudu_domain::{Note, TaskId, TaskName};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::moment;

/// Most characters of an error in an answer.
const ERROR_CHARS: usize = 500;

/// Where a task stands.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TaskStatus {
    /// Handed over; not yet heard of again.
    Submitted,
    /// Running at the server.
    Working,
    /// The server waits for an answer to its question.
    InputRequired,
    /// Ended well.
    Completed,
    /// Ended badly.
    Failed,
    /// Ended because somebody asked for it.
    Cancelled,
}

impl From<Status> for TaskStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Submitted => Self::Submitted,
            Status::Working => Self::Working,
            Status::InputRequired => Self::InputRequired,
            Status::Completed => Self::Completed,
            Status::Failed => Self::Failed,
            Status::Cancelled => Self::Cancelled,
        }
    }
}

/// A task in a list.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TaskRow {
    /// The local id.
    #[schema(value_type = String, example = "mcp-task-0193a1b2c3d400112233445566778899")]
    task_id: TaskId,
    /// The name of its toolset, or of its tool.
    #[schema(value_type = String)]
    task_name: TaskName,
    status: TaskStatus,
    #[schema(format = DateTime)]
    created_at: String,
    #[schema(format = DateTime)]
    updated_at: String,
    /// The beginning of the server's error; the whole of at most 500 characters in the detail.
    error: Option<String>,
    /// Whether its server has not answered for several polls.
    tracking_degraded: bool,
    /// Whether somebody has asked for its end.
    cancel_requested: bool,
}

impl From<Listed> for TaskRow {
    fn from(row: Listed) -> Self {
        let task = row.task;
        Self {
            status: task.status().into(),
            created_at: moment(task.created_at),
            updated_at: moment(task.updated_at),
            error: task.error.as_ref().map(text),
            tracking_degraded: row.degraded,
            cancel_requested: task.cancel.is_some(),
            task_id: task.key.id,
            task_name: row.name,
        }
    }
}

/// A task in a stream: as in a list, and what it asks.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TaskChange {
    #[serde(flatten)]
    task: TaskRow,
    /// The version of the event that is current; 0 when nothing needs attention.
    event_version: u32,
    /// The server's question, while it waits for an answer.
    input_required: Option<Value>,
}

impl From<Followed> for TaskChange {
    fn from(told: Followed) -> Self {
        let event_version = told.listed.task.attention.version;
        Self { task: told.listed.into(), event_version, input_required: told.question }
    }
}

/// How a notification stands.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NotificationStatus {
    /// There never was one, or it is not kept any more.
    None,
    /// It is to be delivered.
    Pending,
    /// A run of the thread's agent is telling it.
    Dispatched,
    /// The thread was told.
    Delivered,
    /// The task needs no attention any more.
    Withdrawn,
    /// A newer one was made.
    Superseded,
    /// Delivery failed for good; an operator may replay it.
    DeadLetter,
    /// Its row does not decode and waits for an operator.
    Corrupt,
}

impl From<&State> for NotificationStatus {
    fn from(state: &State) -> Self {
        match state {
            State::Pending => Self::Pending,
            State::Dispatched { .. } => Self::Dispatched,
            State::Delivered { .. } => Self::Delivered,
            State::Withdrawn => Self::Withdrawn,
            State::Superseded => Self::Superseded,
            State::Dead => Self::DeadLetter,
        }
    }
}

/// A result that stays at the server.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ArtifactLink {
    /// Where to fetch it.
    uri: String,
    /// Its media type.
    mime_type: String,
}

impl From<Artifact> for ArtifactLink {
    fn from(artifact: Artifact) -> Self {
        Self { uri: artifact.uri, mime_type: artifact.mime_type }
    }
}

/// How far the answer to a task's question got.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub(crate) enum Answered {
    /// The server does not have it yet, as far as is known.
    Waiting {
        /// How often it was sent without anybody knowing whether it was taken.
        attempts: u32,
        /// Why that is not known.
        error: Option<String>,
    },
    /// The server took it.
    Taken {
        #[schema(format = DateTime)]
        at: String,
    },
    /// The server refused it: the question may be answered anew.
    Refused {
        /// Why.
        error: String,
    },
}

impl From<&Answer> for Answered {
    fn from(answer: &Answer) -> Self {
        match &answer.stand {
            Stand::Waiting { attempts, last_error } => {
                Self::Waiting { attempts: *attempts, error: last_error.as_ref().map(text) }
            }
            Stand::Taken { at } => Self::Taken { at: moment(*at) },
            Stand::Refused(why) => Self::Refused { error: text(why) },
        }
    }
}

/// How the newest notification of a task stands.
pub(crate) enum Notified {
    /// It is not kept any more, or there never was one.
    None,
    /// So.
    As(Box<Note>),
    /// Its row does not decode: it waits for an operator.
    Unreadable,
}

/// A task with everything that it brought.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TaskDetail {
    #[serde(flatten)]
    row: TaskRow,
    #[schema(format = DateTime)]
    last_polled_at: Option<String>,
    last_poll_error: Option<String>,
    last_cancel_error: Option<String>,
    /// How often the server was asked to cancel it.
    cancel_attempt_count: u32,
    /// How its newest notification stands.
    notification_status: NotificationStatus,
    notification_error: Option<String>,
    notification_attempt_count: u32,
    /// The server's result as it came: any JSON.
    result: Option<Value>,
    /// The beginning of a result that is too large to be kept whole.
    result_preview: Option<String>,
    result_truncated: bool,
    result_artifact: Option<ArtifactLink>,
    /// The server's question as it came: any JSON.
    input_required: Option<Value>,
    input_answered: Option<Answered>,
    /// The version of its newest event; 0 when nothing needs attention.
    event_version: u32,
}

impl TaskDetail {
    /// A task, and how its newest notification stands.
    pub(crate) fn new(detailed: Detailed, notified: &Notified) -> Self {
        let (note, notification_status) = match notified {
            Notified::None => (None, NotificationStatus::None),
            Notified::As(note) => (Some(note), NotificationStatus::from(&note.state)),
            Notified::Unreadable => (None, NotificationStatus::Corrupt),
        };
        let Detailed { listed, payload, .. } = detailed;
        let (task, cancel) = (&listed.task, listed.task.cancel.as_ref());
        Self {
            last_polled_at: task.tracking.last_polled_at.map(moment),
            last_poll_error: task.tracking.last_error.as_ref().map(text),
            last_cancel_error: cancel.and_then(|c| c.last_error.as_ref()).map(text),
            cancel_attempt_count: cancel.map_or(0, |c| c.attempts),
            notification_status,
            notification_error: note.and_then(|n| n.last_error.as_ref()).map(text),
            notification_attempt_count: note.map_or(0, |note| note.attempts),
            result: payload.result,
            result_preview: payload.result_preview,
            result_truncated: payload.result_truncated,
            result_artifact: payload.result_artifact.map(ArtifactLink::from),
            input_required: payload.input_required,
            input_answered: task.answer.as_ref().map(Answered::from),
            event_version: task.attention.version,
            row: TaskRow {
                error: payload.error.map(|error| error.chars().take(ERROR_CHARS).collect()),
                ..TaskRow::from(listed)
            },
        }
    }
}

/// A stored beginning of a text.
pub(super) fn text(snippet: &Snippet) -> String {
    snippet.as_str().to_owned()
}
