//! The sealing key as the table keeps it: wrapped by a key that is not in the table.

use async_trait::async_trait;

use super::StoreError;

/// One wrapped key.
#[async_trait]
pub trait WrappedKeys: Send + Sync {
    /// The wrapped key; none before the first.
    async fn get(&self) -> Result<Option<Vec<u8>>, StoreError>;

    /// Keeps `wrapped` unless there is one already, and returns the one that is kept.
    async fn put_if_absent(&self, wrapped: Vec<u8>) -> Result<Vec<u8>, StoreError>;
}
