//! Amazon Bedrock's Converse, as a stream.
//!
//! Over the same HTTP client as the others and not by the service's SDK: its client would connect where the egress rule forbids,
//! and retry. The SDK's own crates read the stream's frames and sign.

mod answer;
mod fields;
mod frames;
mod sign;

use ::http::HeaderValue;
use ::http::header::{ACCEPT, AUTHORIZATION};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use pudu_app::ports::{Dialect, ModelCall};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use self::fields::Fields;
use crate::dialect::{Part, Picture, Request, Said, Trouble, id_within, pour, set, turns, under};
use crate::openai::{headers, secret};
use crate::repair;

pub(crate) use answer::Answer;
pub(crate) use frames::Frames;
pub(crate) use sign::sign;

/// What `response_metadata.model_provider` says.
pub(crate) const PROVIDER: &str = "bedrock";
/// Longest id of a call.
const MAX_ID: usize = 64;
const STREAM: HeaderValue = HeaderValue::from_static("application/vnd.amazon.eventstream");
/// A model's id may be an ARN, with colons and slashes.
const IN_PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A call as it is sent; without an API key it is signed afterwards.
pub(crate) fn request(call: &ModelCall) -> Result<Request, Trouble> {
    let entry = &call.entry;
    let base = entry.base_url.as_deref();
    let base =
        base.ok_or_else(|| Trouble::Unsendable("it has neither region_name nor base_url".to_owned()))?;
    let url = under(base, &format!("model/{}/converse-stream", utf8_percent_encode(&entry.model, IN_PATH)))?;
    let said = turns(&call.messages, (PROVIDER, &entry.model));
    let messages = said.turns.iter().map(|turn| {
        let role = if turn.is_models { "assistant" } else { "user" };
        json!({"role": role, "content": turn.parts.iter().filter_map(block).collect::<Value>()})
    });
    let mut body = json!({ "messages": messages.collect::<Value>() });
    if !said.system.is_empty() {
        set(&mut body, "system", json!([{ "text": said.system }]));
    }
    let fields = Fields::of(call);
    if !fields.inference.is_empty() {
        set(&mut body, "inferenceConfig", Value::Object(fields.inference));
    }
    tools(&mut body, call, &said);
    if !fields.of_the_model.is_empty() {
        set(&mut body, "additionalModelRequestFields", Value::Object(fields.of_the_model));
    }
    // A model that keeps nothing refuses the marks, so nobody gets them who does not ask.
    if entry.caches == Some(true) {
        mark(&mut body);
    }
    pour(&mut body, &fields.of_the_call);
    let mut headers = headers(entry)?;
    headers.insert(ACCEPT, STREAM);
    if let Some(key) = &entry.api_key {
        headers.insert(AUTHORIZATION, secret(&format!("Bearer {}", key.expose_secret()))?);
    }
    Ok(Request { url, headers, body: body.to_string().into_bytes() })
}

/// The tools of a call; one without any in a conversation with calls is refused, so those that are called in it are named.
fn tools(body: &mut Value, call: &ModelCall, said: &Said<'_>) {
    let offered = call.tools.iter().map(|tool| {
        let schema = repair::schema(Dialect::Bedrock, &tool.schema);
        let mut spec = json!({"name": tool.name, "inputSchema": {"json": schema}});
        // An empty description is refused, an absent one is not.
        if !tool.description.is_empty() {
            set(&mut spec, "description", tool.description.clone().into());
        }
        json!({ "toolSpec": spec })
    });
    let called = if call.tools.is_empty() { said.called() } else { Vec::new() };
    let named = called.iter().map(|name| {
        json!({"toolSpec": {"name": name, "inputSchema": {"json": {"type": "object", "properties": {}}}}})
    });
    let tools: Vec<Value> = offered.chain(named).collect();
    if !tools.is_empty() {
        set(body, "toolConfig", json!({ "tools": tools }));
    }
}

/// What the service is to keep: everything up to the end of the system's text, and of the user's last turn.
fn mark(body: &mut Value) {
    let point = json!({"cachePoint": {"type": "default"}});
    if let Some(Value::Array(system)) = body.get_mut("system") {
        system.push(point.clone());
    }
    let turns = body.get_mut("messages").and_then(Value::as_array_mut).into_iter().flatten();
    if let Some(Value::Array(content)) = turns.last().and_then(|turn| turn.get_mut("content")) {
        content.push(point);
    }
}

fn block(part: &Part<'_>) -> Option<Value> {
    Some(match part {
        Part::Text(text) => json!({ "text": text }),
        Part::Picture(Picture::Data { media_type, data }) => {
            let format = media_type.rsplit('/').next().unwrap_or("png");
            json!({"image": {"format": format, "source": {"bytes": data}}})
        }
        // It fetches nothing itself.
        Part::Picture(Picture::Url(url)) => json!({"text": format!("[picture at {url}]")}),
        Part::Thought(thought) => {
            let text = |key: &str| thought.get(key).and_then(Value::as_str);
            match text("data") {
                Some(data) => json!({"reasoningContent": {"redactedContent": data}}),
                None => {
                    json!({"reasoningContent": {"reasoningText": {"text": text("thinking")?, "signature": text("signature")?}}})
                }
            }
        }
        Part::Call { id, name, args } => {
            json!({"toolUse": {"toolUseId": id_within(id, MAX_ID), "name": name, "input": args}})
        }
        Part::Result { id, failed, parts } => {
            let content: Value = parts.iter().filter_map(block).collect();
            let status = if *failed { "error" } else { "success" };
            json!({"toolResult": {"toolUseId": id_within(id, MAX_ID), "content": content, "status": status}})
        }
    })
}
