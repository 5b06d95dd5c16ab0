//! Who looks on while runs are worked on: nothing that stands is done again, and a thread has one active run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use pudu_app::ports::ModelCall;
use pudu_domain::chat::{Message, ToolCall};
use pudu_domain::run::{Origin, Phase};

use super::Stage;
use crate::middleware::Middleware;
use crate::turn::Turn;

/// What was seen that must not be. Clones are the same.
#[derive(Debug, Clone, Default)]
pub(super) struct Watching(Arc<Mutex<Vec<String>>>);

impl Watching {
    /// A model is asked.
    pub(super) fn model(&self, call: &ModelCall) {
        // A call beside the conversation has no answer that stands.
        if !call.tools.is_empty() && call.messages.iter().any(|message| message.id == call.id) {
            self.add(format!("the model was asked again for the answer {} that stands", call.id));
        }
    }

    /// A look at the table.
    pub(super) fn look(&self, stage: &Stage) {
        let mut active = BTreeMap::new();
        for run in stage.table.runs() {
            let busy = matches!(run.phase, Phase::Pending | Phase::Running | Phase::Parked { .. });
            if busy && run.origin == Origin::Lead {
                active.entry(run.key.thread.clone()).or_insert_with(Vec::new).push(run.key.id.clone());
            }
        }
        for (thread, runs) in active.into_iter().filter(|(_, runs)| runs.len() > 1) {
            self.add(format!("{thread:?} has the active runs {runs:?}"));
        }
    }

    /// Everything.
    pub(super) fn seen(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    fn add(&self, what: String) {
        self.0.lock().unwrap().push(what);
    }
}

#[async_trait]
impl Middleware for Watching {
    fn name(&self) -> &'static str {
        "watching"
    }

    fn before_tool(&self, turn: &Turn<'_>, call: &ToolCall) -> Option<Message> {
        let answers = |message: &Message| message.tool_call_id.as_deref() == Some(&*call.id);
        if turn.state().messages.iter().any(answers) {
            self.add(format!("{} was called again although its answer stands", call.id));
        }
        None
    }
}
