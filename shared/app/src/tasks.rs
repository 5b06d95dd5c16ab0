//! A thread's tasks as callers see them: list, look, answer, ask to cancel. Nothing here waits for a server.

mod answer;
pub mod follow;
mod page;

use std::time::Duration;

use pudu_domain::task::Command;
use pudu_domain::{Payload, ServerName, Task, TaskId, TaskKey, TaskName, TaskSpec, ThreadKey};

use crate::chain::Chain;
use crate::drivers::Drivers;
use crate::ports::{Background, StoreError};
use crate::settle::{Settle, Settled};

pub use answer::{INPUT_BYTES, InputError};
pub use page::{LOOKED_AT, Page, Part};

/// A task in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// The row.
    pub task: Task,
    /// The toolset's name.
    pub name: TaskName,
    /// Its server's name.
    pub server: ServerName,
    /// Whether its server has not answered for several polls.
    pub degraded: bool,
}

/// A task with everything it brought.
#[derive(Debug, Clone, PartialEq)]
pub struct Detailed {
    /// As in a list.
    pub listed: Listed,
    /// What was settled at its submission; nothing of it is for callers.
    pub spec: TaskSpec,
    /// What it brought.
    pub payload: Payload,
}

/// The task could not be cancelled right now.
#[derive(Debug, thiserror::Error)]
pub enum CancelError {
    /// The table failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Nobody works on tasks, so nobody would carry it out.
    #[error(
        "no task-poller was seen for {} s, so nobody would carry the cancel out and it was not recorded; try again when it works",
        for_so_long.as_secs()
    )]
    Unattended {
        /// How long nobody was seen, at least.
        for_so_long: Duration,
    },
    /// Others changed the task again and again.
    #[error("the task changed while it was being cancelled; try again")]
    Busy,
}

/// Reads, answers and cancels tasks.
#[derive(Clone)]
pub struct Tasks {
    /// The tasks, the time and the numbers.
    pub settle: Settle,
    /// What questions they ask.
    pub drivers: Drivers,
}

impl Tasks {
    /// The newest tasks of a thread that are older than `before`, newest first.
    pub async fn list(
        &self,
        thread: &ThreadKey,
        limit: usize,
        before: Option<&TaskId>,
    ) -> Result<Vec<Listed>, StoreError> {
        let rows = self.settle.tasks.list(thread, limit, before).await?;
        Ok(rows.into_iter().map(|(task, spec)| self.listed(task, spec.name, spec.server)).collect())
    }

    /// One task; none when the thread has no such task.
    pub async fn get(&self, key: &TaskKey) -> Result<Option<Detailed>, StoreError> {
        let Some(task) = self.settle.tasks.load(key).await? else { return Ok(None) };
        self.detailed(task).await
    }

    /// Asks for a task to be cancelled and returns it as it is then; the server is asked in the background. A repeat
    /// changes nothing. None when the thread has no such task.
    ///
    /// Refused, before anything is written, if nobody was seen who would carry it out (reference 8.2): recorded all the same it
    /// would look like a cancel for as long as nobody works, and surprise whoever went on with the task meanwhile.
    pub async fn cancel(&self, key: &TaskKey) -> Result<Option<Detailed>, CancelError> {
        if !self.is_attended().await {
            return match self.get(key).await? {
                // What was recorded once is recorded.
                Some(found)
                    if !found.listed.task.status().is_terminal() && found.listed.task.cancel.is_none() =>
                {
                    Err(CancelError::Unattended { for_so_long: self.settle.wakeups.limits.unattended() })
                }
                settled => Ok(settled),
            };
        }
        match self.settle.beside(key, Command::RequestCancel).await? {
            None => Ok(None),
            Some(Settled::Done { task, .. }) => Ok(self.detailed(*task).await?),
            Some(Settled::Unchanged | Settled::Rejected(_)) => Ok(self.get(key).await?),
            Some(Settled::Lost(_)) => Err(CancelError::Busy),
        }
    }

    /// Whether anybody works on tasks, as far as can be told: a table that does not say who is awake is no reason to refuse
    /// what can be written down.
    pub async fn is_attended(&self) -> bool {
        let attended = self.settle.wakeups.is_attended(Background::Poller).await;
        attended.unwrap_or_else(|error| {
            tracing::warn!(error = %Chain(&error), "it is not known whether a task-poller works");
            true
        })
    }

    async fn detailed(&self, task: Task) -> Result<Option<Detailed>, StoreError> {
        let Some(spec) = self.settle.tasks.spec(&task).await? else { return Ok(None) };
        let payload = if task.payload.is_some() {
            self.settle.tasks.payload(&task.key).await?
        } else {
            Payload::default()
        };
        Ok(Some(Detailed {
            listed: self.listed(task, spec.name.clone(), spec.server.clone()),
            spec,
            payload,
        }))
    }

    fn listed(&self, task: Task, name: TaskName, server: ServerName) -> Listed {
        let degraded = task.is_degraded(&self.settle.policy);
        Listed { task, name, server, degraded }
    }
}
