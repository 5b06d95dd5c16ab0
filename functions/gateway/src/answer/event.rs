//! A delivered event: its fields, and the text that tells a model of it.

use pudu_app::framing;
use pudu_app::ports::DeliveredEvent;
use pudu_domain::{Event, TaskId, TaskName, ThreadId};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::moment;
use super::task::{ArtifactLink, TaskStatus};

/// What a thread was told.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ThreadEvent {
    /// Which version of its task's event.
    version: u32,
    #[schema(format = DateTime)]
    delivered_at: String,
    event: EventBody,
    /// The same for a model: an instruction of ours, then the event as untrusted data.
    text: String,
}

/// What an event tells (reference 7.1).
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EventBody {
    /// The local id.
    #[schema(value_type = String, example = "mcp-task-0193a1b2c3d400112233445566778899")]
    task_id: TaskId,
    /// The name of its toolset, or of its tool.
    #[schema(value_type = String)]
    task_name: TaskName,
    /// Where the task stood when the event was made.
    status: TaskStatus,
    /// The server's result as it came: any JSON.
    result: Option<Value>,
    /// The beginning of a result that is too large to be kept whole.
    result_preview: Option<String>,
    result_truncated: bool,
    result_artifact: Option<ArtifactLink>,
    error: Option<String>,
    /// The server's question as it came: any JSON.
    input_required: Option<Value>,
    /// Whether its server has not answered for several polls.
    tracking_degraded: bool,
    /// Why not; only while degraded.
    last_poll_error: Option<String>,
}

impl ThreadEvent {
    /// An event of `thread`.
    pub(crate) fn new(thread: &ThreadId, told: DeliveredEvent) -> Self {
        Self {
            version: told.version,
            delivered_at: moment(told.delivered_at),
            text: framing::framed(thread, &told.event),
            event: told.event.into(),
        }
    }
}

impl From<Event> for EventBody {
    fn from(event: Event) -> Self {
        Self {
            task_id: event.task_id,
            task_name: event.task_name,
            status: event.status.into(),
            result: event.result,
            result_preview: event.result_preview,
            result_truncated: event.result_truncated,
            result_artifact: event.result_artifact.map(ArtifactLink::from),
            error: event.error,
            input_required: event.input_required,
            tracking_degraded: event.tracking_degraded,
            last_poll_error: event.last_poll_error,
        }
    }
}
