//! Row 20, `TokenUsage`: each answer says what it cost, and the run so far.

use async_trait::async_trait;
use pudu_app::runs::configured::LEAD;
use pudu_domain::chat::Message;
use serde_json::json;

use super::{Flow, Middleware};
use crate::turn::Turn;

/// Of `additional_kwargs`.
const ATTRIBUTION: &str = "token_usage_attribution";

/// The middleware.
#[derive(Debug, Clone, Copy, Default)]
pub struct TokenUsage;

#[async_trait]
impl Middleware for TokenUsage {
    fn name(&self) -> &'static str {
        "token_usage"
    }

    fn after_model(&self, turn: &mut Turn<'_>, answer: &mut Message) -> Flow {
        let whose = match &turn.spec.subagent {
            Some(subagent) => format!("subagent:{}", subagent.name),
            None => LEAD.to_owned(),
        };
        let so_far = json!({
            "caller": whose, "usage": answer.usage_metadata, "calls": turn.totals.calls, "run": turn.totals.tokens,
        });
        answer.additional_kwargs.insert(ATTRIBUTION.to_owned(), so_far);
        Flow::Go
    }
}

#[cfg(test)]
mod tests {
    use pudu_domain::chat::Usage;
    use pudu_domain::state::State;

    use super::*;
    use crate::fixture::{World, ai};

    #[test]
    fn an_answer_says_whose_it_is_and_what_the_run_took() {
        let world = World::new(&json!({}));
        let mut turn = world.turn(State::default());
        turn.totals.calls = 2;
        turn.totals.tokens = Usage { input_tokens: 1, output_tokens: 2, total_tokens: 3 };
        let mut answer = ai("a", "x", []);
        assert_eq!(TokenUsage.after_model(&mut turn, &mut answer), Flow::Go);
        let noted = &answer.additional_kwargs[ATTRIBUTION];
        assert_eq!((&noted["caller"], &noted["run"]["total_tokens"]), (&json!("lead_agent"), &json!(3)));
    }
}
