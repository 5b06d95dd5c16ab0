//! What the script makes of a conversation: what was wanted last, and what was done about it since.

use pudu_app::framing;
use pudu_app::ports::{ModelCall, ToolDefinition};
use pudu_domain::chat::{Message, Speaker};
use serde_json::{Map, Value, json};

use super::arguments;

/// The tool that keeps the list of plan mode.
const LIST: &str = "write_todos";
/// The tool that delegates.
const DELEGATE: &str = "task";
/// Words that stand for a number of subagents.
const NUMBERS: &[(&str, usize)] = &[("two", 2), ("three", 3), ("2", 2), ("3", 3)];
/// The markers around what a user wrote.
const MARKERS: [&str; 2] = ["--- BEGIN USER INPUT ---", "--- END USER INPUT ---"];

/// A conversation from the last thing on that somebody wanted.
pub(super) struct Scene<'a> {
    /// What was wanted, without markers.
    pub(super) prompt: String,
    tools: &'a [ToolDefinition],
    since: &'a [Message],
}

/// A tool's name, and what it is called with.
pub(super) type Wanted = (String, Map<String, Value>);

impl<'a> Scene<'a> {
    pub(super) fn of(call: &'a ModelCall) -> Self {
        let messages = &call.messages;
        // A message of this house under a name (a reminder, a warning) wants nothing new.
        let wants = |message: &Message| message.speaker == Speaker::Human && message.name.is_none();
        let at = messages.iter().rposition(wants);
        let prompt =
            at.and_then(|at| messages.get(at)).map(|message| message.content.text()).unwrap_or_default();
        let since = at.and_then(|at| messages.get(at + 1..)).unwrap_or_default();
        Self { prompt: without_markers(&prompt), tools: &call.tools, since }
    }

    /// The names of what may be called.
    pub(super) fn tool_names(&self) -> Vec<&'a str> {
        self.tools.iter().map(|tool| tool.name.as_str()).collect()
    }

    /// What the tools brought that were called for it.
    pub(super) fn results(&self) -> Vec<&'a Message> {
        let of_the_list = |message: &Message| message.name.as_deref() == Some(LIST);
        self.since
            .iter()
            .filter(|message| message.speaker == Speaker::Tool && !of_the_list(message))
            .collect()
    }

    /// The event that it tells, if a background task is what it is about.
    pub(super) fn event(&self) -> Option<String> {
        let (_, rest) = self.prompt.split_once(framing::BEGIN)?;
        let (event, _) = rest.split_once(framing::END)?;
        Some(event.trim().to_owned())
    }

    /// In plan mode, the list that is written first.
    pub(super) fn opening_list(&self) -> Option<Wanted> {
        (self.event().is_none() && self.was_called(LIST) == 0).then(|| self.list("in_progress"))?
    }

    /// In plan mode, the list when everything is done.
    pub(super) fn closing_list(&self) -> Option<Wanted> {
        (self.was_called(LIST) == 1).then(|| self.list("completed"))?
    }

    /// The calls that are wanted and were not made.
    pub(super) fn wanted_calls(&self) -> Vec<Wanted> {
        if self.event().is_some() {
            return Vec::new();
        }
        let mut calls: Vec<Wanted> = self
            .named()
            .into_iter()
            .filter(|(_, tool)| self.was_called(&tool.name) == 0)
            .map(|(at, tool)| {
                let told = self.prompt.get(at + tool.name.len()..).unwrap_or_default();
                (tool.name.clone(), arguments::for_tool(&tool.schema, told))
            })
            .collect();
        calls.extend(self.delegations());
        calls
    }

    /// The tools that the text names, with where it does, in its order.
    fn named(&self) -> Vec<(usize, &'a ToolDefinition)> {
        let ours = |tool: &&ToolDefinition| tool.name != LIST && tool.name != DELEGATE;
        let found =
            self.tools.iter().filter(ours).filter_map(|tool| Some((word(&self.prompt, &tool.name)?, tool)));
        let mut found: Vec<_> = found.collect();
        found.sort_by_key(|(at, _)| *at);
        found
    }

    fn delegations(&self) -> Vec<Wanted> {
        let lower = self.prompt.to_lowercase();
        let wanted = lower.contains("delegate") || lower.contains("subagent");
        let Some(tool) = self.tools.iter().find(|tool| tool.name == DELEGATE).filter(|_| wanted) else {
            return Vec::new();
        };
        if self.was_called(&tool.name) > 0 {
            return Vec::new();
        }
        let number =
            NUMBERS.iter().find(|(text, _)| word(&lower, text).is_some()).map_or(1, |(_, number)| *number);
        let one = |at: usize| {
            let mut args = arguments::for_tool(&tool.schema, "");
            args.insert("description".to_owned(), format!("part {at} of {number}").into());
            args.insert(
                "prompt".to_owned(),
                format!("Part {at} of {number} of this: {}", undelegated(&self.prompt)).into(),
            );
            (tool.name.clone(), args)
        };
        (1..=number).map(one).collect()
    }

    /// One item for each call that is wanted, and one for the answer.
    fn list(&self, first: &str) -> Option<Wanted> {
        self.tools.iter().find(|tool| tool.name == LIST)?;
        let mut items: Vec<String> =
            self.named().iter().map(|(_, tool)| format!("Call {}", tool.name)).collect();
        if self.prompt.to_lowercase().contains("delegate") {
            items.push("Delegate".to_owned());
        }
        items.push("Tell what came of it".to_owned());
        let status = |at: usize| if at == 0 || first == "completed" { first } else { "pending" };
        let item = |(at, content): (usize, &String)| json!({"content": content, "status": status(at), "activeForm": format!("{content} …")});
        let todos: Vec<Value> = items.iter().enumerate().map(item).collect();
        Some((LIST.to_owned(), Map::from_iter([("todos".to_owned(), todos.into())])))
    }

    fn was_called(&self, tool: &str) -> usize {
        let calls = self.since.iter().flat_map(|message| &message.tool_calls);
        calls.filter(|call| call.name == tool).count()
    }
}

/// The lines that are for subagents: those that say so, without the word, or the subagent would delegate too. The others are the
/// agent's own.
fn undelegated(prompt: &str) -> String {
    let delegated = |line: &&str| {
        let line = line.to_lowercase();
        line.contains("delegate") || line.contains("subagent")
    };
    let lines: Vec<String> = prompt.lines().filter(delegated).map(plain).collect();
    lines.join("\n")
}

fn plain(line: &str) -> String {
    line.replace("delegate", "do")
        .replace("Delegate", "Do")
        .replace("subagents", "parts")
        .replace("subagent", "part")
}

fn without_markers(text: &str) -> String {
    let kept = text.lines().filter(|line| !MARKERS.contains(&line.trim()));
    kept.collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// Where `text` has `name` as a word of its own.
fn word(text: &str, name: &str) -> Option<usize> {
    let inside = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    text.match_indices(name).map(|(at, _)| at).find(|at| {
        let before = text.get(..*at).unwrap_or_default();
        let after = text.get(at + name.len()..).unwrap_or_default();
        !before.ends_with(inside) && !after.starts_with(inside)
    })
}
