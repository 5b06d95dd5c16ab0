//! What the script finds worth remembering: sentences of the user that begin with `remember`, word for word.

use pudu_app::framing::{BEGIN, END};
use serde_json::json;

use super::LABEL;

/// What whoever asks for lessons begins with.
const ASKED: &str = "You keep the memory of an assistant";
/// What stands before what a user said.
const USER: &str = "User: ";
const REMEMBER: &str = "remember ";
/// Characters of one fact beside the label.
const CHARS: usize = 400;

/// The answer, if that is what is asked for: it must be JSON and nothing else, so each fact in it says what it is from.
pub(super) fn lessons(prompt: &str) -> Option<String> {
    if !prompt.starts_with(ASKED) {
        return None;
    }
    let said = prompt.rsplit_once(BEGIN).and_then(|(_, said)| said.split_once(END)).map(|(said, _)| said);
    let wanted = said.unwrap_or_default().lines().filter_map(|line| {
        let said = line.strip_prefix(USER)?;
        let rest = said.get(..REMEMBER.len()).filter(|word| word.eq_ignore_ascii_case(REMEMBER))?;
        said.get(rest.len()..)
    });
    let facts: Vec<_> = wanted
        .map(|wanted| {
            let wanted = pudu_domain::text::first_chars(wanted.trim(), CHARS);
            json!({ "content": format!("{LABEL} {wanted}"), "category": "context", "confidence": 0.9 })
        })
        .collect();
    Some(json!({ "new_facts": facts }).to_string())
}
