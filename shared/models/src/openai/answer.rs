//! An answer, chunk by chunk.

use pudu_app::ports::Piece;
use pudu_domain::chat::{Message, Speaker, Usage};
use serde_json::{Value, json};

use super::thoughts::Thoughts;
use super::{PROVIDER, metadata};
use crate::dialect::{Calls, Listener, Trouble, count, json as parsed, text};
use crate::frames::Event;

/// How an answer ends that its provider broke off.
const BROKEN_OFF: &[&str] = &["error", "insufficient_system_resource"];

/// An answer in the making.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    model: String,
    text: String,
    thoughts: Thoughts,
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
        let thought = self.thoughts.hear(delta);
        if !thought.is_empty() {
            pieces.push(Piece::Thought(thought));
        }
        match delta.get("content") {
            Some(Value::String(more)) => self.say(more, &mut pieces),
            // Some speak in blocks.
            Some(Value::Array(blocks)) => {
                blocks
                    .iter()
                    .filter_map(|block| text(block, "text"))
                    .for_each(|more| self.say(more, &mut pieces));
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
            if let Some(extra) = call.get("extra_content").filter(|extra| extra.is_object()) {
                self.calls.beside(count(call, "index"), extra);
            }
        }
        pieces
    }

    fn say(&mut self, more: &str, pieces: &mut Vec<Piece>) {
        if !more.is_empty() {
            self.text.push_str(more);
            pieces.push(Piece::Text(more.to_owned()));
        }
    }
}

impl Listener for Answer {
    fn hear(&mut self, event: &Event) -> Result<Vec<Piece>, Trouble> {
        if event.data.trim() == "[DONE]" {
            self.is_whole = true;
            return Ok(Vec::new());
        }
        let chunk = match parsed(event)? {
            // As one of them says its errors.
            Value::Array(list) => list.into_iter().next().unwrap_or_default(),
            chunk => chunk,
        };
        if chunk.get("error").is_some_and(|error| !error.is_null()) {
            return Err(Trouble::Told(chunk));
        }
        if event.name == "error" {
            return Err(Trouble::Told(json!({ "error": chunk })));
        }
        // Others than the first are there only if an entry asks for them, and nobody hears two answers at once.
        let mut choices = chunk.get("choices").and_then(Value::as_array).into_iter().flatten();
        let choice = choices.find(|choice| count(choice, "index") == 0);
        let places =
            [chunk.get("usage"), choice.and_then(|first| first.get("usage")), chunk.pointer("/x_groq/usage")];
        if let Some(usage) = places.into_iter().flatten().find(|usage| usage.is_object()) {
            self.usage = Some(usage.clone());
        }
        let Some(choice) = choice else { return Ok(Vec::new()) };
        if let Some(finish) = text(choice, "finish_reason") {
            self.finish = Some(finish.to_owned());
        }
        // An answer that is no stream has it all at once.
        let said = choice.get("delta").or_else(|| choice.get("message"));
        Ok(said.map(|said| self.delta(said)).unwrap_or_default())
    }

    fn is_whole(&self) -> bool {
        self.is_whole
    }

    fn message(self: Box<Self>, id: &str) -> Result<Message, Trouble> {
        // Not everybody says that it is done; but everybody says why it ends.
        if !self.is_whole && self.finish.is_none() {
            return Err(Trouble::Dropped("the answer ended in the middle".to_owned()));
        }
        if self.finish.is_none() && self.text.is_empty() && self.thoughts.is_empty() && self.calls.is_empty()
        {
            return Err(Trouble::Dropped("the answer was empty".to_owned()));
        }
        if self.finish.as_deref().is_some_and(|finish| BROKEN_OFF.contains(&finish)) {
            return Err(Trouble::Dropped("the provider broke the answer off".to_owned()));
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
        self.thoughts.into(&mut message);
        Ok(message)
    }
}
