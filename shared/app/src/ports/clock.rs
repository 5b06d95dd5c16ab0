//! Time, as a parameter.

use std::time::Duration;

use async_trait::async_trait;
use pudu_domain::Timestamp;

/// The wall clock of a worker. Clocks of different workers may differ by seconds; nothing is protected by them alone.
#[async_trait]
pub trait Clock: Send + Sync {
    /// The time now.
    fn now(&self) -> Timestamp;

    /// Waits.
    async fn sleep(&self, duration: Duration);
}
