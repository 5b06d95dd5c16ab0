//! What users think of runs: given, changed, taken back, and shown beside what the run said last (agent reference 2.2).

use std::collections::BTreeMap;
use std::sync::Arc;

use pudu_domain::feedback::{COMMENT_BYTES, Feedback, Rating};
use pudu_domain::run::Notice;
use pudu_domain::{RunId, RunKey, ThreadKey};

use super::{Runs, place, position};
use crate::ports::{FeedbackStore, Record, RecordQuery, StoreError};

/// Of records: what a model answered.
const ANSWER: &str = "llm.ai.response";

/// Keeps feedback on runs and shows it.
#[derive(Clone)]
pub struct Feedbacks {
    /// Where it is.
    pub store: Arc<dyn FeedbackStore>,
    /// The runs.
    pub runs: Runs,
}

/// What somebody thinks of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opinion {
    /// Whether it was any good.
    pub rating: Rating,
    /// In words.
    pub comment: Option<String>,
    /// On which of its messages, if on one.
    pub message: Option<String>,
}

/// Feedback that was not taken.
#[derive(Debug, thiserror::Error)]
pub enum FeedbackError {
    /// The table failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no such run, or its thread is being deleted.
    #[error("this thread has no such run")]
    NoRun,
    /// More words than a row takes.
    #[error("a comment, and the id of a message, have at most {COMMENT_BYTES} bytes each")]
    Long,
}

impl Feedbacks {
    /// Keeps what somebody thinks of a run in the place of what he thought before.
    pub async fn give(&self, run: &RunKey, opinion: Opinion) -> Result<Feedback, FeedbackError> {
        let Opinion { rating, comment, message } = opinion;
        if [&comment, &message].into_iter().flatten().any(|text| text.len() > COMMENT_BYTES) {
            return Err(FeedbackError::Long);
        }
        self.runs.store.load(run).await?.ok_or(FeedbackError::NoRun)?;
        let given = Feedback { run: run.clone(), rating, comment, message, at: self.runs.clock.now() };
        // As long as a run that ends now, so that nothing of it is left when all of the run has gone.
        let until = given.at + self.runs.policy.retention;
        let stands = self.store.keep(&given, until).await?;
        if stands { Ok(given) } else { Err(FeedbackError::NoRun) }
    }

    /// What is thought of a run. It may be there a little longer than the run.
    pub async fn of(&self, run: &RunKey) -> Result<Option<Feedback>, FeedbackError> {
        let found = self.given(run).await?;
        if found.is_none() {
            self.runs.store.load(run).await?.ok_or(FeedbackError::NoRun)?;
        }
        Ok(found)
    }

    /// Takes it back, and says whether there was any: also of a run that has gone.
    pub async fn take_back(&self, run: &RunKey) -> Result<bool, StoreError> {
        let was = self.given(run).await?.is_some();
        if was {
            self.store.remove(run).await?;
        }
        Ok(was)
    }

    async fn given(&self, run: &RunKey) -> Result<Option<Feedback>, StoreError> {
        let found = self.store.of(&run.thread, std::slice::from_ref(&run.id)).await?;
        Ok(found.into_iter().next())
    }

    /// What is thought of the runs of these records, by the place of the record that shows it: the last answer of its run. `records`
    /// follow each other without a gap; whether there may be later ones is `open`.
    pub async fn beside(
        &self,
        thread: &ThreadKey,
        records: &[Record],
        open: bool,
    ) -> Result<BTreeMap<u64, Feedback>, StoreError> {
        let mut last: BTreeMap<RunId, &Record> = BTreeMap::new();
        for record in records.iter().filter(|record| is_answer(record)) {
            let before = last.entry(record.run.id.clone()).or_insert(record);
            if position(before) < position(record) {
                *before = record;
            }
        }
        // Only the newest run of them can have answered since.
        let newest = records.iter().max_by_key(|record| position(record)).filter(|_| open);
        if let Some(newest) = newest
            && let Some(answer) = last.get(&newest.run.id)
            && self.has_later_answer(thread, answer).await?
        {
            last.remove(&newest.run.id);
        }
        let runs: Vec<RunId> = last.keys().cloned().collect();
        let found = self.store.of(thread, &runs).await?.into_iter();
        let placed = found.filter_map(|given| Some((position(last.get(&given.run.id)?), given)));
        Ok(placed.collect())
    }

    async fn has_later_answer(&self, thread: &ThreadKey, answer: &Record) -> Result<bool, StoreError> {
        let query = RecordQuery {
            ordinal: Some(answer.ordinal),
            after: Some(place(position(answer))),
            limit: 1,
            ..RecordQuery::default()
        };
        let (later, _) = self.runs.records(thread, &query, is_answer).await?;
        Ok(!later.is_empty())
    }
}

fn is_answer(record: &Record) -> bool {
    matches!(&record.notice, Notice::Record { event_type, .. } if event_type == ANSWER)
}
