//! Runs of agents that a test begins and ends: what a notification that is delivered by a run sees of whoever runs agents.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use pudu_app::ports::{Launch, LaunchError, LookUpError, RunLauncher, RunStatus};
use pudu_domain::{RunId, ThreadKey};

use crate::lock::lock;

/// One run that was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FakeRun {
    /// Its id; none comes twice.
    pub id: RunId,
    /// What was wanted.
    pub launch: Launch,
    /// Where it stands.
    pub status: RunStatus,
}

/// Whoever runs agents: one run at a time in each thread, one run for each key. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct FakeRuns(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    runs: Vec<FakeRun>,
    forgotten: BTreeSet<RunId>,
    missing: BTreeSet<ThreadKey>,
    busy: BTreeSet<ThreadKey>,
    refusal: Option<String>,
    unreadable: bool,
}

impl FakeRuns {
    /// Every run that was ever started, in order.
    pub fn runs(&self) -> Vec<FakeRun> {
        lock(&self.0).runs.clone()
    }

    /// A run comes to its end.
    pub fn end(&self, id: &RunId, status: &RunStatus) {
        for run in &mut lock(&self.0).runs {
            if run.id == *id {
                run.status = status.clone();
            }
        }
    }

    /// Nobody knows this run any more, by its id or by its key.
    pub fn forget(&self, id: &RunId) {
        lock(&self.0).forgotten.insert(id.clone());
    }

    /// A thread is deleted.
    pub fn delete(&self, thread: &ThreadKey) {
        lock(&self.0).missing.insert(thread.clone());
    }

    /// A user's run begins in a thread, or ends.
    pub fn occupy(&self, thread: &ThreadKey, busy: bool) {
        let mut state = lock(&self.0);
        if busy {
            state.busy.insert(thread.clone());
        } else {
            state.busy.remove(thread);
        }
    }

    /// From now on nothing is started, for this reason; or is again.
    pub fn refuse(&self, why: Option<&str>) {
        lock(&self.0).refusal = why.map(str::to_owned);
    }

    /// From now on no run can be looked up, or can again.
    pub fn hide(&self, hidden: bool) {
        lock(&self.0).unreadable = hidden;
    }
}

impl State {
    fn launch(&mut self, launch: Launch) -> Result<RunId, LaunchError> {
        // Before everything else: whoever asks again learns what came of the first time.
        if let Some(run) =
            self.runs.iter().find(|run| run.launch.key == launch.key && !self.forgotten.contains(&run.id))
        {
            if run.launch.thread != launch.thread {
                return Err(LaunchError::Failed("the key is another thread's".to_owned()));
            }
            return Ok(run.id.clone());
        }
        if let Some(why) = &self.refusal {
            return Err(LaunchError::Failed(why.clone()));
        }
        let thread = &launch.thread;
        if self.missing.contains(thread) {
            return Err(LaunchError::MissingThread(format!("there is no thread {}", thread.thread)));
        }
        let works = |run: &FakeRun| run.launch.thread == *thread && run.status == RunStatus::Running;
        if self.busy.contains(thread) || self.runs.iter().any(works) {
            return Err(LaunchError::Busy);
        }
        let id = RunId::parse(format!("run-{}", self.runs.len() + 1))
            .map_err(|error| LaunchError::Failed(error.to_string()))?;
        self.runs.push(FakeRun { id: id.clone(), launch, status: RunStatus::Running });
        Ok(id)
    }
}

#[async_trait]
impl RunLauncher for FakeRuns {
    async fn launch(&self, launch: Launch) -> Result<RunId, LaunchError> {
        lock(&self.0).launch(launch)
    }

    async fn status(&self, thread: &ThreadKey, run: &RunId) -> Result<Option<RunStatus>, LookUpError> {
        let state = lock(&self.0);
        if state.unreadable {
            return Err(LookUpError("injected: the store of runs does not answer".to_owned()));
        }
        let known = state.runs.iter().filter(|known| !state.forgotten.contains(&known.id));
        let mine = known.filter(|known| known.id == *run && known.launch.thread == *thread);
        Ok(mine.map(|run| run.status.clone()).next())
    }
}
