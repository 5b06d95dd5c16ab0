//! What the user of a thread wants reached (agent reference 1.3, 1.8): the channel `goal` of its state.
//!
//! The channel keeps what was written as it was written; this is how it is read. What cannot be read is no goal: nobody is held to it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Most characters of an objective.
pub const OBJECTIVE_CHARS: usize = 4000;
/// The first line of what a model is asked that judges a goal. Whoever answers without a model knows by it what is asked.
pub const QUESTION: &str = "Has the agent of this conversation reached the goal that its user has set?";
/// What stands in what the model is asked where the agent was told to go on.
pub const CONTINUED: &str = "the agent was told to go on";
/// Most characters of the reason of a judgement.
pub const REASON_CHARS: usize = 1000;

/// A goal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Goal {
    /// What is to be reached: 1 to [`OBJECTIVE_CHARS`] characters that are not all white space.
    pub objective: String,
    /// Whether runs are held to it.
    #[serde(default)]
    pub status: GoalStatus,
    /// When it was set, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// How it was judged last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluation: Option<Evaluation>,
    /// What its writer noted beside it.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Whether runs are held to a goal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GoalStatus {
    /// They are.
    #[default]
    Active,
    /// It was reached, and stays to be seen; no run is held to it any more.
    Met,
}

/// How a goal was judged behind an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evaluation {
    /// What followed.
    pub verdict: Verdict,
    /// Why, in the words of the model that judged; empty if it gave none.
    pub reason: String,
    /// Behind which run.
    pub run_id: String,
    /// Continuations of that run so far, one that follows from this included.
    pub continuations: u32,
    /// When, RFC 3339.
    pub at: String,
}

/// What follows from a judgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The goal is met.
    Met,
    /// It is not, and the run goes on.
    Continues,
    /// It is not, and nothing can be done before somebody else has done something.
    Waits,
    /// It is not, and the last turns brought it no nearer.
    NoProgress,
    /// It is not, and the run was continued as often as it may be.
    Exhausted,
    /// The model's judgement cannot be read.
    Unreadable,
    /// The model did not judge.
    Unjudged,
}

/// A text that can be no objective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a goal's objective is 1 to {OBJECTIVE_CHARS} characters, not all of them white space")]
pub struct InvalidObjective;

impl Goal {
    /// A goal that runs are held to from now on. White space around the objective is left out.
    pub fn new(objective: &str, created_at: String) -> Result<Self, InvalidObjective> {
        let objective = objective.trim();
        if !is_objective(objective) {
            return Err(InvalidObjective);
        }
        Ok(Self {
            objective: objective.to_owned(),
            status: GoalStatus::Active,
            created_at: Some(created_at),
            evaluation: None,
            other: Map::new(),
        })
    }

    /// The goal that a channel holds.
    pub fn read(channel: &Value) -> Option<Self> {
        Self::deserialize(channel).ok().filter(|goal| is_objective(&goal.objective))
    }

    /// What the channel holds.
    pub fn written(&self) -> Value {
        // Texts and numbers: it always writes.
        serde_json::to_value(self).unwrap_or_default()
    }
}

fn is_objective(text: &str) -> bool {
    !text.trim().is_empty() && text.chars().nth(OBJECTIVE_CHARS).is_none()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_objective_is_one_to_four_thousand_characters() {
        let new = |text: &str| Goal::new(text, "now".into());
        for text in
            ["x".to_owned(), "任".repeat(OBJECTIVE_CHARS), format!(" {} ", "x".repeat(OBJECTIVE_CHARS))]
        {
            assert_eq!(new(&text).unwrap().objective, text.trim());
        }
        for text in [String::new(), " \n".to_owned(), "x".repeat(OBJECTIVE_CHARS + 1)] {
            assert_eq!(new(&text), Err(InvalidObjective), "{}", text.len());
            assert_eq!(Goal::read(&json!({ "objective": text })), None);
        }
    }

    #[test]
    fn a_goal_reads_back_with_what_was_noted_beside_it() {
        let channel = json!({"objective": "ship", "status": "active", "colour": "red"});
        assert_eq!(Goal::read(&channel).unwrap().written(), channel);
        let mut goal = Goal::new("ship", "then".into()).unwrap();
        goal.status = GoalStatus::Met;
        goal.evaluation = Some(Evaluation {
            verdict: Verdict::Met,
            reason: "it is out".into(),
            run_id: "r".into(),
            continuations: 2,
            at: "now".into(),
        });
        assert_eq!(Goal::read(&goal.written()), Some(goal));
        assert_eq!(Goal::read(&json!({"objective": "x"})).unwrap().status, GoalStatus::Active);
        for other in [
            json!(null),
            json!("x"),
            json!({}),
            json!({"objective": 1}),
            json!({"objective": "x", "status": "?"}),
        ] {
            assert_eq!(Goal::read(&other), None, "{other}");
        }
    }
}
