//! Reads `models`, and says what is wrong with it.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::address::{self, Address};
use super::alias;
use super::provider::{self, Client};
use super::{CHUNK_TIMEOUT, MAX_RETRIES, MODELS, MOST_AT_ONCE, MOST_RETRIES, Model, Pricing, Provider};
use crate::header::{illegal_value, legal_name};
use crate::reader::{Reader, lax_bool};
use crate::sensitive::is_sensitive_key;
use crate::setting::Setting;

/// The header of `betas`.
const BETA: &str = "anthropic-beta";
/// Most characters of a model's name.
const MAX_NAME: usize = 128;
const DEFAULT_HEADERS: &str = "default_headers";
/// The fields of headers, by the names that the reference's client classes have for them.
pub(crate) const HEADERS: [&str; 3] = [DEFAULT_HEADERS, "headers", "extra_headers"];
/// The fields that this house reads itself; every other one goes to the provider.
const DECLARED: &[&str] = &[
    "name",
    "display_name",
    "description",
    "use",
    "model",
    "api_key",
    "base_url",
    "api_base",
    "max_tokens",
    "temperature",
    "request_timeout",
    "max_retries",
    "context_window",
    "supports_thinking",
    "supports_vision",
    "supports_reasoning_effort",
    "when_thinking_enabled",
    "when_thinking_disabled",
    "thinking",
    "stream_chunk_timeout",
    "pricing",
    "default_headers",
    "headers",
    "extra_headers",
    "max_concurrent_calls",
    "enable_prompt_caching",
    "stream_usage",
];
/// Settings of the reference's client classes that say how they work, and nothing to a provider.
const OF_THE_CLIENT: &[&str] = &[
    "streaming",
    "disable_streaming",
    "use_responses_api",
    "output_version",
    "verbose",
    "cache",
    "tags",
    "callbacks",
    "connect_timeout",
    "write_timeout",
    "pool_timeout",
    "cumulative_stream_usage",
    "http_client",
    "http_async_client",
    "rate_limiter",
    "profile",
    "credentials_profile_name",
    "region_name",
    "endpoint_url",
    "azure_endpoint",
    "azure_deployment",
    "api_version",
    "openai_api_version",
    "betas",
    "prompt_cache_size",
    "auto_thinking_budget",
];
/// What one would miss if it were left out in silence, and what happens instead.
const LEFT_OUT: &[(&str, &str)] = &[
    ("use_responses_api", "is not supported; chat completions are used"),
    ("output_version", "is not supported; what a model says is kept as text, or as blocks where it thinks"),
    ("rate_limiter", "is not read; say max_concurrent_calls"),
    ("credentials_profile_name", "is not read; calls are signed by the role of this process, or say api_key"),
];

/// The fields of `entry` in which a variable is resolved, the key by the names that its client has for it.
pub(crate) fn with_variables(entry: &Value) -> impl Iterator<Item = &str> {
    let keys = alias::keys(entry.get(alias::CLASS));
    let named = ["api_key", "thinking", "when_thinking_enabled", "when_thinking_disabled"].into_iter();
    let named = named.chain(keys.iter().copied()).chain(address::NAMES).chain(HEADERS);
    let is_passed_on = |key: &&str| {
        let read = DECLARED.contains(key) || OF_THE_CLIENT.contains(key) || keys.contains(key);
        !read && !address::NAMES.contains(key) && !HEADERS.contains(key) && !is_sensitive_key(key)
    };
    let passed_on = entry.as_object().into_iter().flat_map(|entry| entry.keys().map(String::as_str));
    named.chain(passed_on.filter(is_passed_on))
}

/// The models, in their order; the first one is the default.
pub(crate) fn read_models(top: &mut Reader<'_>) -> Vec<Model> {
    let path = top.at(MODELS);
    let mut models: Vec<Model> = Vec::new();
    let mut names = BTreeSet::new();
    let items = if top.map.get(MODELS).is_some_and(Value::is_null) { &[] } else { top.list(MODELS) };
    for (index, item) in items.iter().enumerate() {
        let Some(mut entry) = Reader::new(item, path.index(index), top.found) else { continue };
        let Some(model) = read(&mut entry) else { continue };
        if !names.insert(model.name.clone()) {
            entry.rule("name", "is the name of another model too; each needs its own");
        }
        models.push(model);
    }
    models
}

fn read(entry: &mut Reader<'_>) -> Option<Model> {
    let name = required(entry, "name");
    if name.as_ref().is_some_and(|name| name.chars().count() > MAX_NAME) {
        entry.rule("name", format!("is longer than {MAX_NAME} characters"));
    }
    let client = client(entry);
    let scripted = client.as_ref().is_some_and(|client| client.provider == Provider::Scripted);
    let model = if scripted {
        Some(entry.text("model").unwrap_or_else(|| "scripted".to_owned()))
    } else {
        required(entry, "model")
    };
    let (timeout, silence) = (entry.seconds("request_timeout"), entry.seconds("stream_chunk_timeout"));
    let (timeout, chunk_timeout) = alias::times(entry, timeout, silence);
    let max_retries = bounded(entry, "max_retries", MOST_RETRIES).unwrap_or(MAX_RETRIES);
    let at_once = bounded(entry, "max_concurrent_calls", MOST_AT_ONCE).filter(|most| *most > 0);
    let given = address::given(entry);
    let when_thinking = when_thinking(entry);
    let when_not_thinking = object(entry, "when_thinking_disabled");
    left_out(entry);
    let client = client?;
    let (provider, address) = (client.provider, Address::of(entry, given, &client));
    let name = name?;
    Some(Model {
        display_name: entry.text("display_name").unwrap_or_else(|| name.clone()),
        description: nullable(entry, "description"),
        provider,
        model: model?,
        api_key: entry.setting("api_key").or_else(|| alias::api_key(entry)),
        address,
        max_tokens: max_tokens(entry),
        temperature: temperature(entry),
        request_timeout: timeout,
        chunk_timeout: chunk_timeout.unwrap_or(CHUNK_TIMEOUT),
        max_retries,
        at_once,
        context_window: positive(entry, "context_window"),
        supports_thinking: entry.bool("supports_thinking", false),
        supports_vision: entry.bool("supports_vision", false),
        supports_reasoning_effort: entry.bool("supports_reasoning_effort", false),
        prompt_caching: flag(entry, "enable_prompt_caching"),
        pricing: pricing(entry),
        when_thinking,
        when_not_thinking,
        headers: headers(entry, provider),
        extra: extra(entry),
        name,
    })
}

fn client(entry: &mut Reader<'_>) -> Option<Client> {
    let text = required(entry, "use")?;
    let client = provider::client(&text);
    if client.is_none() {
        entry.rule("use", format!("names a client that is not known here; use {}", provider::known()));
    }
    client
}

fn max_tokens(entry: &mut Reader<'_>) -> Option<u32> {
    let most = positive(entry, "max_tokens").or_else(|| alias::max_tokens(entry))?;
    Some(u32::try_from(most).unwrap_or(u32::MAX))
}

fn left_out(entry: &mut Reader<'_>) {
    for (key, instead) in LEFT_OUT {
        if !matches!(entry.map.get(*key), None | Some(Value::Null | Value::Bool(false))) {
            entry.warn(key, instead);
        }
    }
}

/// `thinking` is short for `when_thinking_enabled.thinking`, and wins over it field by field.
fn when_thinking(entry: &mut Reader<'_>) -> Map<String, Value> {
    let mut rules = object(entry, "when_thinking_enabled").unwrap_or_default();
    if let Some(short) = object(entry, "thinking") {
        let whole = rules.entry("thinking").or_insert_with(|| Value::Object(Map::new()));
        match whole {
            Value::Object(whole) => whole.extend(short),
            other => *other = Value::Object(short),
        }
    }
    rules
}

fn object(entry: &mut Reader<'_>, key: &str) -> Option<Map<String, Value>> {
    entry.object(key).map(|inner| inner.map.clone())
}

/// More headers of each request, under any of their names; of one header in several of them the first counts.
fn headers(entry: &mut Reader<'_>, provider: Provider) -> Vec<(String, Setting)> {
    let mut headers: Vec<(String, Setting)> = Vec::new();
    for key in HEADERS {
        // The others were passed on to the provider as they were before they were read here.
        let under = if key == DEFAULT_HEADERS {
            headers_under(entry, key)
        } else {
            entry.tolerant(|entry| headers_under(entry, key))
        };
        for (name, value) in under {
            if !headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(&name)) {
                headers.push((name, value));
            }
        }
    }
    let betas = entry.map.get("betas").and_then(Value::as_array).filter(|_| provider == Provider::Anthropic);
    let betas: Vec<&str> = betas.into_iter().flatten().filter_map(Value::as_str).collect();
    let has_some = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(BETA));
    if !betas.is_empty() && !has_some && betas.iter().all(|beta| illegal_value(beta).is_none()) {
        headers.push((BETA.to_owned(), Setting::new(betas.join(","))));
    }
    headers
}

/// Those under one of the names that can be sent.
fn headers_under(entry: &mut Reader<'_>, key: &str) -> Vec<(String, Setting)> {
    if entry.map.get(key).is_none_or(Value::is_null) {
        return Vec::new();
    }
    let mut headers = entry.settings(key);
    headers.retain(|(name, value)| {
        let legal = legal_name(name);
        if !legal {
            entry.rule(key, "has a name that is no legal header name");
        }
        let fits = value.expose_literal().is_none_or(|value| illegal_value(value).is_none());
        if !fits {
            entry.rule(key, "has a value that cannot be sent as a header");
        }
        legal && fits && value.flaw().is_none()
    });
    headers
}

fn pricing(entry: &mut Reader<'_>) -> Option<Pricing> {
    let mut block = entry.object("pricing")?;
    let price = |block: &mut Reader<'_>, key: &str| {
        let number =
            block.map.get(key).filter(|value| !value.is_null())?.as_f64().filter(|price| *price >= 0.0);
        if number.is_none() {
            block.shape(key, "must be a number, at least 0");
        }
        number
    };
    let currency = block.text("currency").unwrap_or_else(|| "USD".to_owned());
    let input_per_million = price(&mut block, "input_per_million").unwrap_or_default();
    let output_per_million = price(&mut block, "output_per_million").unwrap_or_default();
    let input_cache_hit_per_million = price(&mut block, "input_cache_hit_per_million");
    Some(Pricing { currency, input_per_million, output_per_million, input_cache_hit_per_million })
}

fn temperature(entry: &mut Reader<'_>) -> Option<f64> {
    let value = entry.map.get("temperature").filter(|value| !value.is_null())?;
    let number = value.as_f64().filter(|number| (0.0..=2.0).contains(number));
    if number.is_none() {
        entry.shape("temperature", "must be a number from 0 to 2");
    }
    number
}

fn required(entry: &mut Reader<'_>, key: &str) -> Option<String> {
    let text = entry.map.get(key).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    if text.is_none() {
        entry.shape(key, "is required and must be a string that is not empty");
    }
    text.map(str::to_owned)
}

fn nullable(entry: &mut Reader<'_>, key: &str) -> Option<String> {
    if entry.map.get(key).is_some_and(Value::is_null) { None } else { entry.text(key) }
}

/// Whether something is done, in every spelling; absent and null say nothing. Earlier releases read `true` and `false` alone and passed
/// over anything else, so that is no problem now.
fn flag(entry: &mut Reader<'_>, key: &str) -> Option<bool> {
    let value = entry.map.get(key).filter(|value| !value.is_null())?;
    let flag = lax_bool(value);
    if flag.is_none() {
        entry.warn(key, "must be true or false; it is not read");
    }
    flag
}

fn positive(entry: &mut Reader<'_>, key: &str) -> Option<u64> {
    if entry.map.get(key).is_none_or(Value::is_null) {
        return None;
    }
    let number = entry.integer(key)?;
    let positive = u64::try_from(number).ok().filter(|number| *number > 0);
    if positive.is_none() {
        entry.rule(key, "must be at least 1");
    }
    positive
}

fn bounded(entry: &mut Reader<'_>, key: &str, most: u32) -> Option<u32> {
    if entry.map.get(key).is_none_or(Value::is_null) {
        return None;
    }
    let number = entry.integer(key)?;
    let fits = u32::try_from(number).ok().filter(|number| *number <= most);
    if fits.is_none() {
        entry.rule(key, format!("must be from 0 to {most}"));
    }
    fits
}

/// What goes to the provider as it is; no credential does, which would be in a body that its provider may well keep.
fn extra(entry: &mut Reader<'_>) -> Map<String, Value> {
    let mut extra = Map::new();
    for (key, value) in entry.map {
        if DECLARED.contains(&key.as_str())
            || OF_THE_CLIENT.contains(&key.as_str())
            || alias::is_one(entry, key)
        {
            continue;
        }
        if is_sensitive_key(key) {
            entry.warn(key, "is not passed on: a credential belongs into api_key or default_headers");
        } else {
            extra.insert(key.clone(), value.clone());
        }
    }
    // Usage is asked for unless it is said otherwise; whoever refuses the question gets none.
    if flag(entry, "stream_usage") == Some(false) {
        extra.insert("stream_options".to_owned(), Value::Null);
    }
    alias::translate(entry, &mut extra);
    extra
}
