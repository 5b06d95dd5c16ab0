//! The config's revisions in the fake table.

use async_trait::async_trait;
use pudu_app::ports::{ConfigStore, Made, Moved, Revision, StoreError};

use super::FakeStore;

#[async_trait]
impl ConfigStore for FakeStore {
    async fn pointer(&self) -> Result<Option<u64>, StoreError> {
        self.attempt("config.pointer", |rows, _| Ok(rows.pointer)).await
    }

    async fn revision(&self, number: u64) -> Result<Option<Revision>, StoreError> {
        self.attempt("config.revision", |rows, _| Ok(rows.revisions.get(&number).cloned())).await
    }

    async fn history(&self, limit: usize, before: Option<u64>) -> Result<Vec<Made>, StoreError> {
        self.attempt("config.history", |rows, _| {
            let below = rows.revisions.range(..before.unwrap_or(u64::MAX)).rev();
            Ok(below.take(limit).map(|(_, revision)| revision.made.clone()).collect())
        })
        .await
    }

    async fn append(&self, revision: &Revision) -> Result<Moved, StoreError> {
        self.attempt("config.append", |rows, attempt| {
            if rows.pointer.unwrap_or(0) + 1 != revision.made.number {
                let mine = attempt.retried && rows.revisions.get(&revision.made.number) == Some(revision);
                return Ok(if mine { Moved::Done } else { Moved::Conflict });
            }
            rows.revisions.insert(revision.made.number, revision.clone());
            rows.pointer = Some(revision.made.number);
            Ok(Moved::Done)
        })
        .await
    }
}
