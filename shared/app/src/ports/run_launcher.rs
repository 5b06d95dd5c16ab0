//! Runs of a thread's agent, as far as a notification needs them: start one, and ask what became of it (reference 7.5).

use async_trait::async_trait;
use pudu_domain::{Note, RunId, TaskId, ThreadKey};

/// A run that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// In which thread; one that is gone is not made again.
    pub thread: ThreadKey,
    /// The run that has this key is the answer, however often it is asked for, also while the thread is busy with it.
    pub key: String,
    /// The message that begins it, framed ([`crate::framing`]); no user wrote it and no user sees it.
    pub text: String,
    /// What it tells of.
    pub event: ToldEvent,
}

/// The metadata of a run that tells an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToldEvent {
    /// Whose event.
    pub task: TaskId,
    /// Which version of it.
    pub version: u32,
    /// How many runs were started for it before and came to nothing.
    pub attempt: u32,
}

/// Why there is no run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// The thread has another run; nothing was started.
    #[error("the thread has another run")]
    Busy,
    /// There is no such thread, it is another user's, or it is going; nothing was started and nothing ever will be.
    #[error("{0}")]
    MissingThread(String),
    /// Anything else; a run may have been started, and the same key finds it.
    #[error("{0}")]
    Failed(String),
}

/// Where a run stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunStatus {
    /// It is waiting for its turn, or at work.
    Running,
    /// It ended well.
    Succeeded,
    /// It ended with an error, by time-out, or interrupted; with the reason.
    Failed(String),
}

/// A run could not be looked up; that says nothing of the run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the run could not be looked up: {0}")]
pub struct LookUpError(pub String);

/// Whoever runs agents.
#[async_trait]
pub trait RunLauncher: Send + Sync {
    /// Starts a run and does not wait for it. The same key gives the same run.
    async fn launch(&self, launch: Launch) -> Result<RunId, LaunchError>;

    /// What became of a run of a thread; none if there is no such run.
    async fn status(&self, thread: &ThreadKey, run: &RunId) -> Result<Option<RunStatus>, LookUpError>;
}

impl ToldEvent {
    /// What `note` is about.
    pub fn of(note: &Note) -> Self {
        Self { task: note.task.id.clone(), version: note.version, attempt: note.dispatch }
    }
}
