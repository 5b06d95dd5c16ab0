//! Due items that wait for a permit, in this process only: nothing here is claimed yet.
//!
//! Pure. One server can neither fill the queue nor take all permits, so a slow server delays nobody else's items.

use std::collections::{BTreeMap, BTreeSet};

use pudu_domain::{Lane, ServerTag, Timestamp};

use crate::limits::Limits;
use crate::ports::{Hint, ItemKey};

/// Items of one server that the queue keeps; more stay in the index until the next scan.
const PER_SERVER: usize = 512;
/// Items that the queue keeps in all.
const TOTAL: usize = 4096;

/// A hint with the lane that it was found in. Ordered as it is taken: the more urgent lane, then the earlier due time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Found {
    /// The lane's place among those that the worker serves.
    rank: usize,
    due_at: Timestamp,
    key: ItemKey,
    pub(super) lane: Lane,
    /// Whose permit it needs; none for an item that calls no server.
    permit: Option<ServerTag>,
}

/// What waits and what runs.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// By the server whose permit is needed.
    waiting: BTreeMap<Option<ServerTag>, BTreeSet<Found>>,
    /// Keys that wait or run, so that a second scan does not bring them again.
    known: BTreeSet<ItemKey>,
    /// Running, by server.
    running: BTreeMap<Option<ServerTag>, usize>,
    /// Keys that could not be claimed, and until when they are left alone.
    refused: BTreeMap<ItemKey, Timestamp>,
    waiting_count: usize,
    running_count: usize,
}

impl Found {
    /// The hint that was found in the worker's lane number `rank`.
    pub(super) fn new(rank: usize, lane: Lane, hint: Hint) -> Self {
        // Recovering an intent calls nobody: a server that hangs must not hold up the news that it hung.
        let permit = hint.server.filter(|_| lane != Lane::Intent);
        Self { rank, due_at: hint.due_at, key: hint.key, lane, permit }
    }

    /// Which item.
    pub(super) const fn key(&self) -> &ItemKey {
        &self.key
    }
}

impl Queue {
    /// Whether nothing waits.
    pub(super) const fn is_empty(&self) -> bool {
        self.waiting_count == 0
    }

    /// Whether nothing more fits.
    pub(super) const fn is_full(&self) -> bool {
        self.waiting_count >= TOTAL
    }

    /// Takes an item in, unless it is known, was refused a moment ago, or its server has enough waiting.
    pub(super) fn offer(&mut self, found: Found, now: Timestamp) -> bool {
        let left_alone = self.refused.get(&found.key).is_some_and(|until| now < *until);
        if left_alone || self.is_full() || self.known.contains(&found.key) {
            return false;
        }
        let line = self.waiting.entry(found.permit.clone()).or_default();
        if line.len() >= PER_SERVER {
            return false;
        }
        self.known.insert(found.key.clone());
        line.insert(found);
        self.waiting_count += 1;
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
        let permit = lines.filter_map(|(_, line)| line.first()).min()?.permit.clone();
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

    /// A running item is done; a refused one is left alone until `again`.
    pub(super) fn done(&mut self, found: &Found, again: Option<Timestamp>) {
        self.known.remove(&found.key);
        if let Some(count) = self.running.get_mut(&found.permit) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.running.remove(&found.permit);
            }
        }
        self.running_count = self.running_count.saturating_sub(1);
        if let Some(until) = again {
            self.refused.insert(found.key.clone(), until);
        }
    }

    /// Forgets refusals that are over.
    pub(super) fn prune(&mut self, now: Timestamp) {
        self.refused.retain(|_, until| now < *until);
    }
}

#[cfg(test)]
mod tests;
