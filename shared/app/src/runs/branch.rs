//! A new thread from a message of another: what was said up to it, and nothing that belongs to the old thread's folders. Long
//! results of tools, which messages only refer to, come along.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use pudu_domain::chat::{Message, place_of, said_as};
use pudu_domain::conversation::Head;
use pudu_domain::state::State;
use pudu_domain::{Conversation, Scope, ThreadKey};

use super::results::{self, Results};
use super::{CheckpointError, Runs, UpdateError};
use crate::ports::ConversationKept;

/// Results that are copied side by side.
const COPIES: usize = 16;

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
        let places = branch.messages.iter().filter_map(|id| place_of(&state.messages, id));
        let Some(last) = places.max() else { return Ok(None) };
        state.messages.truncate(last + 1);
        let message = state.messages.last().map(|message| message.id.clone()).unwrap_or_default();
        state.sandbox = None;
        state.thread_data = None;
        state.counters.clear();
        state.title = branch.title.or(state.title);
        let kept: BTreeSet<String> =
            state.messages.iter().filter_map(results::noted).map(str::to_owned).collect();
        let parent = view.checkpoint.head;
        let fresh = Conversation {
            title: state.title.clone(),
            metadata: view.conversation.metadata,
            assistant: view.conversation.assistant,
            ..Conversation::new(branch.to.clone(), branch.scope, self.clock.now())
        };
        // Its last answer is made anew from what stood before its last question, which is no checkpoint of this thread otherwise.
        let conversation = match before_question(&state) {
            Some(before) => {
                let first = self.branched(None, fresh, before).await?;
                self.branched(Some(&first), first.clone(), state).await?
            }
            None => self.branched(None, fresh, state).await?,
        };
        self.take_along(&branch.from, &branch.to, kept).await?;
        Ok(Some(Branched { conversation, parent, message }))
    }

    /// Writes a state of a branch, and returns its conversation.
    async fn branched(
        &self,
        read: Option<&Conversation>,
        after: Conversation,
        state: State,
    ) -> Result<Conversation, UpdateError> {
        let (thread, before) = (after.thread.clone(), after.head.clone());
        match self.keep(read, after, state, before).await? {
            ConversationKept::Done => {}
            // An id that was made for it is nobody else's.
            _ => return Err(super::restless("making a branch").into()),
        }
        let conversation = self.store.conversation(&thread).await.map_err(CheckpointError::from)?;
        conversation.ok_or(UpdateError::NoThread)
    }

    /// Long results, when their new thread is there: what belongs to no thread would never go.
    async fn take_along(
        &self,
        from: &ThreadKey,
        to: &ThreadKey,
        names: BTreeSet<String>,
    ) -> Result<(), CheckpointError> {
        let Some(blobs) = &self.checkpoints.blobs else { return Ok(()) };
        let results = Results::new(Arc::clone(blobs));
        let copies = names.iter().map(|name| results.copy(from, to, name));
        let copies: Vec<_> = copies.collect();
        stream::iter(copies).buffer_unordered(COPIES).try_collect::<()>().await?;
        Ok(())
    }
}

/// The state before what the user said last, and before the reminder in front of it; none if nothing was said before that.
fn before_question(state: &State) -> Option<State> {
    let place = state.messages.iter().rposition(Message::is_from_user)?;
    let id = said_as(&state.messages, state.messages.get(place)?);
    let place = state.messages.iter().position(|message| message.id == id)?;
    (place > 0).then(|| {
        let mut before = state.clone();
        before.messages.truncate(place);
        before
    })
}
