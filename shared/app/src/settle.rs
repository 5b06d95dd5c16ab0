//! From a command to a committed change: the one loop through which every holder's outcome goes.

use std::sync::Arc;

use pudu_domain::task::{Command, Context, Heard, PayloadWrite, Rejected, decide, put_aside};
use pudu_domain::{Payload, Policy, Task, TaskSpec};

use crate::ports::{Clock, Committed, StoreError, TaskStore, Wake};
use crate::wakeups::{self, Wakeups};

/// How often a holder decides again because the row was changed beside it.
pub(crate) const DECISIONS: usize = 4;

/// What became of a command.
#[derive(Debug, Clone, PartialEq)]
pub enum Settled {
    /// It stands; the row as it is now, and whether an event was made.
    Done {
        /// The new row.
        task: Box<Task>,
        /// Whether the notifier has something to do.
        announced: bool,
    },
    /// Nothing changes by it.
    Unchanged,
    /// It was not applied and will not be; somebody else owns the row.
    Lost(Committed),
    /// The row cannot take it.
    Rejected(Rejected),
}

/// Decides and commits.
#[derive(Clone)]
pub struct Settle {
    /// The tasks.
    pub tasks: Arc<dyn TaskStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The numbers.
    pub policy: Policy,
    /// How whoever works on it is woken for what is settled beside him.
    pub wakeups: Wakeups,
}

impl Settle {
    /// Applies `command` for the holder of `task`. A holder that was woken reads the row, and decides again as long as the
    /// claim is still its own.
    pub async fn held(
        &self,
        mut task: Task,
        spec: &TaskSpec,
        command: Command,
    ) -> Result<Settled, StoreError> {
        let payload = self.payload_for(&task, &command).await?;
        let generation = task.durable.generation;
        let mut outcome = Committed::Woken;
        for _ in 0..DECISIONS {
            let context = Context { spec, payload: &payload, policy: &self.policy };
            let change = match decide(&task, command.clone(), self.clock.now(), context) {
                Ok(Some(change)) => change,
                Ok(None) => return Ok(Settled::Unchanged),
                Err(rejected) => return Ok(Settled::Rejected(rejected)),
            };
            outcome = self.tasks.commit(&change).await?;
            match outcome {
                Committed::Done => {
                    let announced = change.note.is_some();
                    return Ok(Settled::Done { task: Box::new(change.task), announced });
                }
                Committed::Woken => match self.tasks.load(&task.key).await? {
                    Some(now) if now.durable.generation == generation => task = now,
                    _ => return Ok(Settled::Lost(Committed::Lost)),
                },
                _ => break,
            }
        }
        Ok(Settled::Lost(outcome))
    }

    /// Moves a held task out of everybody's way, where an operator finds it. It needs no other row.
    pub async fn put_aside(&self, task: &Task) -> Result<(), StoreError> {
        self.tasks.commit(&put_aside(task, self.clock.now())).await.map(drop)
    }

    /// Applies `command` for somebody who holds nothing (a request to cancel): reads, decides, and tries again when the
    /// row changed in between. Whoever works on the task then is woken. None when there is no such task.
    pub async fn beside(
        &self,
        key: &pudu_domain::TaskKey,
        command: Command,
    ) -> Result<Option<Settled>, StoreError> {
        let mut last = Settled::Lost(Committed::Lost);
        for _ in 0..DECISIONS {
            let Some(task) = self.tasks.load(key).await? else { return Ok(None) };
            let Some(spec) = self.tasks.spec(&task).await? else { return Ok(None) };
            let context = Context { spec: &spec, payload: &Payload::default(), policy: &self.policy };
            let change = match decide(&task, command.clone(), self.clock.now(), context) {
                Ok(Some(change)) => change,
                Ok(None) => return Ok(Some(Settled::Unchanged)),
                Err(rejected) => return Ok(Some(Settled::Rejected(rejected))),
            };
            debug_assert!(
                change.payload == PayloadWrite::Keep,
                "a command beside the holder never has a payload"
            );
            match self.tasks.commit(&change).await? {
                Committed::Done => {
                    let announced = change.note.is_some();
                    self.wake(&change.task, announced).await;
                    return Ok(Some(Settled::Done { task: Box::new(change.task), announced }));
                }
                other => last = Settled::Lost(other),
            }
        }
        Ok(Some(last))
    }

    /// Wakes whoever works on a task that was settled by somebody who is not at work himself, and on the event that was made.
    pub async fn wake(&self, task: &Task, announced: bool) {
        let event = wakeups::event(task, announced, self.clock.now());
        self.wakeups.wake(wakeups::items(Wake::of_task(task), event)).await;
    }

    /// The stored payload, where the decision may need it: a failure keeps what the task had, and its event tells it.
    async fn payload_for(&self, task: &Task, command: &Command) -> Result<Payload, StoreError> {
        let replaced = matches!(
            command,
            Command::RecordStatus(_)
                | Command::RecordSubmit { .. }
                | Command::RecordAnswer { heard: Some(Heard::Status(_)), .. }
        );
        if replaced || task.payload.is_none() {
            Ok(Payload::default())
        } else {
            self.tasks.payload(&task.key).await
        }
    }
}
