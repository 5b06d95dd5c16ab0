//! Runs of agents, and the conversations that they belong to, as their callers see them: begin one, look, follow, end one, and
//! edit what stands between two of them. What a run does is another's: nothing here calls a model.

mod admit;
mod branch;
mod cancel;
pub mod checkpoints;
mod compact;
pub mod configured;
mod feedback;
pub mod follow;
mod launcher;
mod locate;
pub mod modes;
mod record;
mod replay;
pub mod results;
pub mod said;
mod state;
mod stepped;
mod steps;
mod thread;
mod update;
pub mod values;
mod wait;

use std::sync::Arc;

use pudu_domain::run::{Change, Origin, Seen};
use pudu_domain::{Conversation, Policy, Run, RunId, RunKey, RunSpec, ThreadKey};

pub use admit::{AdmitError, Admitted, Wanted};
pub use branch::{Branch, Branched};
pub use cancel::{Action, CancelError};
pub use checkpoints::{CheckpointError, Checkpoints};
pub use compact::Compact;
pub use feedback::{FeedbackError, Feedbacks, Opinion};
pub use launcher::Launcher;
pub use record::{Tokens, is_of, place, position};
pub use replay::{EDIT, REPLAY_KIND, Replay, ReplayError};
pub use state::{Checkpointed, View};
pub use thread::{Found, METADATA_BYTES, NewThread, ThreadError};
pub use update::{Update, UpdateError};

use crate::ports::{Clock, Random, RunStore, SealKeys, StoreError, Wake};
use crate::wakeups::Wakeups;

/// How often something is decided again because others changed what was read.
const DECISIONS: usize = 8;
/// What whoever answers is told where nobody asked.
const NOT_ASKED: &str = "the request_id of an answer is no open question of the thread: it was never asked, or is answered; the thread's state shows the open one";
/// Most runs that a page of a list reads.
pub const RUNS_AT_ONCE: usize = 25;

/// Begins runs and ends them, and shows what they did.
#[derive(Clone)]
pub struct Runs {
    /// Their rows.
    pub store: Arc<dyn RunStore>,
    /// Their states.
    pub checkpoints: Checkpoints,
    /// With what the secrets of their callers are sealed.
    pub keys: Arc<dyn SealKeys>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Random numbers.
    pub random: Arc<dyn Random>,
    /// How whoever works on them is woken.
    pub wakeups: Wakeups,
    /// The numbers.
    pub policy: Policy,
}

/// What was read of a thread to decide something.
#[derive(Debug, Clone, Default)]
pub(crate) struct Standing {
    pub(crate) conversation: Option<Conversation>,
    pub(crate) active: Option<Run>,
    next: Option<Run>,
    parent: Option<Run>,
}

impl Standing {
    pub(crate) const fn seen(&self) -> Seen<'_> {
        Seen {
            conversation: self.conversation.as_ref(),
            active: self.active.as_ref(),
            next: self.next.as_ref(),
            parent: self.parent.as_ref(),
            base: None,
        }
    }
}

impl Runs {
    /// One run; none if the thread has no such run.
    pub async fn get(&self, key: &RunKey) -> Result<Option<(Run, RunSpec)>, StoreError> {
        let Some(run) = self.store.load(key).await? else { return Ok(None) };
        let spec = self.store.spec(key).await?;
        Ok(spec.map(|spec| (run, spec)))
    }

    /// A thread's runs, the newest first, behind the first `offset`, without what was said to them; fewer than `limit` where an answer
    /// would hold too much. Children of runs are none of them.
    pub async fn list(
        &self,
        thread: &ThreadKey,
        status: Option<&str>,
        offset: usize,
        limit: usize,
    ) -> Result<Vec<(Run, RunSpec)>, StoreError> {
        let (mut found, mut before, mut skipped, mut bytes) = (Vec::new(), None::<RunId>, 0, 0);
        loop {
            let page = self.store.runs(thread, RUNS_AT_ONCE, before.as_ref()).await?;
            before = page.last().map(|(run, _)| run.key.id.clone());
            let is_last = page.len() < RUNS_AT_ONCE;
            let wanted = |(run, _): &(Run, RunSpec)| status.is_none_or(|is| run.phase.status() == is);
            for (run, spec) in page.into_iter().filter(wanted) {
                if skipped < offset {
                    skipped += 1;
                } else if found.len() < limit && bytes < record::FULL {
                    let spec = RunSpec { input: Vec::new(), options: serde_json::Map::new(), ..spec };
                    bytes +=
                        serde_json::to_string(&(&spec.kwargs, &spec.metadata)).map_or(0, |text| text.len());
                    found.push((run, spec));
                }
            }
            if is_last || found.len() == limit || bytes >= record::FULL {
                return Ok(found);
            }
        }
    }

    /// The conversation of a thread.
    pub async fn conversation(&self, thread: &ThreadKey) -> Result<Option<Conversation>, StoreError> {
        self.store.conversation(thread).await
    }

    /// What whoever decides about the thread has to see. Read in pieces: a commit finds out whether they fit together.
    pub(crate) async fn standing(&self, thread: &ThreadKey) -> Result<Standing, StoreError> {
        let conversation = self.store.conversation(thread).await?;
        let named = async |id: Option<&RunId>| match id {
            Some(id) => self.store.load(&RunKey { thread: thread.clone(), id: id.clone() }).await,
            None => Ok(None),
        };
        let active = named(conversation.as_ref().and_then(|read| read.active.as_ref())).await?;
        let next = named(conversation.as_ref().and_then(|read| read.queue.first())).await?;
        Ok(Standing { conversation, active, next, parent: None })
    }

    /// The same for whoever decides about that run.
    pub(crate) async fn around(&self, run: &Run) -> Result<Standing, StoreError> {
        match &run.origin {
            Origin::Lead => self.standing(&run.key.thread).await,
            Origin::Child { parent, .. } => {
                let parent = self.store.load(&run.key.beside(parent.clone())).await?;
                Ok(Standing { parent, ..Standing::default() })
            }
            // It has no place in the thread that anybody could take.
            Origin::Aside => Ok(Standing::default()),
        }
    }

    /// Wakes whoever works on what a change made due.
    pub(crate) async fn wake(&self, change: &Change) {
        let written = std::iter::once(&change.run).chain(&change.others);
        self.wakeups.wake(written.filter_map(|written| Wake::of_run(&written.run)).collect()).await;
    }

    /// A new run's id.
    fn run_id(&self) -> RunId {
        let mut random = [0; 10];
        self.random.fill(&mut random);
        RunId::new(self.clock.now(), random)
    }
}

/// Others changed what was read again and again.
pub(crate) fn restless(operation: &'static str) -> StoreError {
    StoreError::Unavailable { operation, source: "the rows changed again and again".into() }
}
