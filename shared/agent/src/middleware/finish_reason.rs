//! Rows 33 and 34, `ModelLengthFinishReason` and `SafetyFinishReason`: answers that a model did not end of its own will.

use async_trait::async_trait;
use pudu_domain::chat::Message;
use pudu_domain::run::StopReason;
use serde_json::json;

use super::{Flow, Middleware, append, without_calls};
use crate::turn::{Turn, record};

/// What providers call an answer that was cut at its length.
const LENGTH: [&str; 4] = ["length", "max_tokens", "model_length", "max_output_tokens"];
/// What they call one that they did not let be written, in lower case.
const SAFETY: [&str; 9] = [
    "content_filter",
    "content_filtered",
    "refusal",
    "safety",
    "blocklist",
    "prohibited_content",
    "recitation",
    "guardrail_intervened",
    "spii",
];

/// Row 33: an answer that was cut at its length ends the run, and the run says so.
#[derive(Debug, Clone, Copy, Default)]
pub struct ModelLengthFinishReason;

/// Row 34: of an answer that its provider stopped no call is made, and the user is told.
#[derive(Debug, Clone, Copy, Default)]
pub struct SafetyFinishReason;

/// Whether an answer is not what its model would have said: cut at its length, or stopped by its provider.
pub(crate) fn is_cut(answer: &Message) -> bool {
    is_too_long(answer) || stopped(answer).is_some()
}

fn is_too_long(answer: &Message) -> bool {
    answer.finish_reason().is_some_and(|reason| LENGTH.contains(&reason))
}

/// Why its provider stopped it, in lower case, if it did.
fn stopped(answer: &Message) -> Option<String> {
    let reason = answer.finish_reason().map(str::to_ascii_lowercase);
    reason.filter(|reason| SAFETY.contains(&reason.as_str()))
}

#[async_trait]
impl Middleware for ModelLengthFinishReason {
    fn name(&self) -> &'static str {
        "model_length"
    }

    fn after_model(&self, turn: &mut Turn<'_>, answer: &mut Message) -> Flow {
        if is_too_long(answer) && answer.tool_calls.is_empty() && answer.invalid_tool_calls.is_empty() {
            turn.stop(StopReason::ModelLengthCapped);
        }
        Flow::Go
    }
}

#[async_trait]
impl Middleware for SafetyFinishReason {
    fn name(&self) -> &'static str {
        "safety"
    }

    fn after_model(&self, turn: &mut Turn<'_>, answer: &mut Message) -> Flow {
        let Some(reason) = stopped(answer) else { return Flow::Go };
        let calls = without_calls(answer);
        append(
            answer,
            "The model's provider stopped this answer for safety reasons, so no tool was called and it may be incomplete. \
             Ask in another way, or choose another model.",
        );
        turn.stop(StopReason::SafetyCapped);
        let content = json!({ "finish_reason": reason, "calls_left_out": calls });
        turn.tell(record("middleware:safety_termination", "middleware", content, json!({})));
        Flow::Go
    }
}

#[cfg(test)]
mod tests {
    use pudu_domain::chat::ToolCall;
    use pudu_domain::state::State;

    use super::*;
    use crate::fixture::{World, ai, call};

    fn after(
        middleware: &dyn Middleware,
        reason: &str,
        calls: Vec<ToolCall>,
    ) -> (Message, Option<StopReason>) {
        let world = World::new(&json!({}));
        let mut turn = world.turn(State::default());
        let mut answer = ai("a", "half", calls);
        answer.response_metadata.insert("finish_reason".into(), reason.into());
        middleware.after_model(&mut turn, &mut answer);
        (answer, turn.stopped())
    }

    #[test]
    fn an_answer_that_was_cut_says_so_unless_it_goes_on() {
        assert_eq!(after(&ModelLengthFinishReason, "length", vec![]).1, Some(StopReason::ModelLengthCapped));
        assert_eq!(after(&ModelLengthFinishReason, "stop", vec![]).1, None);
        let goes_on = vec![call("c", "t", &json!({}))];
        assert_eq!(after(&ModelLengthFinishReason, "length", goes_on).1, None);
    }

    #[test]
    fn of_an_answer_that_was_refused_nothing_is_called() {
        for reason in ["content_filter", "SAFETY", "refusal"] {
            let (answer, stopped) = after(&SafetyFinishReason, reason, vec![call("c", "t", &json!({}))]);
            assert!(answer.tool_calls.is_empty() && answer.content.text().starts_with("half\n\nThe model's"));
            assert_eq!(stopped, Some(StopReason::SafetyCapped), "{reason}");
        }
        let (answer, stopped) = after(&SafetyFinishReason, "stop", vec![call("c", "t", &json!({}))]);
        assert_eq!((answer.tool_calls.len(), stopped), (1, None));
    }
}
