//! Threads as the agent's callers have them: made, found, noted upon (agent reference 2.1).

use pudu_domain::conversation::Status;
use pudu_domain::{Conversation, Scope, ThreadKey, UserId};
use serde_json::{Map, Value};

use super::{DECISIONS, Runs, restless};
use crate::ports::{ConversationKept, StoreError};

/// Of the metadata: a note that is none of the conversation's content, so it does not make it newer.
const PINNED: &str = "pinned";
/// What callers may not note: who owns a thread is no note.
const OWNERS: [&str; 2] = ["owner_id", "user_id"];
/// Most bytes of what is noted of a thread, as JSON, which stands in one row.
pub const METADATA_BYTES: usize = 64 * 1024;
/// Conversations of one page of a search.
const AT_ONCE: usize = 100;
/// Most conversations that a search looks at.
const LOOKED_AT: usize = 5000;

/// A thread that is to be there.
#[derive(Debug, Clone)]
pub struct NewThread {
    /// Which.
    pub thread: ThreadKey,
    /// What is noted of it.
    pub metadata: Map<String, Value>,
    /// For which assistant.
    pub assistant: Option<String>,
    /// Which servers its maker may use.
    pub scope: Scope,
}

/// Which threads are looked for.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// Those of which all of this is noted.
    pub metadata: Map<String, Value>,
    /// Those that stand so.
    pub status: Option<Status>,
    /// Behind the first so many.
    pub offset: usize,
    /// At most so many.
    pub limit: usize,
}

/// A thread could not be made or changed.
#[derive(Debug, thiserror::Error)]
pub enum ThreadError {
    /// The table failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no such thread, or it is being deleted.
    #[error("there is no such thread")]
    NoThread,
    /// More would be noted of it than a row takes.
    #[error("the metadata of a thread is at most {METADATA_BYTES} bytes of JSON, with what is noted already")]
    TooLarge,
}

impl Runs {
    /// The thread, made if it is not there; and whether it was made now.
    pub async fn open(&self, new: NewThread) -> Result<(Conversation, bool), ThreadError> {
        for _ in 0..DECISIONS {
            if let Some(conversation) = self.store.conversation(&new.thread).await? {
                return Ok((conversation, false));
            }
            let now = self.clock.now();
            let metadata = fitting(noted(new.metadata.clone()))?;
            let conversation = Conversation {
                metadata,
                assistant: new.assistant.clone(),
                ..Conversation::new(new.thread.clone(), new.scope.clone(), now)
            };
            let kept = Conversation::kept(None, conversation, now);
            match self.store.keep(&kept, None).await? {
                ConversationKept::Done => return Ok((kept.conversation, true)),
                ConversationKept::Moved => {}
                ConversationKept::ThreadGone => return Err(ThreadError::NoThread),
            }
        }
        Err(restless("making a thread").into())
    }

    /// Notes something of a thread, beside what is noted already.
    pub async fn annotate(
        &self,
        thread: &ThreadKey,
        metadata: Map<String, Value>,
    ) -> Result<Conversation, ThreadError> {
        let metadata = noted(metadata);
        for _ in 0..DECISIONS {
            let read = self.store.conversation(thread).await?.ok_or(ThreadError::NoThread)?;
            let mut after = read.clone();
            after.metadata.extend(metadata.clone());
            if after == read {
                return Ok(read);
            }
            after.metadata = fitting(after.metadata)?;
            let mut kept = Conversation::kept(Some(&read), after, self.clock.now());
            if metadata.keys().all(|name| name == PINNED) {
                kept.conversation.updated_at = read.updated_at;
            }
            match self.store.keep(&kept, None).await? {
                ConversationKept::Done => return Ok(kept.conversation),
                ConversationKept::Moved => {}
                ConversationKept::ThreadGone => return Err(ThreadError::NoThread),
            }
        }
        Err(restless("changing a thread").into())
    }

    /// Conversations of a user, the newest first, among the newest 5000.
    pub async fn find(&self, user: &UserId, wanted: &Found) -> Result<Vec<Conversation>, StoreError> {
        let fits = |conversation: &Conversation| {
            let notes = &conversation.metadata;
            wanted.status.is_none_or(|status| status == conversation.status)
                && wanted.metadata.iter().all(|(name, value)| notes.get(name) == Some(value))
        };
        let (mut found, mut before, mut skipped, mut looked) = (Vec::new(), None, 0, 0);
        loop {
            let page = self.store.conversations(user, AT_ONCE, before.as_ref()).await?;
            before = page.last().map(|last| (last.created_at, last.thread.thread.clone()));
            looked += page.len();
            let is_last = page.len() < AT_ONCE || looked >= LOOKED_AT;
            for conversation in page.into_iter().filter(&fits) {
                if skipped < wanted.offset {
                    skipped += 1;
                } else if found.len() < wanted.limit {
                    found.push(conversation);
                }
            }
            if is_last || found.len() == wanted.limit {
                return Ok(found);
            }
        }
    }
}

/// The same, if a row takes it.
fn fitting(metadata: Map<String, Value>) -> Result<Map<String, Value>, ThreadError> {
    let size = serde_json::to_string(&metadata).unwrap_or_default().len();
    if size <= METADATA_BYTES { Ok(metadata) } else { Err(ThreadError::TooLarge) }
}

/// What may be noted of it.
fn noted(mut metadata: Map<String, Value>) -> Map<String, Value> {
    metadata.retain(|name, _| !OWNERS.contains(&name.as_str()));
    metadata
}
