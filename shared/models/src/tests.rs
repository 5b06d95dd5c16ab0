//! Whole conversations over HTTP with a server that plays a provider: what is sent is compared byte for byte with what is kept
//! in `conversations`, what comes ends anywhere between two bytes.

mod asked;
mod canary;
mod conversation;
mod provider;
mod refused;
mod rules;
mod shapes;
mod signed;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pudu_app::ports::{Clock, Dialect, ModelCall, ModelEntry, ModelError, Models, Piece, ToolDefinition};
use pudu_domain::Timestamp;
use pudu_domain::chat::Message;
use secrecy::SecretString;
use serde_json::json;
use tokio::sync::mpsc;

use crate::{Clients, Http};

/// What no error may show.
pub(super) const CANARY: &str = "sk-canary-0123456789abcdef";
/// Of the conversation, which no error may show either.
pub(super) const PRIVATE: &str = "the deer of Mrs. Fuentes are ill since Tuesday";

struct Noon;

#[async_trait]
impl Clock for Noon {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_790_000_000_000)
    }

    async fn sleep(&self, _duration: Duration) {}
}

/// The clients, which may call everything.
pub(super) fn clients() -> Clients {
    clients_that(|_| Ok(()))
}

fn clients_that(permits: impl Fn(&url::Url) -> Result<(), String> + Send + Sync + 'static) -> Clients {
    let client =
        reqwest::Client::builder().no_proxy().http1_only().redirect(reqwest::redirect::Policy::none());
    Clients::new(Http::new(client.build().unwrap(), permits), Arc::new(Noon))
}

/// A call of a model that is at `base_url`.
pub(super) fn call(dialect: Dialect, base_url: &str, messages: Vec<Message>) -> ModelCall {
    let model = match dialect {
        Dialect::OpenAi => "gpt-5.5",
        Dialect::Anthropic => "claude-opus-5",
        Dialect::Bedrock => "eu.amazon.nova-pro-v1:0",
        Dialect::Scripted => "scripted",
    };
    let entry = ModelEntry {
        base_url: Some(base_url.to_owned()),
        api_key: Some(SecretString::from(CANARY)),
        max_tokens: Some(1000),
        temperature: Some(0.5),
        ..ModelEntry::new("m", model, dialect)
    };
    let weather = ToolDefinition {
        name: "weather".to_owned(),
        description: "The weather at a place.".to_owned(),
        schema: json!({"$schema": "x", "type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}),
        server: Some("sky".to_owned()),
    };
    let time = ToolDefinition {
        name: "time".to_owned(),
        description: String::new(),
        schema: json!({"type": "object"}),
        server: None,
    };
    ModelCall { entry, messages, tools: vec![weather, time], id: "a1".to_owned(), reasoning_effort: None }
}

/// What a call brings, and its pieces.
pub(super) async fn said(clients: &Clients, call: &ModelCall) -> (Result<Message, ModelError>, Vec<Piece>) {
    let (sender, mut receiver) = mpsc::channel(4);
    let all = async {
        let mut pieces = Vec::new();
        while let Some(piece) = receiver.recv().await {
            pieces.push(piece);
        }
        pieces
    };
    tokio::join!(clients.call(call, sender), all)
}
