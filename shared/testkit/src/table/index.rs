//! The due index: sparse, sharded, ordered by due time, and as far behind the rows as it was told to be.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pudu_app::ports::{Clock, DueIndex, DuePage, Hint, ItemKey, SHARDS, StoreError, shards};
use pudu_domain::{Lane, Timestamp};

use super::FakeStore;
use crate::random::SeededRandom;
use crate::trace::Fnv;

/// An index row's place: partition (lane and shard), due time, and the item's address as the tie-breaker.
type Place = (Lane, u8, Timestamp, String);

/// Whose a change is, and the new row.
type Pending = (String, Option<(Lane, Hint)>);

/// How long a change may take to show.
pub(super) enum Lag {
    /// Each as long.
    Always(Duration),
    /// Each by chance, up to this: changes of different items overtake each other, as in an index with several replicas.
    UpTo(Duration, SeededRandom),
}

pub(super) struct Index {
    clock: Arc<dyn Clock>,
    lag: Lag,
    rows: BTreeMap<Place, Hint>,
    places: BTreeMap<String, Place>,
    /// Changes that the index does not show yet, by when they will show; of two at once the earlier first.
    pending: BTreeMap<(Timestamp, u64), Pending>,
    /// When the last change of an item shows: a later one never shows before it.
    shows: BTreeMap<String, Timestamp>,
    changes: u64,
}

impl Index {
    pub(super) fn new(clock: Arc<dyn Clock>, lag: Lag) -> Self {
        let (rows, places) = (BTreeMap::new(), BTreeMap::new());
        Self { clock, lag, rows, places, pending: BTreeMap::new(), shows: BTreeMap::new(), changes: 0 }
    }

    /// Moves an item to its new place, or out of the index.
    pub(super) fn put(&mut self, key: &ItemKey, hint: Option<(Lane, Hint)>) {
        let lag = match &self.lag {
            Lag::Always(lag) => *lag,
            Lag::UpTo(longest, random) => {
                let longest = u64::try_from(longest.as_millis()).unwrap_or(u64::MAX);
                random.millis(0..longest.saturating_add(1))
            }
        };
        let address = address(key);
        let before = self.shows.get(&address).copied().unwrap_or_default();
        let visible = before.max(self.clock.now() + lag);
        self.shows.insert(address.clone(), visible);
        self.changes += 1;
        self.pending.insert((visible, self.changes), (address, hint));
        self.catch_up();
    }

    fn catch_up(&mut self) {
        let now = self.clock.now();
        while self.pending.first_key_value().is_some_and(|((visible, _), _)| *visible <= now) {
            let Some((_, (address, hint))) = self.pending.pop_first() else { return };
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
        ItemKey::Run(run) => return format!("run#{}#{}#{}", run.thread.user, run.thread.thread, run.id),
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
