//! Anthropic's messages.

mod answer;
mod cache;

use ::http::HeaderValue;
use ::http::header::AUTHORIZATION;
use pudu_app::ports::{Dialect, ModelCall};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use crate::dialect::{Part, Request, Said, Trouble, id_within, pour, set, turns, under};
use crate::openai::{headers, secret};
use crate::repair;

pub(crate) use answer::{Answer, Blocks, finish};

/// What `response_metadata.model_provider` says.
pub(crate) const PROVIDER: &str = "anthropic";
const ADDRESS: &str = "https://api.anthropic.com";
const VERSION: HeaderValue = HeaderValue::from_static("2023-06-01");
/// Of a token that somebody logged in for, instead of a key.
const TOKEN_PREFIX: &str = "sk-ant-oat";
/// Without this one such a token is not taken.
const TOKENS: &str = "oauth-2025-04-20";
const BETA: &str = "anthropic-beta";
/// The interface wants a limit; every model takes this one.
const MAX_TOKENS: u64 = 4096;
/// Fewest tokens for thoughts that are taken.
const LEAST_BUDGET: u64 = 1024;
/// Longest id of a call.
const MAX_ID: usize = 64;

/// A call as it is sent.
pub(crate) fn request(call: &ModelCall) -> Result<Request, Trouble> {
    let entry = &call.entry;
    let base = entry.base_url.as_deref().unwrap_or(ADDRESS);
    let has_version = base.split('?').next().unwrap_or_default().trim_end_matches('/').ends_with("/v1");
    let url = under(base, if has_version { "messages" } else { "v1/messages" })?;
    let said = turns(&call.messages, (PROVIDER, &entry.model));
    let thinking = entry.extra.get("thinking");
    let kind = thinking.and_then(|thinking| thinking.get("type")).and_then(Value::as_str);
    let budget = thinking.and_then(|thinking| thinking.get("budget_tokens")).and_then(Value::as_u64);
    let (most, thoughts) = room(entry.max_tokens, budget, kind == Some("enabled"));
    let mut body = json!({ "model": entry.model, "max_tokens": most });
    if !said.system.is_empty() {
        set(&mut body, "system", json!([{"type": "text", "text": said.system}]));
    }
    let messages = said.turns.iter().map(|turn| {
        let role = if turn.is_models { "assistant" } else { "user" };
        json!({"role": role, "content": turn.parts.iter().map(block).collect::<Value>()})
    });
    set(&mut body, "messages", messages.collect());
    tools(&mut body, call, &said);
    set(&mut body, "stream", true.into());
    // A model that thinks takes no other temperature than its own.
    if let Some(temperature) = entry.temperature.filter(|_| !matches!(kind, Some("enabled" | "adaptive"))) {
        set(&mut body, "temperature", temperature.into());
    }
    if let Some(effort) = &call.reasoning_effort {
        set(&mut body, "output_config", json!({ "effort": effort }));
    }
    // Only the agent's own calls come again with the same beginning; what is written into the cache costs more.
    if entry.caches.unwrap_or(!call.tools.is_empty()) && !entry.extra.contains_key("cache_control") {
        cache::mark(&mut body);
    }
    pour(&mut body, &entry.extra);
    if let (Some(budget), Some(thinking)) = (thoughts, body.get_mut("thinking")) {
        set(thinking, "budget_tokens", budget.into());
    }
    let mut headers = headers(entry)?;
    headers.entry("anthropic-version").or_insert(VERSION);
    if let Some(key) = entry.api_key.as_ref().map(ExposeSecret::expose_secret) {
        if key.starts_with(TOKEN_PREFIX) {
            headers.insert(AUTHORIZATION, secret(&format!("Bearer {key}"))?);
            let others = headers.get(BETA).and_then(|betas| betas.to_str().ok());
            let betas = others.map_or_else(|| TOKENS.to_owned(), |others| format!("{others},{TOKENS}"));
            headers.insert(BETA, secret(&betas)?);
        } else {
            headers.insert("x-api-key", secret(key)?);
        }
    }
    Ok(Request { url, headers, body: body.to_string().into_bytes() })
}

/// Most tokens of a call, and how many of them are for thoughts where it thinks and nobody says. What is thought counts too, and a
/// call with as much of it as there may be at all is refused: a limit that small is one of the answer alone.
fn room(limit: Option<u32>, budget: Option<u64>, thinks: bool) -> (u64, Option<u64>) {
    let without = || MAX_TOKENS.saturating_add(budget.unwrap_or_default());
    let most = limit.map_or_else(without, u64::from);
    if !thinks {
        return (most, None);
    }
    let part = most.saturating_mul(4) / 5;
    let (taken, fits) = match budget {
        Some(budget) => (budget, budget < most),
        None => (part.max(LEAST_BUDGET), part >= LEAST_BUDGET),
    };
    (if fits { most } else { most.saturating_add(taken) }, budget.is_none().then_some(taken))
}

/// The tools of a call. A conversation with calls and without tools is refused: those that are called in it are named, and may
/// not be called again.
fn tools(body: &mut Value, call: &ModelCall, said: &Said<'_>) {
    let called = if call.tools.is_empty() { said.called() } else { Vec::new() };
    let offered = call.tools.iter().map(|tool| {
        let schema = repair::schema(Dialect::Anthropic, &tool.schema);
        json!({"name": tool.name, "description": tool.description, "input_schema": schema})
    });
    let named =
        called.iter().map(|name| json!({"name": name, "input_schema": {"type": "object", "properties": {}}}));
    let tools: Vec<Value> = offered.chain(named).collect();
    if !tools.is_empty() {
        set(body, "tools", tools.into());
    }
    if !called.is_empty() {
        set(body, "tool_choice", json!({"type": "none"}));
    }
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
