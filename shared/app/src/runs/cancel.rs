//! A run is to end: it is fenced, whoever works on it, and its children with it.

use pudu_domain::chat::Message;
use pudu_domain::run::{Command, Ending, Outcome, Phase, Rejected, decide};
use pudu_domain::text::beginning;
use pudu_domain::{Run, RunKey, RunSpec};

use super::{DECISIONS, Runs, restless};
use crate::chain::Chain;
use crate::ports::{Applied, StoreError};

/// Characters of a title that is no model's.
const TITLE_CHARS: usize = 50;

/// What becomes of what the run did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Action {
    /// It stays.
    #[default]
    Interrupt,
    /// The thread is as it was before the run.
    Rollback,
}

/// A run could not be ended.
#[derive(Debug, thiserror::Error)]
pub enum CancelError {
    /// The table failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Runs {
    /// Ends a run and returns it as it is then; one that has ended is as it was. None if there is no such run.
    pub async fn cancel(&self, key: &RunKey, action: Action) -> Result<Option<Run>, CancelError> {
        for _ in 0..DECISIONS {
            let Some(run) = self.store.load(key).await? else { return Ok(None) };
            if run.end().is_some() {
                return Ok(Some(run));
            }
            let standing = self.around(&run).await?;
            let mut ending = match action {
                Action::Interrupt => Ending::new(Outcome::Interrupted, None),
                Action::Rollback => Ending {
                    rolled_back: true,
                    ..Ending::new(Outcome::Error, Some("the run was rolled back by its user"))
                },
            };
            let untitled = standing.conversation.as_ref().is_some_and(|read| read.title.is_none());
            if untitled && action == Action::Interrupt {
                ending.title = self.called(key).await;
            }
            let now = self.clock.now();
            let change = match decide(&run, Command::Cancel(ending), &standing.seen(), now, &self.policy) {
                Ok(change) => change,
                Err(Rejected::Ended) => return Ok(Some(run)),
                Err(Rejected::Stale | Rejected::NotHeld) => continue,
            };
            if self.store.commit(&change).await? == Applied::Done {
                tracing::info!(run.id = %key.id, thread = %key.thread.thread, "a run was cancelled");
                self.wake(&change).await;
                self.cancel_children(&run).await;
                return Ok(Some(change.run.run));
            }
        }
        Err(restless("cancelling a run").into())
    }

    /// What the conversation is called after that run. What cannot be read keeps nobody from ending a run.
    pub(super) async fn called(&self, key: &RunKey) -> Option<String> {
        let spec = self.store.spec(key).await.inspect_err(
            |error| tracing::warn!(run.id = %key.id, error = %Chain(error), "a conversation is left without a title"),
        );
        spec.ok().flatten().as_ref().and_then(title)
    }

    /// Ends the children that a run was waiting for. Best effort: what stays ends at its own time.
    pub(super) async fn cancel_children(&self, run: &Run) {
        let Phase::Parked { open } = &run.phase else { return };
        for child in open {
            let key = run.key.beside(child.clone());
            if let Err(error) = Box::pin(self.cancel(&key, Action::Interrupt)).await {
                tracing::warn!(run.id = %child, error = %Chain(&error), "a child was not cancelled; its time limit ends it");
            }
        }
    }
}

/// What a conversation is called after what its user said first.
fn title(spec: &RunSpec) -> Option<String> {
    let text = spec.input.iter().find(|message| Message::is_users(message))?.content.text();
    let title = beginning(&text, TITLE_CHARS);
    (!title.is_empty()).then_some(title)
}
