//! Chat completions, as `OpenAI` and everybody who is compatible with it has them.
//!
//! By hand and not by a library: an entry's model must be sent as it is written (a library that reads an effort out of its name
//! changes it), a picture's block with all its fields, and a call's pieces must come apart by their place.

mod answer;
mod server;
mod thoughts;

use ::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use ::http::{HeaderMap, HeaderName, HeaderValue};
use pudu_app::ports::{Dialect, ModelCall, ModelEntry};
use pudu_domain::chat::{Content, Message, Speaker};
use secrecy::ExposeSecret;
use serde_json::{Map, Value, json};

use self::server::Server;
use crate::dialect::{Picture, Request, Trouble, pour, set, under};
use crate::repair;

pub(crate) use answer::Answer;

/// What `response_metadata.model_provider` says.
pub(crate) const PROVIDER: &str = "openai";
const ADDRESS: &str = "https://api.openai.com/v1";
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");

/// A call as it is sent.
pub(crate) fn request(call: &ModelCall) -> Result<Request, Trouble> {
    let entry = &call.entry;
    let url = under(entry.base_url.as_deref().unwrap_or(ADDRESS), "chat/completions")?;
    let server = Server::at(&url);
    let messages: Vec<Value> = call.messages.iter().map(|said| message(said, call, server)).collect();
    let mut body = json!({ "model": entry.model, "messages": messages });
    if !call.tools.is_empty() {
        let tools = call.tools.iter().map(|tool| {
            let parameters = repair::schema(Dialect::OpenAi, &tool.schema);
            json!({"type": "function", "function": {
                "name": tool.name, "description": server.description(&tool.description), "parameters": parameters,
            }})
        });
        set(&mut body, "tools", tools.collect());
    }
    set(&mut body, "stream", true.into());
    if server.is_asked_for_usage() {
        set(&mut body, "stream_options", json!({"include_usage": true}));
    }
    if let Some(most) = entry.max_tokens.filter(|_| !entry.extra.contains_key("max_completion_tokens")) {
        set(&mut body, server.limit(), most.into());
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

fn message(message: &Message, call: &ModelCall, server: Server) -> Value {
    match message.speaker {
        Speaker::System => json!({"role": "system", "content": message.content.text()}),
        Speaker::Human => json!({"role": "user", "content": content(&message.content)}),
        Speaker::Tool => json!({
            "role": "tool",
            "tool_call_id": server.id(message.tool_call_id.as_deref().unwrap_or_default()),
            "content": message.content.text(),
        }),
        Speaker::Ai => {
            let model = message.response_metadata.get("model_name").and_then(Value::as_str);
            let is_own = model == Some(&call.entry.model);
            let text = message.content.text();
            let calls = calls(message, &call.messages, server, is_own);
            // A message with calls alone has no content; one with neither still has to have some.
            let content = if text.is_empty() && !calls.is_empty() { Value::Null } else { text.into() };
            let mut said = json!({"role": "assistant", "content": content});
            // Nobody else can check what was thought, and some refuse it.
            if is_own {
                thoughts::give_back(message, &mut said, |call| server.id(call));
            }
            if !calls.is_empty() {
                set(&mut said, "tool_calls", calls.into());
            }
            said
        }
    }
}

fn calls(message: &Message, all: &[Message], server: Server, is_own: bool) -> Vec<Value> {
    let call = |call_id: &str, name: &str, arguments: String| json!({"id": server.id(call_id), "type": "function", "function": {"name": name, "arguments": arguments}});
    let made = message.tool_calls.iter().map(|made| {
        let mut said = call(&made.id, &made.name, Value::Object(made.args.clone()).to_string());
        if let Some(extra) = made.extra_content.as_ref().filter(|_| is_own) {
            set(&mut said, "extra_content", extra.clone());
        }
        said
    });
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
