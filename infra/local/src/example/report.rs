//! A report: what was ordered and when. Pure: its state is computed from the record and a moment, never stored.

use std::time::Duration;

use pudu_domain::Timestamp;
use serde::{Deserialize, Serialize};

/// What a submit asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// The title, shown in the result.
    pub title: String,
    /// Time of work, without the wait for an answer.
    pub duration: Duration,
    /// How it fails at its end, if it does.
    pub failure: Option<String>,
    /// What it asks at half of its work, if it does.
    pub question: Option<Question>,
    /// The hint given with each unfinished status, in seconds.
    pub poll_after_seconds: Option<f64>,
    /// How long each answer about its status is held back.
    #[serde(default)]
    pub status_delay: Duration,
}

/// A question that the report waits with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The question.
    pub text: String,
    /// How long it waits before it goes on by itself.
    pub answer_after: Duration,
}

/// One report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Its id, which the client knows as the task id.
    pub id: String,
    /// What was asked for.
    pub order: Order,
    /// When it was taken.
    pub submitted_at: Timestamp,
    /// When it was cancelled: only ever set while it was unfinished.
    pub cancelled_at: Option<Timestamp>,
    /// The answer to its question: only ever set while it waited for one.
    #[serde(default)]
    pub answer: Option<Answer>,
}

/// An answer to a report's question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// What was said.
    pub text: String,
    /// When: from here on the report works again.
    pub at: Timestamp,
}

/// What a report is doing at some moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// At work.
    Running,
    /// Waiting with its question.
    InputRequired,
    /// Done.
    Completed,
    /// Ended as [`Order::failure`] says.
    Failed,
    /// Ended by a cancel.
    Cancelled,
}

impl State {
    /// Whether it will never change again.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    /// The word on the wire (reference 6.10).
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::InputRequired => "input_required",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

impl Report {
    /// A report taken at `now`. The id is 128 random bits, so that no client meets another's report by counting, not
    /// even after the state file was thrown away.
    pub(super) fn new(random: [u8; 16], order: Order, now: Timestamp) -> Self {
        let id = format!("report-{:032x}", u128::from_be_bytes(random));
        Self { id, order, submitted_at: now, cancelled_at: None, answer: None }
    }

    /// Its state at `now`. A clock that was set back shows an earlier state, never an error.
    pub fn state(&self, now: Timestamp) -> State {
        if self.cancelled_at.is_some() {
            return State::Cancelled;
        }
        let elapsed = now.since(self.submitted_at);
        let asks_at = self.order.duration / 2;
        let waiting = match (&self.order.question, &self.answer) {
            (None, _) => Duration::ZERO,
            (Some(question), None) => question.answer_after,
            (Some(_), Some(answer)) => answer.at.since(self.submitted_at + asks_at),
        };
        if elapsed >= self.order.duration.saturating_add(waiting) {
            if self.order.failure.is_some() { State::Failed } else { State::Completed }
        } else if elapsed >= asks_at && elapsed < asks_at.saturating_add(waiting) {
            State::InputRequired
        } else {
            State::Running
        }
    }
}
