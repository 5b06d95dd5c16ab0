//! From the calls of `task` that are open to the children that do them. Pure.

use std::time::Duration;

use pudu_domain::chat::{Message, Speaker, ToolCall, ToolStatus};
use pudu_domain::run::{Child, Subagent};
use pudu_domain::state::{Delegation, DelegationStatus, State, Write};
use pudu_domain::text::first_chars;
use pudu_domain::{RunId, RunSpec, Timestamp};
use serde_json::{Map, Value, json};

use super::contract::{Contract, Status};
use super::limit::total;
use super::types::Type;
use super::{TASK, steps};
use crate::turn::Turn;

/// How long a parent waits for a child whose time is over, before it goes on without it.
pub const GRACE: Duration = Duration::from_secs(60);
/// Most characters of a label.
const LABEL_CHARS: usize = 200;
/// Options of a parent that are not its children's.
const OWN: [&str; 10] = [
    "agent_name",
    "is_bootstrap",
    "is_plan_mode",
    "max_concurrent_subagents",
    "max_total_subagents",
    "mode",
    "model",
    "reasoning_effort",
    "subagent_enabled",
    "recursion_limit",
];

/// What is to be done for some calls.
#[derive(Debug, Default)]
pub struct Begun {
    /// Children, for the commit that parks the run.
    pub children: Vec<Child>,
    /// What is answered at once: calls that begin nobody.
    pub refused: Vec<Message>,
    /// Until when the run waits at most, for these children.
    pub until: Option<Timestamp>,
}

/// What a call asks for.
struct Wanted<'a> {
    kind: &'a Type,
    description: String,
    prompt: &'a str,
    max_turns: u32,
    timeout: Duration,
}

/// Whether the run has begun a child for the call of that id, by its ledger: then it waits for it, or takes its result.
pub fn is_begun(state: &State, run: &RunId, call: &str) -> bool {
    state.delegations.iter().any(|delegation| delegation.id == call && delegation.run_id == *run)
}

/// The children that `calls` begin: those of them that are calls of `task` and have none. What the ledger says of them and what
/// is told of them is written into the turn, and becomes true with the commit that parks the run and begins them.
pub fn begin(turn: &mut Turn<'_>, calls: &[ToolCall]) -> Begun {
    let mut begun = Begun::default();
    let house = std::sync::Arc::clone(&turn.options.house);
    let left = total(turn).saturating_sub(turn.run.children);
    for call in calls.iter().filter(|call| call.name == TASK) {
        if is_begun(turn.state(), &turn.run.key.id, &call.id) {
            continue;
        }
        let wanted = Wanted::read(call, &house.types).and_then(|wanted| {
            let full = u32::try_from(begun.children.len()).is_ok_and(|count| count >= left);
            if full {
                Err("this run has used all of its subagents; do the rest yourself".to_owned())
            } else {
                Ok(wanted)
            }
        });
        match wanted {
            Ok(wanted) => {
                let child = wanted.child(turn, call);
                begun.until = begun.until.max(Some(child.until + GRACE));
                wanted.tell(turn, call, &child);
                begun.children.push(child);
            }
            Err(error) => begun.refused.push(refused(call, error)),
        }
    }
    begun
}

/// The answer to a call that begins nobody.
fn refused(call: &ToolCall, error: String) -> Message {
    let contract = Contract::new(Status::Failed, None, error);
    Message {
        additional_kwargs: contract.beside(),
        ..Message::tool(call, ToolStatus::Error, contract.content())
    }
}

impl<'a> Wanted<'a> {
    fn read(call: &'a ToolCall, types: &'a super::Types) -> Result<Self, String> {
        let text =
            |name: &str| call.args.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        let prompt = text("prompt").ok_or("'prompt' is missing; say there what is to be done")?;
        let kind = types.get(text("subagent_type").unwrap_or_default())?;
        // More than the type allows is what it allows.
        let most = |name: &str, most: u64| match call.args.get(name) {
            None | Some(Value::Null) => Ok(most),
            Some(given) => match given.as_u64() {
                Some(given) if given > 0 => Ok(given.min(most)),
                _ => Err(format!("'{name}' must be a whole number, 1 or more")),
            },
        };
        let turns = most("max_turns", kind.max_turns.into())?;
        let timeout = Duration::from_secs(most("timeout_seconds", kind.timeout.as_secs())?);
        let description = first_chars(text("description").unwrap_or(prompt), LABEL_CHARS).to_owned();
        let max_turns = u32::try_from(turns).unwrap_or(kind.max_turns);
        Ok(Self { kind, description, prompt, max_turns, timeout })
    }

    fn child(&self, turn: &Turn<'_>, call: &ToolCall) -> Child {
        Child {
            run: RunId::of_child(&turn.run.key.id, &call.id),
            call: call.id.clone(),
            spec: self.spec(turn),
            until: turn.now + self.timeout,
        }
    }

    /// Everything that the child has of its parent, and what its type says.
    fn spec(&self, turn: &Turn<'_>) -> RunSpec {
        let parent = turn.spec;
        let inherited = parent.options.iter().filter(|(name, _)| !OWN.contains(&name.as_str()));
        let mut options: Map<String, Value> =
            inherited.map(|(name, value)| (name.clone(), value.clone())).collect();
        options.insert("non_interactive".to_owned(), json!(true));
        options.insert("thinking_enabled".to_owned(), json!(false));
        options.insert("recursion_limit".to_owned(), json!(self.max_turns));
        let parents = turn.options.house.model.as_ref().or(turn.options.model.as_ref());
        match self.kind.model.as_ref().or(parents) {
            Some(model) => options.insert("model_name".to_owned(), json!(model)),
            None => options.remove("model_name"),
        };
        RunSpec {
            input: vec![Message::new(Speaker::Human, "", self.prompt)],
            options,
            scope: parent.scope.clone(),
            subagent: Some(Subagent {
                name: self.kind.name.clone(),
                description: self.description.clone(),
                max_turns: self.max_turns,
                token_budget: self.kind.token_budget,
                instructions: self.kind.instructions.clone(),
                tools: self.kind.tools.clone(),
                without: self.kind.without.clone(),
            }),
            secrets: parent.secrets,
            ..RunSpec::of(parent.assistant.clone())
        }
    }

    fn tell(&self, turn: &mut Turn<'_>, call: &ToolCall, child: &Child) {
        let delegation = Delegation {
            id: call.id.clone(),
            run_id: turn.run.key.id.clone(),
            description: self.description.clone(),
            subagent_type: self.kind.name.clone(),
            status: DelegationStatus::InProgress,
            result_brief: None,
            result_sha256: None,
        };
        turn.write(Write::Delegations(vec![delegation]));
        turn.custom(json!({
            "type": "task_started",
            "task_id": call.id,
            "description": self.description,
            "model_name": child.spec.options.get("model_name"),
        }));
        turn.tell(steps::record(
            "subagent.start",
            json!({ "task_id": call.id, "description": self.description }),
        ));
    }
}
