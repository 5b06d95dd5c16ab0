//! A conversation as turns of two sides, which is how Anthropic and Bedrock want it: what tools brought is the user's side, and
//! neither side speaks twice in a row.

use pudu_domain::chat::{Content, Message, Speaker, ToolStatus};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::Picture;

/// The system's text, and the turns.
pub(crate) struct Said<'a> {
    pub(crate) system: String,
    pub(crate) turns: Vec<Turn<'a>>,
}

impl Said<'_> {
    /// The tools that are called in it, each once. Some providers refuse a conversation with calls that comes without tools.
    pub(crate) fn called(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for part in self.turns.iter().flat_map(|turn| &turn.parts) {
            if let Part::Call { name, .. } = part
                && !names.contains(name)
            {
                names.push(*name);
            }
        }
        names
    }
}

/// A turn of one side.
pub(crate) struct Turn<'a> {
    pub(crate) is_models: bool,
    pub(crate) parts: Vec<Part<'a>>,
}

/// A part of a turn.
#[derive(Debug, Clone)]
pub(crate) enum Part<'a> {
    Text(&'a str),
    Picture(Picture<'a>),
    /// What the model thought, as its provider wants it back.
    Thought(&'a Value),
    Call {
        id: &'a str,
        name: &'a str,
        args: Value,
    },
    Result {
        id: &'a str,
        failed: bool,
        parts: Vec<Part<'a>>,
    },
}

/// The turns of `messages`. `thought_by` are the provider and the model to whom its own thoughts are given back; those of others
/// are left out, because nobody else can check their signatures.
pub(crate) fn turns<'a>(messages: &'a [Message], thought_by: (&str, &str)) -> Said<'a> {
    let mut said = Said { system: String::new(), turns: Vec::new() };
    for message in messages {
        let parts = match message.speaker {
            Speaker::System => {
                if !said.system.is_empty() {
                    said.system.push_str("\n\n");
                }
                said.system.push_str(&message.content.text());
                continue;
            }
            Speaker::Human => content(&message.content, false),
            Speaker::Tool => {
                let id = message.tool_call_id.as_deref().unwrap_or_default();
                let failed = message.status == Some(ToolStatus::Error);
                vec![Part::Result { id, failed, parts: content(&message.content, false) }]
            }
            Speaker::Ai => {
                let mut parts = content(&message.content, is_by(message, thought_by));
                parts.extend(calls(message, messages));
                parts
            }
        };
        // A side that says nothing has no turn: providers refuse an empty one.
        if parts.is_empty() {
            continue;
        }
        let is_models = message.speaker == Speaker::Ai;
        match said.turns.last_mut() {
            Some(last) if last.is_models == is_models => last.parts.extend(parts),
            _ => said.turns.push(Turn { is_models, parts }),
        }
    }
    said
}

/// The calls of a message; a broken one only if it was answered, because an answer without its call is refused.
fn calls<'a>(message: &'a Message, all: &'a [Message]) -> impl Iterator<Item = Part<'a>> {
    let made = message.tool_calls.iter().map(|call| Part::Call {
        id: &call.id,
        name: &call.name,
        args: Value::Object(call.args.clone()),
    });
    let broken = message.invalid_tool_calls.iter().filter_map(|call| {
        let (id, name) = (call.id.as_deref()?, call.name.as_deref().unwrap_or("unknown_tool"));
        let is_answered = all.iter().any(|message| message.tool_call_id.as_deref() == Some(id));
        is_answered.then_some(Part::Call { id, name, args: Value::Object(Map::new()) })
    });
    made.chain(broken)
}

/// What is said, in its order: thoughts too, where they are wanted.
fn content(content: &Content, with_thoughts: bool) -> Vec<Part<'_>> {
    let text = |text: &str| !text.trim().is_empty();
    match content {
        Content::Text(said) => {
            Some(said.as_str()).filter(|said| text(said)).map(Part::Text).into_iter().collect()
        }
        Content::Blocks(blocks) => blocks
            .iter()
            .filter_map(|block| {
                if is_thought(block) {
                    return with_thoughts.then_some(Part::Thought(block));
                }
                let said = block.as_str().or_else(|| block.get("text")?.as_str());
                Picture::of(block)
                    .map(Part::Picture)
                    .or_else(|| said.filter(|said| text(said)).map(Part::Text))
            })
            .collect(),
    }
}

pub(crate) fn is_thought(block: &Value) -> bool {
    matches!(block.get("type").and_then(Value::as_str), Some("thinking" | "redacted_thinking"))
}

/// Whether that provider's model said it.
pub(crate) fn is_by(message: &Message, (provider, model): (&str, &str)) -> bool {
    let is =
        |key: &str, value: &str| message.response_metadata.get(key).and_then(Value::as_str) == Some(value);
    is("model_provider", provider) && is("model_name", model)
}

/// The id of a call as a provider takes it: `[A-Za-z0-9_-]`, at most `most` characters. Another provider's may be longer, or
/// have other characters; it is then replaced by a digest of it, the same in the call and in its answer.
pub(crate) fn id_within(id: &str, most: usize) -> String {
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !id.is_empty() && id.len() <= most && id.chars().all(legal) {
        return id.to_owned();
    }
    let digest = hex::encode(Sha256::digest(id));
    format!("call_{}", digest.get(..24).unwrap_or_default())
}
