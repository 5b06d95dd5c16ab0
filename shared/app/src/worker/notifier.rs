//! The notifier: brings each event to its thread exactly once, or ends it when the task has moved on.

use std::sync::Arc;

use async_trait::async_trait;
use pudu_domain::note::{self, Command, decide};
use pudu_domain::{Lane, Lease, Note, Policy};

use super::drain::{Ran, Work};
use super::poller::failed;
use crate::deadline::Deadline;
use crate::limits::Limits;
use crate::ports::{Clock, Committed, ItemKey, NoteKey, NoteStore, Random, StoreError, TaskStore};

/// Serves the notify lane.
#[derive(Clone)]
pub struct Notifier {
    /// Who claims; a name for this process.
    pub worker: String,
    /// The notifications.
    pub notes: Arc<dyn NoteStore>,
    /// The tasks: their attention version says whether an event is still true.
    pub tasks: Arc<dyn TaskStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Nonces.
    pub random: Arc<dyn Random>,
    /// The numbers.
    pub policy: Policy,
    /// Lease and permits.
    pub limits: Limits,
}

#[async_trait]
impl Work for Notifier {
    fn lanes(&self) -> &'static [Lane] {
        &[Lane::Notify]
    }

    async fn run(&self, lane: Lane, key: &ItemKey, _deadline: Deadline) -> Ran {
        let ItemKey::Note(key) = key else { return Ran::Refused };
        match self.work(lane, key).await {
            Ok(ran) => ran,
            Err(error) => {
                failed(&error, &key.task.id, lane);
                Ran::Failed
            }
        }
    }
}

impl Notifier {
    async fn work(&self, lane: Lane, key: &NoteKey) -> Result<Ran, StoreError> {
        let until = self.clock.now() + self.limits.lease;
        let lease = Lease { owner: self.random.owner(&self.worker), until };
        let Some(note) = self.notes.claim(key, lane, lease).await? else { return Ok(Ran::Refused) };
        // Read after the claim: what is true now decides, not what was true when the event was made.
        let attention = match self.tasks.load(&key.task).await {
            Ok(task) => task.map_or(0, |task| task.attention.version),
            Err(error) => return self.not_delivered(&note, error).await,
        };
        let change = match decide(&note, Command::Deliver { attention }, self.clock.now(), &self.policy) {
            Ok(change) => change,
            Err(error) => {
                tracing::warn!(task.id = %key.task.id, version = key.version, %error, "a notification cannot be delivered");
                return Ok(Ran::Worked);
            }
        };
        match self.notes.commit(&change).await {
            Ok(outcome) => self.told(key, &change, &outcome),
            Err(error) => return self.not_delivered(&note, error).await,
        }
        Ok(Ran::Worked)
    }

    /// A delivery that the table refuses is counted, because trying for ever would hide it. An outage is nobody's failed
    /// delivery: the lease ends and the note is claimed again.
    async fn not_delivered(&self, note: &Note, error: StoreError) -> Result<Ran, StoreError> {
        if !matches!(error, StoreError::Unavailable { .. }) {
            let command = Command::RecordFailure(error.to_string());
            if let Ok(change) = decide(note, command, self.clock.now(), &self.policy) {
                self.notes.commit(&change).await?;
            }
        }
        Err(error)
    }

    #[expect(clippy::unused_self, reason = "reads as the step of the work that it is")]
    fn told(&self, key: &NoteKey, change: &note::Change, outcome: &Committed) {
        let (version, state) = (key.version, change.note.state.as_str());
        match outcome {
            Committed::Done => {
                tracing::debug!(task.id = %key.task.id, version, state, "notification settled");
            }
            other => {
                tracing::debug!(task.id = %key.task.id, version, state, outcome = ?other, "notification not settled by us");
            }
        }
    }
}
