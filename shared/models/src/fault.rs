//! What a failed call is, in the order of agent reference 1.5: nothing left, not let in, too fast, broken on the way, busy, a tool
//! that is not taken, anything else. Pure: it sees a status and what the provider said, whole; what is shown of it is redacted
//! elsewhere.

mod schema;

use std::time::Duration;

use pudu_app::ports::{ModelFault, ToolDefinition};
use serde_json::Value;

pub(crate) use schema::blamed;

/// Words of an account that has nothing left. Quotas that fill up again by the minute are no such thing.
const QUOTA: &[&str] = &[
    "insufficient_quota",
    "insufficient quota",
    "exceeded your current quota",
    "billing",
    "credit balance",
    "insufficient balance",
    "insufficient_balance",
    "payment required",
    "insufficient credits",
    "api usage limits",
    "servicequotaexceeded",
    "余额不足",
    "额度不足",
    "欠费",
];
/// What takes an account with nothing left back: such a quota is one of speed, whose words may well name a page about billing.
const REFILLED: &[&str] = &["per min", "per-min", "permin", "per_min", "per sec", "per day", "requests per"];
/// What nothing takes back.
const EMPTY: &[&str] = &["insufficient_quota", "servicequotaexceeded"];
/// Words of a credential that is not taken.
const AUTH: &[&str] = &[
    "invalid_api_key",
    "invalid api key",
    "invalid x-api-key",
    "incorrect api key",
    "authentication",
    "unauthorized",
    "permission_denied",
    "permission denied",
    "permission_error",
    "forbidden",
    "access denied",
    "accessdenied",
    "expiredtoken",
    "unrecognizedclient",
    "invalidsignature",
    "incompletesignature",
    "missingauthentication",
    "api key not valid",
    "未授权",
    "无权",
];
/// Words of calls that come too fast, beyond what a wait of seconds cures.
const BURST: &[&str] = &[
    "burst",
    "too quickly",
    "limit_requests",
    "rate_limit_exceeded",
    "rate_limit_error",
    "throttlingexception",
    "rate increased",
    "tpm",
    "rpm",
];
/// Words of a failure of its own.
const BROKEN: &[&str] = &[
    "internalserver",
    "internal_server_error",
    "internal server error",
    "server_error",
    "api_error",
    "modelstreamerror",
    "modeltimeout",
    "timeout_error",
    "serviceunavailable",
    "model_not_ready",
    "modelnotready",
];
/// Words of a provider that has too much to do.
const BUSY: &[&str] = &[
    "overloaded",
    "server busy",
    "temporarily unavailable",
    "try again later",
    "high demand",
    "capacity",
    "rate limit",
    "too many requests",
    "负载",
    "繁忙",
    "稍后重试",
    "稍后再试",
];
/// Words of a call that the model made and its own provider did not take: no tool's fault.
const MADE_BADLY: &[&str] = &["tool_use_failed", "failed_generation"];
/// Fields of an error, in whatever form, that are no echo of the request.
const OUTLINE: &[&str] = &[
    "code", "detail", "details", "error", "errors", "loc", "message", "msg", "reason", "status", "title",
    "type",
];
/// Statuses that are tried again.
const AGAIN: &[u16] = &[408, 409, 425, 429, 500, 502, 503, 504];

/// What a refusal is. `body` is what came with it, JSON or not; `tools` are those that were offered. In the middle of a stream
/// there is no status but the one that some providers write into the error.
pub(crate) fn of_answer(status: Option<u16>, body: &str, tools: &[ToolDefinition]) -> ModelFault {
    let status = status.or_else(|| written(body));
    // A field that a server does not know is `extra_forbidden`, and no credential's fault.
    let text = body.to_lowercase().replace("extra_forbidden", "");
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if status == Some(402) || says(EMPTY) || says(QUOTA) && !says(REFILLED) {
        return ModelFault::Quota;
    }
    // The words of a schema's error are the model's caller's own: a parameter may be called `authentication`.
    let about_a_tool = matches!(status, None | Some(400 | 422)) && !says(MADE_BADLY);
    let schema = about_a_tool.then(|| blamed(body, tools)).flatten();
    if matches!(status, Some(401 | 403)) || schema.is_none() && says(AUTH) {
        return ModelFault::Auth;
    }
    if schema.is_none() && words(&text, BURST) {
        return ModelFault::Burst;
    }
    if status.is_some_and(|status| status >= 500 || AGAIN.contains(&status))
        || status.is_none() && says(BROKEN)
    {
        return ModelFault::Transient;
    }
    if schema.is_none() && says(BUSY) {
        return ModelFault::Busy;
    }
    schema.unwrap_or(ModelFault::Other)
}

/// The JSON of an error. Some answer with a list of one.
fn unwrapped(body: &str) -> Option<Value> {
    match serde_json::from_str(body).ok()? {
        Value::Array(mut errors) if !errors.is_empty() => Some(errors.swap_remove(0)),
        value => Some(value),
    }
}

/// The status that an error says itself.
fn written(body: &str) -> Option<u16> {
    let value = unwrapped(body)?;
    let error = value.get("error").unwrap_or(&value);
    let number = ["status_code", "code", "status"].iter().find_map(|key| error.get(key)?.as_u64())?;
    u16::try_from(number).ok().filter(|status| (400..600).contains(status))
}

/// When one may try again, of an error that says it itself: Google's in seconds, such as `34s`.
pub(crate) fn delay(body: &str) -> Option<Duration> {
    let value = unwrapped(body)?;
    let details = value.pointer("/error/details")?.as_array()?;
    let said = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    Duration::try_from_secs_f64(said.strip_suffix('s')?.parse().ok()?).ok()
}

/// Whether one of these stands in `text`; the short ones as words of their own.
fn words(text: &str, words: &[&str]) -> bool {
    let letter = |c: char| c.is_alphanumeric();
    words.iter().any(|word| {
        text.match_indices(word).any(|(at, _)| {
            let (before, after) =
                (text.get(..at).unwrap_or_default(), text.get(at + word.len()..).unwrap_or_default());
            word.len() > 3 || !before.ends_with(letter) && !after.starts_with(letter)
        })
    })
}

/// What the provider says, out of whatever it is wrapped in.
pub(crate) fn words_of(body: &str) -> String {
    let Some(value) = unwrapped(body) else {
        // A page of a proxy helps nobody.
        return if body.trim_start().starts_with('<') { String::new() } else { body.to_owned() };
    };
    let error = value.get("error").unwrap_or(&value);
    let text = |of: &Value, key: &str| of.get(key).and_then(Value::as_str).map(str::to_owned);
    let message = text(error, "message")
        .or_else(|| text(error, "Message"))
        .or_else(|| error.as_str().map(str::to_owned));
    let message = message
        .or_else(|| text(&value, "message"))
        .or_else(|| text(&value, "detail"))
        .or_else(|| ["detail", "message"].iter().find_map(|key| wrongs(value.get(*key)?)))
        .unwrap_or_default();
    // What a provider says of the one behind it.
    let behind = error.pointer("/metadata/raw").and_then(Value::as_str);
    let message = match behind {
        Some(behind) => format!("{message}: {behind}"),
        None => message,
    };
    let kind = text(error, "code").or_else(|| text(error, "type")).or_else(|| text(&value, "__type"));
    match kind {
        Some(kind) if !message.contains(&kind) => format!("{kind}: {message}"),
        _ => message,
    }
}

/// What is wrong and where, of a list of such, which some say in place of words. What else is in it is the request once more.
fn wrongs(said: &Value) -> Option<String> {
    let list = said.get("detail").unwrap_or(said).as_array();
    let wrong = |wrong: &Value| {
        let what = wrong.get("msg")?.as_str()?;
        let place = wrong.get("loc").and_then(Value::as_array).into_iter().flatten();
        let place: Vec<String> =
            place.map(|step| step.as_str().map_or_else(|| step.to_string(), str::to_owned)).collect();
        Some(if place.is_empty() { what.to_owned() } else { format!("{}: {what}", place.join(".")) })
    };
    let told: Vec<String> = list.into_iter().flatten().filter_map(wrong).collect();
    if told.is_empty() { (!said.is_null()).then(|| plainly(&outline(said))) } else { Some(told.join("; ")) }
}

/// A value in one line, its texts as they are said: what JSON escapes would be found in no conversation.
fn plainly(value: &Value) -> String {
    [(r"\n", " "), (r"\r", " "), (r"\t", " "), (r#"\""#, "\"")]
        .iter()
        .fold(value.to_string(), |text, (escaped, said)| text.replace(escaped, said))
}

/// What says something of an error that nobody here knows the form of.
fn outline(said: &Value) -> Value {
    match said {
        Value::Object(fields) => {
            let telling = fields.iter().filter(|(key, _)| OUTLINE.contains(&key.as_str()));
            telling.map(|(key, value)| (key.clone(), outline(value))).collect()
        }
        Value::Array(items) => items.iter().map(outline).collect(),
        plain => plain.clone(),
    }
}

#[cfg(test)]
mod tests;
