//! The buckets of users: a row each, exchanged by one conditional put.

use async_trait::async_trait;
use pudu_app::ports::{Allowances, StoreError, Swapped};
use pudu_domain::UserId;
use pudu_domain::bucket::Bucket;

use crate::item::bucket;
use crate::key::Key;
use crate::retry::Answer;
use crate::table::Table;
use crate::write::{When, Write};

#[async_trait]
impl Allowances for Table {
    async fn swap(&self, user: &UserId, before: Bucket, after: Bucket) -> Result<Swapped, StoreError> {
        let row = bucket::encode(&Key::Bucket(user.clone()), after);
        let put = [Write::put(bucket::ITEM, row, When::Bucket(before))];
        match self.write("swap_bucket", &put).await? {
            Answer::Done(()) => Ok(Swapped::Done),
            // The old image, whether or not its time is over; without one the bucket is full.
            Answer::Failed(failed) => {
                failed.row(0).map_or(Ok(Bucket::default()), bucket::decode).map(Swapped::Not)
            }
        }
    }
}
