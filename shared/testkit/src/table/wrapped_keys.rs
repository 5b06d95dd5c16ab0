//! The wrapped sealing key in the fake table.

use async_trait::async_trait;
use pudu_app::ports::{StoreError, WrappedKeys};

use super::FakeStore;

#[async_trait]
impl WrappedKeys for FakeStore {
    async fn get(&self) -> Result<Option<Vec<u8>>, StoreError> {
        self.attempt("wrapped_keys.get", |rows, _| Ok(rows.wrapped_key.clone())).await
    }

    /// A repeated attempt finds its own key: whoever won, what is kept is the answer.
    async fn put_if_absent(&self, wrapped: Vec<u8>) -> Result<Vec<u8>, StoreError> {
        self.attempt("wrapped_keys.put_if_absent", |rows, _| {
            Ok(rows.wrapped_key.get_or_insert_with(|| wrapped.clone()).clone())
        })
        .await
    }
}
