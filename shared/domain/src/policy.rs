//! The numbers that an operator may change, with the reference's defaults (reference 1.8).

use std::time::Duration;

/// How long a server may leave a cancel unconfirmed.
pub const CANCEL_DEADLINE: Duration = Duration::from_mins(10);

/// How often to ask, how long to wait after failures, and how much to keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Pause between two polls when the server gives no hint. Default 5 s.
    pub poll_interval: Duration,
    /// Least pause while the server waits for input. Default 60 s.
    pub input_required_interval: Duration,
    /// Most pause after failures. Default 300 s.
    pub max_backoff: Duration,
    /// Failed polls in a row after which tracking counts as degraded. Default 3.
    pub degraded_after: u32,
    /// Largest result that is kept whole, in bytes of compact JSON. Default 65,536; at most 262,144.
    pub max_result_bytes: usize,
    /// Characters of a larger result that are kept. Default 2,000.
    pub result_preview_chars: usize,
    /// Failed deliveries after which a notification is dead. Default 5.
    pub notification_attempts: u32,
    /// How long what has ended is kept: a task with all its rows, a notification with its event. Default 30 days.
    pub retention: Duration,
    /// How long after a request to cancel the task ends as cancelled, also without the server's word. Default 10 min.
    pub cancel_deadline: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            poll_interval: Duration::from_secs(5),
            input_required_interval: Duration::from_mins(1),
            max_backoff: Duration::from_mins(5),
            degraded_after: 3,
            max_result_bytes: 65_536,
            result_preview_chars: 2000,
            notification_attempts: 5,
            retention: Duration::from_hours(30 * 24),
            cancel_deadline: CANCEL_DEADLINE,
        }
    }
}
