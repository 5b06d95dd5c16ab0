//! Row 28, `LoopDetection` (agent reference 1.6): a model that makes the same calls again and again is warned, then stopped. What it
//! did is in the checkpoint, so another worker goes on counting.

mod key;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use async_trait::async_trait;
use pudu_config::LoopDetection as Limits;
use pudu_domain::chat::{Message, Speaker};
use pudu_domain::run::StopReason;
use serde::{Deserialize, Serialize};

use super::{Flow, Middleware, Request, append, without_calls};
use crate::turn::Turn;

const NAME: &str = "loop_detection";
/// The name of the message that warns.
const WARNING: &str = "loop_warning";

/// The middleware. Its numbers are the operator's (`loop_detection` in the config).
#[derive(Debug, Clone, Copy, Default)]
pub struct LoopDetection;

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Counters {
    /// The last turns, the newest last.
    turns: Vec<String>,
    /// Calls by tool.
    calls: BTreeMap<String, u32>,
    /// What was warned of: turns, and names of tools.
    warned: Vec<String>,
    /// What the next call is told.
    due: Option<String>,
}

/// What is to be done about a turn.
enum Finding {
    Warn { of: String, text: String },
    Stop(String),
}

impl Counters {
    /// Counts the turn; the gravest finding comes first.
    fn count(&mut self, limits: &Limits, answer: &Message) -> Option<Finding> {
        let counters = self;
        let turn = key::of_turn(&answer.tool_calls);
        counters.turns.push(turn.clone());
        let surplus = counters.turns.len().saturating_sub(limits.window);
        counters.turns.drain(..surplus);
        let same = counters.turns.iter().filter(|other| **other == turn).count();
        let mut findings = Vec::new();
        if same >= size(limits.repeated.stop) {
            return Some(Finding::Stop(format!("the same calls were made {same} times")));
        }
        if same >= size(limits.repeated.warn) {
            let text = format!(
                "[LOOP DETECTED] You have made the same calls {same} times. They will bring nothing new: do something else, or \
                 answer with what you have."
            );
            findings.push(Finding::Warn { of: turn, text });
        }
        for call in &answer.tool_calls {
            let made = counters.calls.entry(call.name.clone()).or_default();
            *made = made.saturating_add(1);
            let most = limits.by_tool.get(&call.name).unwrap_or(&limits.frequent);
            if *made >= most.stop {
                return Some(Finding::Stop(format!("'{}' was called {made} times", call.name)));
            }
            if *made >= most.warn {
                let text = format!(
                    "[LOOP DETECTED] You have called '{}' {made} times in this run. Come to an end: answer with what you have.",
                    call.name
                );
                findings.push(Finding::Warn { of: call.name.clone(), text });
            }
        }
        let is_new = |finding: &Finding| match finding {
            Finding::Warn { of, .. } => !counters.warned.contains(of),
            Finding::Stop(_) => true,
        };
        findings.into_iter().find(is_new)
    }
}

#[async_trait]
impl Middleware for LoopDetection {
    fn name(&self) -> &'static str {
        NAME
    }

    async fn before_run(&self, turn: &mut Turn<'_>) {
        turn.count(NAME, &Counters::default());
    }

    fn shape(&self, turn: &Turn<'_>, request: &mut Request) {
        let due = turn.counters::<Counters>(NAME).due;
        if let Some(text) = due.filter(|_| turn.options.house.agents.loop_detection.enabled) {
            request.messages.push(Message::new(Speaker::Human, WARNING, text).named(WARNING).hidden());
        }
    }

    fn after_model(&self, turn: &mut Turn<'_>, answer: &mut Message) -> Flow {
        let limits = &turn.options.house.agents.loop_detection;
        if !limits.enabled {
            return Flow::Go;
        }
        let mut counters: Counters = turn.counters(NAME);
        let told = counters.due.take().is_some();
        if answer.tool_calls.is_empty() {
            if told {
                turn.count(NAME, &counters);
            }
            return Flow::Go;
        }
        match counters.count(limits, answer) {
            Some(Finding::Stop(why)) => {
                without_calls(answer);
                append(
                    answer,
                    &format!("[FORCED STOP] The run was ended because {why}. This is what there is."),
                );
                turn.stop(StopReason::LoopCapped);
            }
            Some(Finding::Warn { of, text }) => {
                counters.warned.push(of);
                counters.due = Some(text);
            }
            None => {}
        }
        turn.count(NAME, &counters);
        Flow::Go
    }
}

fn size(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
