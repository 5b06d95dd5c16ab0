//! An answer, frame by frame.

use pudu_app::ports::Piece;
use pudu_domain::chat::{Message, Usage};
use serde_json::{Value, json};

use super::PROVIDER;
use crate::anthropic::{Blocks, finish};
use crate::dialect::{Listener, Trouble, count, json, text};
use crate::frames::Event;
use crate::openai::metadata;

/// What the name of an event that is an error begins with.
pub(super) const EXCEPTION: &str = "exception:";

/// An answer in the making.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    model: String,
    blocks: Blocks,
    /// The place of the block that is being thought.
    thinking: Option<u64>,
    stop: Option<String>,
    usage: Option<Value>,
}

impl Answer {
    pub(crate) fn new(model: String) -> Self {
        Self { model, ..Self::default() }
    }

    fn go_on(&mut self, at: u64, delta: &Value) -> Option<Piece> {
        if let Some(more) = text(delta, "text") {
            return self.blocks.say(more);
        }
        if let Some(call) = delta.get("toolUse") {
            return self.blocks.call(at, text(call, "input")?);
        }
        let thought = delta.get("reasoningContent")?;
        if let Some(data) = text(thought, "redactedContent") {
            self.blocks.begin_thought(json!({"type": "redacted_thinking", "data": data}));
            return None;
        }
        if self.thinking != Some(at) {
            self.thinking = Some(at);
            self.blocks.begin_thought(json!({"type": "thinking", "thinking": "", "signature": ""}));
        }
        match text(thought, "text") {
            Some(more) => self.blocks.think("thinking", more),
            None => self.blocks.think("signature", text(thought, "signature")?),
        }
    }
}

impl Listener for Answer {
    fn hear(&mut self, event: &Event) -> Result<Vec<Piece>, Trouble> {
        let said = json(event)?;
        if let Some(name) = event.name.strip_prefix(EXCEPTION) {
            let message = text(&said, "message").or_else(|| text(&said, "Message")).unwrap_or_default();
            return Err(Trouble::Told(json!({"error": {"type": name, "message": message}})));
        }
        let at = count(&said, "contentBlockIndex");
        let piece = match event.name.as_str() {
            "contentBlockStart" => said
                .pointer("/start/toolUse")
                // Others are the service's own, which it answers itself.
                .filter(|call| text(call, "type").is_none_or(|kind| kind == "tool_use"))
                .and_then(|call| self.blocks.begin_call(at, text(call, "toolUseId"), text(call, "name"))),
            "contentBlockDelta" => said.get("delta").and_then(|delta| self.go_on(at, delta)),
            "messageStop" => {
                self.stop = text(&said, "stopReason").map(str::to_owned);
                None
            }
            "metadata" => {
                self.usage = said.get("usage").cloned();
                None
            }
            _ => None,
        };
        Ok(piece.into_iter().collect())
    }

    fn is_whole(&self) -> bool {
        self.stop.is_some() && self.usage.is_some()
    }

    fn message(self: Box<Self>, id: &str) -> Result<Message, Trouble> {
        let Some(stop) = self.stop else {
            return Err(Trouble::Dropped("the answer ended in the middle".to_owned()));
        };
        let mut message = self.blocks.message(id);
        message.response_metadata = metadata(PROVIDER, &self.model, Some(finish(&stop)));
        message.response_metadata.insert("stop_reason".to_owned(), stop.into());
        if let Some(usage) = self.usage {
            let cached = count(&usage, "cacheReadInputTokens") + count(&usage, "cacheWriteInputTokens");
            let (input_tokens, output_tokens) =
                (count(&usage, "inputTokens") + cached, count(&usage, "outputTokens"));
            message.usage_metadata =
                Some(Usage { input_tokens, output_tokens, total_tokens: input_tokens + output_tokens });
            message.response_metadata.insert("token_usage".to_owned(), usage);
        }
        Ok(message)
    }
}
