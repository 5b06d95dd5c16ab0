//! What is shown of a provider's words: no credential, nothing of the conversation, one line, a few hundred characters.

use std::collections::HashMap;

use ::http::HeaderMap;
use percent_encoding::percent_decode_str;
use pudu_app::ports::{ModelCall, ModelEntry};
use pudu_domain::chat::{Content, Message};
use pudu_domain::text::first_chars;
use secrecy::ExposeSecret;
use serde_json::Value;
use url::Url;

/// Most characters of an error.
pub(crate) const MAX_CHARS: usize = 500;
/// A shorter secret is none: hiding it would tear up every text.
const LEAST_SECRET: usize = 4;
/// So many characters in a row that the conversation has too are taken from it.
const RUN: usize = 24;
const MASK: &str = "***";
const LEFT_OUT: &str = "[…]";

/// `text` as it may be shown. `headers` are those that were sent.
pub(crate) fn shown(text: &str, call: &ModelCall, headers: &HeaderMap) -> String {
    let hidden =
        secrets(&call.entry, headers).iter().fold(text.to_owned(), |text, secret| text.replace(secret, MASK));
    let line: String =
        hidden.chars().map(|c| if c.is_control() { ' ' } else { c }).take(4 * MAX_CHARS).collect();
    first_chars(without_conversation(line.trim(), &call.messages).trim(), MAX_CHARS).to_owned()
}

/// Every secret that is sent, and its parts, the longest first.
fn secrets(entry: &ModelEntry, headers: &HeaderMap) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut add = |text: &str| {
        found.push(text.to_owned());
        found.extend(
            text.split([' ', ',', ';', '=', ':', '/']).filter(|part| part.len() >= 12).map(str::to_owned),
        );
    };
    entry.api_key.iter().for_each(|key| add(key.expose_secret()));
    entry.headers.iter().for_each(|(_, value)| add(value.expose_secret()));
    headers
        .values()
        .filter(|value| value.is_sensitive())
        .filter_map(|value| value.to_str().ok())
        .for_each(&mut add);
    if let Some(url) = entry.base_url.as_deref().and_then(|url| Url::parse(url).ok()) {
        for raw in [url.username(), url.password().unwrap_or_default(), url.query().unwrap_or_default()] {
            add(raw);
            add(&percent_decode_str(raw).decode_utf8_lossy());
        }
        url.query_pairs().for_each(|(_, value)| add(&value));
    }
    let variables = entry.variables.iter().map(|value| value.expose_secret().to_owned());
    for secret in pudu_config::passed_on_secrets(&entry.extra).into_iter().chain(variables) {
        add(&secret);
        add(&percent_decode_str(&secret).decode_utf8_lossy());
    }
    found.retain(|secret| secret.trim().len() >= LEAST_SECRET);
    found.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    found.dedup();
    found
}

/// Providers repeat what they do not like. What stands in the conversation too is left out.
fn without_conversation(text: &str, messages: &[Message]) -> String {
    let said: Vec<String> =
        messages.iter().flat_map(said_in).map(|text| text.replace(char::is_control, " ")).collect();
    let characters: Vec<char> = text.chars().collect();
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, window) in windows(text).enumerate() {
        places.entry(window).or_default().push(at);
    }
    let mut hidden = vec![false; characters.len()];
    // Once through each of them at most: a picture has millions of characters.
    for window in said.iter().flat_map(|text| windows(text)) {
        if places.is_empty() {
            break;
        }
        for at in places.remove(window).into_iter().flatten() {
            hidden.iter_mut().skip(at).take(RUN).for_each(|hidden| *hidden = true);
        }
    }
    // What is shorter than that is a repetition if the whole of it was said.
    let whole = |text: &String| (8..RUN).contains(&text.chars().count());
    let short: Vec<&String> = said.iter().filter(|text| whole(text)).collect();
    let mut out = String::with_capacity(text.len());
    let mut was_hidden = false;
    for (character, hidden) in characters.into_iter().zip(hidden) {
        match (hidden, was_hidden) {
            (true, false) => out.push_str(LEFT_OUT),
            (true, true) => {}
            (false, _) => out.push(character),
        }
        was_hidden = hidden;
    }
    short.into_iter().fold(out, |out, text| out.replace(text.as_str(), LEFT_OUT))
}

/// What a message says, and what its provider gets back with it: thoughts, signatures, pictures.
fn said_in(message: &Message) -> Vec<String> {
    let mut said = vec![message.content.text()];
    said.extend(message.tool_calls.iter().map(|call| Value::Object(call.args.clone()).to_string()));
    said.extend(message.invalid_tool_calls.iter().filter_map(|call| call.args.clone()));
    let mut beside = Vec::new();
    let blocks = match &message.content {
        Content::Blocks(blocks) => blocks.as_slice(),
        Content::Text(_) => &[],
    };
    let extra = message.tool_calls.iter().filter_map(|call| call.extra_content.as_ref());
    let arguments = message.tool_calls.iter().flat_map(|call| call.args.values());
    for value in blocks.iter().chain(message.additional_kwargs.values()).chain(extra).chain(arguments) {
        strings(value, &mut beside);
    }
    // A short word is a name, such as `image_url`, without which an error says nothing.
    let is_name = |text: &str| text.len() < RUN && text.bytes().all(|byte| byte.is_ascii_graphic());
    said.extend(beside.into_iter().filter(|text| !is_name(text)).map(str::to_owned));
    said
}

/// Every text at or below `value`.
fn strings<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(items) => items.iter().for_each(|item| strings(item, found)),
        Value::Object(fields) => fields.values().for_each(|field| strings(field, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Every [`RUN`] characters in a row of `text`.
fn windows(text: &str) -> impl Iterator<Item = &str> {
    let begins = text.char_indices().map(|(at, _)| at);
    let ends = begins.clone().chain([text.len()]).skip(RUN);
    begins.zip(ends).filter_map(|(begin, end)| text.get(begin..end))
}

#[cfg(test)]
mod tests;
