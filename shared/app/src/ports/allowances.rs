//! How much each user may still call: one bucket per user, shared by all instances.

use async_trait::async_trait;
use pudu_domain::UserId;
use pudu_domain::bucket::Bucket;

use super::StoreError;

/// What an exchange came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Swapped {
    /// It was done.
    Done,
    /// The bucket was another one; this is it. So it is after an attempt whose answer was lost, even if that was done: whoever
    /// takes again then has paid twice, and never taken for nothing.
    Not(Bucket),
}

/// The buckets.
#[async_trait]
pub trait Allowances: Send + Sync {
    /// Puts `after` in the place of `before`: one conditional write and no read. All buckets that are full at the clock's time
    /// are one, and that of a user who is not known is full.
    async fn swap(&self, user: &UserId, before: Bucket, after: Bucket) -> Result<Swapped, StoreError>;
}
