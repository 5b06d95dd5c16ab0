//! An answer, event by event.

use pudu_app::ports::Piece;
use pudu_domain::chat::{Content, Message, Speaker, Usage};
use serde_json::{Map, Value, json};

use super::PROVIDER;
use crate::dialect::{Calls, Listener, Trouble, count, is_thought, json, text};
use crate::frames::Event;
use crate::openai::metadata;

/// An answer in the making.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    model: String,
    blocks: Blocks,
    stop: Option<String>,
    usage: Map<String, Value>,
    is_whole: bool,
}

/// What a model that thinks says: text, thoughts and calls, in their order. Bedrock's models say the same in other words.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    /// Text and thoughts, as the provider wants them back: it refuses thoughts that changed places.
    said: Vec<Value>,
    calls: Calls,
}

impl Blocks {
    pub(crate) fn say(&mut self, more: &str) -> Option<Piece> {
        if more.is_empty() {
            return None;
        }
        if self.said.last().and_then(|block| text(block, "type")) != Some("text") {
            self.said.push(json!({"type": "text", "text": ""}));
        }
        self.add("text", more);
        Some(Piece::Text(more.to_owned()))
    }

    const fn has_begun(&self) -> bool {
        !self.said.is_empty() || !self.calls.is_empty()
    }

    pub(crate) fn begin_thought(&mut self, block: Value) {
        self.said.push(block);
    }

    /// More of a field of the last thought.
    pub(crate) fn think(&mut self, field: &str, more: &str) -> Option<Piece> {
        self.add(field, more);
        (field == "thinking" && !more.is_empty()).then(|| Piece::Thought(more.to_owned()))
    }

    /// More of a field of what was said last.
    fn add(&mut self, field: &str, more: &str) {
        let Some(Value::Object(last)) = self.said.last_mut() else { return };
        if let Value::String(whole) = last.entry(field).or_insert_with(|| Value::String(String::new())) {
            whole.push_str(more);
        }
    }

    pub(crate) fn begin_call(&mut self, at: u64, id: Option<&str>, name: Option<&str>) -> Option<Piece> {
        self.calls.more(at, id, name, "")
    }

    pub(crate) fn call(&mut self, at: u64, args: &str) -> Option<Piece> {
        self.calls.go_on(at, args)
    }

    /// The message. One with thoughts has blocks, so that they can be given back.
    pub(crate) fn message(self, id: &str) -> Message {
        let thinks = self.said.iter().any(is_thought);
        let blocks = Content::Blocks(self.said);
        let content = if thinks { blocks } else { Content::Text(blocks.text()) };
        let mut message = Message::new(Speaker::Ai, id, content);
        self.calls.into(&mut message);
        message
    }
}

/// Why it ended, in the words that are common to all dialects here.
pub(crate) fn finish(stop: &str) -> &str {
    match stop {
        "end_turn" | "stop_sequence" => "stop",
        "tool_use" => "tool_calls",
        "max_tokens" | "model_context_window_exceeded" => "length",
        "refusal" | "guardrail_intervened" | "content_filtered" => "content_filter",
        other => other,
    }
}

impl Answer {
    pub(crate) fn new(model: String) -> Self {
        Self { model, ..Self::default() }
    }

    fn count(&mut self, usage: Option<&Value>) {
        for (key, value) in usage.and_then(Value::as_object).into_iter().flatten() {
            // What comes later is the whole again, not more of it.
            self.usage.insert(key.clone(), value.clone());
        }
    }

    fn begin(&mut self, at: u64, block: &Value) -> Option<Piece> {
        match text(block, "type")? {
            "text" => self.blocks.say(text(block, "text").unwrap_or_default()),
            "tool_use" => self.blocks.begin_call(at, text(block, "id"), text(block, "name")),
            "thinking" => {
                let thought = text(block, "thinking").unwrap_or_default().to_owned();
                self.blocks.begin_thought(block.clone());
                (!thought.is_empty()).then_some(Piece::Thought(thought))
            }
            "redacted_thinking" => {
                self.blocks.begin_thought(block.clone());
                None
            }
            // What the provider's own tools do.
            _ => None,
        }
    }

    fn go_on(&mut self, at: u64, delta: &Value) -> Option<Piece> {
        match text(delta, "type")? {
            "text_delta" => self.blocks.say(text(delta, "text")?),
            "input_json_delta" => self.blocks.call(at, text(delta, "partial_json")?),
            "thinking_delta" => self.blocks.think("thinking", text(delta, "thinking")?),
            "signature_delta" => self.blocks.think("signature", text(delta, "signature")?),
            // Citations, and what comes to be.
            _ => None,
        }
    }
}

impl Listener for Answer {
    fn hear(&mut self, event: &Event) -> Result<Vec<Piece>, Trouble> {
        let said = json(event)?;
        let at = count(&said, "index");
        let none = Value::Null;
        let piece = match text(&said, "type").unwrap_or(&event.name) {
            // Something between has asked twice; what was heard belongs to an answer that will not end.
            "message_start" if self.blocks.has_begun() => {
                return Err(Trouble::Dropped("the answer began anew in the middle".to_owned()));
            }
            "message_start" => {
                self.count(said.pointer("/message/usage"));
                None
            }
            "content_block_start" => self.begin(at, said.get("content_block").unwrap_or(&none)),
            "content_block_delta" => self.go_on(at, said.get("delta").unwrap_or(&none)),
            "message_delta" => {
                self.stop = said.pointer("/delta/stop_reason").and_then(Value::as_str).map(str::to_owned);
                self.count(said.get("usage"));
                // Who refuses to say anything may say why.
                let why = said.pointer("/delta/stop_details/explanation").and_then(Value::as_str);
                why.filter(|_| !self.blocks.has_begun()).and_then(|why| self.blocks.say(why))
            }
            "message_stop" => {
                self.is_whole = true;
                None
            }
            "error" => return Err(Trouble::Told(said)),
            _ => None,
        };
        Ok(piece.into_iter().collect())
    }

    fn is_whole(&self) -> bool {
        self.is_whole
    }

    fn message(self: Box<Self>, id: &str) -> Result<Message, Trouble> {
        if !self.is_whole {
            return Err(Trouble::Dropped("the answer ended in the middle".to_owned()));
        }
        let mut message = self.blocks.message(id);
        message.response_metadata = metadata(PROVIDER, &self.model, self.stop.as_deref().map(finish));
        if let Some(stop) = self.stop {
            message.response_metadata.insert("stop_reason".to_owned(), stop.into());
        }
        let usage = Value::Object(self.usage);
        // Read from its cache or written into it: it is input all the same.
        let cached = count(&usage, "cache_creation_input_tokens") + count(&usage, "cache_read_input_tokens");
        let (input_tokens, output_tokens) =
            (count(&usage, "input_tokens") + cached, count(&usage, "output_tokens"));
        message.usage_metadata =
            Some(Usage { input_tokens, output_tokens, total_tokens: input_tokens + output_tokens });
        message.response_metadata.insert("token_usage".to_owned(), usage);
        Ok(message)
    }
}
