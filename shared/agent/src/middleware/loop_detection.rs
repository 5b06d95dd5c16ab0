//! Row 28, `LoopDetection` (agent reference 1.6): a model that makes the same calls again and again is warned, then stopped. What it
//! did is in the checkpoint, so another worker goes on counting.

mod key;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use async_trait::async_trait;
use pudu_domain::chat::{Message, Speaker};
use pudu_domain::run::StopReason;
use serde::{Deserialize, Serialize};

use super::{Flow, Middleware, Request, append, without_calls};
use crate::turn::Turn;

const NAME: &str = "loop_detection";
/// The name of the message that warns.
const WARNING: &str = "loop_warning";
/// Turns that are looked back at.
const WINDOW: usize = 20;
/// Turns of one kind after which the model is warned, and after which it is stopped.
const REPEATED: (usize, usize) = (3, 5);
/// Calls of one tool in a run after which the model is warned, and after which it is stopped.
const FREQUENT: (u32, u32) = (30, 50);

/// The middleware.
#[derive(Debug, Clone, Default)]
pub struct LoopDetection {
    /// Other numbers for tools that are meant to be called often: warned from the first, stopped from the second.
    pub frequent: BTreeMap<String, (u32, u32)>,
}

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

impl LoopDetection {
    /// Counts the turn; the gravest finding comes first.
    fn count(&self, counters: &mut Counters, answer: &Message) -> Option<Finding> {
        let turn = key::of_turn(&answer.tool_calls);
        counters.turns.push(turn.clone());
        let surplus = counters.turns.len().saturating_sub(WINDOW);
        counters.turns.drain(..surplus);
        let same = counters.turns.iter().filter(|other| **other == turn).count();
        let mut findings = Vec::new();
        if same >= REPEATED.1 {
            return Some(Finding::Stop(format!("the same calls were made {same} times")));
        }
        if same >= REPEATED.0 {
            let text = format!(
                "[LOOP DETECTED] You have made the same calls {same} times. They will bring nothing new: do something else, or \
                 answer with what you have."
            );
            findings.push(Finding::Warn { of: turn, text });
        }
        for call in &answer.tool_calls {
            let made = counters.calls.entry(call.name.clone()).or_default();
            *made = made.saturating_add(1);
            let (warn, stop) = self.frequent.get(&call.name).copied().unwrap_or(FREQUENT);
            if *made >= stop {
                return Some(Finding::Stop(format!("'{}' was called {made} times", call.name)));
            }
            if *made >= warn {
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
        if let Some(text) = turn.counters::<Counters>(NAME).due {
            request.messages.push(Message::new(Speaker::Human, WARNING, text).named(WARNING).hidden());
        }
    }

    fn after_model(&self, turn: &mut Turn<'_>, answer: &mut Message) -> Flow {
        let mut counters: Counters = turn.counters(NAME);
        let told = counters.due.take().is_some();
        if answer.tool_calls.is_empty() {
            if told {
                turn.count(NAME, &counters);
            }
            return Flow::Go;
        }
        match self.count(&mut counters, answer) {
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
