//! One client for all models: each call goes to whoever speaks its dialect.

use async_trait::async_trait;
use pudu_app::ports::{Dialect, ModelCall, ModelError, ModelFault, Models, Piece};
use pudu_domain::chat::Message;
use tokio::sync::mpsc;

use crate::scripted;

/// Every dialect.
#[derive(Debug, Clone, Default)]
pub struct Clients;

impl Clients {
    /// The clients of a process.
    pub const fn new() -> Self {
        Self
    }
}

#[async_trait]
impl Models for Clients {
    async fn call(&self, call: &ModelCall, pieces: mpsc::Sender<Piece>) -> Result<Message, ModelError> {
        match call.entry.dialect {
            Dialect::Scripted => Ok(scripted::speak(call, &pieces).await),
            Dialect::OpenAi | Dialect::Anthropic | Dialect::Bedrock => Err(ModelError {
                model: call.entry.name.clone(),
                fault: ModelFault::Other,
                message: "this build does not speak with its provider".to_owned(),
                retry_after: None,
            }),
        }
    }
}
