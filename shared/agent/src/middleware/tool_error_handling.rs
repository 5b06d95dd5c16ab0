//! Row 13, `ToolErrorHandling`: a failed call is a message that says what failed, how, and what to do; and every result says of
//! which tool it is and how it went.

use async_trait::async_trait;
use pudu_domain::chat::{Message, ToolCall, ToolStatus};
use pudu_domain::text::first_chars;
use serde_json::json;

use super::Middleware;
use crate::turn::Turn;

/// Of `additional_kwargs`.
const META: &str = "deerflow_tool_meta";
/// Most characters of what went wrong.
const DETAIL: usize = 500;

/// The middleware.
#[derive(Debug, Clone, Copy, Default)]
pub struct ToolErrorHandling;

/// The answer to a call that failed: `kind` names the failure, `detail` says what happened.
pub(crate) fn failure(call: &ToolCall, kind: &str, detail: &str) -> Message {
    let detail = first_chars(detail, DETAIL);
    let text = format!(
        "Error: Tool '{}' failed with {kind}: {detail}. Go on with what you have, or try another tool or other arguments.",
        call.name
    );
    let mut message = Message::tool(call, ToolStatus::Error, text);
    let meta = json!({ "tool_name": call.name, "status": "error", "error_type": kind });
    message.additional_kwargs.insert(META.to_owned(), meta);
    message
}

#[async_trait]
impl Middleware for ToolErrorHandling {
    fn name(&self) -> &'static str {
        "tool_error_handling"
    }

    async fn after_tool(&self, _turn: &mut Turn<'_>, call: &ToolCall, answer: &mut Message) {
        let failed = answer.status == Some(ToolStatus::Error);
        if failed && answer.content.is_blank() {
            *answer =
                Message { artifact: answer.artifact.take(), ..failure(call, "an error", "it said no more") };
            return;
        }
        let meta = json!({ "tool_name": call.name, "status": if failed { "error" } else { "success" } });
        answer.additional_kwargs.entry(META).or_insert(meta);
    }
}

#[cfg(test)]
mod tests {
    use pudu_domain::state::State;

    use super::*;
    use crate::fixture::{World, call};

    async fn after(mut answer: Message) -> Message {
        let (world, call) = (World::new(&json!({})), call("c", "t", &json!({})));
        ToolErrorHandling.after_tool(&mut world.turn(State::default()), &call, &mut answer).await;
        answer
    }

    #[tokio::test]
    async fn a_failure_names_tool_kind_and_a_bounded_detail() {
        let call = call("c", "t", &json!({}));
        let text = failure(&call, "Timeout", &"x".repeat(600)).content.text();
        assert!(text.starts_with("Error: Tool 't' failed with Timeout: xxx") && text.contains("try another"));
        assert_eq!(text.matches('x').count(), 500);
        assert_eq!(after(failure(&call, "Timeout", "x")).await, failure(&call, "Timeout", "x"));
    }

    #[tokio::test]
    async fn every_result_says_how_it_went_and_no_failure_is_silent() {
        let call = call("c", "t", &json!({}));
        let good = after(Message::tool(&call, ToolStatus::Success, "ok")).await;
        assert_eq!(good.additional_kwargs[META], json!({"tool_name": "t", "status": "success"}));
        let silent = after(Message::tool(&call, ToolStatus::Error, "")).await;
        assert!(silent.content.text().contains("it said no more"));
    }
}
