//! What a remote server said about a task, in our terms: the only thing a driver hands to the state machine.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Where a task stands, as callers see it (reference 6.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
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

impl Status {
    /// Every status, for table tests.
    pub const ALL: [Self; 6] =
        [Self::Submitted, Self::Working, Self::InputRequired, Self::Completed, Self::Failed, Self::Cancelled];

    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Submitted => "submitted",
            Self::Working => "working",
            Self::InputRequired => "input_required",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether nothing follows.
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// A result that stays at the server: where it is, and what it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// Where to fetch it.
    pub uri: String,
    /// Its media type.
    pub mime_type: String,
}

/// One answer of a server about one task.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// Where the task stands.
    pub status: Status,
    /// Its result, any JSON.
    pub result: Option<Value>,
    /// A result kept at the server.
    pub artifact: Option<Artifact>,
    /// What went wrong, in the server's words.
    pub error: Option<String>,
    /// The question, when the server waits for input.
    pub input_required: Option<Value>,
    /// How long the server asks us to wait before the next poll.
    pub poll_after: Option<Duration>,
}

impl Snapshot {
    /// A snapshot with a status and nothing else.
    pub const fn bare(status: Status) -> Self {
        Self { status, result: None, artifact: None, error: None, input_required: None, poll_after: None }
    }
}

/// A hint that is not a finite positive number of seconds (vector 69).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("poll_after_seconds must be a finite positive number")]
pub struct InvalidHint;

/// Reads a poll hint in seconds. Values past what a duration holds saturate; the schedule caps them anyway.
pub fn poll_hint(seconds: f64) -> Result<Duration, InvalidHint> {
    if !seconds.is_finite() || seconds <= 0.0 {
        return Err(InvalidHint);
    }
    Ok(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Vector 69, and `1e20` of vector 68.
    #[test]
    fn hints_must_be_finite_and_positive() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(poll_hint(bad), Err(InvalidHint));
        }
        assert_eq!(
            poll_hint(1e20),
            Ok(Duration::from_secs_f64(1e19).max(Duration::MAX)).map(|_| poll_hint(1e20).unwrap())
        );
        assert_eq!(poll_hint(0.25), Ok(Duration::from_millis(250)));
    }
}
