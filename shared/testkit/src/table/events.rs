//! Delivered events in the fake table.

use async_trait::async_trait;
use pudu_app::ports::{DeliveredEvent, EventLog, NoteKey, StoreError};
use pudu_domain::{Event, ThreadKey, Timestamp};

use super::FakeStore;
use super::rows::Rows;

/// That an event shows in its thread.
#[derive(Debug, Clone)]
pub(super) struct Marker {
    pub(super) key: NoteKey,
    pub(super) delivered_at: Timestamp,
    /// The event, where its note carried it.
    pub(super) carried: Option<Event>,
    pub(super) expires: Option<Timestamp>,
}

/// What a note tells.
#[derive(Debug, Clone)]
pub(super) struct Body {
    pub(super) event: Event,
    pub(super) expires: Option<Timestamp>,
}

/// Whether a row can still be read at `now`; without a time everything that was ever written can.
pub(super) fn is_kept(expires: Option<Timestamp>, now: Option<Timestamp>) -> bool {
    expires.is_none_or(|at| now.is_none_or(|now| now <= at))
}

impl Rows {
    /// What shows in a thread, in the order of delivery.
    pub(super) fn shown(&self, thread: &ThreadKey, now: Option<Timestamp>) -> Vec<DeliveredEvent> {
        let markers = self.events.get(thread).map(Vec::as_slice).unwrap_or_default();
        let kept = markers.iter().filter(|marker| is_kept(marker.expires, now));
        let shown = kept.filter_map(|marker| {
            let body = self.bodies.get(&marker.key).filter(|body| is_kept(body.expires, now));
            let event = marker.carried.as_ref().or(body.map(|body| &body.event))?.clone();
            Some(DeliveredEvent { version: marker.key.version, delivered_at: marker.delivered_at, event })
        });
        shown.collect()
    }
}

#[async_trait]
impl EventLog for FakeStore {
    async fn events(&self, thread: &ThreadKey, limit: usize) -> Result<Vec<DeliveredEvent>, StoreError> {
        self.attempt("events.events", |rows, attempt| {
            let mut all = rows.shown(thread, Some(attempt.now));
            all.drain(..all.len().saturating_sub(limit));
            Ok(all)
        })
        .await
    }
}
