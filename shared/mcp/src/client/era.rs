//! Which way of speaking a peer understands, remembered so that it is asked only once.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;

/// Most peers that a process remembers; past it the memory starts anew. A forgotten peer costs one more POST.
const MAX_PEERS: usize = 10_000;

/// How to speak with a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// 2026-07-28: one POST per call.
    Stateless,
    /// Before: a handshake and a session around each call.
    Session,
}

/// Where eras are remembered, by a key that holds no secret (a digest of scheme, host, port and path).
///
/// Memory is a hint: one that is wrong is met by a refusal, forgotten and asked again. So it has no errors.
#[async_trait]
pub trait EraMemory: Send + Sync {
    /// The era of a peer, when it is known.
    async fn recall(&self, key: &str) -> Option<Era>;
    /// Remembers it.
    async fn remember(&self, key: &str, era: Era);
    /// Forgets it.
    async fn forget(&self, key: &str);
}

/// A memory that ends with the process.
#[derive(Debug, Default)]
pub struct ProcessMemory(Mutex<HashMap<String, Era>>);

impl ProcessMemory {
    fn with<T>(&self, act: impl FnOnce(&mut HashMap<String, Era>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl EraMemory for ProcessMemory {
    async fn recall(&self, key: &str) -> Option<Era> {
        self.with(|peers| peers.get(key).copied())
    }

    async fn remember(&self, key: &str, era: Era) {
        self.with(|peers| {
            if peers.len() >= MAX_PEERS {
                peers.clear();
            }
            peers.insert(key.to_owned(), era);
        });
    }

    async fn forget(&self, key: &str) {
        self.with(|peers| peers.remove(key));
    }
}
