//! Anthropic's messages.

mod answer;

use ::http::HeaderValue;
use pudu_app::ports::{Dialect, ModelCall};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use crate::dialect::{Part, Request, Trouble, id_within, pour, set, turns, under};
use crate::openai::{headers, secret};
use crate::repair;

pub(crate) use answer::{Answer, Blocks, finish};

/// What `response_metadata.model_provider` says.
pub(crate) const PROVIDER: &str = "anthropic";
const ADDRESS: &str = "https://api.anthropic.com";
const VERSION: HeaderValue = HeaderValue::from_static("2023-06-01");
/// Of a token that somebody logged in for, instead of a key.
const TOKEN_PREFIX: &str = "sk-ant-oat";
/// The interface wants a limit; every model takes this one.
const MAX_TOKENS: u32 = 4096;
/// Longest id of a call.
const MAX_ID: usize = 64;

/// A call as it is sent.
pub(crate) fn request(call: &ModelCall) -> Result<Request, Trouble> {
    let entry = &call.entry;
    let base = entry.base_url.as_deref().unwrap_or(ADDRESS);
    let has_version = base.split('?').next().unwrap_or_default().trim_end_matches('/').ends_with("/v1");
    let url = under(base, if has_version { "messages" } else { "v1/messages" })?;
    let said = turns(&call.messages, (PROVIDER, &entry.model));
    let mut body = json!({ "model": entry.model, "max_tokens": entry.max_tokens.unwrap_or(MAX_TOKENS) });
    if !said.system.is_empty() {
        set(&mut body, "system", said.system.into());
    }
    let messages = said.turns.iter().map(|turn| {
        let role = if turn.is_models { "assistant" } else { "user" };
        json!({"role": role, "content": turn.parts.iter().map(block).collect::<Value>()})
    });
    set(&mut body, "messages", messages.collect());
    if !call.tools.is_empty() {
        let tools = call.tools.iter().map(|tool| {
            let schema = repair::schema(Dialect::Anthropic, &tool.schema);
            json!({"name": tool.name, "description": tool.description, "input_schema": schema})
        });
        set(&mut body, "tools", tools.collect());
    }
    set(&mut body, "stream", true.into());
    let thinks = matches!(
        entry.extra.get("thinking").and_then(|thinking| thinking.get("type")).and_then(Value::as_str),
        Some("enabled" | "adaptive")
    );
    // A model that thinks takes no other temperature than its own.
    if let Some(temperature) = entry.temperature.filter(|_| !thinks) {
        set(&mut body, "temperature", temperature.into());
    }
    if let Some(effort) = &call.reasoning_effort {
        set(&mut body, "output_config", json!({ "effort": effort }));
    }
    pour(&mut body, &entry.extra);
    let mut headers = headers(entry)?;
    headers.entry("anthropic-version").or_insert(VERSION);
    if let Some(key) = entry.api_key.as_ref().map(ExposeSecret::expose_secret) {
        if key.starts_with(TOKEN_PREFIX) {
            headers.insert(::http::header::AUTHORIZATION, secret(&format!("Bearer {key}"))?);
        } else {
            headers.insert("x-api-key", secret(key)?);
        }
    }
    Ok(Request { url, headers, body: body.to_string().into_bytes() })
}

fn block(part: &Part<'_>) -> Value {
    match part {
        Part::Text(text) => json!({"type": "text", "text": text}),
        Part::Picture(picture) => picture.block(),
        Part::Thought(thought) => (*thought).clone(),
        Part::Call { id, name, args } => {
            json!({"type": "tool_use", "id": id_within(id, MAX_ID), "name": name, "input": args})
        }
        Part::Result { id, failed, parts } => {
            let mut result = json!({"type": "tool_result", "tool_use_id": id_within(id, MAX_ID)});
            set(&mut result, "content", parts.iter().map(block).collect());
            if *failed {
                set(&mut result, "is_error", true.into());
            }
            result
        }
    }
}
