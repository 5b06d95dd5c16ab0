//! What is said in a conversation: messages as the reference's API shows them, stored as they are shown.
//!
//! One type for what a client sends, a model answers, a tool brings and a checkpoint keeps, so that nothing is translated
//! twice. Fields that this house does not know are kept in `additional_kwargs` and `response_metadata` only.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

mod reminder;
#[cfg(test)]
mod tests;

pub use reminder::{REMINDER, place_of, said_as};

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Speaker {
    /// The operator's instructions.
    System,
    /// The user, or this house in the user's place (see [`Message::is_hidden`]).
    Human,
    /// The model.
    Ai,
    /// A tool, in answer to a call.
    Tool,
}

/// What is said: text, or blocks as a provider knows them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Content {
    /// Text.
    Text(String),
    /// Blocks, each an object with a `type`.
    Blocks(Vec<Value>),
}

/// How a tool call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolStatus {
    /// It brought what it was asked for.
    Success,
    /// It did not; the content says why.
    Error,
}

/// A call that a model makes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The tool's visible name.
    pub name: String,
    /// Its arguments.
    pub args: Map<String, Value>,
    /// The call's id, unique in its message.
    pub id: String,
    /// Always `tool_call`.
    #[serde(rename = "type", default = "tool_call")]
    pub kind: String,
    /// What the provider wants to see again with the call, such as the signature of a thought.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra_content: Option<Value>,
}

/// A call whose arguments are no JSON object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InvalidToolCall {
    /// The tool's name, if there was one.
    pub name: Option<String>,
    /// The arguments as the model wrote them.
    pub args: Option<String>,
    /// The call's id, if there was one.
    pub id: Option<String>,
    /// What is wrong with it.
    pub error: Option<String>,
}

/// Tokens of one model call, or of many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Read by the model.
    pub input_tokens: u64,
    /// Written by it.
    pub output_tokens: u64,
    /// Both.
    pub total_tokens: u64,
}

/// One message. Its JSON is that of the reference's state (section 2): absent fields are left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    #[serde(rename = "type")]
    pub speaker: Speaker,
    /// Its id, unique in its conversation; the reducer replaces by it.
    #[serde(default)]
    pub id: String,
    /// What is said.
    pub content: Content,
    /// Who in particular: of messages that this house adds, what they are (`todo_reminder`, `loop_warning`, …).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What clients and middlewares note beside it.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub additional_kwargs: Map<String, Value>,
    /// What the provider says of it: `finish_reason`, `model_name`, ….
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub response_metadata: Map<String, Value>,
    /// The calls that a model makes with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// Calls that cannot be made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invalid_tool_calls: Vec<InvalidToolCall>,
    /// What it cost, of a model's message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage_metadata: Option<Usage>,
    /// Which call it answers, of a tool's message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// How that call ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<ToolStatus>,
    /// What the call brought that is not for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<Value>,
}

fn tool_call() -> String {
    "tool_call".to_owned()
}

/// Of `additional_kwargs`: the message is not shown to a user.
pub const HIDDEN: &str = "hide_from_ui";
/// Of `additional_kwargs`: the message is a user's answer to a question that an agent asked, `{kind, request_id, …}`.
pub const ANSWER: &str = "human_input_response";
/// Of `additional_kwargs`: what a user wrote, where a model is shown it otherwise; no client may say it.
pub const ORIGINAL: &str = "original_user_content";

impl Content {
    /// All text in it, blocks joined without anything between them.
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Blocks(blocks) => blocks
                .iter()
                .filter(|block| block.get("type").and_then(Value::as_str).is_none_or(|kind| kind == "text"))
                .filter_map(|block| block.as_str().or_else(|| block.get("text")?.as_str()))
                .collect(),
        }
    }

    /// Whether nothing but white space is said.
    pub fn is_blank(&self) -> bool {
        match self {
            Self::Text(text) => text.trim().is_empty(),
            Self::Blocks(blocks) => {
                blocks.iter().all(|block| block.get("type").is_none_or(|kind| kind == "text"))
                    && self.text().trim().is_empty()
            }
        }
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, more: Self) {
        self.input_tokens = self.input_tokens.saturating_add(more.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(more.output_tokens);
        self.total_tokens = self.total_tokens.saturating_add(more.total_tokens);
    }
}

impl ToolCall {
    /// A call.
    pub fn new(id: impl Into<String>, name: impl Into<String>, args: Map<String, Value>) -> Self {
        Self { name: name.into(), args, id: id.into(), kind: tool_call(), extra_content: None }
    }
}

impl Message {
    /// A message of `speaker` without anything beside its content.
    pub fn new(speaker: Speaker, id: impl Into<String>, content: impl Into<Content>) -> Self {
        Self {
            speaker,
            id: id.into(),
            content: content.into(),
            name: None,
            additional_kwargs: Map::new(),
            response_metadata: Map::new(),
            tool_calls: Vec::new(),
            invalid_tool_calls: Vec::new(),
            usage_metadata: None,
            tool_call_id: None,
            status: None,
            artifact: None,
        }
    }

    /// What a call brought. Its id follows from the call's, so that a repeated one replaces the first.
    pub fn tool(call: &ToolCall, status: ToolStatus, content: impl Into<Content>) -> Self {
        Self {
            name: Some(call.name.clone()),
            tool_call_id: Some(call.id.clone()),
            status: Some(status),
            ..Self::new(Speaker::Tool, format!("tool:{}", call.id), content)
        }
    }

    /// The same message that no user is shown.
    #[must_use]
    pub fn hidden(mut self) -> Self {
        self.additional_kwargs.insert(HIDDEN.to_owned(), Value::Bool(true));
        self
    }

    /// The same message under a name.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// Whether no user is shown it: this house wrote it for the model.
    pub fn is_hidden(&self) -> bool {
        self.additional_kwargs.get(HIDDEN) == Some(&Value::Bool(true))
    }

    /// Whether a user wrote it.
    pub fn is_users(&self) -> bool {
        self.speaker == Speaker::Human && !self.is_hidden() && self.name.is_none()
    }

    /// Whether what it says are a user's words: also those of an answer that no user is shown.
    pub fn is_from_user(&self) -> bool {
        let is_answer = self.additional_kwargs.contains_key(ANSWER);
        self.is_users() || (self.speaker == Speaker::Human && self.name.is_none() && is_answer)
    }

    /// The question that it answers, by its id.
    pub fn answers(&self) -> Option<&str> {
        self.additional_kwargs.get(ANSWER)?.get("request_id")?.as_str()
    }

    /// The question that it asks, by its id.
    pub fn asks(&self) -> Option<&str> {
        self.artifact.as_ref()?.get("human_input")?.get("request_id")?.as_str()
    }

    /// Why the model stopped, if it said.
    pub fn finish_reason(&self) -> Option<&str> {
        self.response_metadata.get("finish_reason").and_then(Value::as_str)
    }

    /// Whether a model wants nothing more with it: it makes no call, not even a broken one.
    pub fn is_final(&self) -> bool {
        self.speaker == Speaker::Ai
            && self.tool_calls.is_empty()
            && self.invalid_tool_calls.is_empty()
            && !matches!(self.finish_reason(), Some("tool_calls" | "function_call" | "tool_use"))
    }
}
