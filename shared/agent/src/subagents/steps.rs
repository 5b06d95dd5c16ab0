//! What a child tells in its parent's name while it works (agent reference 3.6): each message of a model or a tool, as a frame for
//! those who watch and as a record for the thread's history. Pure.

use pudu_domain::RunSpec;
use pudu_domain::chat::{Message, Speaker, ToolCall};
use pudu_domain::run::{Notice, Origin};
use pudu_domain::text::first_chars;
use serde_json::{Value, json};

use crate::turn::{self, TOLD, Turn};

/// Most characters of a text or of arguments in a record.
pub(super) const TEXT_CHARS: usize = 8192;
/// By which name the messages are counted.
const NAME: &str = "subagent_steps";

/// What `turn` tells of `messages`, which are new in it, in its parent's name; nothing if it is no child's.
pub fn steps(turn: &mut Turn<'_>, messages: &[Message]) -> Vec<Notice> {
    let Origin::Child { call, .. } = turn.run.origin.clone() else { return Vec::new() };
    let captured: Vec<&Message> =
        messages.iter().filter(|message| matches!(message.speaker, Speaker::Ai | Speaker::Tool)).collect();
    let before: usize = turn.counters(NAME);
    let total = before + captured.len();
    turn.count(NAME, &total);
    let mut notices = Vec::with_capacity(captured.len() * 2);
    for (index, message) in (before + 1..).zip(captured) {
        let data = json!({
            "type": "task_running",
            "task_id": call,
            "message": framed(message),
            "message_index": index,
            "total_messages": total,
            "usage": turn.totals.tokens,
            "model_name": model_of(turn.spec),
        });
        notices.push(Notice::Frame { event: "custom".to_owned(), data });
        notices.push(record("subagent.step", step(&call, index, message)));
    }
    notices
}

/// A message as a frame of its parent shows it: whole, unless that is too much for a row.
fn framed(message: &Message) -> Value {
    let whole = json!(message);
    if whole.to_string().len() <= TOLD {
        return whole;
    }
    let mut cut =
        Message::new(message.speaker, &*message.id, first_chars(&message.content.text(), TEXT_CHARS));
    cut.name.clone_from(&message.name);
    cut.tool_call_id.clone_from(&message.tool_call_id);
    cut.status = message.status;
    cut.additional_kwargs.insert("truncated".to_owned(), true.into());
    json!(cut)
}

/// A record about a subagent.
pub(super) fn record(event_type: &str, content: Value) -> Notice {
    turn::record(event_type, "subagent", content, json!({}))
}

/// Which model a child was given; none is the first one.
pub(super) fn model_of(spec: &RunSpec) -> Option<&str> {
    spec.options.get("model_name").and_then(Value::as_str)
}

fn step(task: &str, index: usize, message: &Message) -> Value {
    let whole = message.content.text();
    let text = first_chars(&whole, TEXT_CHARS);
    let ai = message.speaker == Speaker::Ai;
    let mut step = json!({
        "task_id": task,
        "message_index": index,
        "kind": if ai { "ai" } else { "tool" },
        "text": text,
        "truncated": text.len() < whole.len(),
    });
    if let Some(step) = step.as_object_mut() {
        if ai {
            let calls = message.tool_calls.iter().map(shown).collect();
            step.insert("tool_calls".to_owned(), Value::Array(calls));
        } else {
            step.insert("tool_name".to_owned(), json!(message.name));
        }
    }
    step
}

/// A call; arguments that are too long become the beginning of their text.
fn shown(call: &ToolCall) -> Value {
    let args = json!(call.args).to_string();
    let cut = first_chars(&args, TEXT_CHARS);
    if cut.len() < args.len() {
        return json!({ "name": call.name, "args": cut, "args_truncated": true });
    }
    json!({ "name": call.name, "args": call.args })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_is_too_large_for_a_frame_is_cut() {
        let mut message = Message::new(Speaker::Tool, "m", "x");
        assert_eq!(framed(&message), json!(message));
        message.artifact = Some(json!("x".repeat(TOLD)));
        let cut = framed(&message);
        assert!(cut.to_string().len() < 1000 && cut["id"] == "m" && cut["content"] == "x", "{cut}");
        message.content = "ü".repeat(TOLD).into();
        assert!(framed(&message).to_string().len() < TOLD);
    }
}
