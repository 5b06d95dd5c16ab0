//! Runs, their checkpoints and what they tell, in the table. The unit of a write is a [`Change`].

use async_trait::async_trait;
use pudu_domain::conversation::Kept;
use pudu_domain::run::{Change, Checkpoint, Told};
use pudu_domain::{Conversation, Lease, Run, RunId, RunKey, RunSpec, ThreadId, ThreadKey, Timestamp, UserId};

use super::StoreError;

/// What became of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Applied {
    /// It stands.
    Done,
    /// It does not apply: somebody else owns the run, the lease is over, or the run changed since it was read.
    Lost,
    /// The holder still owns the run, but its row was changed since it was read, by somebody beside it or by an attempt of
    /// this very write whose answer was lost: read it, and decide again unless what was to be written is there.
    Woken,
    /// The run is as it was read, but another row is not (the conversation, the parent, the next run): read, decide again.
    Moved,
    /// An answer was lost and the row has moved on: read before anything is done about it.
    Unknown,
    /// The caller's key already stands for this other run of the user.
    KeyTaken {
        /// The run that has it.
        run: RunKey,
        /// The digest of what was asked for then.
        request: String,
    },
    /// The thread is being deleted: nothing new starts in it.
    ThreadGone,
}

/// What became of a write of a conversation alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConversationKept {
    /// It stands.
    Done,
    /// It is not the revision that was read (any more): read again.
    Moved,
    /// The thread is being deleted.
    ThreadGone,
}

/// A page of what a run told.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToldPage {
    /// In order.
    pub told: Vec<Told>,
    /// Whether something that was asked for has left already: frames are kept for a day.
    pub gap: bool,
}

/// One record of a thread's history.
pub type Record = Told;

/// How long the frames of a run's stream are kept; its records are kept as long as the run.
pub const FRAMES_KEPT: std::time::Duration = std::time::Duration::from_hours(24);

/// Which records of a thread are wanted, newest first or oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordQuery {
    /// Of that run only, by its ordinal.
    pub ordinal: Option<u32>,
    /// Older than the record of that place (ordinal and number), newest first; else oldest first from the beginning.
    pub before: Option<(u32, u64)>,
    /// Newer than the record of that place, oldest first.
    pub after: Option<(u32, u64)>,
    /// At most so many.
    pub limit: usize,
    /// Newest first, also without `before`.
    pub newest_first: bool,
}

/// The rows of runs. Every method that writes retries lost answers itself and judges them by the stored rows.
#[async_trait]
pub trait RunStore: Send + Sync {
    /// Takes the run for lane `run` until `lease.until`; none when it may not be claimed.
    async fn claim(&self, key: &RunKey, lease: Lease) -> Result<Option<Run>, StoreError>;

    /// The row, strongly consistent.
    async fn load(&self, key: &RunKey) -> Result<Option<Run>, StoreError>;

    /// What was settled when it was wanted.
    async fn spec(&self, key: &RunKey) -> Result<Option<RunSpec>, StoreError>;

    /// The sealed secrets of its caller; none when it had none, has ended, or is older than a day.
    async fn secrets(&self, key: &RunKey) -> Result<Option<String>, StoreError>;

    /// The run that a user's key stands for, with the digest of what was asked for.
    async fn by_key(&self, user: &UserId, digest: &str) -> Result<Option<(RunKey, String)>, StoreError>;

    /// The conversation of a thread, strongly consistent.
    async fn conversation(&self, thread: &ThreadKey) -> Result<Option<Conversation>, StoreError>;

    /// Applies a change whole or not at all.
    async fn commit(&self, change: &Change) -> Result<Applied, StoreError>;

    /// Writes a conversation alone, and with it a checkpoint of the chain that it then points at. A conversation that is new
    /// makes its thread.
    async fn keep(
        &self,
        kept: &Kept,
        checkpoint: Option<&Checkpoint>,
    ) -> Result<ConversationKept, StoreError>;

    /// The checkpoints of a run from the last whole state up to `number`, in order: replaying them gives the state then.
    async fn checkpoints(&self, run: &RunKey, number: u32) -> Result<Vec<Checkpoint>, StoreError>;

    /// The checkpoint of that number, and those before it, newest first, at most `limit`.
    async fn history(&self, run: &RunKey, number: u32, limit: usize) -> Result<Vec<Checkpoint>, StoreError>;

    /// Frames of a run (no records) after that number, at most `limit`, strongly consistent.
    async fn frames(&self, run: &RunKey, after: u64, limit: usize) -> Result<ToldPage, StoreError>;

    /// Records of a thread.
    async fn records(&self, thread: &ThreadKey, query: &RecordQuery) -> Result<Vec<Record>, StoreError>;

    /// The newest runs of a thread older than `before`, children left out, newest first, at most `limit`.
    async fn runs(
        &self,
        thread: &ThreadKey,
        limit: usize,
        before: Option<&RunId>,
    ) -> Result<Vec<(Run, RunSpec)>, StoreError>;

    /// Conversations of a user, by when they were made and their thread, those before `before`, the newest first, at most `limit`.
    async fn conversations(
        &self,
        user: &UserId,
        limit: usize,
        before: Option<&(Timestamp, ThreadId)>,
    ) -> Result<Vec<Conversation>, StoreError>;
}
