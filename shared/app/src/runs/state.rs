//! The state of a conversation, now and before.

use pudu_domain::conversation::Head;
use pudu_domain::run::{Checkpoint, Source};
use pudu_domain::state::State;
use pudu_domain::{Conversation, Run, RunKey, ThreadKey, Timestamp};

use super::{CheckpointError, Runs};

/// A checkpoint without its body.
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpointed {
    /// Which.
    pub head: Head,
    /// The one before it.
    pub parent: Option<Head>,
    /// When it was written.
    pub at: Timestamp,
    /// What made it.
    pub source: Source,
    /// Which of its run's checkpoints it is, from 0; -1 is the one before every other of the conversation.
    pub step: i64,
}

/// A conversation as of one checkpoint.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    /// The conversation as it is now.
    pub conversation: Conversation,
    /// The run that has it.
    pub active: Option<Run>,
    /// The checkpoint.
    pub checkpoint: Checkpointed,
    /// The state then.
    pub state: State,
}

impl Runs {
    /// The state of a thread: as of a checkpoint, or the newest, also of a run that is at work. None if there is no such
    /// thread; a checkpoint that is not there is [`CheckpointError::Missing`].
    pub async fn state(
        &self,
        thread: &ThreadKey,
        at: Option<&Head>,
    ) -> Result<Option<View>, CheckpointError> {
        let standing = self.standing(thread).await?;
        let Some(conversation) = standing.conversation else { return Ok(None) };
        let working = standing.active.as_ref().and_then(Run::head);
        let head = at.cloned().or(working).or_else(|| conversation.head.clone());
        let head = head.unwrap_or_else(|| conversation.beginning());
        let missing = || CheckpointError::Missing { run: head.run.to_string(), number: head.number };
        let (mut state, checkpoint) = if head == conversation.beginning() {
            (State::default(), Checkpointed::beginning(&conversation))
        } else if head.is_beginning() {
            return Err(missing());
        } else {
            let chain = chain(thread, &head);
            let state = self.checkpoints.state(&chain, head.number).await?;
            let found = self.store.history(&chain, head.number, 1).await?.into_iter().next();
            (state, Checkpointed::of(found.ok_or_else(missing)?, &conversation))
        };
        if state.title.is_none() && at.is_none() {
            state.title.clone_from(&conversation.title);
        }
        Ok(Some(View { conversation, active: standing.active, checkpoint, state }))
    }

    /// Checkpoints before `before`, or from the newest on, the newest first, with their states; across runs, along the chain.
    /// Only the newest of all has its messages. None if there is no such thread.
    pub async fn history(
        &self,
        thread: &ThreadKey,
        before: Option<&Head>,
        limit: usize,
    ) -> Result<Option<Vec<(Checkpointed, State)>>, CheckpointError> {
        let standing = self.standing(thread).await?;
        let Some(conversation) = standing.conversation else { return Ok(None) };
        let newest = standing.active.as_ref().and_then(Run::head).or(conversation.head.clone());
        let mut next = match before {
            Some(head) => self.before(thread, head, &conversation).await?,
            None => Some(newest.unwrap_or_else(|| conversation.beginning())),
        };
        let mut entries = Vec::new();
        while let Some(head) = next.take().filter(|_| entries.len() < limit) {
            if head == conversation.beginning() {
                entries.push((Checkpointed::beginning(&conversation), State::default()));
                break;
            }
            let run = chain(thread, &head);
            let page = self.store.history(&run, head.number, limit - entries.len()).await?;
            let (Some(newest), Some(oldest)) = (page.first(), page.last()) else { break };
            let (newest, oldest) = (newest.number, oldest.number);
            let spoken = (before.is_none() && entries.is_empty()).then_some(newest);
            let mut states = self.checkpoints.states(&run, oldest, newest, spoken).await?;
            for checkpoint in page.into_iter().map(|found| Checkpointed::of(found, &conversation)) {
                let Some(state) = states.remove(&checkpoint.head.number) else { continue };
                next.clone_from(&checkpoint.parent);
                entries.push((checkpoint, state));
            }
        }
        Ok(Some(entries))
    }

    /// That checkpoint of a thread without its state.
    pub(super) async fn checkpointed(
        &self,
        thread: &ThreadKey,
        head: &Head,
    ) -> Result<Checkpointed, CheckpointError> {
        let missing = || CheckpointError::Missing { run: head.run.to_string(), number: head.number };
        let conversation = self.store.conversation(thread).await?.ok_or_else(missing)?;
        let found = self.store.history(&chain(thread, head), head.number, 1).await?.into_iter().next();
        Ok(Checkpointed::of(found.ok_or_else(missing)?, &conversation))
    }

    /// The checkpoint before that one.
    async fn before(
        &self,
        thread: &ThreadKey,
        head: &Head,
        conversation: &Conversation,
    ) -> Result<Option<Head>, CheckpointError> {
        if *head == conversation.beginning() {
            return Ok(None);
        }
        let found = self.store.history(&chain(thread, head), head.number, 1).await?;
        let missing = CheckpointError::Missing { run: head.run.to_string(), number: head.number };
        let found = found.into_iter().next().filter(|found| found.number == head.number).ok_or(missing)?;
        Ok(Checkpointed::of(found, conversation).parent)
    }
}

pub(super) fn chain(thread: &ThreadKey, head: &Head) -> RunKey {
    RunKey { thread: thread.clone(), id: head.run.clone() }
}

impl Checkpointed {
    fn of(checkpoint: Checkpoint, conversation: &Conversation) -> Self {
        let head = Head { run: checkpoint.run.id, number: checkpoint.number };
        let before = head.number.checked_sub(1).map(|number| Head { number, ..head.clone() });
        let parent = before.or(checkpoint.parent).or_else(|| Some(conversation.beginning()));
        let step = i64::from(head.number);
        Self { parent, head, at: checkpoint.at, source: checkpoint.source, step }
    }

    /// The one before every other: an empty state, from when the conversation was made.
    fn beginning(conversation: &Conversation) -> Self {
        let (head, at) = (conversation.beginning(), conversation.created_at);
        Self { head, parent: None, at, source: Source::Input, step: -1 }
    }
}
