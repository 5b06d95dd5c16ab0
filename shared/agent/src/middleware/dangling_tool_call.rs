//! Row 7, `DanglingToolCall`: every call has one answer, directly behind its message, in what the model is sent. Providers refuse a
//! conversation without that; a run that was interrupted, or a state that was edited, leaves one.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use pudu_domain::chat::{Message, Speaker, ToolCall, ToolStatus};
use serde_json::Map;

use super::{Middleware, Request};
use crate::turn::Turn;

/// The beginning of an id that a call gets that has none.
const SYNTHETIC: &str = "deerflow_synthetic_tool_call_";
/// The name of a call without one.
const UNKNOWN: &str = "unknown_tool";

/// The middleware.
#[derive(Debug, Clone, Copy, Default)]
pub struct DanglingToolCall;

#[async_trait]
impl Middleware for DanglingToolCall {
    fn name(&self) -> &'static str {
        "dangling_tool_call"
    }

    fn shape(&self, _turn: &Turn<'_>, request: &mut Request) {
        request.messages = repaired(std::mem::take(&mut request.messages));
    }
}

fn repaired(messages: Vec<Message>) -> Vec<Message> {
    let (results, others): (Vec<Message>, Vec<Message>) =
        messages.into_iter().partition(|message| message.speaker == Speaker::Tool);
    let mut answers: BTreeMap<String, Message> = BTreeMap::new();
    for result in results {
        if let Some(call) = result.tool_call_id.clone() {
            answers.entry(call).or_insert(result);
        }
    }
    let (mut out, mut taken) = (Vec::with_capacity(others.len() + answers.len()), BTreeSet::new());
    let mut synthetic = 0_usize;
    for mut message in others {
        let broken = std::mem::take(&mut message.invalid_tool_calls);
        let mut problems: Vec<Option<String>> = vec![None; message.tool_calls.len()];
        for call in broken {
            let error = call.error.unwrap_or_else(|| "they are no JSON object".to_owned());
            let (id, name) = (call.id.unwrap_or_default(), call.name.unwrap_or_default());
            message.tool_calls.push(ToolCall::new(id, name, Map::new()));
            problems.push(Some(format!("Error: the arguments of this call could not be read: {error}")));
        }
        for call in &mut message.tool_calls {
            if call.name.trim().is_empty() {
                UNKNOWN.clone_into(&mut call.name);
            }
            if call.id.trim().is_empty() || !taken.insert(call.id.clone()) {
                call.id = format!("{SYNTHETIC}{synthetic}");
                synthetic += 1;
            }
        }
        let calls = message.tool_calls.clone();
        out.push(message);
        for (call, problem) in calls.iter().zip(problems) {
            let text = problem.unwrap_or_else(|| "[The call was interrupted and has no result.]".to_owned());
            let missing = || Message::tool(call, ToolStatus::Error, text);
            out.push(answers.remove(&call.id).unwrap_or_else(missing));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use pudu_domain::chat::InvalidToolCall;
    use serde_json::json;

    use super::*;
    use crate::fixture::{ai, call, human};

    fn result(id: &str) -> Message {
        Message::tool(&call(id, "t", &json!({})), ToolStatus::Success, "ok")
    }

    fn ids(messages: &[Message]) -> Vec<&str> {
        messages.iter().map(|message| message.id.as_str()).collect()
    }

    #[test]
    fn an_unanswered_call_is_answered_behind_its_message() {
        let calls = [call("1", "t", &json!({})), call("2", "t", &json!({}))];
        let sent = repaired(vec![human("u", "hi"), ai("a", "", calls), human("v", "go on"), result("2")]);
        assert_eq!(ids(&sent), ["u", "a", "tool:1", "tool:2", "v"]);
        assert_eq!(sent[2].status, Some(ToolStatus::Error));
        assert!(sent[2].content.text().contains("interrupted"));
        assert_eq!(repaired(sent.clone()), sent);
    }

    #[test]
    fn an_answer_without_a_call_is_left_out() {
        assert_eq!(ids(&repaired(vec![human("u", "hi"), result("9"), result("9")])), ["u"]);
    }

    #[test]
    fn calls_without_id_or_name_get_one_and_broken_ones_an_error() {
        let mut message = ai("a", "", [call("", " ", &json!({}))]);
        message.invalid_tool_calls.push(InvalidToolCall {
            name: Some("t".into()),
            args: Some("{".into()),
            id: Some("b".into()),
            error: Some("EOF".into()),
        });
        let sent = repaired(vec![message]);
        let made: Vec<(&str, &str)> =
            sent[0].tool_calls.iter().map(|call| (call.id.as_str(), call.name.as_str())).collect();
        assert_eq!(made, [("deerflow_synthetic_tool_call_0", "unknown_tool"), ("b", "t")]);
        assert!(sent[2].content.text().contains("EOF") && sent[0].invalid_tool_calls.is_empty());
    }
}
