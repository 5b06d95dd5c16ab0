//! Row 29, `TokenBudget`: a run that has used up its tokens ends with what it has. Subagents always have a budget, by their type; the
//! lead has one where it is given one.

use async_trait::async_trait;
use pudu_domain::chat::{Message, Speaker};
use pudu_domain::run::StopReason;
use serde::{Deserialize, Serialize};

use super::{Flow, Middleware, Request, append, without_calls};
use crate::turn::Turn;

const NAME: &str = "token_budget";
/// The name of the message that warns.
const WARNING: &str = "budget_warning";
/// At which part of it a lead is warned, in percent.
const LEAD_PERCENT: u64 = 80;
/// At which part of it a subagent is warned, in percent.
const SUBAGENT_PERCENT: u64 = 70;

/// The middleware.
#[derive(Debug, Clone, Copy, Default)]
pub struct TokenBudget {
    /// Most tokens of a lead's run; none is no limit.
    pub lead: Option<u64>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Counters {
    warned: bool,
    /// The next call is told of it.
    due: bool,
}

impl TokenBudget {
    fn of(&self, turn: &Turn<'_>) -> Option<(u64, u64)> {
        match &turn.spec.subagent {
            Some(subagent) => Some((subagent.token_budget, SUBAGENT_PERCENT)),
            None => self.lead.map(|lead| (lead, LEAD_PERCENT)),
        }
    }
}

#[async_trait]
impl Middleware for TokenBudget {
    fn name(&self) -> &'static str {
        NAME
    }

    async fn before_run(&self, turn: &mut Turn<'_>) {
        if self.of(turn).is_some() {
            turn.count(NAME, &Counters::default());
        }
    }

    fn shape(&self, turn: &Turn<'_>, request: &mut Request) {
        let Some((budget, _)) = self.of(turn) else { return };
        if turn.counters::<Counters>(NAME).due {
            let used = turn.totals.tokens.total_tokens;
            let text = format!(
                "[BUDGET WARNING] {used} of the {budget} tokens of this run are used. Finish what you are doing and answer soon."
            );
            request.messages.push(Message::new(Speaker::Human, WARNING, text).named(WARNING).hidden());
        }
    }

    fn after_model(&self, turn: &mut Turn<'_>, answer: &mut Message) -> Flow {
        let Some((budget, percent)) = self.of(turn) else { return Flow::Go };
        let used = turn.totals.tokens.total_tokens;
        let mut counters: Counters = turn.counters(NAME);
        let before = (counters.warned, counters.due);
        counters.due = false;
        if used >= budget {
            if without_calls(answer) > 0 {
                append(
                    answer,
                    &format!(
                        "[BUDGET EXCEEDED] The {budget} tokens of this run are used up; this is what there is."
                    ),
                );
                turn.stop(StopReason::TokenCapped);
            }
        } else if !counters.warned && used.saturating_mul(100) >= budget.saturating_mul(percent) {
            counters = Counters { warned: true, due: true };
        }
        if before != (counters.warned, counters.due) {
            turn.count(NAME, &counters);
        }
        Flow::Go
    }
}

#[cfg(test)]
mod tests {
    use pudu_domain::state::State;
    use serde_json::json;

    use super::*;
    use crate::fixture::{World, ai, call};

    #[test]
    fn a_budget_warns_once_and_then_ends_the_run_with_what_there_is() {
        let (world, budget) = (World::new(&json!({})), TokenBudget { lead: Some(100) });
        let mut turn = world.turn(State::default());
        let mut at = |tokens| {
            turn.totals.tokens.total_tokens = tokens;
            let mut request = Request::default();
            budget.shape(&turn, &mut request);
            let mut answer = ai("a", "so far", [call("c", "t", &json!({}))]);
            assert_eq!(budget.after_model(&mut turn, &mut answer), Flow::Go);
            (request.messages.len(), answer.tool_calls.len(), turn.stopped())
        };
        assert_eq!(at(79), (0, 1, None));
        assert_eq!(at(80), (0, 1, None));
        assert_eq!(at(90), (1, 1, None), "the call after it is told");
        assert_eq!(at(95), (0, 1, None));
        assert_eq!(at(100), (0, 0, Some(StopReason::TokenCapped)));
    }

    #[test]
    fn a_lead_without_a_budget_has_no_limit_and_an_end_within_it_is_an_end() {
        let world = World::new(&json!({}));
        let mut turn = world.turn(State::default());
        turn.totals.tokens.total_tokens = u64::MAX;
        let mut answer = ai("a", "", [call("c", "t", &json!({}))]);
        TokenBudget::default().after_model(&mut turn, &mut answer);
        assert_eq!((answer.tool_calls.len(), turn.stopped()), (1, None));
        let mut last = ai("a", "done", []);
        TokenBudget { lead: Some(1) }.after_model(&mut turn, &mut last);
        assert_eq!((last.content.text().as_str(), turn.stopped()), ("done", None));
    }
}
