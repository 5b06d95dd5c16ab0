//! What the script finds worth remembering: sentences of the user that begin with `remember`, word for word.

use pudu_app::framing::{BEGIN, END};
use pudu_domain::memory::QUESTION;
use serde_json::{Value, json};

use super::LABEL;

/// Who says what is worth remembering; what was said stands in objects, one on a line.
const USER: &str = "user";
const REMEMBER: &str = "remember ";
/// Characters of one fact beside the label.
const CHARS: usize = 400;

/// The answer, if that is what is asked for: it must be JSON and nothing else, so each fact in it says what it is from.
pub(super) fn lessons(prompt: &str) -> Option<String> {
    if !prompt.starts_with(QUESTION) {
        return None;
    }
    let said = prompt.rsplit_once(BEGIN).and_then(|(_, said)| said.split_once(END)).map(|(said, _)| said);
    let said = said.unwrap_or_default().lines().filter_map(|line| {
        let said: Value = serde_json::from_str(line).ok()?;
        let is_users = said.get("by").and_then(Value::as_str) == Some(USER);
        said.get("text").and_then(Value::as_str).filter(|_| is_users).map(str::to_owned)
    });
    let facts: Vec<_> = said
        .filter_map(|said| {
            said.get(..REMEMBER.len()).filter(|word| word.eq_ignore_ascii_case(REMEMBER))?;
            said.get(REMEMBER.len()..).map(str::to_owned)
        })
        .map(|wanted| {
            let wanted = pudu_domain::text::first_chars(wanted.trim(), CHARS);
            json!({ "content": format!("{LABEL} {wanted}"), "category": "context", "confidence": 0.9 })
        })
        .collect();
    Some(json!({ "new_facts": facts }).to_string())
}
