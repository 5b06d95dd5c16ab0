//! Chat completions, as `OpenAI` and everybody who is compatible with it has them.
//!
//! By hand and not by a library: an entry's model must be sent as it is written (a library that reads an effort out of its name
//! changes it), a picture's block with all its fields, and a call's pieces must come apart by their place.

mod answer;

use ::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use ::http::{HeaderMap, HeaderName, HeaderValue};
use pudu_app::ports::{Dialect, ModelCall, ModelEntry};
use pudu_domain::chat::{Content, Message, Speaker};
use secrecy::ExposeSecret;
use serde_json::{Map, Value, json};

use crate::dialect::{Picture, Request, Trouble, id_within, pour, set, under};
use crate::repair;

pub(crate) use answer::Answer;

/// What `response_metadata.model_provider` says.
pub(crate) const PROVIDER: &str = "openai";
const ADDRESS: &str = "https://api.openai.com/v1";
const OWN_HOST: &str = "api.openai.com";
/// Longest id of a call that the provider itself takes.
const MAX_ID: usize = 40;
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");

/// A call as it is sent.
pub(crate) fn request(call: &ModelCall) -> Result<Request, Trouble> {
    let entry = &call.entry;
    let url = under(entry.base_url.as_deref().unwrap_or(ADDRESS), "chat/completions")?;
    let messages: Vec<Value> =
        call.messages.iter().map(|said| message(said, &call.messages, entry)).collect();
    let mut body = json!({ "model": entry.model, "messages": messages });
    if !call.tools.is_empty() {
        let tools = call.tools.iter().map(|tool| {
            let parameters = repair::schema(Dialect::OpenAi, &tool.schema);
            json!({"type": "function", "function": {
                "name": tool.name, "description": tool.description, "parameters": parameters,
            }})
        });
        set(&mut body, "tools", tools.collect());
    }
    set(&mut body, "stream", true.into());
    set(&mut body, "stream_options", json!({"include_usage": true}));
    let is_own = url.host_str() == Some(OWN_HOST);
    // The provider's own models of today take only the newer name, and most others only the older one.
    let limit = if is_own { "max_completion_tokens" } else { "max_tokens" };
    if let Some(most) = entry.max_tokens.filter(|_| !entry.extra.contains_key("max_completion_tokens")) {
        set(&mut body, limit, most.into());
    }
    if let Some(temperature) = entry.temperature {
        set(&mut body, "temperature", temperature.into());
    }
    if let Some(effort) = &call.reasoning_effort {
        set(&mut body, "reasoning_effort", effort.clone().into());
    }
    pour(&mut body, &entry.extra);
    let mut headers = headers(entry)?;
    if let Some(key) = &entry.api_key {
        headers.insert(AUTHORIZATION, secret(&format!("Bearer {}", key.expose_secret()))?);
    }
    Ok(Request { url, headers, body: body.to_string().into_bytes() })
}

/// The headers of every dialect, and those of the entry.
pub(crate) fn headers(entry: &ModelEntry) -> Result<HeaderMap, Trouble> {
    let mut headers = HeaderMap::from_iter([(CONTENT_TYPE, JSON), (ACCEPT, EVENTS)]);
    for (name, value) in &entry.headers {
        let name: HeaderName = name
            .parse()
            .map_err(|_| Trouble::Unsendable("a name in default_headers is no header's".to_owned()))?;
        headers.insert(name, secret(value.expose_secret())?);
    }
    Ok(headers)
}

/// A header that no log shows.
pub(crate) fn secret(value: &str) -> Result<HeaderValue, Trouble> {
    let refused = |_| {
        Trouble::Unsendable(
            "its api_key or a default header has characters that no header may have".to_owned(),
        )
    };
    let mut value = HeaderValue::from_str(value).map_err(refused)?;
    value.set_sensitive(true);
    Ok(value)
}

fn message(message: &Message, all: &[Message], entry: &ModelEntry) -> Value {
    match message.speaker {
        Speaker::System => json!({"role": "system", "content": message.content.text()}),
        Speaker::Human => json!({"role": "user", "content": content(&message.content)}),
        Speaker::Tool => json!({
            "role": "tool",
            "tool_call_id": id(message.tool_call_id.as_deref().unwrap_or_default()),
            "content": message.content.text(),
        }),
        Speaker::Ai => {
            let text = message.content.text();
            let calls = calls(message, all);
            // A message with calls alone has no content; one with neither still has to have some.
            let content = if text.is_empty() && !calls.is_empty() { Value::Null } else { text.into() };
            let mut said = json!({"role": "assistant", "content": content});
            // Some want to see again what they thought; the name of the model says whether it was this one.
            let model = message.response_metadata.get("model_name").and_then(Value::as_str);
            if let Some(thought) =
                message.additional_kwargs.get("reasoning_content").filter(|_| model == Some(&entry.model))
            {
                set(&mut said, "reasoning_content", thought.clone());
            }
            if !calls.is_empty() {
                set(&mut said, "tool_calls", calls.into());
            }
            said
        }
    }
}

fn calls(message: &Message, all: &[Message]) -> Vec<Value> {
    let call = |call_id: &str, name: &str, arguments: String| json!({"id": id(call_id), "type": "function", "function": {"name": name, "arguments": arguments}});
    let made = message
        .tool_calls
        .iter()
        .map(|made| call(&made.id, &made.name, Value::Object(made.args.clone()).to_string()));
    let broken = message.invalid_tool_calls.iter().filter_map(|broken| {
        let call_id = broken.id.as_deref()?;
        let is_answered = all.iter().any(|message| message.tool_call_id.as_deref() == Some(call_id));
        // Not its arguments as they are: some providers parse them.
        is_answered.then(|| call(call_id, broken.name.as_deref().unwrap_or("unknown_tool"), "{}".to_owned()))
    });
    made.chain(broken).collect()
}

/// Blocks as they are: they are this dialect's own, or become so.
fn content(content: &Content) -> Value {
    match content {
        Content::Text(text) => text.clone().into(),
        Content::Blocks(blocks) => blocks
            .iter()
            .map(|block| match (block, Picture::of(block)) {
                (Value::String(text), _) => json!({"type": "text", "text": text}),
                (_, Some(picture)) if block.get("type").and_then(Value::as_str) == Some("image") => {
                    json!({"type": "image_url", "image_url": {"url": picture.url()}})
                }
                _ => block.clone(),
            })
            .collect(),
    }
}

/// Only what is too long is replaced: the ids of compatible providers have all sorts of characters.
fn id(id: &str) -> String {
    if id.len() <= MAX_ID { id.to_owned() } else { id_within(id, MAX_ID) }
}

/// The metadata of an answer by `model` that ended as `finish`.
pub(crate) fn metadata(provider: &str, model: &str, finish: Option<&str>) -> Map<String, Value> {
    let mut metadata = Map::new();
    if let Some(finish) = finish {
        metadata.insert("finish_reason".to_owned(), finish.into());
    }
    metadata.insert("model_name".to_owned(), model.into());
    metadata.insert("model_provider".to_owned(), provider.into());
    metadata
}
