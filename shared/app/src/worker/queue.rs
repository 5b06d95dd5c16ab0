//! Items that wait in this process only, for their time or for a permit: nothing here is claimed yet.
//!
//! Pure. One server can neither fill the queue nor take all permits, so a slow server delays nobody else's items. What is due
//! later is kept up to a bound, the earliest first, so that it is known when its time comes without looking again.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use pudu_domain::{Due, Lane, ServerTag, Timestamp};

use crate::limits::Limits;
use crate::ports::{Hint, ItemKey, Wake};

/// Items of one server that wait for a permit; more stay in the index.
const PER_SERVER: usize = 512;
/// Items that wait for a permit in all.
const TOTAL: usize = 4096;
/// Items that wait for their time; later ones stay in the index.
const LATER: usize = 8192;
/// How long an index row is ignored that leads to a claim which was made or refused before: the index is at most that much
/// behind, or somebody else works on the item.
const STALE_FOR: Duration = Duration::from_secs(5);

/// An item with the lane that it waits in. Ordered as it is taken: the more urgent lane, then the earlier due time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Found {
    /// The lane's place among those that the worker serves.
    rank: usize,
    due_at: Timestamp,
    key: ItemKey,
    pub(super) lane: Lane,
    server: Option<ServerTag>,
}

/// An item in a lane: as such it is known or not, since it may come back in another one while it is worked on.
type Place = (Lane, ItemKey);

/// What waits and what runs.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// Due, by the server whose permit is needed.
    waiting: BTreeMap<Option<ServerTag>, BTreeSet<Found>>,
    /// Not due yet: an item is due once, so the newest that is known of it stands.
    later: BTreeMap<ItemKey, Found>,
    /// The same by time.
    calendar: BTreeSet<(Timestamp, ItemKey)>,
    /// What waits for a permit or runs, so that a second look does not bring it again.
    known: BTreeSet<Place>,
    /// Running, by server.
    running: BTreeMap<Option<ServerTag>, usize>,
    /// Up to which due time a place's rows in the index are ignored, and until when.
    stale: BTreeMap<Place, (Timestamp, Timestamp)>,
    /// Whose items were left in the index since the last look, because enough of theirs wait.
    turned_away: BTreeSet<Option<ServerTag>>,
    /// The earliest item that was left in the index because too many wait for their time.
    forgotten: Option<Timestamp>,
    /// Whether the last look ended early because too much waits.
    cut: bool,
    waiting_count: usize,
    running_count: usize,
}

impl Found {
    /// The hint that was found in the worker's lane number `rank`.
    pub(super) fn new(rank: usize, lane: Lane, hint: Hint) -> Self {
        Self { rank, due_at: hint.due_at, key: hint.key, lane, server: hint.server }
    }

    /// The item that somebody was woken for.
    pub(super) fn woken(rank: usize, wake: Wake) -> Self {
        Self { rank, due_at: wake.due_at, key: wake.item, lane: wake.lane, server: wake.server }
    }

    /// The same item when it is due next.
    pub(super) fn next(&self, rank: usize, due: Due) -> Self {
        Self { rank, due_at: due.at, lane: due.lane, ..self.clone() }
    }

    /// Which item.
    pub(super) const fn key(&self) -> &ItemKey {
        &self.key
    }

    fn place(&self) -> Place {
        (self.lane, self.key.clone())
    }

    /// Whose permit it needs; none for an item that calls no server.
    fn permit(&self) -> Option<ServerTag> {
        // Recovering an intent calls nobody: a server that hangs must not hold up the news that it hung.
        self.server.clone().filter(|_| self.lane != Lane::Intent)
    }
}

impl Queue {
    /// Whether nothing waits for a permit.
    pub(super) const fn is_empty(&self) -> bool {
        self.waiting_count == 0
    }

    /// Whether no more may wait for a permit.
    pub(super) const fn is_full(&self) -> bool {
        self.waiting_count >= TOTAL
    }

    /// When the earliest item is due that waits for its time.
    pub(super) fn nearest(&self) -> Option<Timestamp> {
        self.calendar.first().map(|(at, _)| *at)
    }

    /// When something is due that only the index has.
    pub(super) const fn forgotten(&self) -> Option<Timestamp> {
        self.forgotten
    }

    /// Whether something due was left in the index for which there is room now.
    pub(super) fn is_hungry(&self, limits: &Limits) -> bool {
        let room = |permit: &Option<ServerTag>| {
            let line = self.waiting.get(permit).map_or(0, BTreeSet::len);
            line <= permit.as_ref().map_or(limits.at_once, |_| limits.at_once_per_server)
        };
        (self.cut && self.waiting_count <= TOTAL / 2) || self.turned_away.iter().any(room)
    }

    /// Before a look through the index: what was left there will be seen again.
    pub(super) fn look_again(&mut self, now: Timestamp) {
        self.stale.retain(|_, (_, until)| now < *until);
        self.turned_away.clear();
        self.forgotten = None;
        self.cut = false;
    }

    /// The look ended early.
    pub(super) const fn cut_short(&mut self) {
        self.cut = true;
    }

    /// Takes an item in, unless it is known, was worked on or refused a moment ago, or there is enough of its kind.
    pub(super) fn offer(&mut self, found: Found, now: Timestamp) -> bool {
        let ignored = |(before, until): &(Timestamp, Timestamp)| now < *until && found.due_at <= *before;
        let place = found.place();
        if self.stale.get(&place).is_some_and(ignored) || self.known.contains(&place) {
            return false;
        }
        if found.due_at > now {
            return self.keep(found);
        }
        let permit = found.permit();
        let line = self.waiting.entry(permit.clone()).or_default();
        if self.waiting_count >= TOTAL || line.len() >= PER_SERVER {
            if line.is_empty() {
                self.waiting.remove(&permit);
            }
            self.turned_away.insert(permit);
            return false;
        }
        line.insert(found);
        self.known.insert(place);
        self.waiting_count += 1;
        true
    }

    /// Moves what has become due to those that wait for a permit.
    pub(super) fn ripen(&mut self, now: Timestamp) {
        while let Some((at, key)) = self.calendar.first().cloned().filter(|(at, _)| *at <= now) {
            self.calendar.remove(&(at, key.clone()));
            if let Some(found) = self.later.remove(&key) {
                self.offer(found, now);
            }
        }
    }

    /// Forgets when an item is due: that has changed.
    pub(super) fn forget(&mut self, key: &ItemKey) {
        if let Some(found) = self.later.remove(key) {
            self.calendar.remove(&(found.due_at, found.key));
        }
    }

    /// Forgets everything that is not due yet: somebody else sees to it.
    pub(super) fn forget_later(&mut self) {
        self.later.clear();
        self.calendar.clear();
    }

    fn keep(&mut self, found: Found) -> bool {
        self.forget(&found.key);
        self.calendar.insert((found.due_at, found.key.clone()));
        self.later.insert(found.key.clone(), found);
        if self.later.len() > LATER
            && let Some((at, key)) = self.calendar.pop_last()
        {
            self.later.remove(&key);
            self.forgotten = Some(self.forgotten.map_or(at, |earliest| earliest.min(at)));
        }
        true
    }

    /// The most urgent item of those that have a permit; it counts as running from here.
    pub(super) fn take(&mut self, limits: &Limits) -> Option<Found> {
        if self.running_count >= limits.at_once {
            return None;
        }
        let running = &self.running;
        // The last quarter of the permits is for servers that have none: many slow ones must not leave a quick one waiting.
        let scarce = self.running_count >= limits.at_once - limits.at_once / 4;
        let most = if scarce { 1 } else { limits.at_once_per_server };
        let free = |permit: &Option<ServerTag>| {
            // What calls no server is bounded by the global permit alone.
            permit.is_none() || running.get(permit).copied().unwrap_or(0) < most
        };
        let lines = self.waiting.iter().filter(|(permit, _)| free(permit));
        let (permit, _) =
            lines.filter_map(|(permit, line)| Some((permit, line.first()?))).min_by_key(|(_, f)| *f)?;
        let permit = permit.clone();
        let line = self.waiting.get_mut(&permit)?;
        let found = line.pop_first()?;
        if line.is_empty() {
            self.waiting.remove(&permit);
        }
        self.waiting_count -= 1;
        *self.running.entry(permit).or_default() += 1;
        self.running_count += 1;
        Some(found)
    }

    /// A running item is done: the row of the index that led to it is ignored for a while, whatever came of it.
    pub(super) fn done(&mut self, found: &Found, now: Timestamp) {
        let (place, permit) = (found.place(), found.permit());
        self.known.remove(&place);
        if let Some(count) = self.running.get_mut(&permit) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.running.remove(&permit);
            }
        }
        self.running_count = self.running_count.saturating_sub(1);
        self.stale.insert(place, (found.due_at, now + STALE_FOR));
    }
}

#[cfg(test)]
mod tests;
