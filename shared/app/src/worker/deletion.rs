//! Deleting a thread, step by step and safe to begin again after any of them: everything in it is brought to its end, then its
//! rows go, and the thread's own row last.
//!
//! The tombstone stands before the first step, so nothing new starts; and every later write into the thread needs a row that
//! is there (the task's, the notification's), so what is gone stays gone.

use std::sync::Arc;
use std::time::Duration;

use pudu_domain::note::{self, Command as NoteCommand};
use pudu_domain::task::Command as TaskCommand;
use pudu_domain::thread::{Command, Thread, decide};
use pudu_domain::{Lease, Note, Task, TaskId, ThreadKey, Timestamp};

use super::drain::Ran;
use crate::chain::Chain;
use crate::deadline::Deadline;
use crate::limits::Limits;
use crate::ports::{Blobs, Committed, Erased, McpClient, NoteStore, Random, StoreError, ThreadStore};
use crate::runs::{Action, CancelError, Runs};
use crate::settle::Settle;

/// Tasks, and notifications, that are looked at together.
const PAGE: usize = 100;
/// Runs that are ended together: more than may wait for a thread with all of their children.
const RUNS: usize = 1000;

/// Empties threads that are being deleted.
#[derive(Clone)]
pub struct Deletion {
    /// Who claims; a name for this process.
    pub worker: String,
    /// The threads.
    pub threads: Arc<dyn ThreadStore>,
    /// Their notifications.
    pub notes: Arc<dyn NoteStore>,
    /// Their runs.
    pub runs: Runs,
    /// What of them is too large for a row.
    pub blobs: Arc<dyn Blobs>,
    /// Their tasks.
    pub settle: Settle,
    /// What is kept open for threads in this process.
    pub client: Arc<dyn McpClient>,
    /// Nonces.
    pub random: Arc<dyn Random>,
    /// The lease.
    pub limits: Limits,
}

/// How far a look through a thread came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Looked {
    /// Everything has ended.
    Ended,
    /// Something has not.
    Alive,
    /// There was no time to see everything.
    Cut,
}

/// Until when one claim may go on.
#[derive(Clone, Copy)]
struct Span {
    until: Timestamp,
    deadline: Deadline,
}

impl Span {
    fn is_over(self, now: Timestamp) -> bool {
        self.deadline
            .call_limit(now, Duration::MAX, self.until.since(now))
            .is_none_or(|left| left.time.is_zero())
    }
}

impl Deletion {
    /// Works on one thread.
    pub(super) async fn run(&self, key: &ThreadKey, deadline: Deadline) -> Ran {
        match self.work(key, deadline).await {
            Ok(ran) => ran,
            Err(error) => {
                let chain = Chain(&error);
                if matches!(error, StoreError::Unavailable { .. }) {
                    tracing::warn!(thread = %key.thread, error = %chain, "the table failed a thread's deletion; it goes on when its lease ends");
                } else {
                    tracing::error!(thread = %key.thread, error = %chain, "a thread's deletion is stuck");
                }
                Ran::Failed
            }
        }
    }

    async fn work(&self, key: &ThreadKey, deadline: Deadline) -> Result<Ran, StoreError> {
        let until = self.settle.clock.now() + self.limits.lease;
        let lease = Lease { owner: self.random.owner(&self.worker), until };
        let Some(thread) = self.threads.claim(key, lease).await? else { return Ok(Ran::Refused) };
        self.client.close_thread(key).await;
        let span = Span { until, deadline };
        let command = match self.end_all(key, span).await? {
            Looked::Alive => Command::Wait,
            Looked::Cut => Command::GiveBack,
            Looked::Ended => match self.erase(&thread, span).await? {
                Erased::All => self.remove_blobs(key).await,
                Erased::Some => Command::GiveBack,
                Erased::Lost => return Ok(Ran::Worked),
            },
        };
        self.conclude(&thread, command).await
    }

    /// The rows that name them are gone. What fails is done again from here. A worker whose run was ended under it may still put one
    /// that it had begun to; nothing names that one, and nothing removes it.
    async fn remove_blobs(&self, key: &ThreadKey) -> Command {
        match self.blobs.remove_all(key).await {
            Ok(()) => Command::Finish,
            Err(error) => {
                tracing::warn!(thread = %key.thread, error = %Chain(&error), "a deleted thread's blobs are still there; its deletion goes on");
                Command::Wait
            }
        }
    }

    async fn conclude(&self, thread: &Thread, command: Command) -> Result<Ran, StoreError> {
        let now = self.settle.clock.now();
        let Ok(Some(change)) = decide(thread, command, now, &self.settle.policy) else {
            return Ok(Ran::Worked);
        };
        // Losing is an everyday answer: somebody else goes on from where this one came to.
        let outcome = self.threads.commit(&change).await?;
        if outcome == Committed::Done && change.removed {
            tracing::info!(thread = %thread.key.thread, "a thread was deleted");
        } else {
            tracing::debug!(thread = %thread.key.thread, ?command, ?outcome, "a thread's deletion goes on");
        }
        Ok(if command == Command::GiveBack { Ran::Refused } else { Ran::Worked })
    }

    /// Brings everything of the thread on its way to its end: its runs first, which begin what follows.
    async fn end_all(&self, key: &ThreadKey, span: Span) -> Result<Looked, StoreError> {
        if self.end_runs(key, span).await? == Looked::Cut {
            return Ok(Looked::Cut);
        }
        match (self.end_tasks(key, span).await?, self.end_notes(key, span).await?) {
            (Looked::Alive, _) | (_, Looked::Alive) => Ok(Looked::Alive),
            (Looked::Cut, _) | (_, Looked::Cut) => Ok(Looked::Cut),
            (Looked::Ended, Looked::Ended) => Ok(Looked::Ended),
        }
    }

    /// Ends every run, also one that somebody works on just now: he is fenced, and nothing is waited for. Those that wait for their
    /// turn come first, so that none gets it. One that cannot be read goes with the other rows.
    async fn end_runs(&self, key: &ThreadKey, span: Span) -> Result<Looked, StoreError> {
        let mut alive = self.threads.live_runs(key, RUNS).await?;
        let waiting = match self.runs.conversation(key).await {
            Ok(conversation) => conversation.map(|read| read.queue).unwrap_or_default(),
            Err(StoreError::Corrupt { .. }) => Vec::new(),
            Err(error) => return Err(error),
        };
        alive.sort_by_key(|run| !waiting.contains(&run.id));
        for run in &alive {
            if span.is_over(self.settle.clock.now()) {
                return Ok(Looked::Cut);
            }
            match self.runs.cancel(run, Action::Interrupt).await {
                Ok(_) => {}
                Err(CancelError::Store(error @ StoreError::Corrupt { .. })) => {
                    tracing::error!(run.id = %run.id, error = %Chain(&error), "a run that cannot be read goes with its thread");
                }
                Err(CancelError::Store(error)) => return Err(error),
            }
        }
        Ok(if alive.len() < RUNS { Looked::Ended } else { Looked::Cut })
    }

    /// Asks for every task's cancel that has not ended; an intent is waited for, and its cancel is then due at once.
    async fn end_tasks(&self, key: &ThreadKey, span: Span) -> Result<Looked, StoreError> {
        let (mut looked, mut before): (_, Option<TaskId>) = (Looked::Ended, None);
        loop {
            let page = self.settle.tasks.list(key, PAGE, before.as_ref()).await?;
            for (task, _) in &page {
                if span.is_over(self.settle.clock.now()) {
                    return Ok(Looked::Cut);
                }
                if self.is_alive(task).await? {
                    looked = Looked::Alive;
                }
            }
            match page.last() {
                Some((last, _)) if page.len() == PAGE => before = Some(last.key.id.clone()),
                _ => return Ok(looked),
            }
        }
    }

    /// Whether the task has still to end; makes it.
    async fn is_alive(&self, task: &Task) -> Result<bool, StoreError> {
        if !task.durable.is_live() {
            if task.durable.due.is_some() {
                tracing::warn!(task.id = %task.key.id, "a task that was put aside goes with its thread; it may run at its server");
            }
            return Ok(false);
        }
        if task.cancel.is_none() {
            self.settle.beside(&task.key, TaskCommand::RequestCancel).await?;
        }
        Ok(true)
    }

    /// Drops every notification, also one that somebody delivers just now; one that changed meanwhile is looked at again.
    async fn end_notes(&self, key: &ThreadKey, span: Span) -> Result<Looked, StoreError> {
        loop {
            let page = self.threads.live_notes(key, PAGE).await?;
            let mut dropped = true;
            for note in &page {
                if span.is_over(self.settle.clock.now()) {
                    return Ok(Looked::Cut);
                }
                dropped &= self.drop_note(note).await?;
            }
            match (dropped, page.len() == PAGE) {
                (true, false) => return Ok(Looked::Ended),
                (true, true) => {}
                (false, _) => return Ok(Looked::Alive),
            }
        }
    }

    /// Nothing is told any more, also what somebody tells just now.
    async fn drop_note(&self, note: &Note) -> Result<bool, StoreError> {
        let now = self.settle.clock.now();
        match note::decide(note, NoteCommand::Drop, now, &self.settle.policy) {
            Ok(change) => Ok(self.notes.commit(&change).await? == Committed::Done),
            Err(_) => Ok(false),
        }
    }

    /// Removes the rows, a part at a time.
    async fn erase(&self, thread: &Thread, span: Span) -> Result<Erased, StoreError> {
        loop {
            let erased = self.threads.erase(thread).await?;
            if erased != Erased::Some || span.is_over(self.settle.clock.now()) {
                return Ok(erased);
            }
        }
    }
}
