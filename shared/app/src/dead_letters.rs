//! What waits for an operator: notifications that were given up, and rows that do not decode. Found through the due index,
//! which may be seconds behind.

use std::sync::Arc;

use futures_util::future::try_join_all;
use pudu_domain::note::{Command, Rejected, State, decide};
use pudu_domain::{Lane, Note, Policy, Timestamp};

use crate::chain::Chain;
use crate::ports::{Clock, Committed, DueIndex, Hint, ItemKey, NoteKey, NoteStore, SHARDS, StoreError, Wake};
use crate::wakeups::Wakeups;

/// Later than any due time of ours: both lanes are read whole.
const FAR: Timestamp = Timestamp::from_millis(u64::MAX / 1_000_000);
/// How often a replay decides again because the row changed in between.
const DECISIONS: usize = 4;

/// A dead letter could not be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The table failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no such notification.
    #[error("there is no such notification")]
    Unknown,
    /// It is no dead letter.
    #[error("the notification is no dead letter")]
    NotDead(#[source] Rejected),
    /// Others changed it again and again.
    #[error("the notification changed while it was being replayed; try again")]
    Busy,
}

/// Lists and replays.
#[derive(Clone)]
pub struct DeadLetters {
    /// Where they are found.
    pub due: Arc<dyn DueIndex>,
    /// The notifications.
    pub notes: Arc<dyn NoteStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The numbers.
    pub policy: Policy,
    /// How the notifier hears of a letter that is pending again.
    pub wakeups: Wakeups,
}

impl DeadLetters {
    /// The dead letters that have waited longest, at most `limit`. One that does not read is left out and logged.
    pub async fn list(&self, limit: usize) -> Result<Vec<Note>, StoreError> {
        let mut letters = Vec::new();
        for hint in self.lane(Lane::Dead, limit).await? {
            let ItemKey::Note(key) = hint.key else { continue };
            match self.notes.load(&key).await {
                Ok(note) => letters.extend(note.filter(|note| note.state == State::Dead)),
                Err(error @ StoreError::Corrupt { .. }) => {
                    tracing::error!(error = %Chain(&error), "a dead letter was left out of their list");
                }
                Err(error) => return Err(error),
            }
        }
        Ok(letters)
    }

    /// The rows that were put aside because they do not decode, those that have waited longest, at most `limit`.
    pub async fn corrupt(&self, limit: usize) -> Result<Vec<Hint>, StoreError> {
        self.lane(Lane::Corrupt, limit).await
    }

    /// Makes a dead letter pending again, due at once, with all its attempts; whoever delivers it still asks whether it is
    /// true.
    pub async fn replay(&self, key: &NoteKey) -> Result<Note, ReplayError> {
        for _ in 0..DECISIONS {
            let note = self.notes.load(key).await?.ok_or(ReplayError::Unknown)?;
            let change = decide(&note, Command::Replay, self.clock.now(), &self.policy);
            let change = change.map_err(ReplayError::NotDead)?;
            let done = match self.notes.commit(&change).await? {
                Committed::Done => true,
                // The answer to an earlier attempt was lost: the row says whether that had been applied.
                Committed::Unknown => self.notes.load(key).await?.as_ref() == Some(&change.note),
                _ => false,
            };
            if done {
                tracing::info!(task.id = %key.task.id, version = key.version, "a dead letter is tried again");
                let woken = Wake::of_event(key.task.clone(), key.version, self.clock.now());
                self.wakeups.wake(vec![woken]).await;
                return Ok(change.note);
            }
        }
        Err(ReplayError::Busy)
    }

    async fn lane(&self, lane: Lane, limit: usize) -> Result<Vec<Hint>, StoreError> {
        let shards = (0..SHARDS).map(async |shard| self.due.due(lane, shard, FAR, limit, None).await);
        let pages = try_join_all(shards).await?;
        let mut hints: Vec<Hint> = pages.into_iter().flat_map(|page| page.hints).collect();
        hints.sort_by(|a, b| (a.due_at, &a.key).cmp(&(b.due_at, &b.key)));
        hints.truncate(limit);
        Ok(hints)
    }
}
