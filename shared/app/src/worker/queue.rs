//! Due items that wait for a permit, in this process only: nothing here is claimed yet.
//!
//! Pure. One server can neither fill the queue nor take all permits, so a slow server delays nobody else's items.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use pudu_domain::{Lane, ServerTag, Timestamp};

use crate::limits::Limits;
use crate::ports::{Hint, ItemKey};

/// Items of one server that the queue keeps; more stay in the index until the next scan.
const PER_SERVER: usize = 512;
/// Items that the queue keeps in all.
const TOTAL: usize = 4096;

/// A hint with the lane that it was found in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) lane: Lane,
    pub(super) hint: Hint,
}

/// What waits and what runs.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// By server; notifications wait under none.
    waiting: BTreeMap<Option<ServerTag>, VecDeque<Found>>,
    /// Keys that wait or run, so that a second scan does not bring them again.
    known: BTreeSet<ItemKey>,
    /// Running, by server.
    running: BTreeMap<Option<ServerTag>, usize>,
    /// Keys that could not be claimed, and until when they are left alone.
    refused: BTreeMap<ItemKey, Timestamp>,
    waiting_count: usize,
    running_count: usize,
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

    /// Takes a hint in, unless it is known, was refused a moment ago, or its server has enough waiting.
    pub(super) fn offer(&mut self, lane: Lane, hint: Hint, now: Timestamp) -> bool {
        let left_alone = self.refused.get(&hint.key).is_some_and(|until| now < *until);
        if left_alone || self.is_full() || self.known.contains(&hint.key) {
            return false;
        }
        let line = self.waiting.entry(hint.server.clone()).or_default();
        if line.len() >= PER_SERVER {
            return false;
        }
        self.known.insert(hint.key.clone());
        line.push_back(Found { lane, hint });
        self.waiting_count += 1;
        true
    }

    /// The item that is due first among those that have a permit; it counts as running from here.
    pub(super) fn take(&mut self, limits: &Limits) -> Option<Found> {
        if self.running_count >= limits.at_once {
            return None;
        }
        let running = &self.running;
        let free = |server: &Option<ServerTag>| {
            // Notifications speak to no server, so only the global permit counts for them.
            server.is_none() || running.get(server).copied().unwrap_or(0) < limits.at_once_per_server
        };
        let server = self
            .waiting
            .iter()
            .filter(|(server, _)| free(server))
            .filter_map(|(server, line)| line.front().map(|first| (first.hint.due_at, server)))
            .min()
            .map(|(_, server)| server.clone())?;
        let line = self.waiting.get_mut(&server)?;
        let found = line.pop_front()?;
        if line.is_empty() {
            self.waiting.remove(&server);
        }
        self.waiting_count -= 1;
        *self.running.entry(server).or_default() += 1;
        self.running_count += 1;
        Some(found)
    }

    /// A running item is done; a refused one is left alone until `again`.
    pub(super) fn done(&mut self, hint: &Hint, again: Option<Timestamp>) {
        self.known.remove(&hint.key);
        if let Some(count) = self.running.get_mut(&hint.server) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.running.remove(&hint.server);
            }
        }
        self.running_count = self.running_count.saturating_sub(1);
        if let Some(until) = again {
            self.refused.insert(hint.key.clone(), until);
        }
    }

    /// Forgets refusals that are over.
    pub(super) fn prune(&mut self, now: Timestamp) {
        self.refused.retain(|_, until| now < *until);
    }
}

#[cfg(test)]
mod tests;
