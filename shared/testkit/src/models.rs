//! Models that say what a test tells them to, and remember what they were asked.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use pudu_app::ports::{Clock, ModelCall, ModelError, ModelFault, Models, Piece};
use pudu_domain::chat::{Message, Speaker, ToolCall, Usage};
use tokio::sync::mpsc;

use crate::lock::lock;

/// What a model does with one call.
#[derive(Debug, Clone)]
pub enum Speech {
    /// It says these pieces, with that pause before each, and then its message.
    Says {
        /// What comes while it speaks.
        pieces: Vec<Piece>,
        /// Before each of them, and before the end.
        pause: Duration,
        /// The answer; it gets the id of the call.
        message: Box<Message>,
    },
    /// It does not answer.
    Fails {
        /// Why.
        fault: ModelFault,
        /// When it says one may try again.
        retry_after: Option<Duration>,
    },
    /// It says nothing, ever.
    Hangs,
}

type Plan = Box<dyn FnMut(&ModelCall) -> Speech + Send>;

/// Every model. Clones are the same.
#[derive(Clone)]
pub struct FakeModels(Arc<Inner>);

struct Inner {
    clock: Arc<dyn Clock>,
    plan: Mutex<Plan>,
    heard: Mutex<Vec<ModelCall>>,
}

impl FakeModels {
    /// Models that do with each call what `plan` says.
    pub fn new(clock: Arc<dyn Clock>, plan: impl FnMut(&ModelCall) -> Speech + Send + 'static) -> Self {
        let heard = Mutex::default();
        Self(Arc::new(Inner { clock, plan: Mutex::new(Box::new(plan)), heard }))
    }

    /// What they were asked so far, also where no answer came.
    pub fn heard(&self) -> Vec<ModelCall> {
        lock(&self.0.heard).clone()
    }
}

impl Speech {
    /// A text, at once, in one piece.
    pub fn text(text: &str) -> Self {
        Self::calls(text, [])
    }

    /// A text with calls, at once.
    pub fn calls(text: &str, calls: impl IntoIterator<Item = ToolCall>) -> Self {
        let pieces = if text.is_empty() { vec![] } else { vec![Piece::Text(text.to_owned())] };
        let mut message = Message::new(Speaker::Ai, "", text);
        message.tool_calls = calls.into_iter().collect();
        message.usage_metadata = Some(Usage { input_tokens: 10, output_tokens: 5, total_tokens: 15 });
        Self::Says { pieces, pause: Duration::ZERO, message: Box::new(message) }
    }

    /// A text word by word.
    pub fn slowly(text: &str, pause: Duration) -> Self {
        let pieces = text.split_inclusive(' ').map(|word| Piece::Text(word.to_owned())).collect();
        let message = Box::new(Message::new(Speaker::Ai, "", text));
        Self::Says { pieces, pause, message }
    }

    /// A failure without a hint.
    pub const fn fails(fault: ModelFault) -> Self {
        Self::Fails { fault, retry_after: None }
    }
}

#[async_trait]
impl Models for FakeModels {
    async fn call(&self, call: &ModelCall, said: mpsc::Sender<Piece>) -> Result<Message, ModelError> {
        let speech = {
            lock(&self.0.heard).push(call.clone());
            lock(&self.0.plan)(call)
        };
        match speech {
            Speech::Says { pieces, pause, message } => {
                for piece in pieces {
                    self.0.clock.sleep(pause).await;
                    // Whoever does not listen is not waited for.
                    let _ = said.send(piece).await;
                }
                self.0.clock.sleep(pause).await;
                Ok(Message { id: call.id.clone(), ..*message })
            }
            Speech::Fails { fault, retry_after } => {
                let (model, message) = (call.entry.name.clone(), format!("as planned: {fault:?}"));
                Err(ModelError { model, fault, message, retry_after })
            }
            Speech::Hangs => std::future::pending().await,
        }
    }
}
