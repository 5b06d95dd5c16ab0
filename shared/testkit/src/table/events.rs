//! Delivered events in the fake table.

use async_trait::async_trait;
use pudu_app::ports::{DeliveredEvent, EventLog, StoreError};
use pudu_domain::ThreadKey;

use super::FakeStore;

#[async_trait]
impl EventLog for FakeStore {
    async fn events(&self, thread: &ThreadKey, limit: usize) -> Result<Vec<DeliveredEvent>, StoreError> {
        self.attempt("events.events", |rows, _| {
            let all = rows.events.get(thread).map(Vec::as_slice).unwrap_or_default();
            Ok(all.iter().skip(all.len().saturating_sub(limit)).cloned().collect())
        })
        .await
    }
}
