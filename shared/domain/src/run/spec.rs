//! What is settled of a run when it is wanted.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Operation, Strategy, Subagent};
use crate::chat::Message;
use crate::conversation::Head;
use crate::principal::Scope;

/// What was settled when a run was wanted; written once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunSpec {
    /// What it does.
    #[serde(default, skip_serializing_if = "Operation::is_run")]
    pub operation: Operation,
    /// Which assistant, as the caller wrote it.
    pub assistant: String,
    /// What is said to it.
    pub input: Vec<Message>,
    /// Its options (agent reference 1.2), without secrets.
    pub options: Map<String, Value>,
    /// What its caller notes of it.
    pub metadata: Map<String, Value>,
    /// The rest of the caller's request that is shown again.
    pub kwargs: Map<String, Value>,
    /// What was to happen with an active run.
    pub strategy: Strategy,
    /// Which servers it may use.
    #[serde(with = "scope")]
    pub scope: Scope,
    /// From which state it begins, if not from the thread's.
    pub base: Option<Head>,
    /// Which subagent it is, of a child.
    pub subagent: Option<Subagent>,
    /// Whether it has secrets of its caller.
    pub secrets: bool,
    /// By what its caller repeats it: digest of the key.
    pub key: Option<String>,
}

impl RunSpec {
    /// A run of this assistant and nothing else: nothing said, no options, refused beside an active run, with every server.
    /// Whoever wants more of it names what differs (`RunSpec { input, ..RunSpec::of("lead_agent") }`), so a new field has one default.
    pub fn of(assistant: impl Into<String>) -> Self {
        Self {
            operation: Operation::Run,
            assistant: assistant.into(),
            input: Vec::new(),
            options: Map::new(),
            metadata: Map::new(),
            kwargs: Map::new(),
            strategy: Strategy::Reject,
            scope: Scope::All,
            base: None,
            subagent: None,
            secrets: false,
            key: None,
        }
    }
}

/// A scope as it is stored: null is every server.
mod scope {
    use std::collections::BTreeSet;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Scope;

    pub(super) fn serialize<S: Serializer>(scope: &Scope, to: S) -> Result<S::Ok, S::Error> {
        match scope {
            Scope::All => None,
            Scope::Only(names) => Some(names),
        }
        .serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Scope, D::Error> {
        Ok(Option::<BTreeSet<String>>::deserialize(from)?.map_or(Scope::All, Scope::Only))
    }
}
