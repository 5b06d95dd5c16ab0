//! What is remembered of users, in the fake table.

use async_trait::async_trait;
use pudu_app::ports::{MemoryKept, MemoryStore, StoreError};
use pudu_domain::{Memory, MemoryKey};

use super::FakeStore;

#[async_trait]
impl MemoryStore for FakeStore {
    async fn load(&self, key: &MemoryKey) -> Result<Memory, StoreError> {
        self.attempt("memories.load", |rows, _| Ok(rows.memories.get(key).cloned().unwrap_or_default())).await
    }

    async fn keep(&self, key: &MemoryKey, memory: &Memory) -> Result<MemoryKept, StoreError> {
        self.attempt("memories.keep", |rows, _| {
            let there = rows.memories.get(key);
            if there == Some(memory) {
                return Ok(MemoryKept::Done);
            }
            if there.map_or(0, |there| there.revision) + 1 != memory.revision {
                return Ok(MemoryKept::Moved);
            }
            rows.memories.insert(key.clone(), memory.clone());
            Ok(MemoryKept::Done)
        })
        .await
    }
}
