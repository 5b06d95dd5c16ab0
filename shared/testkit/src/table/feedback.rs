//! What users think of runs, in the fake table.

use async_trait::async_trait;
use pudu_app::ports::{FeedbackStore, StoreError};
use pudu_domain::feedback::Feedback;
use pudu_domain::{RunId, RunKey, ThreadKey, Timestamp};

use super::events::is_kept;
use super::{FakeStore, Flaw};

#[async_trait]
impl FeedbackStore for FakeStore {
    async fn keep(&self, feedback: &Feedback, until: Timestamp) -> Result<bool, StoreError> {
        self.attempt("feedback.keep", |rows, _| {
            let thread = rows.threads.get(&feedback.run.thread);
            let stands = thread.is_some_and(|thread| !thread.is_going()) || rows.has(Flaw::OutlivesThreads);
            if stands {
                rows.feedback.insert(feedback.run.clone(), (feedback.clone(), until));
            }
            Ok(stands)
        })
        .await
    }

    async fn of(&self, thread: &ThreadKey, runs: &[RunId]) -> Result<Vec<Feedback>, StoreError> {
        self.attempt("feedback.of", |rows, attempt| {
            let key = |id: &RunId| RunKey { thread: thread.clone(), id: id.clone() };
            let found = runs.iter().filter_map(|id| rows.feedback.get(&key(id)));
            let kept = found.filter(|(_, until)| is_kept(Some(*until), Some(attempt.now)));
            Ok(kept.map(|(feedback, _)| feedback.clone()).collect())
        })
        .await
    }

    async fn remove(&self, run: &RunKey) -> Result<(), StoreError> {
        self.attempt("feedback.remove", |rows, _| {
            rows.feedback.remove(run);
            Ok(())
        })
        .await
    }
}
