//! Editing the state between two runs: a checkpoint of its own, that the conversation then points at.

use pudu_domain::chat::Message;
use pudu_domain::conversation::Head;
use pudu_domain::run::{Body, Checkpoint, Source};
use pudu_domain::state::{State, Write, WriteError};
use pudu_domain::{Conversation, RunKey, ThreadKey};

use super::{CheckpointError, DECISIONS, NOT_ASKED, Runs, View, restless, said};
use crate::ports::{ConversationKept, StoreError};

/// Largest state that an edit may make, in bytes of JSON: what a function can answer with, and some room for what runs add.
const STATE_BYTES: usize = 4 * 1024 * 1024;

/// An edit.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// In which thread.
    pub thread: ThreadKey,
    /// What is written.
    pub writes: Vec<Write>,
    /// Over which checkpoint, if not the newest.
    pub base: Option<Head>,
}

/// The state was not changed.
#[derive(Debug, thiserror::Error)]
pub enum UpdateError {
    /// The table or the blob store failed, or the checkpoint is not there.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// A run is active: what it is doing would be lost, or this would.
    #[error("the thread has an active run; wait for it or cancel it")]
    Busy,
    /// There is no such thread, or it is being deleted.
    #[error("there is no such thread")]
    NoThread,
    /// The state would be larger than it can be shown.
    #[error(
        "the state of a thread is at most {STATE_BYTES} bytes of JSON when it is edited; remove messages, or write less"
    )]
    TooLarge,
    /// A channel does not take what is written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A message answers a question that the thread's agent does not ask.
    #[error("{NOT_ASKED}")]
    NotAsked,
}

impl From<StoreError> for UpdateError {
    fn from(error: StoreError) -> Self {
        Self::Checkpoint(error.into())
    }
}

impl Runs {
    /// Writes into the state of a thread without an active run, and returns what it is then. Messages without an id get one.
    pub async fn update(&self, mut update: Update) -> Result<View, UpdateError> {
        let id = self.run_id();
        for (number, write) in update.writes.iter_mut().enumerate() {
            if let Write::Message(message) = write
                && message.id.is_empty()
            {
                message.id = format!("{id}-{number}");
            }
        }
        for _ in 0..DECISIONS {
            let view = self.state(&update.thread, update.base.as_ref()).await?;
            let view = view.ok_or(UpdateError::NoThread)?;
            if view.conversation.active.is_some() {
                return Err(UpdateError::Busy);
            }
            let mut state = view.state;
            if !said::are_asked(&state, update.writes.iter().filter_map(said_in)) {
                return Err(UpdateError::NotAsked);
            }
            state.apply_all(update.writes.clone())?;
            // Our own types serialise.
            if serde_json::to_vec(&state).map_or(0, |json| json.len()) > STATE_BYTES {
                return Err(UpdateError::TooLarge);
            }
            let mut after = view.conversation.clone();
            if state.title.is_some() {
                after.title.clone_from(&state.title);
            }
            let parent = Some(view.checkpoint.head);
            if self.keep(Some(&view.conversation), after, state, parent).await? == ConversationKept::Done {
                let stored = self.state(&update.thread, None).await?;
                return stored.ok_or(UpdateError::NoThread);
            }
        }
        Err(restless("changing a state").into())
    }

    /// Writes a conversation whose state is `state`, in a chain of its own.
    pub(super) async fn keep(
        &self,
        read: Option<&Conversation>,
        mut after: Conversation,
        state: State,
        parent: Option<Head>,
    ) -> Result<ConversationKept, UpdateError> {
        let (now, thread) = (self.clock.now(), after.thread.clone());
        let run = RunKey { thread: thread.clone(), id: self.run_id() };
        after.head = Some(Head { run: run.id.clone(), number: 0 });
        let body = self.checkpoints.stored(&thread, Body::Snapshot(Box::new(state))).await?;
        let checkpoint = Checkpoint { run, number: 0, at: now, source: Source::Update, parent, body };
        let kept = Conversation::kept(read, after, now);
        match self.store.keep(&kept, Some(&checkpoint)).await? {
            ConversationKept::ThreadGone => Err(UpdateError::NoThread),
            kept => Ok(kept),
        }
    }
}

/// The message that a write says.
fn said_in(write: &Write) -> Option<&Message> {
    if let Write::Message(message) = write { Some(message) } else { None }
}
