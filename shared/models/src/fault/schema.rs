//! Which tool a provider does not take, out of what it says about that.

use pudu_app::ports::{ModelFault, ToolDefinition};
use serde_json::Value;

/// Words of an error about a tool's schema.
const ABOUT: &[&str] =
    &["schema", "input_schema", "inputschema", "parameters", "tools", "function_declarations", "toolspec"];
/// Words of something that is wrong. Without one, a mention of tools is none of a fault of theirs.
const WRONG: &[&str] = &[
    "invalid",
    "not supported",
    "unsupported",
    "must be",
    "must have",
    "does not match",
    "not allowed",
    "is required",
    "unknown",
    "not permitted",
    "missing",
    "expected",
    "should",
    "fail",
];

/// The fault of a tool's schema, if that is what `body` is about.
pub(crate) fn blamed(body: &str, tools: &[ToolDefinition]) -> Option<ModelFault> {
    if tools.is_empty() {
        return None;
    }
    let lower = body.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if !has(ABOUT) || !has(WRONG) {
        return None;
    }
    let param = serde_json::from_str::<Value>(body).ok().and_then(|error| {
        error.pointer("/error/param").or_else(|| error.get("param"))?.as_str().map(str::to_owned)
    });
    let (place, rest) = param.as_deref().and_then(place).or_else(|| place(body)).unzip();
    let by_place = place.and_then(|at: usize| tools.get(at));
    let by_name = || tools.iter().filter(|tool| quoted(body, &tool.name)).max_by_key(|tool| tool.name.len());
    let tool = by_place
        .or_else(by_name)
        .or_else(|| lone(&super::words_of(body).to_lowercase(), tools))
        .map(|tool| tool.name.as_str());
    // Without a word of whose schema it is, it may as well be about something else.
    if tool.is_none() && !lower.contains("schema") {
        return None;
    }
    let path = rest.filter(|rest: &String| !rest.is_empty()).or_else(|| context(body));
    Some(ModelFault::Schema { tool: tool.map(str::to_owned), path })
}

/// The only tool whose schema has a word that the provider quotes: not everybody says whose schema it is.
fn lone<'a>(error: &str, tools: &'a [ToolDefinition]) -> Option<&'a ToolDefinition> {
    let quotes = ['\'', '"', '`'];
    let words = error.split(quotes).skip(1).step_by(2).map(|word| word.trim_end_matches('\\'));
    let mut found = words.filter(|word| word.len() > 2).filter_map(|word| {
        let has =
            |tool: &&ToolDefinition| tool.schema.to_string().to_lowercase().contains(&format!("\"{word}\""));
        let mut having = tools.iter().filter(has);
        having.next().filter(|_| having.next().is_none())
    });
    found.next()
}

/// `tools[3].function.parameters.x` or `tools.3.custom.input_schema.x`: the place, and what follows the schema's own name.
fn place(text: &str) -> Option<(usize, String)> {
    let (_, after) = text.split_once("tools[").or_else(|| text.split_once("tools."))?;
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    let place = digits.parse().ok()?;
    let rest = after.get(digits.len()..).unwrap_or_default();
    let end =
        rest.find(|c: char| c.is_whitespace() || matches!(c, ':' | ',' | '\'' | '"')).unwrap_or(rest.len());
    let path = rest.get(..end).unwrap_or_default().trim_end_matches('.');
    let inside = ["parameters", "input_schema", "inputSchema.json", "inputSchema"]
        .iter()
        .find_map(|name| path.split_once(name).map(|(_, inside)| inside));
    Some((place, json_path(inside.unwrap_or_default())))
}

/// `In context=('properties', 'a')`, as one provider says it.
fn context(text: &str) -> Option<String> {
    let (_, after) = text.split_once("context=(")?;
    let (inside, _) = after.split_once(')')?;
    let parts =
        inside.split(',').map(|part| part.trim().trim_matches(['\'', '"'])).filter(|part| !part.is_empty());
    let path = parts.collect::<Vec<_>>().join(".");
    (!path.is_empty()).then(|| json_path(&path))
}

fn json_path(inside: &str) -> String {
    let inside = inside.trim_start_matches('.');
    if inside.is_empty() { String::new() } else { format!("$.{inside}") }
}

/// Whether a name stands in a text as a word of its own.
fn quoted(text: &str, name: &str) -> bool {
    let inside = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    text.match_indices(name).any(|(at, _)| {
        let after = text.get(at + name.len()..).unwrap_or_default();
        !text.get(..at).unwrap_or_default().ends_with(inside) && !after.starts_with(inside)
    })
}
