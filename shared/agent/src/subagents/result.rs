//! From a child's end to what its call brought: the answer, the ledger, what is told. Pure.

use pudu_domain::chat::{Message, Speaker, ToolCall, ToolStatus, Usage};
use pudu_domain::run::{End, Outcome, StopReason};
use pudu_domain::state::{Delegation, State, Write};
use pudu_domain::text::first_chars;
use pudu_domain::{Run, RunSpec};
use serde_json::json;

use super::contract::{Contract, Status, brief, digest};
use super::steps::{self, TEXT_CHARS, model_of};
use crate::turn::Turn;

/// What is said of a child that said nothing.
const SILENT: &str = "No response generated";

/// Most characters of a result in the frame that tells of it; the answer to the call has all of them.
const FRAME_CHARS: usize = 40_000;

/// A child as it stands when its parent goes on.
#[derive(Debug, Clone, Copy)]
pub struct Ended<'a> {
    /// Its row. One that has not ended is given up: whoever calls cancels it.
    pub run: &'a Run,
    /// What was settled when it began.
    pub spec: &'a RunSpec,
    /// Its last state.
    pub state: &'a State,
}

/// The answer to `call`, whose child that is. What the child took is counted as its parent's, and what is told of its end is
/// written into the turn.
pub fn result(turn: &mut Turn<'_>, call: &ToolCall, child: &Ended<'_>) -> Message {
    let contract = contract(child);
    count(turn, child.run);
    turn.write(Write::Delegations(vec![delegation(turn, call, child, &contract)]));
    let field = if contract.status == Status::Completed { "result" } else { "error" };
    let usage = json!(contract.usage);
    turn.custom(json!({
        "type": contract.status.event(),
        "task_id": call.id,
        field: first_chars(&contract.text, FRAME_CHARS),
        "usage": usage,
        "model_name": contract.model,
    }));
    turn.tell(steps::record(
        "subagent.end",
        json!({ "task_id": call.id, "status": contract.status.as_str(), field: first_chars(&contract.text, TEXT_CHARS), "usage": usage }),
    ));
    let status = if contract.status == Status::Completed { ToolStatus::Success } else { ToolStatus::Error };
    Message { additional_kwargs: contract.beside(), ..Message::tool(call, status, contract.content()) }
}

fn contract(child: &Ended<'_>) -> Contract {
    let said = said(child.state);
    let contract = match child.run.end() {
        None => Contract::new(
            Status::Unheard,
            None,
            "The subagent was not done long after its time was over; it was given up.".to_owned(),
        ),
        Some(End { outcome: Outcome::Success, stop_reason, .. }) => {
            Contract::new(Status::Completed, *stop_reason, said.unwrap_or_else(|| SILENT.to_owned()))
        }
        Some(End { stop_reason: reason @ Some(StopReason::TurnCapped), outcome: Outcome::Error, .. }) => {
            match said {
                Some(said) => Contract::new(Status::Completed, *reason, said),
                None => Contract::new(Status::Failed, *reason, turns(child.spec)),
            }
        }
        Some(End { outcome, stop_reason, error, .. }) => {
            let error = error.as_ref().map(|error| error.as_str().to_owned());
            let (status, error) = match outcome {
                Outcome::Timeout => {
                    (Status::TimedOut, error.unwrap_or_else(|| "its time is over".to_owned()))
                }
                Outcome::Interrupted => (Status::Cancelled, error.unwrap_or_default()),
                _ => (Status::Failed, error.unwrap_or_else(|| "the subagent failed".to_owned())),
            };
            Contract::new(status, *stop_reason, error)
        }
    };
    let tokens = child.run.totals.tokens;
    let usage = (tokens != Usage::default()).then_some(tokens);
    Contract { model: model_of(child.spec).map(str::to_owned), usage, ..contract }
}

fn turns(spec: &RunSpec) -> String {
    let most = spec.subagent.as_ref().map_or(0, |subagent| subagent.max_turns);
    format!("Reached max_turns={most}")
}

/// What the child said last.
fn said(state: &State) -> Option<String> {
    let answers = state.messages.iter().rev().filter(|message| message.speaker == Speaker::Ai);
    answers.map(|answer| answer.content.text().trim().to_owned()).find(|text| !text.is_empty())
}

/// The child's tokens are its parent's.
fn count(turn: &mut Turn<'_>, child: &Run) {
    let took = &child.totals;
    let totals = &mut turn.totals;
    totals.calls = totals.calls.saturating_add(took.calls);
    totals.tokens += took.tokens;
    totals.subagent = totals.subagent.saturating_add(took.tokens.total_tokens);
    for (model, tokens) in &took.by_model {
        *totals.by_model.entry(model.clone()).or_default() += *tokens;
    }
}

fn delegation(turn: &Turn<'_>, call: &ToolCall, child: &Ended<'_>, contract: &Contract) -> Delegation {
    let subagent = child.spec.subagent.as_ref();
    let completed = contract.status == Status::Completed;
    Delegation {
        id: call.id.clone(),
        run_id: turn.run.key.id.clone(),
        description: subagent.map(|subagent| subagent.description.clone()).unwrap_or_default(),
        subagent_type: subagent.map(|subagent| subagent.name.clone()).unwrap_or_default(),
        status: contract.status.in_ledger(),
        result_brief: (!contract.text.is_empty()).then(|| brief(&contract.text)),
        result_sha256: completed.then(|| digest(&contract.text)),
    }
}
