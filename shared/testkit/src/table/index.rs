//! The due index: sparse, sharded, ordered by due time, and as far behind the rows as it was told to be.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pudu_app::ports::{Clock, DueIndex, DuePage, Hint, ItemKey, SHARDS, StoreError, shards};
use pudu_domain::{Lane, Timestamp};

use super::FakeStore;
use crate::trace::Fnv;

/// An index row's place: partition (lane and shard), due time, and the item's address as the tie-breaker.
type Place = (Lane, u8, Timestamp, String);

/// From when on a change shows, whose it is, and the new row.
type Pending = (Timestamp, String, Option<(Lane, Hint)>);

pub(super) struct Index {
    clock: Arc<dyn Clock>,
    lag: Duration,
    rows: BTreeMap<Place, Hint>,
    places: BTreeMap<String, Place>,
    /// Changes that the index does not show yet.
    pending: VecDeque<Pending>,
}

impl Index {
    pub(super) fn new(clock: Arc<dyn Clock>, lag: Duration) -> Self {
        Self { clock, lag, rows: BTreeMap::new(), places: BTreeMap::new(), pending: VecDeque::new() }
    }

    /// Moves an item to its new place, or out of the index.
    pub(super) fn put(&mut self, key: &ItemKey, hint: Option<(Lane, Hint)>) {
        self.pending.push_back((self.clock.now() + self.lag, address(key), hint));
        self.catch_up();
    }

    fn catch_up(&mut self) {
        let now = self.clock.now();
        while self.pending.front().is_some_and(|(visible, ..)| *visible <= now) {
            let Some((_, address, hint)) = self.pending.pop_front() else { return };
            if let Some(place) = self.places.remove(&address) {
                self.rows.remove(&place);
            }
            if let Some((lane, hint)) = hint {
                let place = (lane, shard(&address) % shards(lane), hint.due_at, address.clone());
                self.places.insert(address, place.clone());
                self.rows.insert(place, hint);
            }
        }
    }

    fn page(
        &mut self,
        lane: Lane,
        shard: u8,
        until: Timestamp,
        limit: usize,
        after: Option<Cursor>,
    ) -> DuePage {
        self.catch_up();
        let first = match after {
            None => Bound::Included((lane, shard, Timestamp::default(), String::new())),
            Some(Cursor { at, address }) => Bound::Excluded((lane, shard, at, address)),
        };
        let mut page = DuePage::default();
        let mut last = None;
        for (place, hint) in self.rows.range((first, Bound::Unbounded)) {
            if (place.0, place.1) != (lane, shard) || place.2 > until {
                break;
            }
            if page.hints.len() == limit {
                page.next = last;
                break;
            }
            last = Some(format!("{}|{}", place.2.as_millis(), place.3));
            page.hints.push(hint.clone());
        }
        page
    }
}

struct Cursor {
    at: Timestamp,
    address: String,
}

fn address(key: &ItemKey) -> String {
    let (kind, task, version) = match key {
        ItemKey::Task(task) => ("task", task, 0),
        ItemKey::Note(note) => ("note", &note.task, note.version),
        ItemKey::Thread(thread) => return format!("thread#{}#{}", thread.user, thread.thread),
    };
    format!("{kind}#{}#{}#{}#{version:08}", task.thread.user, task.thread.thread, task.id)
}

fn shard(address: &str) -> u8 {
    let mut hash = Fnv::default();
    // Writing to a hash cannot fail.
    let _ = hash.write_str(address);
    u8::try_from(hash.0 % u64::from(SHARDS)).unwrap_or(0)
}

#[async_trait]
impl DueIndex for FakeStore {
    async fn due(
        &self,
        lane: Lane,
        shard: u8,
        until: Timestamp,
        limit: usize,
        after: Option<&str>,
    ) -> Result<DuePage, StoreError> {
        self.attempt("due.due", |rows, _| {
            let after = after.map(parse).transpose()?;
            Ok(rows.index.page(lane, shard, until, limit, after))
        })
        .await
    }
}

fn parse(cursor: &str) -> Result<Cursor, StoreError> {
    let parts = cursor.split_once('|').and_then(|(at, address)| Some((at.parse().ok()?, address.to_owned())));
    let (at, address) = parts.ok_or_else(|| StoreError::Refused {
        operation: "due.due",
        source: "not a cursor of this index".into(),
    })?;
    Ok(Cursor { at: Timestamp::from_millis(at), address })
}
