//! The events of a thread.

use async_trait::async_trait;
use aws_sdk_dynamodb::types::AttributeValue;
use pudu_app::ports::{DeliveredEvent, EventLog, StoreError};
use pudu_domain::ThreadKey;

use crate::condition::Expression;
use crate::item::event;
use crate::key::{EVENTS, thread_pk};
use crate::row::attr;
use crate::table::Table;

#[cfg(test)]
mod tests;

#[async_trait]
impl EventLog for Table {
    /// Reads every event of the thread: the keys are in the order of the tasks, so that a delivery can be conditioned on
    /// its own key, and the order of delivery is made here. Only the newest `limit` are held at a time. Rows that do not
    /// decode are left out and logged: one of them must not hide a thread's other events.
    async fn events(&self, thread: &ThreadKey, limit: usize) -> Result<Vec<DeliveredEvent>, StoreError> {
        let (mut events, mut start) = (Vec::<DeliveredEvent>::new(), None);
        loop {
            let condition = Expression::new("#pk = :pk AND begins_with(#sk, :events)")
                .names(&[attr::PK, attr::SK])
                .value(":pk", AttributeValue::S(thread_pk(thread)))
                .value(":events", AttributeValue::S(EVENTS.to_owned()));
            let output = self
                .query("events", condition, |query| {
                    query.consistent_read(true).set_exclusive_start_key(start.take())
                })
                .await?;
            let rows = output.items.unwrap_or_default();
            events.extend(rows.iter().filter_map(|row| event::decode(row).inspect_err(log_left_out).ok()));
            events.sort_by(|a, b| order(a).cmp(&order(b)));
            events.drain(..events.len().saturating_sub(limit));
            start = output.last_evaluated_key;
            if start.is_none() {
                return Ok(events);
            }
        }
    }
}

fn log_left_out(error: &StoreError) {
    tracing::error!(%error, "an event was left out of its thread's list");
}

fn order(event: &DeliveredEvent) -> impl Ord + '_ {
    (event.delivered_at, &event.event.task_id, event.version)
}
