//! Row 32, `TerminalResponse`: no run ends in silence. A model that says nothing is asked once more; if it says nothing again, the run
//! fails visibly.

use async_trait::async_trait;
use pudu_domain::chat::{Content, Message, Speaker};

use super::{Flow, Middleware, Request};
use crate::turn::Turn;

const NAME: &str = "terminal_response";

/// The middleware.
#[derive(Debug, Clone, Copy, Default)]
pub struct TerminalResponse;

#[async_trait]
impl Middleware for TerminalResponse {
    fn name(&self) -> &'static str {
        NAME
    }

    async fn before_run(&self, turn: &mut Turn<'_>) {
        turn.count(NAME, &false);
    }

    /// A silent answer that is asked for again stays in the conversation; providers do not take it back.
    fn shape(&self, _turn: &Turn<'_>, request: &mut Request) {
        request.messages.retain(|message| message.speaker != Speaker::Ai || !is_silent(message));
    }

    fn after_model(&self, turn: &mut Turn<'_>, answer: &mut Message) -> Flow {
        if !is_silent(answer) {
            // The next silence is another one.
            if turn.counters::<bool>(NAME) {
                turn.count(NAME, &false);
            }
            return Flow::Go;
        }
        if !turn.counters::<bool>(NAME) {
            turn.count(NAME, &true);
            return Flow::Again;
        }
        answer.content = Content::Text(
            "The model has ended without an answer, twice. What was done so far stands; ask again to go on."
                .to_owned(),
        );
        turn.fail("the model ended without an answer");
        Flow::Go
    }
}

fn is_silent(message: &Message) -> bool {
    message.tool_calls.is_empty() && message.invalid_tool_calls.is_empty() && message.content.is_blank()
}

#[cfg(test)]
mod tests {
    use pudu_domain::state::State;
    use serde_json::json;

    use super::*;
    use crate::fixture::{World, ai, call};

    #[test]
    fn a_silent_answer_is_asked_for_once_more_and_then_the_run_fails_visibly() {
        let world = World::new(&json!({}));
        let mut turn = world.turn(State::default());
        let mut silent = ai("a", " ", []);
        assert_eq!(TerminalResponse.after_model(&mut turn, &mut silent), Flow::Again);
        assert!(turn.failed().is_none() && silent.content.is_blank());
        assert_eq!(TerminalResponse.after_model(&mut turn, &mut silent), Flow::Go);
        assert!(turn.failed().is_some() && !silent.content.is_blank());
    }

    #[test]
    fn each_silence_is_asked_about_once() {
        let world = World::new(&json!({}));
        let mut turn = world.turn(State::default());
        let mut said = |text: &str| TerminalResponse.after_model(&mut turn, &mut ai("a", text, []));
        assert_eq!(
            ["", "said", " ", "more", ""].map(&mut said).map(|flow| flow == Flow::Again),
            [true, false, true, false, true]
        );
        assert!(turn.failed().is_none());
    }

    #[test]
    fn a_call_without_words_is_no_silence() {
        let world = World::new(&json!({}));
        let mut turn = world.turn(State::default());
        let mut calls = ai("a", "", [call("c", "t", &json!({}))]);
        assert_eq!(TerminalResponse.after_model(&mut turn, &mut calls), Flow::Go);
        let mut request = Request { messages: vec![ai("b", "", []), calls], ..Request::default() };
        TerminalResponse.shape(&turn, &mut request);
        assert_eq!(request.messages.len(), 1);
    }
}
