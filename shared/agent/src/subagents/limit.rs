//! How many subagents there are at once and in a run (agent reference 3.4). What a run has begun is counted in its own row, in
//! the commits that begin them; here the answer is cut to what is left.

use pudu_domain::chat::{Content, Message};
use pudu_domain::run::StopReason;
use serde_json::{Value, json};

use super::{TASK, prompts};
use crate::middleware::{Flow, Middleware, Request, append};
use crate::turn::Turn;

/// The middleware; it does nothing for runs that do not delegate.
#[derive(Debug, Clone, Copy, Default)]
pub struct SubagentLimit;

impl Middleware for SubagentLimit {
    fn name(&self) -> &'static str {
        "subagent_limit"
    }

    fn shape(&self, turn: &Turn<'_>, request: &mut Request) {
        let options = turn.options;
        if options.subagents {
            let section = prompts::section(&options.house.types, options.concurrent_subagents, total(turn));
            request.system.push(section);
        }
    }

    fn after_model(&self, turn: &mut Turn<'_>, answer: &mut Message) -> Flow {
        let wanted = answer.tool_calls.iter().filter(|call| call.name == TASK).count();
        if !turn.options.subagents || wanted == 0 {
            return Flow::Go;
        }
        let total = total(turn);
        let left = total.saturating_sub(turn.run.children);
        keep(answer, usize::try_from(left.min(turn.options.concurrent_subagents)).unwrap_or(usize::MAX));
        if left == 0 {
            append(
                answer,
                &format!(
                    "[SUBAGENT LIMIT REACHED] This run has used all of its {total} subagents, so nothing was delegated. Do the rest \
                 with your own tools, or answer with what there is and say what is missing."
                ),
            );
            if answer.tool_calls.is_empty() {
                answer.response_metadata.insert("finish_reason".to_owned(), json!("stop"));
            }
            turn.stop(StopReason::SubagentLimitCapped);
        }
        Flow::Go
    }
}

/// Most subagents of the run: what its caller said, else the operator.
pub(super) fn total(turn: &Turn<'_>) -> u32 {
    turn.options.total_subagents.unwrap_or(turn.options.house.types.max_total)
}

/// Keeps the first `allowed` delegations, also among a provider's own blocks.
fn keep(answer: &mut Message, allowed: usize) {
    let calls = answer.tool_calls.iter().filter(|call| call.name == TASK);
    let dropped: Vec<String> = calls.skip(allowed).map(|call| call.id.clone()).collect();
    answer.tool_calls.retain(|call| !dropped.contains(&call.id));
    if let Content::Blocks(blocks) = &mut answer.content {
        blocks.retain(|block| {
            let id = block.get("id").and_then(Value::as_str);
            block.get("type") != Some(&json!("tool_use"))
                || !id.is_some_and(|id| dropped.iter().any(|gone| gone == id))
        });
    }
}
