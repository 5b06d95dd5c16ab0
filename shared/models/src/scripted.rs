//! The built-in script: what answers when no model is configured. It calls nobody, and the same conversation always gets the
//! same answer. Every answer says what it is.
//!
//! It follows a few plain words of the user: a tool that is named is called, with `name=value` or a JSON object as its
//! arguments; `delegate` makes a subagent work; in plan mode it writes a list first and ticks it off at the end; a goal it takes for met
//! once an agent has gone on for it; what begins with `remember` is remembered.

mod arguments;
mod judge;
mod memory;
mod plan;

use pudu_app::ports::{ModelCall, Piece};
use pudu_domain::chat::{Content, Message, Speaker, ToolCall, ToolStatus, Usage};
use pudu_domain::text::first_chars;
use serde_json::Value;
use tokio::sync::mpsc;

use plan::{Scene, Wanted};

/// What every answer begins with.
pub const LABEL: &str = "[built-in scripted model]";
/// Characters of what a tool brought that are repeated.
const REPEATED_CHARS: usize = 400;
/// Tools that an answer lists.
const LISTED: usize = 12;

/// Speaks the answer to a call, in pieces, and returns it.
pub(crate) async fn speak(call: &ModelCall, pieces: &mpsc::Sender<Piece>) -> Message {
    let answer = answer(call);
    let text = answer.content.text();
    for word in text.split_inclusive(' ') {
        // A receiver that is gone wants no pieces; the answer is whole all the same.
        let _ = pieces.send(Piece::Text(word.to_owned())).await;
    }
    for (index, made) in answer.tool_calls.iter().enumerate() {
        let begin = Piece::Call {
            index,
            id: Some(made.id.clone()),
            name: Some(made.name.clone()),
            args: Value::Object(made.args.clone()).to_string(),
        };
        let _ = pieces.send(begin).await;
    }
    answer
}

/// The answer to a call.
fn answer(call: &ModelCall) -> Message {
    let scene = Scene::of(call);
    let (text, calls) = if let Some(said) = judge::judgement(call).or_else(|| memory::lessons(&scene.prompt))
    {
        (said, Vec::new())
    } else {
        let (text, calls) = scene.next();
        (format!("{LABEL} {text}"), calls)
    };
    let mut answer = Message::new(Speaker::Ai, &*call.id, text);
    let numbered = calls.into_iter().enumerate();
    answer.tool_calls = numbered
        .map(|(index, (name, args))| ToolCall::new(format!("scripted-{}-{index}", call.id), name, args))
        .collect();
    let finish = if answer.tool_calls.is_empty() { "stop" } else { "tool_calls" };
    answer.response_metadata.insert("finish_reason".to_owned(), finish.into());
    answer.response_metadata.insert("model_name".to_owned(), call.entry.model.clone().into());
    answer.usage_metadata = Some(usage(call, &answer));
    answer
}

/// Four characters count as a token, which is about what it is elsewhere.
fn usage(call: &ModelCall, answer: &Message) -> Usage {
    let tokens = |chars: usize| u64::try_from(chars.div_ceil(4)).unwrap_or(u64::MAX);
    let input_tokens =
        tokens(call.messages.iter().map(|message| message.content.text().chars().count()).sum());
    let calls: usize =
        answer.tool_calls.iter().map(|made| Value::Object(made.args.clone()).to_string().len()).sum();
    let output_tokens = tokens(answer.content.text().chars().count() + calls);
    Usage { input_tokens, output_tokens, total_tokens: input_tokens + output_tokens }
}

impl Scene<'_> {
    /// What is said, and which calls are made.
    fn next(&self) -> (String, Vec<Wanted>) {
        if let Some(list) = self.opening_list() {
            return ("I make a plan.".to_owned(), vec![list]);
        }
        let calls = self.wanted_calls();
        if !calls.is_empty() {
            let names: Vec<&str> = calls.iter().map(|(name, _)| name.as_str()).collect();
            return (format!("I call {}.", names.join(", ")), calls);
        }
        if let Some(list) = self.closing_list() {
            return ("Everything of the plan is done.".to_owned(), vec![list]);
        }
        (self.last_words(), Vec::new())
    }

    fn last_words(&self) -> String {
        let results = self.results();
        if !results.is_empty() {
            return results.iter().map(|result| told(result)).collect::<Vec<_>>().join("\n");
        }
        if let Some(event) = self.event() {
            return format!("A background task has news: {}", first_chars(&event, REPEATED_CHARS));
        }
        let mut text = format!("You said: \"{}\".", first_chars(&self.prompt, REPEATED_CHARS));
        text.push_str(" I am no language model; configure one under `models`.");
        let names = self.tool_names();
        if !names.is_empty() {
            let more = if names.len() > LISTED { ", …" } else { "" };
            let listed: Vec<&str> = names.into_iter().take(LISTED).collect();
            text.extend([format!(" Name a tool and I call it: {}{more}.", listed.join(", "))]);
        }
        text
    }
}

fn told(result: &Message) -> String {
    let name = result.name.as_deref().unwrap_or("a tool");
    let verb = if result.status == Some(ToolStatus::Error) { "failed" } else { "answered" };
    let text = match &result.content {
        Content::Text(text) => text.clone(),
        blocks @ Content::Blocks(_) => blocks.text(),
    };
    format!("{name} {verb}: {}", first_chars(text.trim(), REPEATED_CHARS))
}

#[cfg(test)]
mod tests;
