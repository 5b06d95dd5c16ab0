//! What is known of peers, in the fake table.

use async_trait::async_trait;
use pudu_app::ports::{Era, PeerStore, StoreError};

use super::FakeStore;

#[async_trait]
impl PeerStore for FakeStore {
    async fn recall(&self, key: &str) -> Result<Option<Era>, StoreError> {
        self.attempt("peers.recall", |rows, attempt| {
            let known = rows.peers.get(key).filter(|(_, until)| attempt.now < *until);
            Ok(known.map(|(era, _)| *era))
        })
        .await
    }

    async fn remember(&self, key: &str, era: Era) -> Result<(), StoreError> {
        self.attempt("peers.remember", |rows, attempt| {
            rows.peers.insert(key.to_owned(), (era, attempt.now + era.kept()));
            Ok(())
        })
        .await
    }

    async fn forget(&self, key: &str) -> Result<(), StoreError> {
        self.attempt("peers.forget", |rows, _| {
            rows.peers.remove(key);
            Ok(())
        })
        .await
    }
}
