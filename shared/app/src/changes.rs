//! Which servers said that their list of tools has changed (`notifications/tools/list_changed`).
//!
//! Whoever holds a connection reports here; whoever remembers lists asks. Neither knows the other, and nothing is sent: a
//! report only voids what is remembered, and the list is asked for when somebody next needs it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Most servers that are told apart; past it every list that is remembered counts as changed once.
const MAX_SERVERS: usize = 10_000;

/// The changes that this process was told of. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct ListChanges(Arc<Mutex<Changes>>);

/// A moment in the changes of one server: a list whose asking began at this mark holds for as long as the mark does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark(u64);

#[derive(Debug, Default)]
struct Changes {
    /// Counts every change of every server, so that a mark never comes back.
    count: u64,
    /// The mark of every server that is not in `last`.
    others: u64,
    /// The last change of each server, by its [`digest`](pudu_config::Server::digest).
    last: HashMap<String, u64>,
}

impl Mark {
    /// Whether this process was told of no change of the server so far.
    pub const fn is_first(self) -> bool {
        self.0 == 0
    }
}

impl ListChanges {
    /// The server with this [`digest`](pudu_config::Server::digest) says that its list has changed: what is remembered of
    /// it, and what is being asked just now, is no longer taken as fresh.
    pub fn changed(&self, digest: &str) {
        let changes = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        changes.count += 1;
        if changes.last.len() >= MAX_SERVERS && !changes.last.contains_key(digest) {
            changes.last.clear();
            changes.others = changes.count;
        }
        changes.last.insert(digest.to_owned(), changes.count);
    }

    /// Where a server stands now; to be taken before its list is asked for.
    pub fn mark(&self, digest: &str) -> Mark {
        let changes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Mark(changes.last.get(digest).copied().unwrap_or(changes.others))
    }
}

#[cfg(test)]
mod tests;
