//! The events of a thread.

use std::collections::HashMap;

use async_trait::async_trait;
use aws_sdk_dynamodb::types::AttributeValue;
use pudu_app::ports::{DeliveredEvent, EventLog, NoteKey, StoreError};
use pudu_domain::{Event, ThreadKey};

use crate::condition::Expression;
use crate::item::event::{self, Marker};
use crate::item::news;
use crate::key::{EVENTS, Key, thread_pk};
use crate::row::attr;
use crate::table::Table;

#[cfg(test)]
mod tests;

#[async_trait]
impl EventLog for Table {
    /// Reads every marker of the thread: their keys are in the order of the tasks, so that a delivery can be conditioned on
    /// its own key, and the order of delivery is made here. Only the newest `limit` are held at a time, and only their events
    /// are read. Rows that do not decode are left out and logged: one of them must not hide a thread's other events.
    async fn events(&self, thread: &ThreadKey, limit: usize) -> Result<Vec<DeliveredEvent>, StoreError> {
        let markers = self.markers(thread, limit).await?;
        let mut bodies = self.bodies(&markers).await?;
        let shown = markers.into_iter().filter_map(|Marker { key, delivered_at, carried }| {
            let event = carried.or_else(|| bodies.remove(&key));
            if event.is_none() {
                let key = Key::Event(key.clone()).to_string();
                tracing::error!(
                    store.key = key,
                    "an event was left out of its thread's list: its body is missing"
                );
            }
            Some(DeliveredEvent { version: key.version, delivered_at, event: event? })
        });
        Ok(shown.collect())
    }
}

impl Table {
    /// The newest `limit` markers, in the order of delivery.
    async fn markers(&self, thread: &ThreadKey, limit: usize) -> Result<Vec<Marker>, StoreError> {
        let (mut markers, mut start) = (Vec::<Marker>::new(), None);
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
            markers.extend(rows.iter().filter_map(|row| event::decode(row).inspect_err(log_left_out).ok()));
            markers.sort_by(|a, b| order(a).cmp(&order(b)));
            markers.drain(..markers.len().saturating_sub(limit));
            start = output.last_evaluated_key;
            if start.is_none() {
                return Ok(markers);
            }
        }
    }

    /// The events of those that do not carry theirs.
    async fn bodies(&self, markers: &[Marker]) -> Result<HashMap<NoteKey, Event>, StoreError> {
        let apart = markers.iter().filter(|marker| marker.carried.is_none());
        let keys: Vec<Key> = apart.map(|marker| Key::Body(marker.key.clone())).collect();
        let rows = self.batch("event_bodies", &keys, true).await?;
        Ok(rows.iter().filter_map(|row| news::decode(row).inspect_err(log_left_out).ok()).collect())
    }
}

fn log_left_out(error: &StoreError) {
    tracing::error!(%error, "an event was left out of its thread's list");
}

fn order(marker: &Marker) -> impl Ord + '_ {
    (marker.delivered_at, &marker.key)
}
