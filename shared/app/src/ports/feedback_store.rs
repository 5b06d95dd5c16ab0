//! What users think of runs, in the table.

use async_trait::async_trait;
use pudu_domain::feedback::Feedback;
use pudu_domain::{RunId, RunKey, ThreadKey, Timestamp};

use super::StoreError;

/// Feedback on runs. It goes with its thread, or when its time is over.
#[async_trait]
pub trait FeedbackStore: Send + Sync {
    /// Keeps it until `until` in the place of what was said of the run before, the last writer wins. Whether its thread is there: one
    /// that is gone or is being deleted takes nothing.
    async fn keep(&self, feedback: &Feedback, until: Timestamp) -> Result<bool, StoreError>;

    /// What is said of these runs of a thread, strongly consistent, in any order; nothing of one of which nothing is said. Runs are
    /// named once each.
    async fn of(&self, thread: &ThreadKey, runs: &[RunId]) -> Result<Vec<Feedback>, StoreError>;

    /// Takes it back. Nothing happens where nothing was said.
    async fn remove(&self, run: &RunKey) -> Result<(), StoreError>;
}
