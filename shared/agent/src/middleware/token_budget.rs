//! Row 29, `TokenBudget`: a run that has used up its tokens ends with what it has. Subagents always have a budget, by their type; the
//! lead has one where the operator gives it one (`token_budget` in the config).

use async_trait::async_trait;
use pudu_domain::chat::{Message, Speaker};
use pudu_domain::run::StopReason;
use serde::{Deserialize, Serialize};

use super::{Aside, Flow, Middleware, Request, append, without_calls};
use crate::turn::Turn;

const NAME: &str = "token_budget";
/// The name of the message that warns.
const WARNING: &str = "budget_warning";
/// At which part of it a subagent is warned, in percent.
const SUBAGENT_PERCENT: u64 = 70;

/// The middleware.
#[derive(Debug, Clone, Copy, Default)]
pub struct TokenBudget;

/// A run's budget, in tokens.
struct Budget {
    most: u64,
    warns_at: u64,
    stops_at: u64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Counters {
    warned: bool,
    /// The next call is told of it.
    due: bool,
}

impl Budget {
    fn of(turn: &Turn<'_>) -> Option<Self> {
        if let Some(subagent) = &turn.spec.subagent {
            let most = subagent.token_budget;
            let warns_at = most.saturating_mul(SUBAGENT_PERCENT).div_ceil(100);
            return Some(Self { most, warns_at, stops_at: most });
        }
        let lead = &turn.options.house.agents.token_budget;
        let budget = || Self { most: lead.max_tokens, warns_at: lead.warns_at(), stops_at: lead.stops_at() };
        lead.enabled.then(budget)
    }
}

#[async_trait]
impl Middleware for TokenBudget {
    fn name(&self) -> &'static str {
        NAME
    }

    async fn before_run(&self, turn: &mut Turn<'_>) {
        if Budget::of(turn).is_some() {
            turn.count(NAME, &Counters::default());
        }
    }

    fn shape(&self, turn: &Turn<'_>, request: &mut Request) {
        let Some(Budget { most, .. }) = Budget::of(turn) else { return };
        if turn.counters::<Counters>(NAME).due {
            let used = turn.totals.tokens.total_tokens;
            let text = format!(
                "[BUDGET WARNING] {used} of the {most} tokens of this run are used. Finish what you are doing and answer soon."
            );
            request.messages.push(Message::new(Speaker::Human, WARNING, text).named(WARNING).hidden());
        }
    }

    fn after_model(&self, turn: &mut Turn<'_>, answer: &mut Message) -> Flow {
        let Some(Budget { most, warns_at, stops_at }) = Budget::of(turn) else { return Flow::Go };
        let used = turn.totals.tokens.total_tokens;
        let mut counters: Counters = turn.counters(NAME);
        let before = (counters.warned, counters.due);
        counters.due = false;
        if used >= stops_at {
            if without_calls(answer) > 0 {
                append(
                    answer,
                    &format!(
                        "[BUDGET EXCEEDED] The {most} tokens of this run are used up; this is what there is."
                    ),
                );
                turn.stop(StopReason::TokenCapped);
            }
        } else if !counters.warned && used >= warns_at {
            counters = Counters { warned: true, due: true };
        }
        if before != (counters.warned, counters.due) {
            turn.count(NAME, &counters);
        }
        Flow::Go
    }

    /// A last word within the budget is an end like any other, but nobody has the run go on with what it does not have.
    async fn before_end(&self, turn: &mut Turn<'_>, _aside: &dyn Aside) -> Flow {
        match Budget::of(turn) {
            Some(Budget { stops_at, .. }) if turn.totals.tokens.total_tokens >= stops_at => Flow::End,
            _ => Flow::Go,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pudu_domain::state::State;
    use serde_json::json;

    use super::*;
    use crate::fixture::{World, ai, call};

    fn with(max_tokens: u64) -> World {
        let mut world = World::new(&json!({}));
        let budget = &mut Arc::make_mut(&mut world.options.house).agents.token_budget;
        (budget.enabled, budget.max_tokens) = (true, max_tokens);
        world
    }

    #[test]
    fn a_budget_warns_once_and_then_ends_the_run_with_what_there_is() {
        let world = with(1000);
        let mut turn = world.turn(State::default());
        let mut at = |tokens| {
            turn.totals.tokens.total_tokens = tokens;
            let mut request = Request::default();
            TokenBudget.shape(&turn, &mut request);
            let mut answer = ai("a", "so far", [call("c", "t", &json!({}))]);
            assert_eq!(TokenBudget.after_model(&mut turn, &mut answer), Flow::Go);
            (request.messages.len(), answer.tool_calls.len(), turn.stopped())
        };
        assert_eq!(at(790), (0, 1, None));
        assert_eq!(at(800), (0, 1, None));
        assert_eq!(at(900), (1, 1, None), "the call after it is told");
        assert_eq!(at(950), (0, 1, None));
        assert_eq!(at(1000), (0, 0, Some(StopReason::TokenCapped)));
    }

    #[test]
    fn a_lead_without_a_budget_has_no_limit_and_an_end_within_it_is_an_end() {
        let world = World::new(&json!({}));
        let mut turn = world.turn(State::default());
        turn.totals.tokens.total_tokens = u64::MAX;
        let mut answer = ai("a", "", [call("c", "t", &json!({}))]);
        TokenBudget.after_model(&mut turn, &mut answer);
        assert_eq!((answer.tool_calls.len(), turn.stopped()), (1, None));
        let world = with(1);
        let mut turn = world.turn(State::default());
        turn.totals.tokens.total_tokens = u64::MAX;
        let mut last = ai("a", "done", []);
        TokenBudget.after_model(&mut turn, &mut last);
        assert_eq!((last.content.text().as_str(), turn.stopped()), ("done", None));
    }
}
