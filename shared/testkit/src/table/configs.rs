//! The config's revisions in the fake table.

use async_trait::async_trait;
use pudu_app::ports::{ConfigStore, Moved, Revision, StoreError};

use super::FakeStore;

#[async_trait]
impl ConfigStore for FakeStore {
    async fn pointer(&self) -> Result<Option<u64>, StoreError> {
        self.attempt("config.pointer", |rows, _| Ok(rows.pointer)).await
    }

    async fn revision(&self, number: u64) -> Result<Option<Revision>, StoreError> {
        self.attempt("config.revision", |rows, _| Ok(rows.revisions.get(&number).cloned())).await
    }

    async fn append(&self, revision: &Revision) -> Result<Moved, StoreError> {
        self.attempt("config.append", |rows, attempt| {
            if rows.pointer.unwrap_or(0) + 1 != revision.number {
                let mine = attempt.retried && rows.revisions.get(&revision.number) == Some(revision);
                return Ok(if mine { Moved::Done } else { Moved::Conflict });
            }
            rows.revisions.insert(revision.number, revision.clone());
            rows.pointer = Some(revision.number);
            Ok(Moved::Done)
        })
        .await
    }
}
