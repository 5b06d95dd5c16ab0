//! Where the key comes from that seals what the table keeps: a file on one machine, a wrapped key in the cloud.

use std::error::Error;

use async_trait::async_trait;
use pudu_config::SealKey;

/// The key could not be had. The text names the place and what to do, never the key; what an SDK said is the source.
#[derive(Debug, thiserror::Error)]
#[error("the sealing key is not available: {problem}")]
pub struct SealKeyError {
    /// What is wrong, and what to do.
    pub problem: String,
    /// What was behind it.
    #[source]
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

impl SealKeyError {
    /// A problem of its own.
    pub fn new(problem: impl Into<String>) -> Self {
        Self { problem: problem.into(), source: None }
    }

    /// A problem that something else caused.
    pub fn caused(problem: impl Into<String>, source: impl Error + Send + Sync + 'static) -> Self {
        Self { problem: problem.into(), source: Some(Box::new(source)) }
    }
}

/// The sealing key; kept by the adapter once it is known.
#[async_trait]
pub trait SealKeys: Send + Sync {
    /// The current key.
    async fn current(&self) -> Result<SealKey, SealKeyError>;
}
