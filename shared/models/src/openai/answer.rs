//! An answer, chunk by chunk.

use pudu_app::ports::Piece;
use pudu_domain::chat::{Message, Speaker, Usage};
use serde_json::Value;

use super::{PROVIDER, metadata};
use crate::dialect::{Calls, Listener, Trouble, count, json, text};
use crate::frames::Event;

/// An answer in the making.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    model: String,
    text: String,
    thought: String,
    calls: Calls,
    finish: Option<String>,
    usage: Option<Value>,
    is_whole: bool,
}

impl Answer {
    pub(crate) fn new(model: String) -> Self {
        Self { model, ..Self::default() }
    }

    fn delta(&mut self, delta: &Value) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let thought = text(delta, "reasoning_content").or_else(|| text(delta, "reasoning"));
        if let Some(more) = thought {
            self.think(more, &mut pieces);
        }
        match delta.get("content") {
            Some(Value::String(more)) => self.say(more, &mut pieces),
            // Some speak in blocks.
            Some(Value::Array(blocks)) => {
                for block in blocks {
                    if let Some(more) = text(block, "text") {
                        self.say(more, &mut pieces);
                    }
                    for thought in block.get("thinking").and_then(Value::as_array).into_iter().flatten() {
                        self.think(text(thought, "text").unwrap_or_default(), &mut pieces);
                    }
                }
            }
            _ => {}
        }
        if let Some(refusal) = text(delta, "refusal") {
            self.say(refusal, &mut pieces);
        }
        for call in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            let function = call.get("function").unwrap_or(&Value::Null);
            let args = text(function, "arguments").unwrap_or_default();
            pieces.extend(self.calls.more(
                count(call, "index"),
                text(call, "id"),
                text(function, "name"),
                args,
            ));
        }
        pieces
    }

    fn say(&mut self, more: &str, pieces: &mut Vec<Piece>) {
        if !more.is_empty() {
            self.text.push_str(more);
            pieces.push(Piece::Text(more.to_owned()));
        }
    }

    fn think(&mut self, more: &str, pieces: &mut Vec<Piece>) {
        if !more.is_empty() {
            self.thought.push_str(more);
            pieces.push(Piece::Thought(more.to_owned()));
        }
    }
}

impl Listener for Answer {
    fn hear(&mut self, event: &Event) -> Result<Vec<Piece>, Trouble> {
        if event.data.trim() == "[DONE]" {
            self.is_whole = true;
            return Ok(Vec::new());
        }
        let chunk = json(event)?;
        if chunk.get("error").is_some_and(|error| !error.is_null()) {
            return Err(Trouble::Told(chunk));
        }
        if let Some(usage) = chunk.get("usage").filter(|usage| usage.is_object()) {
            self.usage = Some(usage.clone());
        }
        let Some(choice) = chunk.pointer("/choices/0") else { return Ok(Vec::new()) };
        if let Some(finish) = text(choice, "finish_reason") {
            self.finish = Some(finish.to_owned());
        }
        Ok(choice.get("delta").map(|delta| self.delta(delta)).unwrap_or_default())
    }

    fn is_whole(&self) -> bool {
        self.is_whole
    }

    fn message(self: Box<Self>, id: &str) -> Result<Message, Trouble> {
        // Not everybody says that it is done; but everybody says why it ends.
        if !self.is_whole && self.finish.is_none() {
            return Err(Trouble::Dropped("the answer ended in the middle".to_owned()));
        }
        if self.finish.is_none() && self.text.is_empty() && self.thought.is_empty() && self.calls.is_empty() {
            return Err(Trouble::Dropped("the answer was empty".to_owned()));
        }
        let mut message = Message::new(Speaker::Ai, id, self.text);
        self.calls.into(&mut message);
        message.response_metadata = metadata(PROVIDER, &self.model, self.finish.as_deref());
        if let Some(usage) = self.usage {
            let (input_tokens, output_tokens) =
                (count(&usage, "prompt_tokens"), count(&usage, "completion_tokens"));
            let total_tokens = count(&usage, "total_tokens").max(input_tokens + output_tokens);
            message.usage_metadata = Some(Usage { input_tokens, output_tokens, total_tokens });
            message.response_metadata.insert("token_usage".to_owned(), usage);
        }
        if !self.thought.is_empty() {
            message.additional_kwargs.insert("reasoning_content".to_owned(), self.thought.into());
        }
        Ok(message)
    }
}
