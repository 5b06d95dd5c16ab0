//! What users think of runs, in the table.

use async_trait::async_trait;
use pudu_app::ports::{FeedbackStore, StoreError};
use pudu_domain::feedback::Feedback;
use pudu_domain::{RunId, RunKey, ThreadKey, Timestamp};

use crate::item::{feedback, thread};
use crate::key::Key;
use crate::retry::Answer;
use crate::table::Table;
use crate::write::{When, Write};

#[async_trait]
impl FeedbackStore for Table {
    async fn keep(&self, given: &Feedback, until: Timestamp) -> Result<bool, StoreError> {
        let writes = [
            Write::put(feedback::ITEM, feedback::encode(given, until), When::Always),
            thread::stands(&given.run.thread),
        ];
        // Done again it is the same row, so an answer that was lost is no matter.
        Ok(matches!(self.write("keep_feedback", &writes).await?, Answer::Done(())))
    }

    async fn of(&self, thread: &ThreadKey, runs: &[RunId]) -> Result<Vec<Feedback>, StoreError> {
        let key = |id: &RunId| Key::Feedback(RunKey { thread: thread.clone(), id: id.clone() });
        let keys: Vec<Key> = runs.iter().map(key).collect();
        let rows = self.batch("load_feedback", &keys, true).await?;
        rows.iter().map(feedback::decode).collect()
    }

    async fn remove(&self, run: &RunKey) -> Result<(), StoreError> {
        self.write("remove_feedback", &[Write::Delete(Key::Feedback(run.clone()))]).await.map(drop)
    }
}
