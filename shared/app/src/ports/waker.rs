//! How a background function is invoked at once, instead of at its next tick.

use async_trait::async_trait;
use pudu_domain::thread::Thread;
use pudu_domain::{Lane, Run, ServerTag, Task, TaskKey, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Background, ItemKey, NoteKey};

/// An item for which a function is woken: it claims it by this key, since the due index may not have it yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wake {
    /// The lane that it waits in.
    pub lane: Lane,
    /// Which item.
    pub item: ItemKey,
    /// The server it will talk to; none for an item that talks to none.
    pub server: Option<ServerTag>,
    /// When it is due.
    pub due_at: Timestamp,
}

/// A function that could not be invoked. Nothing is lost by it but time: the next tick finds the item.
#[derive(Debug, thiserror::Error)]
#[error("the {function} could not be invoked")]
pub struct WakeError {
    /// Which function.
    pub function: &'static str,
    /// What the adapter saw.
    #[source]
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

/// Invokes background functions, without waiting for what they do.
#[async_trait]
pub trait Waker: Send + Sync {
    /// Invokes `function` for `items`. A function that this process cannot invoke is left to its schedule.
    async fn wake(&self, function: Background, items: &[Wake]) -> Result<(), WakeError>;
}

impl Wake {
    /// For a task, as its row says; none when it waits for nobody.
    pub fn of_task(task: &Task) -> Option<Self> {
        let due = task.durable.due?;
        let (item, server) = (ItemKey::Task(task.key.clone()), Some(task.server.clone()));
        Some(Self { lane: due.lane, item, server, due_at: due.at })
    }

    /// For a thread that is being deleted.
    pub fn of_thread(thread: &Thread) -> Option<Self> {
        let due = thread.durable.due?;
        let item = ItemKey::Thread(thread.key.clone());
        Some(Self { lane: due.lane, item, server: None, due_at: due.at })
    }

    /// For the event of that version, which is due since `at`.
    pub fn of_event(task: TaskKey, version: u32, at: Timestamp) -> Self {
        let item = ItemKey::Note(NoteKey { task, version });
        Self { lane: Lane::Notify, item, server: None, due_at: at }
    }

    /// For a run, as its row says; none when it waits for nobody.
    pub fn of_run(run: &Run) -> Option<Self> {
        let due = run.durable.due?;
        Some(Self { lane: due.lane, item: ItemKey::Run(run.key.clone()), server: None, due_at: due.at })
    }

    /// Who works on it; none for a lane that waits for an operator.
    pub const fn function(&self) -> Option<Background> {
        match self.lane {
            Lane::Notify => Some(Background::Notifier),
            Lane::Run => Some(Background::Agent),
            Lane::Dead | Lane::Corrupt => None,
            _ => Some(Background::Poller),
        }
    }
}
