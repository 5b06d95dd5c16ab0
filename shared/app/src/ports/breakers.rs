//! The breakers of models: one per model, shared by all processes.

use async_trait::async_trait;
use pudu_domain::breaker::Breaker;

use super::StoreError;

/// What an exchange of breakers came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exchanged {
    /// It was done, perhaps by an attempt whose answer was lost.
    Done,
    /// Another one was there; this is it.
    Not(Breaker),
}

/// The breakers, by the name of their model in the config.
#[async_trait]
pub trait Breakers: Send + Sync {
    /// The breaker of a model, perhaps as it was a moment ago; of one that never failed the default.
    async fn load(&self, model: &str) -> Result<Breaker, StoreError>;

    /// Puts `after` in the place of `before`: one conditional write and no read.
    async fn exchange(&self, model: &str, before: &Breaker, after: &Breaker)
    -> Result<Exchanged, StoreError>;
}
