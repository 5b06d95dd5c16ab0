//! Who looks on while runs are worked on: what is written, and whether anything is done again whose result stands.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use pudu_agent::middleware::{Aside, Middleware};
use pudu_agent::turn::Turn;
use pudu_app::ports::{Applied, RunStore};
use pudu_app::runs::Checkpoints;
use pudu_domain::chat::{Message, ToolCall};
use pudu_domain::run::{Change, Origin, Phase};
use pudu_domain::{Expect, Run, RunKey, ThreadKey};
use pudu_testkit::FakeBlobs;
use pudu_testkit::sim::Violation;

use super::promises::{NOT_AGAIN, ONE_ACTIVE};

/// The witness. Clones are the same.
#[derive(Clone)]
pub(super) struct Witness {
    /// The table, past every gate.
    runs: Arc<dyn RunStore>,
    checkpoints: Checkpoints,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    keys: BTreeSet<RunKey>,
    children: BTreeSet<RunKey>,
    parked: u64,
    handed_over: u64,
    broken: Vec<Violation>,
}

/// How much was seen.
pub(super) struct Noted {
    pub(super) runs: u64,
    pub(super) children: u64,
    pub(super) parked: u64,
    pub(super) handed_over: u64,
}

impl Witness {
    pub(super) fn new(runs: Arc<dyn RunStore>, blobs: FakeBlobs) -> Self {
        let checkpoints = Checkpoints { store: Arc::clone(&runs), blobs: Some(Arc::new(blobs)) };
        Self { runs, checkpoints, state: Arc::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The table, past every gate.
    pub(super) fn runs(&self) -> &dyn RunStore {
        &*self.runs
    }

    /// Its states.
    pub(super) const fn checkpoints(&self) -> &Checkpoints {
        &self.checkpoints
    }

    /// Every run that anybody wanted to write.
    pub(super) fn keys(&self) -> BTreeSet<RunKey> {
        self.lock().keys.clone()
    }

    pub(super) fn broken(&self) -> Vec<Violation> {
        self.lock().broken.clone()
    }

    pub(super) fn noted(&self) -> Noted {
        let state = self.lock();
        let count = |runs: &BTreeSet<RunKey>| u64::try_from(runs.len()).unwrap_or(u64::MAX);
        let (runs, children) = (count(&state.keys), count(&state.children));
        Noted { runs, children, parked: state.parked, handed_over: state.handed_over }
    }

    /// A change is about to be written.
    pub(super) fn is_wanted(&self, change: &Change) {
        let mut state = self.lock();
        for written in std::iter::once(&change.run).chain(&change.others) {
            state.keys.insert(written.run.key.clone());
            if matches!(written.run.origin, Origin::Child { .. }) {
                state.children.insert(written.run.key.clone());
            }
        }
    }

    /// What came of it.
    pub(super) async fn was_written(&self, change: &Change, applied: &Applied) {
        if *applied != Applied::Done {
            return;
        }
        let run = &change.run.run;
        if let (Expect::Held { .. }, None) = (&change.run.expect, &run.durable.lease) {
            let mut state = self.lock();
            match run.phase {
                Phase::Parked { .. } => state.parked += 1,
                Phase::Running | Phase::Pending
                    if run.durable.due.is_some_and(|due| due.at <= run.updated_at) =>
                {
                    state.handed_over += 1;
                }
                _ => {}
            }
        }
        if change.conversation.is_some() {
            self.look(&run.key.thread).await;
        }
    }

    /// A thread has one active run.
    async fn look(&self, thread: &ThreadKey) {
        let mut active = Vec::new();
        for key in self.keys().into_iter().filter(|key| key.thread == *thread) {
            let Ok(Some(run)) = self.runs.load(&key).await else { continue };
            let busy = matches!(run.phase, Phase::Pending | Phase::Running | Phase::Parked { .. });
            if busy && run.origin == Origin::Lead {
                active.push(run.key.id);
            }
        }
        if active.len() > 1 {
            self.add(ONE_ACTIVE, format!("{}: {active:?}", thread.thread));
        }
    }

    /// A tool is called by that run.
    pub(super) async fn tool_is_called(&self, run: &Run, call: &str) {
        let Ok(Some(row)) = self.runs.load(&run.key).await else { return };
        let Some(head) = row.head() else { return };
        let Ok(state) = self.checkpoints.state(&run.key, head.number).await else { return };
        if state.messages.iter().any(|message| message.tool_call_id.as_deref() == Some(call)) {
            self.add(NOT_AGAIN, format!("{} makes the call {call}, whose answer stands", run.key.id));
        }
    }

    /// A model is asked by that run, as it was last read.
    async fn model_is_asked(&self, run: &Run) {
        let Ok(Some(row)) = self.runs.load(&run.key).await else { return };
        if row.checkpoints > run.checkpoints {
            let (knows, stands) = (run.checkpoints, row.checkpoints);
            self.add(
                NOT_AGAIN,
                format!("{} asks a model behind checkpoint {knows}, and {stands} stand", run.key.id),
            );
        }
    }

    fn add(&self, promise: &'static str, evidence: String) {
        self.lock().broken.push(Violation { promise, evidence });
    }
}

#[async_trait]
impl Middleware for Witness {
    fn name(&self) -> &'static str {
        "witness"
    }

    async fn before_model(&self, turn: &mut Turn<'_>, _: &dyn Aside) {
        self.model_is_asked(turn.run).await;
    }

    // Any tool, and by what whoever calls it has read himself; what stands in the table is looked at where a tool can wait for it.
    fn before_tool(&self, turn: &Turn<'_>, call: &ToolCall) -> Option<Message> {
        let answers = |message: &Message| message.tool_call_id.as_deref() == Some(&*call.id);
        if turn.state().messages.iter().any(answers) {
            self.add(
                NOT_AGAIN,
                format!("{} makes the call {}, whose answer he knows", turn.run.key.id, call.id),
            );
        }
        None
    }
}
