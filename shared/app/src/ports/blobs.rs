//! What is too large for a row: bytes under their own digest. In the cloud a bucket, on one machine a folder.

use async_trait::async_trait;

/// The store failed; trying again may help.
#[derive(Debug, thiserror::Error)]
#[error("{operation} in the blob store failed")]
pub struct BlobError {
    /// What was tried.
    pub operation: &'static str,
    /// What the adapter saw.
    #[source]
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

/// Whether a text can be a blob's digest: 64 hex digits in lower case. Part of the port, so that no name reaches out of its
/// thread's folder in any store.
pub fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Blobs, addressed by the SHA-256 of their content in hex: writing one twice is writing it once. They belong to a thread,
/// and go with it.
#[async_trait]
pub trait Blobs: Send + Sync {
    /// Keeps `bytes` under `digest`, which is theirs.
    async fn put(
        &self,
        thread: &pudu_domain::ThreadKey,
        digest: &str,
        bytes: Vec<u8>,
    ) -> Result<(), BlobError>;

    /// What is kept under `digest`; none if nothing is.
    async fn get(&self, thread: &pudu_domain::ThreadKey, digest: &str) -> Result<Option<Vec<u8>>, BlobError>;

    /// Removes every blob of a thread that is being deleted.
    async fn remove_all(&self, thread: &pudu_domain::ThreadKey) -> Result<(), BlobError>;
}
