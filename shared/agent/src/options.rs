//! A run's options, read from what its caller wrote (agent reference 1.2). What cannot be read counts as absent. What is checked
//! before a run is admitted (its model, its most steps) is read by the rules of the admission, [`configured`].

use std::sync::Arc;

use pudu_app::runs::configured;
use serde_json::{Map, Value};

use crate::house::House;

/// Most subagents side by side, unless it is said otherwise.
const CONCURRENT_SUBAGENTS: u32 = 3;

/// The options of a run.
#[expect(clippy::struct_excessive_bools, reason = "they are the caller's switches, each on its own")]
#[derive(Debug, Clone)]
pub struct Options {
    /// Which model; none is the first one.
    pub model: Option<String>,
    /// Whether it is to think, where the model can.
    pub thinking: bool,
    /// How hard.
    pub reasoning_effort: Option<String>,
    /// Whether it works by a plan (agent reference 4).
    pub plan_mode: bool,
    /// Whether it may delegate (agent reference 3).
    pub subagents: bool,
    /// Most subagents side by side, 1 to 4.
    pub concurrent_subagents: u32,
    /// Most subagents of the run, 1 to 50; none is what the operator says.
    pub total_subagents: Option<u32>,
    /// Which custom agent it is.
    pub agent: Option<String>,
    /// Whether nobody can be asked.
    pub non_interactive: bool,
    /// Most steps.
    pub recursion_limit: u32,
    /// What the operator settled: the defaults, until whoever claims the run has read the config.
    pub house: Arc<House>,
}

impl Options {
    /// Reads them.
    pub fn read(options: &Map<String, Value>) -> Self {
        let flag = |name: &str| options.get(name).and_then(Value::as_bool);
        let text = |name: &str| options.get(name).and_then(Value::as_str).map(str::to_owned);
        let number = |name: &str, most: u32| {
            let asked = options.get(name).and_then(Value::as_i64)?;
            Some(u32::try_from(asked.max(1)).unwrap_or(most).min(most))
        };
        Self {
            model: configured::model(options).map(str::to_owned),
            thinking: flag("thinking_enabled").unwrap_or(true),
            reasoning_effort: text("reasoning_effort"),
            plan_mode: flag("is_plan_mode").unwrap_or(false),
            subagents: flag("subagent_enabled").unwrap_or(false),
            concurrent_subagents: number("max_concurrent_subagents", 4).unwrap_or(CONCURRENT_SUBAGENTS),
            total_subagents: number("max_total_subagents", 50),
            agent: text("agent_name"),
            non_interactive: flag("non_interactive").unwrap_or(false),
            recursion_limit: configured::recursion_limit(options.get("recursion_limit")),
            house: Arc::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(name: &str, value: Value) -> Options {
        Options::read(&Map::from_iter([(name.to_owned(), value)]))
    }

    #[test]
    fn vector_21_subagents_side_by_side_are_one_to_four() {
        for (told, most) in [(0, 1), (3, 3), (4, 4), (9, 4), (-1, 1)] {
            assert_eq!(read("max_concurrent_subagents", json!(told)).concurrent_subagents, most, "{told}");
        }
    }

    #[test]
    fn vector_22_subagents_of_a_run_are_one_to_fifty() {
        for (told, most) in [(0, 1), (6, 6), (50, 50), (99, 50)] {
            assert_eq!(read("max_total_subagents", json!(told)).total_subagents, Some(most), "{told}");
        }
    }

    #[test]
    fn what_is_absent_or_unreadable_has_its_default() {
        let options = Options::read(&Map::new());
        assert!(options.thinking && !options.plan_mode && !options.subagents);
        assert_eq!((options.concurrent_subagents, options.total_subagents), (3, None));
        assert_eq!(
            (options.recursion_limit, read("recursion_limit", json!(5000)).recursion_limit),
            (100, 1000)
        );
        assert!(!read("is_plan_mode", json!("yes")).plan_mode);
    }
}
