//! A new thread from a message of another: what was said up to it, and nothing that belongs to the old thread's folders. Long
//! results of tools, which messages only refer to, come along.

use std::sync::Arc;

use pudu_domain::conversation::Head;
use pudu_domain::{Conversation, Scope, ThreadKey};

use super::results::{self, Results};
use super::{CheckpointError, Runs, UpdateError};
use crate::ports::ConversationKept;

/// A branch that is wanted.
#[derive(Debug, Clone)]
pub struct Branch {
    /// From which thread.
    pub from: ThreadKey,
    /// To which, of the same user; it must not be there.
    pub to: ThreadKey,
    /// The last message that comes along, or ids by which it is known.
    pub messages: Vec<String>,
    /// What it is called.
    pub title: Option<String>,
    /// Which servers its maker may use.
    pub scope: Scope,
}

/// A branch.
#[derive(Debug, Clone, PartialEq)]
pub struct Branched {
    /// The new thread.
    pub conversation: Conversation,
    /// The checkpoint that it began from.
    pub parent: Head,
    /// The last message that came along.
    pub message: String,
}

impl Runs {
    /// Branches off; none if the thread has no such message.
    pub async fn branch(&self, branch: Branch) -> Result<Option<Branched>, UpdateError> {
        let view = self.state(&branch.from, None).await?.ok_or(UpdateError::NoThread)?;
        let mut state = view.state;
        let last = state.messages.iter().rposition(|message| branch.messages.contains(&message.id));
        let Some(last) = last else { return Ok(None) };
        state.messages.truncate(last + 1);
        let message = state.messages.last().map(|message| message.id.clone()).unwrap_or_default();
        state.sandbox = None;
        state.thread_data = None;
        state.counters.clear();
        state.title = branch.title.or(state.title);
        if let Some(blobs) = &self.checkpoints.blobs {
            let results = Results::new(Arc::clone(blobs));
            for name in state.messages.iter().filter_map(results::noted) {
                let copied = results.copy(&branch.from, &branch.to, name).await;
                copied.map_err(CheckpointError::from)?;
            }
        }
        let parent = view.checkpoint.head;
        let fresh = Conversation {
            title: state.title.clone(),
            metadata: view.conversation.metadata,
            assistant: view.conversation.assistant,
            ..Conversation::new(branch.to.clone(), branch.scope, self.clock.now())
        };
        match self.keep(None, fresh, state, None).await? {
            ConversationKept::Done => {}
            // An id that was made for it is nobody else's.
            _ => return Err(super::restless("making a branch").into()),
        }
        let conversation = self.store.conversation(&branch.to).await.map_err(CheckpointError::from)?;
        let conversation = conversation.ok_or(UpdateError::NoThread)?;
        Ok(Some(Branched { conversation, parent, message }))
    }
}
