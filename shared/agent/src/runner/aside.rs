//! A call of a model beside the conversation: a summary, a title, a judgement. One that fails is made again as often as a call of the
//! conversation is (agent reference 1.5), but what it is for is never waited for long: whoever asks can do without.

use std::time::Duration;

use async_trait::async_trait;
use pudu_app::ports::{ModelCall, ModelEntry, ModelError, Models};
use pudu_domain::Run;
use pudu_domain::chat::{Message, Speaker};
use tokio::sync::mpsc;
use tokio::time::error::Elapsed;

use super::Parts;
use super::model::{PATIENCE, draw, tally};
use crate::middleware::{Aside, is_cut};
use crate::retry::{After, Retries};
use crate::spoken::spoken;
use crate::turn::Turn;

/// Asks models for the middlewares of one step.
pub(super) struct Beside<'a> {
    pub(super) parts: &'a Parts,
    pub(super) run: &'a Run,
    /// The run's own model; none if it is not to be had.
    pub(super) entry: Option<&'a ModelEntry>,
}

#[async_trait]
impl Aside for Beside<'_> {
    async fn ask(&self, turn: &mut Turn<'_>, model: Option<&str>, prompt: String) -> Option<String> {
        let other = match model {
            Some(name) => {
                let roster = self.parts.tools.configs.roster().await.ok();
                roster.and_then(|roster| roster.choose(Some(name), false).ok()).map(|chosen| chosen.entry)
            }
            None => None,
        };
        let Some(entry) = other.or_else(|| self.entry.cloned()) else {
            tracing::info!(run.id = %self.run.key.id, "there is no model to be asked beside the conversation");
            return None;
        };
        let call = beside(entry, prompt);
        let answer = self.answer(&call).await?;
        tally(&mut turn.totals, &call.entry.name, answer.usage_metadata.unwrap_or_default(), false);
        let said = said(&answer);
        if said.is_none() {
            let finish_reason = answer.finish_reason();
            tracing::info!(run.id = %self.run.key.id, finish_reason, "a model gave no whole answer beside the conversation");
        }
        said
    }
}

impl Beside<'_> {
    /// The answer to `call`, also after another try; none if there is none, which is logged.
    async fn answer(&self, call: &ModelCall) -> Option<Message> {
        let mut retries = Retries::of(call.entry.retries);
        loop {
            // One that has used up all of its time is not given as much again.
            let Ok(answered) = unheard(&*self.parts.models, call).await else {
                tracing::info!(run.id = %self.run.key.id, model = call.entry.name, "a model took too long beside the conversation");
                return None;
            };
            let error = match answered {
                Ok(answer) => return Some(answer),
                Err(error) => error,
            };
            tracing::info!(run.id = %self.run.key.id, %error, "a model did not answer beside the conversation");
            self.parts.clock.sleep(self.pause(&mut retries, &error)?).await;
        }
    }

    /// How long is waited before another try; none if there is none.
    fn pause(&self, retries: &mut Retries, error: &ModelError) -> Option<Duration> {
        match retries.after(error, draw(&*self.parts.random)) {
            After::Wait { wait, .. } => Some(wait).filter(|wait| *wait <= PATIENCE),
            After::Without(_) | After::GiveUp => None,
        }
    }
}

/// A call beside the conversation.
pub(super) fn beside(entry: ModelEntry, prompt: String) -> ModelCall {
    ModelCall {
        entry,
        messages: vec![Message::new(Speaker::Human, "aside", prompt)],
        tools: Vec::new(),
        id: "aside".to_owned(),
        reasoning_effort: None,
    }
}

/// Asks a model to which nobody listens meanwhile, for as long as a call may take.
pub(super) async fn unheard(
    models: &dyn Models,
    call: &ModelCall,
) -> Result<Result<Message, ModelError>, Elapsed> {
    let (send, heard) = mpsc::channel(1);
    // A model does not wait for a listener who is gone.
    drop(heard);
    tokio::time::timeout(call.entry.timeout, models.call(call, send)).await
}

/// What an answer says, without what was thought on the way: none if that is nothing, or not all that was to be said. What stands for
/// half of an answer, or for one that was refused, would be taken for the summary of everything that gives way to it.
pub(super) fn said(answer: &Message) -> Option<String> {
    let said = if is_cut(answer) { String::new() } else { spoken(&answer.content.text()) };
    Some(said).filter(|said| !said.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_thought_refused_or_cut_is_not_said() {
        let said = |text: &str, reason: &str| {
            let mut answer = Message::new(Speaker::Ai, "a", text);
            answer.response_metadata.insert("finish_reason".to_owned(), reason.into());
            said(&answer)
        };
        assert_eq!(said("<think>they</think>they asked", "stop").as_deref(), Some("they asked"));
        for (text, reason) in [
            (" ", "stop"),
            ("<think>they asked", "stop"),
            ("<think>they asked</think>\n", "stop"),
            ("they", "length"),
            ("they", "max_tokens"),
            ("This was blocked.", "content_filter"),
            ("This was blocked.", "SAFETY"),
        ] {
            assert_eq!(said(text, reason), None, "{text} {reason}");
        }
    }
}
