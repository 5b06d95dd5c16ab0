//! Row 2, `ToolOutputBudget`: a result is no longer than a model can use. One that is too long is kept whole beside the states of
//! its thread and told in short, with where it is and how its parts are read ([`crate::read_tool_result`]). What cannot be kept
//! is cut, and keeps its beginning and its end.

mod kind;
#[cfg(test)]
mod tests;

use async_trait::async_trait;
use pudu_app::chain::Chain;
use pudu_app::runs::results::{self, Results};
use pudu_config::{Ends, ToolOutput};
use pudu_domain::chat::{Content, Message, Speaker, ToolCall};
use pudu_domain::text::first_chars;

use super::{Middleware, Request, is_from_server};
use crate::read_tool_result::{self, MOST_CHARS, READ_TOOL_RESULT};
use crate::turn::Turn;
use kind::Kind;

/// Tools of this house that bring parts by themselves. A server's of the same name is a stranger's.
const EXEMPT: [&str; 2] = ["read_file", READ_TOOL_RESULT];

/// The middleware. Its numbers are the operator's (`tool_output` in the config).
#[derive(Clone)]
pub struct ToolOutputBudget {
    /// Where results are kept; without it they are only cut.
    pub results: Option<Results>,
}

#[async_trait]
impl Middleware for ToolOutputBudget {
    fn name(&self) -> &'static str {
        "tool_output_budget"
    }

    fn shape(&self, turn: &Turn<'_>, request: &mut Request) {
        let limits = &turn.options.house.agents.tool_output;
        let said = request.messages.iter_mut().filter(|message| message.speaker == Speaker::Tool);
        // What was told in short is as long as the operator wants it.
        let whole = |message: &&mut Message| !is_exempt(message, limits) && results::noted(message).is_none();
        for message in said.filter(whole) {
            cut(message, limits);
        }
    }

    async fn after_tool(&self, turn: &mut Turn<'_>, _call: &ToolCall, answer: &mut Message) {
        let limits = &turn.options.house.agents.tool_output;
        if is_exempt(answer, limits) {
            return;
        }
        let text = answer.content.text();
        // Bytes are never fewer than characters, and counting them costs nothing.
        let chars = if text.len() < limits.keep_from { text.len() } else { text.chars().count() };
        let told = limits.enabled && chars >= limits.keep_from && read_tool_result::is_had(turn.spec);
        match self.results.as_ref().filter(|_| told) {
            None => cut(answer, limits),
            Some(results) => match results.keep(&turn.run.key.thread, &text).await {
                Ok(name) => {
                    let kind = Kind::of(&text);
                    answer.content = Content::Text(in_short(&name, &text, chars, &kind, limits.preview));
                    results::note(answer, &name, chars, kind.as_str());
                }
                Err(error) => {
                    tracing::warn!(run.id = %turn.run.key.id, error = %Chain(&error), "a long result was not kept; it is cut");
                    cut(answer, limits);
                }
            },
        }
    }
}

fn is_exempt(message: &Message, limits: &ToolOutput) -> bool {
    let name = message.name.as_deref().unwrap_or_default();
    (!is_from_server(message) && EXEMPT.contains(&name)) || limits.exempt.iter().any(|exempt| exempt == name)
}

/// What stands in the place of a result that was kept.
fn in_short(name: &str, text: &str, chars: usize, kind: &Kind, ends: Ends) -> String {
    let (head, tail) = (first_chars(text, ends.head), last_chars(text, ends.tail));
    let gone = chars.saturating_sub(ends.head).saturating_sub(ends.tail);
    format!(
        "[This result is {kind}, {chars} characters: too long to be shown whole. All of it is saved as {name}. Read the parts that you \
         need with {READ_TOOL_RESULT}(result=\"{name}\", offset=…, limit=…): both count characters, the first is at offset 0, and \
         limit is at most {MOST_CHARS}. Here are its beginning and its end.]\n\n{head}\n\n[… {gone} characters, from offset {at} on …]\n\n{tail}",
        at = ends.head,
    )
}

fn cut(message: &mut Message, limits: &ToolOutput) {
    let text = message.content.text();
    if text.len() <= limits.most {
        return;
    }
    let chars = text.chars().count();
    if chars <= limits.most {
        return;
    }
    let Ends { head, tail } = limits.cut;
    let gone = chars.saturating_sub(head).saturating_sub(tail);
    let (first, last) = (first_chars(&text, head), last_chars(&text, tail));
    message.content = Content::Text(format!(
        "{first}\n\n[… {gone} of {chars} characters are left out here; ask the tool for a smaller part …]\n\n{last}"
    ));
}

fn last_chars(text: &str, most: usize) -> &str {
    let at = most.checked_sub(1).map(|back| text.char_indices().rev().nth(back).map_or(0, |(at, _)| at));
    at.and_then(|at| text.get(at..)).unwrap_or_default()
}
