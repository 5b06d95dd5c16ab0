//! What a model thought, in whichever field its server says it, and back in the same one: some refuse a conversation without it,
//! and others one with a field that is not theirs.

use pudu_domain::chat::Message;
use serde_json::{Map, Value, json};

use crate::dialect::{set, text};

/// Of `additional_kwargs`: the thoughts as text, which everybody here knows under this name.
const TEXT: &str = "reasoning_content";
/// Of `response_metadata`: the field in which they came, where it is another one.
const FIELD: &str = "reasoning_field";
/// Of `additional_kwargs` and of a provider's message: thoughts in parts, with signatures.
const DETAILS: &str = "reasoning_details";
/// Of `additional_kwargs` and of a provider's message: its own signature of the whole.
const EXTRA: &str = "extra_content";
/// Where the thoughts are blocks of the content.
const CONTENT: &str = "content";

/// Thoughts in the making.
#[derive(Debug, Default)]
pub(super) struct Thoughts {
    text: String,
    field: Option<&'static str>,
    details: Vec<Value>,
    extra: Option<Value>,
}

impl Thoughts {
    pub(super) const fn is_empty(&self) -> bool {
        self.text.is_empty() && self.details.is_empty()
    }

    /// What a delta has of them; the text of it.
    pub(super) fn hear(&mut self, delta: &Value) -> String {
        if let Some(extra) = delta.get(EXTRA).filter(|extra| extra.is_object()) {
            self.extra = Some(extra.clone());
        }
        for detail in delta.get(DETAILS).and_then(Value::as_array).into_iter().flatten() {
            self.detail(detail);
        }
        // Some say it in both fields.
        let plain = [TEXT, "reasoning"].into_iter().find_map(|field| Some((field, text(delta, field)?)));
        let said = match plain {
            Some((field, said)) => {
                self.field = Some(field);
                said.to_owned()
            }
            None => self.blocks(delta.get(CONTENT)).or_else(|| details(delta)).unwrap_or_default(),
        };
        self.text.push_str(&said);
        said
    }

    fn blocks(&mut self, content: Option<&Value>) -> Option<String> {
        let blocks = content?.as_array()?.iter().filter_map(|block| block.get("thinking")?.as_array());
        let said: String = blocks.flatten().filter_map(|part| text(part, "text")).collect();
        if said.is_empty() {
            return None;
        }
        self.field = Some(CONTENT);
        Some(said)
    }

    /// More of the last part, or another one.
    fn detail(&mut self, detail: &Value) {
        let same = |a: &Value, key: &str| a.get(key) == detail.get(key);
        let last = self.details.last_mut().filter(|last| same(last, "type") && same(last, "index"));
        let (Some(Value::Object(last)), Value::Object(more)) = (last, detail) else {
            self.details.push(detail.clone());
            return;
        };
        for (key, value) in more {
            match (key.as_str(), last.get_mut(key), value) {
                ("text" | "summary" | "data", Some(Value::String(whole)), Value::String(more)) => {
                    whole.push_str(more);
                }
                (_, _, Value::Null) => {}
                _ => drop(last.insert(key.clone(), value.clone())),
            }
        }
    }

    /// Puts them into the answer.
    pub(super) fn into(self, message: &mut Message) {
        let kept = &mut message.additional_kwargs;
        if !self.text.is_empty() {
            kept.insert(TEXT.to_owned(), self.text.into());
        }
        if !self.details.is_empty() {
            kept.insert(DETAILS.to_owned(), self.details.into());
        }
        if let Some(extra) = self.extra {
            kept.insert(EXTRA.to_owned(), extra);
        }
        if let Some(field) = self.field.filter(|field| *field != TEXT) {
            message.response_metadata.insert(FIELD.to_owned(), field.into());
        }
    }
}

/// The text of a delta whose thoughts are in parts only.
fn details(delta: &Value) -> Option<String> {
    let parts = delta.get(DETAILS)?.as_array()?.iter();
    let said: String =
        parts.filter_map(|part| text(part, "text").or_else(|| text(part, "summary"))).collect();
    Some(said).filter(|said| !said.is_empty())
}

/// Puts what `message` thought into `said`, which goes to the model that thought it; `id` is how a call's id is sent.
pub(super) fn give_back(message: &Message, said: &mut Value, id: impl Fn(&str) -> String) {
    let kept: &Map<String, Value> = &message.additional_kwargs;
    if let Some(extra) = kept.get(EXTRA) {
        set(said, EXTRA, extra.clone());
    }
    if let Some(Value::Array(details)) = kept.get(DETAILS) {
        let of_calls = details.iter().map(|detail| match call_of(message, detail) {
            Some(call) => {
                let mut detail = detail.clone();
                set(&mut detail, "id", id(call).into());
                detail
            }
            None => detail.clone(),
        });
        set(said, DETAILS, of_calls.collect());
        return;
    }
    let Some(thought) = kept.get(TEXT) else { return };
    match message.response_metadata.get(FIELD).and_then(Value::as_str) {
        Some(CONTENT) => {
            let mut blocks =
                vec![json!({"type": "thinking", "thinking": [{"type": "text", "text": thought}]})];
            if let Some(text) = text(said, CONTENT) {
                blocks.push(json!({"type": "text", "text": text}));
            }
            set(said, CONTENT, blocks.into());
        }
        Some("reasoning") => set(said, "reasoning", thought.clone()),
        _ => set(said, TEXT, thought.clone()),
    }
}

/// The id that the call of a part has by now: Gemini's signatures name the call that they belong to, and who runs the tools gives
/// every call an id that no other conversation has, the provider's own first.
fn call_of<'a>(message: &'a Message, detail: &Value) -> Option<&'a str> {
    let named = text(detail, "id")?;
    let is_it = |id: &&str| id.strip_prefix(named).is_some_and(|rest| rest.starts_with('-'));
    message.tool_calls.iter().map(|call| call.id.as_str()).find(is_it)
}
