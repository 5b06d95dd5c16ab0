//! Which tool's schema a provider does not take, when it does not say. One bad tool among many must not take the others with it,
//! and whoever leaves it out has to know which it is.

use std::sync::Arc;

use async_trait::async_trait;
use pudu_domain::chat::{Message, Speaker};
use tokio::sync::mpsc;

use crate::ports::{ModelCall, ModelEntry, ModelError, ModelFault, Models, Piece, ToolDefinition};

/// Most tokens of an answer that nobody wants. Fewer are refused by some.
const ANSWER_TOKENS: u32 = 16;
/// What lets a model think before it answers.
const THINKING: &[&str] = &["thinking", "reasoning_config", "reasoningConfig"];
/// What is said in it.
const WORD: &str = "ok?";

/// Models that name the tool whose schema is not taken. A refusal that names none is followed by short calls with a half of the
/// tools each, so among a thousand it takes ten of them, once in a run: afterwards that tool is left out.
pub struct Blaming {
    models: Arc<dyn Models>,
}

impl Blaming {
    /// The same models.
    pub fn new(models: Arc<dyn Models>) -> Self {
        Self { models }
    }

    /// The tool to blame and the place in its schema; none if something else goes wrong meanwhile, or no tool alone is refused.
    async fn culprit(&self, call: &ModelCall) -> Option<(String, Option<String>)> {
        let mut suspects: &[ToolDefinition] = &call.tools;
        let mut place = None;
        while suspects.len() > 1 {
            let (some, others) = suspects.split_at(suspects.len() / 2);
            match self.try_out(call, some).await {
                Tried::Refused { tool: Some(tool), path } => return Some((tool, path)),
                Tried::Refused { tool: None, path } => (suspects, place) = (some, path),
                Tried::Taken => suspects = others,
                Tried::Unknown => return None,
            }
        }
        let [one] = suspects else { return None };
        // It may as well be all of them together that are too much.
        match self.try_out(call, suspects).await {
            Tried::Refused { path, .. } => Some((one.name.clone(), path.or(place))),
            Tried::Taken | Tried::Unknown => None,
        }
    }

    async fn try_out(&self, call: &ModelCall, tools: &[ToolDefinition]) -> Tried {
        let mut entry = ModelEntry { max_tokens: Some(ANSWER_TOKENS), ..call.entry.clone() };
        // Thoughts have more tokens than that, which is refused.
        entry.extra.retain(|key, _| !THINKING.contains(&key.as_str()));
        let short = ModelCall {
            entry,
            messages: vec![Message::new(Speaker::Human, "probe", WORD)],
            tools: tools.to_vec(),
            id: call.id.clone(),
            reasoning_effort: None,
        };
        // Nobody hears what it says.
        let (pieces, _) = mpsc::channel(1);
        match self.models.call(&short, pieces).await {
            Ok(_) => Tried::Taken,
            Err(ModelError { fault: ModelFault::Schema { tool, path }, .. }) => Tried::Refused { tool, path },
            Err(_) => Tried::Unknown,
        }
    }
}

/// What came of a short call.
enum Tried {
    Taken,
    Refused { tool: Option<String>, path: Option<String> },
    Unknown,
}

#[async_trait]
impl Models for Blaming {
    async fn call(&self, call: &ModelCall, pieces: mpsc::Sender<Piece>) -> Result<Message, ModelError> {
        let error = match self.models.call(call, pieces).await {
            Err(error) if matches!(error.fault, ModelFault::Schema { tool: None, .. }) => error,
            said => return said,
        };
        let fault = match self.culprit(call).await {
            Some((tool, path)) => ModelFault::Schema { tool: Some(tool), path },
            None => error.fault,
        };
        Err(ModelError { fault, ..error })
    }
}

#[cfg(test)]
mod tests;
