//! Row 2, `ToolOutputBudget`: a result is no longer than a model can use. What is too long keeps its beginning and its end.
//!
//! The reference saves long results to files that `read_file` reads in parts; without files there is nothing to read them with, so
//! only what does not fit is cut.

use async_trait::async_trait;
use pudu_domain::chat::{Content, Message, Speaker, ToolCall};
use pudu_domain::text::first_chars;

use super::{Middleware, Request};
use crate::turn::Turn;

/// Most characters of a result.
const MOST: usize = 30_000;
/// Of one that has more: characters of its beginning.
const HEAD: usize = 8000;
/// Of one that has more: characters of its end.
const TAIL: usize = 3000;
/// The tool that reads parts by itself.
const EXEMPT: &str = "read_file";

/// The middleware.
#[derive(Debug, Clone, Copy, Default)]
pub struct ToolOutputBudget;

#[async_trait]
impl Middleware for ToolOutputBudget {
    fn name(&self) -> &'static str {
        "tool_output_budget"
    }

    fn shape(&self, _turn: &Turn<'_>, request: &mut Request) {
        request.messages.iter_mut().filter(|message| message.speaker == Speaker::Tool).for_each(cut);
    }

    fn after_tool(&self, _turn: &mut Turn<'_>, _call: &ToolCall, answer: &mut Message) {
        cut(answer);
    }
}

fn cut(message: &mut Message) {
    if message.name.as_deref() == Some(EXEMPT) {
        return;
    }
    let text = message.content.text();
    // Bytes are never fewer than characters, and counting them costs nothing.
    if text.len() <= MOST {
        return;
    }
    let chars = text.chars().count();
    if chars <= MOST {
        return;
    }
    let (head, tail) = (first_chars(&text, HEAD), last_chars(&text, TAIL));
    let gone = chars.saturating_sub(HEAD + TAIL);
    message.content = Content::Text(format!(
        "{head}\n\n[… {gone} of {chars} characters are left out here; ask the tool for a smaller part …]\n\n{tail}"
    ));
}

fn last_chars(text: &str, most: usize) -> &str {
    let at = text.char_indices().rev().nth(most.saturating_sub(1)).map_or(0, |(at, _)| at);
    text.get(at..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use pudu_domain::chat::ToolStatus;
    use pudu_domain::state::State;
    use serde_json::json;

    use super::*;
    use crate::fixture::{World, call};

    fn after(name: &str, text: String) -> String {
        let (world, call) = (World::new(&json!({})), call("c", name, &json!({})));
        let mut answer = Message::tool(&call, ToolStatus::Success, text);
        ToolOutputBudget.after_tool(&mut world.turn(State::default()), &call, &mut answer);
        answer.content.text()
    }

    #[test]
    fn a_long_result_keeps_its_beginning_and_its_end() {
        let text = format!("{}{}{}", "a".repeat(8000), "é".repeat(20_000), "z".repeat(3000));
        let cut = after("t", text);
        assert!(cut.starts_with(&"a".repeat(8000)) && cut.ends_with(&"z".repeat(3000)));
        assert!(cut.contains("20000 of 31000 characters") && cut.chars().count() < 11_200);
        assert_eq!(after("t", cut.clone()), cut, "once");
    }

    #[test]
    fn what_fits_stays_and_what_reads_in_parts_is_left_alone() {
        assert_eq!(after("t", "é".repeat(30_000)).chars().count(), 30_000);
        assert_eq!(after("read_file", "a".repeat(40_000)).len(), 40_000);
    }
}
