//! What was delivered to a thread.

use async_trait::async_trait;
use pudu_domain::{Event, ThreadKey, Timestamp};
use serde::{Deserialize, Serialize};

use super::StoreError;

/// An event as its thread has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeliveredEvent {
    /// Which version of the task's event.
    pub version: u32,
    /// When it was delivered.
    pub delivered_at: Timestamp,
    /// What it tells.
    pub event: Event,
}

/// The events of a thread; only a note's commit shows one.
#[async_trait]
pub trait EventLog: Send + Sync {
    /// The events of the thread, in the order of their delivery, the newest `limit` of them. One that is not kept any more
    /// is left out.
    async fn events(&self, thread: &ThreadKey, limit: usize) -> Result<Vec<DeliveredEvent>, StoreError>;
}
