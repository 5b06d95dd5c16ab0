//! What is remembered of users: a row for each user and agent, written by one conditional put.

use async_trait::async_trait;
use pudu_app::ports::{MemoryKept, MemoryStore, StoreError};
use pudu_domain::{Memory, MemoryKey};

use crate::body::EncodeError;
use crate::item::memory;
use crate::key::Key;
use crate::retry::Answer;
use crate::table::Table;
use crate::write::{When, Write};

#[async_trait]
impl MemoryStore for Table {
    async fn load(&self, key: &MemoryKey) -> Result<Memory, StoreError> {
        let row = self.get("load_memory", &Key::Memory(key.clone()), true).await?;
        row.map_or(Ok(Memory::default()), |row| memory::decode(&row))
    }

    async fn keep(&self, key: &MemoryKey, memory: &Memory) -> Result<MemoryKept, StoreError> {
        const OPERATION: &str = "keep_memory";
        let refused = |error: EncodeError| error.refused(OPERATION);
        let row = memory::encode(&Key::Memory(key.clone()), memory).map_err(refused)?;
        let when = match memory.revision.saturating_sub(1) {
            0 => When::Absent,
            read => When::Revision(read),
        };
        match self.write(OPERATION, &[Write::put(memory::ITEM, row, when)]).await? {
            Answer::Done(()) => Ok(MemoryKept::Done),
            Answer::Failed(failed) => {
                let there = failed.row(0).map(memory::decode).transpose()?;
                // All of it is compared: a revision alone does not say whose it is.
                Ok(if there.as_ref() == Some(memory) { MemoryKept::Done } else { MemoryKept::Moved })
            }
        }
    }
}
