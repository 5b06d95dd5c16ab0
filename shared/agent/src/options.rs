//! A run's options, read from what its caller wrote (agent reference 1.2). What cannot be read counts as absent.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::house::House;

/// Most subagents side by side, unless it is said otherwise.
pub const CONCURRENT_SUBAGENTS: u32 = 3;
/// Most subagents of one run, unless it is said otherwise.
pub const TOTAL_SUBAGENTS: u32 = 6;
/// Model calls and tool rounds of one run, unless it is said otherwise.
pub const RECURSION_LIMIT: u32 = 100;

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
    /// Most subagents of the run, 1 to 50.
    pub total_subagents: u32,
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
        let number = |name: &str, default: u32, most: u32| match options.get(name).and_then(Value::as_i64) {
            Some(number) => u32::try_from(number.max(1)).unwrap_or(most).min(most),
            None => default,
        };
        Self {
            model: text("model_name").or_else(|| text("model")),
            thinking: flag("thinking_enabled").unwrap_or(true),
            reasoning_effort: text("reasoning_effort"),
            plan_mode: flag("is_plan_mode").unwrap_or(false),
            subagents: flag("subagent_enabled").unwrap_or(false),
            concurrent_subagents: number("max_concurrent_subagents", CONCURRENT_SUBAGENTS, 4),
            total_subagents: number("max_total_subagents", TOTAL_SUBAGENTS, 50),
            agent: text("agent_name"),
            non_interactive: flag("non_interactive").unwrap_or(false),
            recursion_limit: number("recursion_limit", RECURSION_LIMIT, 1000),
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
            assert_eq!(read("max_total_subagents", json!(told)).total_subagents, most, "{told}");
        }
    }

    #[test]
    fn what_is_absent_or_unreadable_has_its_default() {
        let options = Options::read(&Map::new());
        assert!(options.thinking && !options.plan_mode && !options.subagents);
        assert_eq!((options.concurrent_subagents, options.total_subagents), (3, 6));
        assert!(!read("is_plan_mode", json!("yes")).plan_mode);
    }
}
