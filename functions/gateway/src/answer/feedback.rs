//! What a user thinks of a run, as callers see it (agent reference 2.2).

use pudu_domain::feedback::Feedback;
use serde::Serialize;
use utoipa::ToSchema;

use super::{RunRecord, moment};

/// The feedback on a run.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FeedbackRow {
    /// That of its run: there is one of each.
    feedback_id: String,
    run_id: String,
    thread_id: String,
    user_id: String,
    /// On which of its messages, if on one.
    message_id: Option<String>,
    /// 1 (good) or -1.
    rating: i64,
    comment: Option<String>,
    /// When it was given, or given anew.
    #[schema(format = DateTime)]
    created_at: String,
}

/// How much feedback there is on a run.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FeedbackStats {
    run_id: String,
    /// 0 or 1.
    total: u32,
    positive: u32,
    negative: u32,
}

/// The feedback that stands beside a message.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FeedbackNote {
    feedback_id: String,
    /// 1 (good) or -1.
    rating: i64,
    comment: Option<String>,
}

/// A message of a thread's history.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MessageRecord {
    #[serde(flatten)]
    record: RunRecord,
    /// What its user thinks of the run, beside the run's last answer.
    feedback: Option<FeedbackNote>,
}

impl FeedbackStats {
    pub(crate) fn new(run_id: String, given: Option<&Feedback>) -> Self {
        let count = |number: i64| u32::from(given.is_some_and(|given| given.rating.number() == number));
        Self { run_id, total: u32::from(given.is_some()), positive: count(1), negative: count(-1) }
    }
}

impl From<Feedback> for FeedbackRow {
    fn from(given: Feedback) -> Self {
        Self {
            feedback_id: given.run.id.to_string(),
            run_id: given.run.id.to_string(),
            thread_id: given.run.thread.thread.to_string(),
            user_id: given.run.thread.user.to_string(),
            message_id: given.message,
            rating: given.rating.number(),
            comment: given.comment,
            created_at: moment(given.at),
        }
    }
}

impl MessageRecord {
    pub(crate) fn new(record: RunRecord, given: Option<Feedback>) -> Self {
        let feedback = given.map(|given| FeedbackNote {
            feedback_id: given.run.id.to_string(),
            rating: given.rating.number(),
            comment: given.comment,
        });
        Self { record, feedback }
    }

    pub(crate) const fn seq(&self) -> u64 {
        self.record.seq()
    }
}
