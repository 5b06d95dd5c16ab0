//! The buckets of users, in the fake table.

use async_trait::async_trait;
use pudu_app::ports::{Allowances, StoreError, Swapped};
use pudu_domain::UserId;
use pudu_domain::bucket::Bucket;

use super::FakeStore;

#[async_trait]
impl Allowances for FakeStore {
    async fn swap(&self, user: &UserId, before: Bucket, after: Bucket) -> Result<Swapped, StoreError> {
        self.attempt("allowances.swap", |rows, attempt| {
            let there = rows.buckets.get(user).copied().unwrap_or_default();
            if there != before && !(there.is_full(attempt.now) && before.is_full(attempt.now)) {
                return Ok(Swapped::Not(there));
            }
            rows.buckets.insert(user.clone(), after);
            Ok(Swapped::Done)
        })
        .await
    }
}
