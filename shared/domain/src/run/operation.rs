//! What a run is there for. Whatever has a thread to itself for a while is admitted, held, resumed, cancelled and seen as a run
//! (agent reference 2.5, `operation_kind`); what it does with the thread is its operation.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a run does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// An agent answers. What was written before there was another operation is one of these.
    #[default]
    Run,
    /// Older messages of the thread give way to a summary, and nobody says anything.
    Compact(Compaction),
    /// What was said is looked through for what is worth remembering of the user.
    Remember,
}

/// How a thread is compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compaction {
    /// Also where the conversation is not too long yet.
    pub force: bool,
    /// What stays as it was; none is what the operator settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<Keep>,
}

/// The newest part of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keep {
    /// So many messages.
    Messages(u64),
    /// Messages of about so many tokens.
    Tokens(u64),
}

/// What a compaction came to: told in a frame `custom` of the run, from which whoever waits for it reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compacted {
    #[serde(rename = "type")]
    kind: Kind,
    /// Why nothing was left out; none if something was.
    pub reason: Option<Untouched>,
    /// Messages that gave way.
    pub removed: usize,
    /// Messages that are still there.
    pub preserved: usize,
    /// About how many tokens all of them were before.
    pub total_tokens: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Compaction,
}

/// Why a compaction left a conversation as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Untouched {
    /// There is nothing before what is kept.
    NotEnoughMessages,
    /// It is not too long, and was not to be forced.
    NotDue,
}

impl Operation {
    /// Its kind, as callers see it.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Compact(_) => "compact",
            Self::Remember => "remember",
        }
    }

    /// Whether an agent answers.
    pub const fn is_run(&self) -> bool {
        matches!(self, Self::Run)
    }
}

impl Compacted {
    /// What came of it.
    pub const fn new(reason: Option<Untouched>, removed: usize, preserved: usize, total_tokens: u64) -> Self {
        Self { kind: Kind::Compaction, reason, removed, preserved, total_tokens }
    }

    /// The data of a frame `custom`, if it is one of these.
    pub fn read(data: &Value) -> Option<Self> {
        Self::deserialize(data).ok()
    }
}

impl Untouched {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotEnoughMessages => "not_enough_messages",
            Self::NotDue => "not_due",
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::run::RunSpec;

    #[test]
    fn what_a_compaction_came_to_reads_back_and_no_other_frame_is_one() {
        for reason in [None, Some(Untouched::NotDue), Some(Untouched::NotEnoughMessages)] {
            let told = Compacted::new(reason, 3, 2, 100);
            assert_eq!(Compacted::read(&json!(told)), Some(told));
            assert_eq!(json!(told)["reason"].as_str(), reason.map(Untouched::as_str));
        }
        assert_eq!(Compacted::read(&json!({"type": "task_started", "removed": 1})), None);
    }

    #[test]
    fn an_operation_is_stored_by_its_name() {
        let keep = Some(Keep::Messages(4));
        for (operation, stored) in [
            (Operation::Run, json!("run")),
            (Operation::Remember, json!("remember")),
            (Operation::Compact(Compaction { force: true, keep: None }), json!({"compact": {"force": true}})),
            (
                Operation::Compact(Compaction { force: false, keep }),
                json!({"compact": {"force": false, "keep": {"messages": 4}}}),
            ),
        ] {
            assert_eq!(json!(operation), stored);
            assert_eq!(serde_json::from_value::<Operation>(stored).unwrap(), operation);
        }
    }

    #[test]
    fn a_spec_from_before_there_were_operations_is_a_run() {
        let stored = json!({
            "assistant": "lead_agent", "input": [], "options": {}, "metadata": {}, "kwargs": {}, "strategy": "reject",
            "scope": null, "base": null, "subagent": null, "secrets": false, "key": null,
        });
        let mut spec: RunSpec = serde_json::from_value(stored.clone()).unwrap();
        assert_eq!(spec.operation, Operation::Run);
        assert_eq!(serde_json::to_value(&spec).unwrap(), stored, "and is written as it was");
        spec.operation = Operation::Compact(Compaction { force: true, keep: None });
        let stored = serde_json::to_value(&spec).unwrap();
        assert_eq!(serde_json::from_value::<RunSpec>(stored).unwrap(), spec);
    }
}
