//! Mutants: stores that break one rule on the way to the table, wrapped around any store at run time.
//!
//! Each breaks something that only the simulation's invariants can see; a mutant that is not caught shows a missing one.
//! What a table itself can get wrong is in [`crate::table::Flaw`].

mod runs;

use std::sync::Arc;

use async_trait::async_trait;
use pudu_app::ports::{Committed, NoteKey, NoteStore, StoreError, TaskStore};
use pudu_domain::note::{self, State as NoteState};
use pudu_domain::task::{AnswerWrite, Change, Outcome, Stand, State};
use pudu_domain::{
    Due, Durable, Event, Expect, Lane, Lease, Note, Payload, Task, TaskId, TaskKey, TaskSpec, ThreadKey,
};
use serde_json::Value;

pub use runs::{Rule, Ruled, RunMutant};

/// One broken rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mutant {
    /// A commit compares no claim, neither its generation nor its lease: a fenced or replaced holder's result is written.
    /// (Without the generation alone nothing breaks that a table could show: the fence also takes the lease away.)
    IgnoreGeneration,
    /// A commit does not look at the end of its lease.
    IgnoreLeaseEnd,
    /// A commit forgets the event that goes with it.
    ForgetNote,
    /// A request to cancel is written without fencing the poll in flight.
    DecideSkipsFence,
    /// A task that is not at its end is no longer due for anybody.
    DecideSkipsDue,
    /// Attention that has ended stays current, so that an event that is no longer true is delivered.
    DecideSkipsWithdrawal,
    /// A submission is sent without its intent having been written.
    DecideSkipsIntent,
    /// A commit does not see that the row was changed beside it: what was changed is lost.
    IgnoreWake,
    /// The commit of a handle is confirmed and not made.
    ForgetHandle,
    /// A task that has completed has failed.
    EndsOtherwise,
    /// An event is not due for anybody.
    NoteSkipsDue,
    /// A task at its end counts an event that was never made.
    AttentionRunsAhead,
    /// A task that goes on is put aside.
    PutsAside,
    /// The key of a submission is not stored.
    ForgetKey,
    /// A thread seems to have no tasks.
    ListsNothing,
    /// An answer is confirmed and not kept.
    ForgetAnswer,
    /// Whoever claims a task takes himself for the first who can hand its answer over.
    AnswerBlindly,
    /// A withdrawn or superseded event is delivered all the same.
    DeliverStale,
    /// A note ends as delivered, and its event is not appended.
    DeliverNothing,
    /// Every failure gives the next launch a key of its own, also one after which a run may be under way.
    LaunchAnew,
}

impl Mutant {
    /// Every mutant.
    pub const ALL: [Self; 20] = [
        Self::IgnoreGeneration,
        Self::IgnoreLeaseEnd,
        Self::ForgetNote,
        Self::DecideSkipsFence,
        Self::DecideSkipsDue,
        Self::DecideSkipsWithdrawal,
        Self::DecideSkipsIntent,
        Self::IgnoreWake,
        Self::ForgetHandle,
        Self::EndsOtherwise,
        Self::NoteSkipsDue,
        Self::AttentionRunsAhead,
        Self::PutsAside,
        Self::ForgetKey,
        Self::ListsNothing,
        Self::ForgetAnswer,
        Self::AnswerBlindly,
        Self::DeliverStale,
        Self::DeliverNothing,
        Self::LaunchAnew,
    ];

    /// The task store with this rule broken.
    pub fn tasks(self, inner: Arc<dyn TaskStore>) -> Arc<dyn TaskStore> {
        Arc::new(MutantTasks { inner, mutant: self })
    }

    /// The note store with this rule broken.
    pub fn notes(self, inner: Arc<dyn NoteStore>) -> Arc<dyn NoteStore> {
        Arc::new(MutantNotes { inner, mutant: self })
    }

    /// The change as the mutant writes it over `stored`.
    fn alter(self, mut change: Change, stored: &Task) -> Change {
        let row = &stored.durable;
        match (self, &change.expect) {
            (Self::IgnoreGeneration, Expect::Held { .. }) => {
                change.expect = row.unchanged();
                change.task.durable = row.committed(change.task.durable.due);
            }
            (Self::IgnoreLeaseEnd, Expect::Held { generation, wake }) => {
                change.expect = Expect::Unchanged { generation: *generation, wake: *wake, leased: true };
            }
            (Self::IgnoreWake, Expect::Held { generation, .. }) => {
                change.expect = Expect::Held { generation: *generation, wake: row.wake };
            }
            (Self::EndsOtherwise, _) => {
                if let State::Ended { outcome: outcome @ Outcome::Completed, .. } = &mut change.task.state {
                    *outcome = Outcome::Failed;
                }
            }
            (Self::AttentionRunsAhead, _) => {
                let ended = matches!(change.task.state, State::Ended { .. });
                change.task.attention.version += u32::from(ended);
            }
            (Self::NoteSkipsDue, _) => {
                if let Some(note) = &mut change.note {
                    note.note.durable.due = None;
                }
            }
            (Self::PutsAside, Expect::Held { .. }) if matches!(change.task.state, State::Active { .. }) => {
                change.task.durable.due =
                    change.task.durable.due.map(|due| Due { lane: Lane::Corrupt, ..due });
            }
            (Self::ForgetNote, _) => change.note = None,
            (Self::ForgetAnswer, _) if matches!(change.answer, AnswerWrite::Put(_)) => {
                change.answer = AnswerWrite::Keep;
                change.task.answer = None;
            }
            (Self::DecideSkipsFence, Expect::Unchanged { .. }) => {
                change.task.durable = Durable { due: change.task.durable.due, ..row.clone() };
            }
            (Self::DecideSkipsDue, Expect::Held { .. })
                if matches!(change.task.state, State::Active { .. }) =>
            {
                change.task.durable.due = None;
            }
            (Self::DecideSkipsWithdrawal, _) if change.task.attention.version == 0 => {
                change.task.attention = stored.attention.clone();
            }
            _ => {}
        }
        change
    }

    fn alter_note(self, mut change: note::Change) -> note::Change {
        let told = matches!(change.note.state, NoteState::Withdrawn | NoteState::Superseded);
        match self {
            Self::DeliverStale if told => {
                change.note.state = NoteState::Delivered { at: change.note.created_at };
                change.deliver = true;
            }
            Self::DeliverNothing => change.deliver = false,
            Self::LaunchAnew if change.note.state == NoteState::Pending && change.note.attempts > 0 => {
                change.note.dispatch += 1;
            }
            _ => {}
        }
        change
    }
}

struct MutantTasks {
    inner: Arc<dyn TaskStore>,
    mutant: Mutant,
}

#[async_trait]
impl TaskStore for MutantTasks {
    async fn claim(&self, key: &TaskKey, lane: Lane, lease: Lease) -> Result<Option<Task>, StoreError> {
        let mut claimed = self.inner.claim(key, lane, lease).await?;
        if self.mutant == Mutant::AnswerBlindly
            && let Some(task) = &mut claimed
            && let Some(answer) = task.answer.as_mut().filter(|answer| answer.is_waiting())
        {
            answer.given_in = task.durable.generation;
            answer.stand = Stand::Waiting { attempts: 0, last_error: None };
        }
        Ok(claimed)
    }

    async fn load(&self, key: &TaskKey) -> Result<Option<Task>, StoreError> {
        self.inner.load(key).await
    }

    async fn glance(&self, keys: &[TaskKey]) -> Result<Vec<Task>, StoreError> {
        self.inner.glance(keys).await
    }

    async fn spec(&self, task: &Task) -> Result<Option<TaskSpec>, StoreError> {
        self.inner.spec(task).await
    }

    async fn payload(&self, key: &TaskKey) -> Result<Payload, StoreError> {
        self.inner.payload(key).await
    }

    async fn answer(&self, key: &TaskKey) -> Result<Option<Value>, StoreError> {
        self.inner.answer(key).await
    }

    async fn commit(&self, change: &Change) -> Result<Committed, StoreError> {
        if self.mutant == Mutant::DecideSkipsIntent && matches!(change.task.state, State::Intent { .. }) {
            return Ok(Committed::Done);
        }
        if self.mutant == Mutant::ForgetHandle
            && change.spec.as_ref().is_some_and(|spec| spec.remote.is_some())
        {
            return Ok(Committed::Done);
        }
        if let (Mutant::ForgetKey, Some(spec)) = (self.mutant, &change.spec) {
            let spec = Some(TaskSpec { repeatable: None, ..spec.clone() });
            return self.inner.commit(&Change { spec, ..change.clone() }).await;
        }
        match self.inner.load(&change.task.key).await? {
            Some(stored) => self.inner.commit(&self.mutant.alter(change.clone(), &stored)).await,
            // The intent that was skipped is written with the handle, if its submitter gets that far.
            None if self.mutant == Mutant::DecideSkipsIntent => {
                let born = Change { expect: Expect::Absent { owner: None }, ..change.clone() };
                self.inner.commit(&born).await
            }
            None => self.inner.commit(change).await,
        }
    }

    async fn list(
        &self,
        thread: &ThreadKey,
        limit: usize,
        before: Option<&TaskId>,
    ) -> Result<Vec<(Task, TaskSpec)>, StoreError> {
        let listed = self.inner.list(thread, limit, before).await?;
        Ok(if self.mutant == Mutant::ListsNothing { Vec::new() } else { listed })
    }
}

struct MutantNotes {
    inner: Arc<dyn NoteStore>,
    mutant: Mutant,
}

#[async_trait]
impl NoteStore for MutantNotes {
    async fn claim(&self, key: &NoteKey, lane: Lane, lease: Lease) -> Result<Option<Note>, StoreError> {
        self.inner.claim(key, lane, lease).await
    }

    async fn load(&self, key: &NoteKey) -> Result<Option<Note>, StoreError> {
        self.inner.load(key).await
    }

    async fn event(&self, note: &Note) -> Result<Option<Event>, StoreError> {
        self.inner.event(note).await
    }

    async fn commit(&self, change: &note::Change) -> Result<Committed, StoreError> {
        self.inner.commit(&self.mutant.alter_note(change.clone())).await
    }
}
