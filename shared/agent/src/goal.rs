//! Goals (agent reference 1.8; step 6 of 2.4): a run that its user's goal does not let end yet.
//!
//! Behind a final answer a model is asked, beside the conversation, whether the goal is met. If it is not, a message that no user is
//! shown says so, and the same run goes on with it. What was judged is committed together with what follows from it: so no worker
//! judges again what stands, and the next one goes on counting.
//!
//! Held to a goal are runs that a user began. Not a subagent's: what is delegated is a part. Not one that tells of a background task:
//! what began it was written by a stranger's server, nobody looks, and its success is what marks the event as delivered, so that a
//! continuation that fails would have the event told again. The user's next run is held to the goal with what that one told.

mod judgement;
#[cfg(test)]
mod tests;
mod texts;

use async_trait::async_trait;
use pudu_domain::RunId;
use pudu_domain::chat::{Message, Speaker};
use pudu_domain::goal::{Evaluation, Goal, GoalStatus, Verdict};
use pudu_domain::run::Origin;
use pudu_domain::state::Write;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::middleware::{Aside, Flow, Middleware};
use crate::turn::{Turn, record};
use judgement::Judgement;
use pudu_app::moments::moment;

/// The name of the message that makes a run go on, and of the block in it.
pub const GOAL_CONTINUATION: &str = "goal_continuation";
/// How often a run goes on for its goal.
pub const CONTINUATIONS: u32 = 8;
/// After how many continuations in a row that brought it no nearer it ends.
pub const FRUITLESS: u32 = 2;

/// The middleware; it does nothing in threads without a goal.
#[derive(Debug, Clone, Copy, Default)]
pub struct GoalContinuation;

/// What it remembers of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Counters {
    /// Which run: another one begins anew.
    run: Option<RunId>,
    /// How often it went on.
    continuations: u32,
    /// How many of the last of them in a row came to nothing.
    fruitless: u32,
    /// The answer that was judged last, by its id.
    judged: Option<String>,
    /// A digest of what it said: a summary may have taken its place when the next one is judged.
    said: Option<String>,
}

#[async_trait]
impl Middleware for GoalContinuation {
    fn name(&self) -> &'static str {
        GOAL_CONTINUATION
    }

    async fn before_end(&self, turn: &mut Turn<'_>, aside: &dyn Aside) -> Flow {
        if turn.run.origin != Origin::Lead || turn.options.non_interactive {
            return Flow::Go;
        }
        let Some(goal) = turn.state().goal.as_ref().and_then(Goal::read) else { return Flow::Go };
        let Some(answer) = turn.state().messages.last().filter(|last| last.is_final()).cloned() else {
            return Flow::Go;
        };
        let mut counters = self.counters(turn);
        if goal.status != GoalStatus::Active || counters.judged.as_ref() == Some(&answer.id) {
            return Flow::Go;
        }
        let said = Some(hex::encode(Sha256::digest(answer.content.text())));
        let repeats = counters.said == said;
        let asked = aside.ask(turn, None, texts::question(&goal, turn.state())).await;
        let (verdict, reason) = match asked.as_deref().map(judgement::read) {
            None => (Verdict::Unjudged, String::new()),
            Some(None) => (Verdict::Unreadable, String::new()),
            Some(Some(judgement)) => (counters.weigh(&judgement, repeats), judgement.reason),
        };
        (counters.judged, counters.said) = (Some(answer.id), said);
        turn.count(self.name(), &counters);
        note(turn, goal, verdict, reason, counters.continuations)
    }
}

impl GoalContinuation {
    fn counters(self, turn: &Turn<'_>) -> Counters {
        let kept: Counters = turn.counters(self.name());
        let run = Some(turn.run.key.id.clone());
        if kept.run == run { kept } else { Counters { run, ..Counters::default() } }
    }
}

impl Counters {
    /// What follows from a judgement; one that lets the run go on is counted. A turn that ends in the very words of the one before
    /// brought nothing, whatever the judgement says of it. The first judgement is of the user's own turn, which is no continuation.
    fn weigh(&mut self, judgement: &Judgement, repeats: bool) -> Verdict {
        if judgement.met {
            return Verdict::Met;
        }
        if judgement.waits {
            return Verdict::Waits;
        }
        if self.continuations > 0 {
            self.fruitless =
                if judgement.progress && !repeats { 0 } else { self.fruitless.saturating_add(1) };
        }
        if self.fruitless >= FRUITLESS {
            return Verdict::NoProgress;
        }
        if self.continuations >= CONTINUATIONS {
            return Verdict::Exhausted;
        }
        self.continuations += 1;
        Verdict::Continues
    }
}

/// Writes down how the goal was judged, tells it, and has the run go on if it does.
fn note(turn: &mut Turn<'_>, mut goal: Goal, verdict: Verdict, reason: String, continuations: u32) -> Flow {
    let told = json!({
        "type": "goal_evaluated", "verdict": verdict, "reason": reason,
        "continuations": continuations, "max_continuations": CONTINUATIONS,
    });
    turn.tell(record("middleware:goal", "middleware", told.clone(), json!({})));
    turn.custom(told);
    if verdict == Verdict::Met {
        goal.status = GoalStatus::Met;
    }
    let run_id = turn.run.key.id.to_string();
    let id = format!("{GOAL_CONTINUATION}:{run_id}:{continuations}");
    let text = (verdict == Verdict::Continues).then(|| texts::continuation(&goal, &reason));
    goal.evaluation = Some(Evaluation { verdict, reason, run_id, continuations, at: moment(turn.now) });
    turn.write(Write::Goal(Some(goal.written())));
    let Some(text) = text else { return Flow::Go };
    turn.say(Message::new(Speaker::Human, id, text).named(GOAL_CONTINUATION).hidden());
    Flow::Again
}
