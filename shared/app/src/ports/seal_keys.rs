//! Where the key comes from that seals what the table keeps: a file on one machine, a wrapped key in the cloud.

use async_trait::async_trait;
use pudu_config::SealKey;

/// The key could not be had. The text names the source and what to do, never the key.
#[derive(Debug, thiserror::Error)]
#[error("the sealing key is not available: {problem}")]
pub struct SealKeyError {
    /// What is wrong, and what to do.
    pub problem: String,
}

/// The sealing key; kept by the adapter once it is known.
#[async_trait]
pub trait SealKeys: Send + Sync {
    /// The current key.
    async fn current(&self) -> Result<SealKey, SealKeyError>;
}
