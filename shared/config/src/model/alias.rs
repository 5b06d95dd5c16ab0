//! Settings that the reference's client classes have under names of their own, read as the ones that every entry has. Its example
//! files use them, and a file that works there works here.

use std::time::Duration;

use serde_json::{Map, Value};

use super::REQUEST_TIMEOUT;
use crate::reader::Reader;
use crate::setting::Setting;

/// Names of the credential, by the module of the class. One of another provider's is not read: it would be shown to the wrong one.
const KEYS: &[(&str, &[&str])] = &[
    ("langchain_openai", &["openai_api_key"]),
    ("langchain_anthropic", &["anthropic_api_key"]),
    ("langchain_google_genai", &["google_api_key", "gemini_api_key"]),
    ("langchain_groq", &["groq_api_key"]),
    ("langchain_mistralai", &["mistral_api_key"]),
    ("langchain_openrouter", &["openrouter_api_key"]),
    ("langchain_xai", &["xai_api_key"]),
    ("deerflow.models.claude_provider", &["anthropic_api_key"]),
];
/// Names of the limit of an answer.
const LIMITS: &[&str] = &["max_output_tokens", "max_tokens_to_sample", "num_predict"];
/// Names of the time that a whole call may take.
const TIMEOUTS: &[&str] = &["default_request_timeout", "timeout"];
/// Of the time that nothing may come.
const SILENCE: &str = "read_timeout";
/// Of what switches a model of Ollama's to thinking.
const REASONING: &str = "reasoning";
/// How `OpenAI` and Ollama's chat completions say it.
const EFFORT: &str = "reasoning_effort";

/// The field that names the class.
pub(super) const CLASS: &str = "use";

fn module(class: Option<&Value>) -> &str {
    let class = class.and_then(Value::as_str).unwrap_or_default();
    class.split(':').next().unwrap_or_default()
}

/// Whether an entry's key is another name of a setting that is read here.
pub(super) fn is_one(entry: &Reader<'_>, key: &str) -> bool {
    keys(entry.map.get(CLASS)).contains(&key)
        || LIMITS.contains(&key)
        || TIMEOUTS.contains(&key)
        || key == SILENCE
        || key == REASONING && module(entry.map.get(CLASS)) == "langchain_ollama"
}

/// Names of the credential in an entry of that class.
pub(super) fn keys(class: Option<&Value>) -> &'static [&'static str] {
    let module = module(class);
    KEYS.iter().find(|(name, _)| *name == module).map_or(&[], |(_, keys)| keys)
}

/// The credential, if `api_key` does not say it.
pub(super) fn api_key(entry: &mut Reader<'_>) -> Option<Setting> {
    keys(entry.map.get(CLASS))
        .iter()
        .find_map(|key| entry.tolerant(|entry| entry.setting(key).filter(|setting| setting.flaw().is_none())))
}

/// The limit of an answer, if `max_tokens` does not say it; what is no limit is none.
pub(super) fn max_tokens(entry: &Reader<'_>) -> Option<u64> {
    LIMITS.iter().find_map(|key| entry.map.get(*key)?.as_u64().filter(|most| *most > 0))
}

/// How long a call and its silence may last, of what `request_timeout` and `stream_chunk_timeout` say or do not say.
pub(super) fn times(
    entry: &mut Reader<'_>,
    whole: Option<Duration>,
    silence: Option<Duration>,
) -> (Duration, Option<Duration>) {
    let mut number = |key: &str| {
        let value = entry.map.get(key).filter(|value| !value.is_null())?;
        let seconds = value.as_f64().filter(|seconds| *seconds > 0.0);
        if seconds.is_none() {
            entry.warn(key, "is not read, since it is no number of seconds; say request_timeout");
        }
        Duration::try_from_secs_f64(seconds?).ok()
    };
    let whole_here = TIMEOUTS.iter().find_map(|key| number(key));
    let silence = silence.or_else(|| number(SILENCE));
    // A server that says everything at once is silent until then.
    let whole = whole.or(whole_here).unwrap_or_else(|| REQUEST_TIMEOUT.max(silence.unwrap_or_default()));
    (whole, silence)
}

/// What a class says to its provider in another way than by its key.
pub(super) fn translate(entry: &Reader<'_>, extra: &mut Map<String, Value>) {
    match module(entry.map.get(CLASS)) {
        "langchain_ollama" => {
            let effort = match entry.map.get(REASONING) {
                Some(Value::Bool(false)) => "none".into(),
                Some(effort @ Value::String(_)) => effort.clone(),
                // A model that can think does so by itself.
                _ => return,
            };
            extra.entry(EFFORT).or_insert(effort);
        }
        // Else what it thinks stands in its answer.
        "deerflow.models.patched_minimax" => {
            extra.entry("reasoning_split").or_insert(Value::Bool(true));
        }
        _ => {}
    }
}
