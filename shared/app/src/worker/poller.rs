//! The task-poller: asks servers how tasks are, hands them answers, asks them to cancel, ends submissions whose submitter never
//! came back, and deletes threads.

mod answers;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pudu_config::Server;
use pudu_domain::task::{Command, Heard};
use pudu_domain::{Lane, Lease, RemoteTaskId, Task, TaskId, TaskKey, TaskSpec, Timestamp};

use super::deletion::Deletion;
use super::drain::{Ran, Work};
use crate::chain::Chain;
use crate::configs::{Configs, Unreachable};
use crate::deadline::{CallLimit, Deadline};
use crate::drivers::Drivers;
use crate::limits::Limits;
use crate::ports::{
    Caller, Cancelled, Committed, DriverError, ItemKey, NoteKey, Random, StoreError, TaskDriver,
};
use crate::settle::{Settle, Settled};

/// Serves the cancel, poll, intent and delete lanes.
#[derive(Clone)]
pub struct Poller {
    /// Who claims; a name for this process.
    pub worker: String,
    /// Decides and commits.
    pub settle: Settle,
    /// Which servers there are today.
    pub configs: Arc<Configs>,
    /// How tasks are spoken about.
    pub drivers: Drivers,
    /// Nonces.
    pub random: Arc<dyn Random>,
    /// Lease and permits.
    pub limits: Limits,
    /// Deletes threads.
    pub deletion: Deletion,
}

/// A claimed task, and how long there is for it.
struct Held<'a> {
    task: &'a Task,
    spec: &'a TaskSpec,
    /// When the lease ends.
    until: Timestamp,
    deadline: Deadline,
}

/// What a task needs for a call.
struct Reached<'a> {
    server: Arc<Server>,
    driver: &'a dyn TaskDriver,
    remote: &'a RemoteTaskId,
    caller: Caller,
}

/// What a task needs for a call, or why there is none today.
enum Reach<'a> {
    Call(Reached<'a>),
    /// The task's server is not what it was: that counts, and is shown.
    Not(String),
    /// We could not even look: that is nobody's failure but ours.
    Unknown(String),
}

/// Why a claim ends without anything being counted.
struct GiveBack(String);

/// Why a claim ends without an outcome.
enum Stop {
    GiveBack(String),
    /// What belongs to the task is not there.
    PutAside(&'static str),
    Store(StoreError),
}

impl From<GiveBack> for Stop {
    fn from(GiveBack(why): GiveBack) -> Self {
        Self::GiveBack(why)
    }
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

#[async_trait]
impl Work for Poller {
    fn lanes(&self) -> &'static [Lane] {
        &[Lane::Cancel, Lane::Poll, Lane::Intent, Lane::Delete]
    }

    async fn run(&self, lane: Lane, key: &ItemKey, deadline: Deadline) -> Ran {
        let key = match key {
            ItemKey::Task(key) => key,
            ItemKey::Thread(key) => return self.deletion.run(key, deadline).await,
            ItemKey::Note(_) | ItemKey::Run(_) => return Ran::Refused,
        };
        match self.work(lane, key, deadline).await {
            Ok(ran) => ran,
            Err(error) => {
                failed(&error, &key.id, lane);
                Ran::Failed
            }
        }
    }
}

impl Poller {
    async fn work(&self, lane: Lane, key: &TaskKey, deadline: Deadline) -> Result<Ran, StoreError> {
        let until = self.settle.clock.now() + self.limits.lease;
        let lease = Lease { owner: self.random.owner(&self.worker), until };
        let Some(task) = self.settle.tasks.claim(key, lane, lease).await? else { return Ok(Ran::Refused) };
        let spec = match self.settle.tasks.spec(&task).await {
            Ok(Some(spec)) => spec,
            Ok(None) => return self.put_aside(task, "its spec row is missing").await,
            Err(error @ StoreError::Corrupt { .. }) => return self.put_aside(task, &error.to_string()).await,
            Err(error) => return Err(error),
        };
        let held = Held { task: &task, spec: &spec, until, deadline };
        let called = match lane {
            Lane::Intent => Ok(Command::Recover),
            // A cancel that the server acknowledged is not repeated: what ends it is seen by a poll.
            Lane::Cancel if asks_to_cancel(&task) => self.cancel(&held).await,
            _ => self.poll(&held).await,
        };
        match called {
            Ok(command) => self.conclude(task, &spec, command).await,
            Err(Stop::GiveBack(why)) => {
                tracing::warn!(task.id = %key.id, lane = lane.as_str(), why, "a claim was given back");
                self.conclude(task, &spec, Command::GiveBack).await?;
                Ok(Ran::Refused)
            }
            Err(Stop::PutAside(why)) => self.put_aside(task, why).await,
            Err(Stop::Store(error @ StoreError::Corrupt { .. })) => {
                self.put_aside(task, &error.to_string()).await
            }
            Err(Stop::Store(error)) => Err(error),
        }
    }

    /// Settles, and puts the task aside if a row that belongs to it does not decode: it would be claimed for ever.
    async fn conclude(&self, task: Task, spec: &TaskSpec, command: Command) -> Result<Ran, StoreError> {
        let (id, generation, name) = (task.key.id.clone(), task.durable.generation.number(), command.name());
        let settled = match self.settle.held(task.clone(), spec, command).await {
            Err(error @ StoreError::Corrupt { .. }) => return self.put_aside(task, &error.to_string()).await,
            settled => settled?,
        };
        match settled {
            Settled::Done { task, announced } => {
                let status = task.status().as_str();
                if announced && task.is_degraded(&self.settle.policy) {
                    let error = task.tracking.last_error.as_ref().map_or("", |error| error.as_str());
                    tracing::warn!(task.id = %id, status, error, "a task's server does not answer; it is asked less often");
                }
                tracing::debug!(task.id = %id, lease.generation = generation, command = name, status, announced, "settled");
                let version = task.attention.version;
                let event = announced.then(|| NoteKey { task: task.key.clone(), version });
                return Ok(Ran::Settled { next: task.durable.due, event });
            }
            // Losing is an everyday answer: somebody fenced the task, or the call took longer than the lease.
            Settled::Lost(Committed::Unknown) => {
                tracing::warn!(task.id = %id, lease.generation = generation, command = name, "an outcome may not have been recorded; the task is asked again");
            }
            Settled::Lost(_) | Settled::Unchanged => {
                tracing::debug!(task.id = %id, lease.generation = generation, command = name, "dropped a result: the claim is no longer ours");
            }
            Settled::Rejected(error) => {
                tracing::warn!(task.id = %id, command = name, %error, "a command did not fit the task");
            }
        }
        Ok(Ran::Worked)
    }

    async fn put_aside(&self, task: Task, why: &str) -> Result<Ran, StoreError> {
        // The same words as the table's adapter uses: an alarm counts them.
        tracing::error!(task.id = %task.key.id, error = why, "a row was put aside");
        self.settle.put_aside(&task).await?;
        Ok(Ran::Failed)
    }

    async fn poll(&self, held: &Held<'_>) -> Result<Command, Stop> {
        match self.reach(held).await {
            Reach::Not(why) => Ok(Command::RecordPollFailure(why)),
            Reach::Unknown(why) => Err(Stop::GiveBack(why)),
            Reach::Call(reached) => match held.task.answer.as_ref().filter(|answer| answer.is_waiting()) {
                Some(answer) => self.hand_over(held, &reached, answer).await,
                None => Ok(plain(self.ask(held, &reached).await?)),
            },
        }
    }

    /// Asks how the task is.
    async fn ask(&self, held: &Held<'_>, reached: &Reached<'_>) -> Result<Heard, GiveBack> {
        let Reached { server, driver, remote, caller } = reached;
        let call = |limit| driver.status(server, caller, &held.spec.driver_data, remote, limit);
        Ok(match self.within(held, server, "status", call).await? {
            Ok(snapshot) => Heard::Status(snapshot),
            Err(DriverError::Retry(why)) => Heard::Failure(why),
            Err(DriverError::Violation(why)) => Heard::Violation(why),
        })
    }

    async fn cancel(&self, held: &Held<'_>) -> Result<Command, Stop> {
        let Reached { server, driver, remote, caller } = match self.reach(held).await {
            Reach::Not(why) => return Ok(Command::RecordCancelFailure(why)),
            Reach::Unknown(why) => return Err(Stop::GiveBack(why)),
            Reach::Call(reached) => reached,
        };
        let data = &held.spec.driver_data;
        let call = |limit| driver.cancel(&server, &caller, data, remote.as_str(), limit);
        Ok(match self.within(held, &server, "cancel", call).await? {
            Ok(Cancelled::Snapshot(snapshot)) => Command::RecordCancel(snapshot),
            Ok(Cancelled::Acknowledged) => Command::RecordCancelAcknowledged,
            // A cancel is never given up because of its answer: the poll goes on and sees the real end.
            Err(DriverError::Retry(why) | DriverError::Violation(why)) => Command::RecordCancelFailure(why),
        })
    }

    /// The server as it is today, if it is still the one that the task was submitted to (DESIGN section 4).
    async fn reach<'a>(&'a self, held: &Held<'a>) -> Reach<'a> {
        let spec = held.spec;
        let Some(driver) = self.drivers.get(&spec.driver) else {
            return Reach::Not(format!("this process has no driver '{}'", spec.driver));
        };
        let Some(remote) = &spec.remote else {
            return Reach::Not("the server's handle for the task is missing".to_owned());
        };
        match self.configs.task_server(&spec.server, &spec.identity).await {
            Ok(server) => {
                let caller = Caller::background(held.task.key.thread.clone());
                Reach::Call(Reached { server, driver: driver.as_ref(), remote, caller })
            }
            Err(Unreachable::Config(error)) => Reach::Unknown(Chain(&error).to_string()),
            Err(why @ Unreachable::Unread(_)) => Reach::Unknown(why.to_string()),
            Err(why) => Reach::Not(why.to_string()),
        }
    }

    /// One call inside its deadline. The driver has the limit too; the timer here holds even if it forgets.
    async fn within<T, F>(
        &self,
        held: &Held<'_>,
        server: &Server,
        what: &'static str,
        call: impl FnOnce(Duration) -> F,
    ) -> Result<Result<T, DriverError>, GiveBack>
    where
        F: Future<Output = Result<T, DriverError>>,
    {
        let began = self.settle.clock.now();
        let limit = held.limit(server, began)?;
        let answer = match tokio::time::timeout(limit.time, call(limit.time)).await {
            Ok(answer) => answer,
            Err(_) => Err(DriverError::Retry(overdue(what, limit.time))),
        };
        let timed_out = self.settle.clock.now().since(began) >= limit.time;
        match answer {
            Err(DriverError::Retry(_)) if limit.cut && timed_out => {
                Err(GiveBack("the invocation ended before the server answered".to_owned()))
            }
            answer => Ok(answer),
        }
    }
}

impl Held<'_> {
    /// The limit of a call that begins now.
    fn limit(&self, server: &Server, now: Timestamp) -> Result<CallLimit, GiveBack> {
        let limit = self.deadline.call_limit(now, server.call_timeout(), self.until.since(now));
        limit.ok_or_else(|| GiveBack("no time was left in this invocation".to_owned()))
    }
}

/// Whether a cancel is still to be sent.
fn asks_to_cancel(task: &Task) -> bool {
    task.cancel.as_ref().is_some_and(|cancel| cancel.next_at.is_some())
}

/// A poll with nothing beside it.
fn plain(heard: Heard) -> Command {
    match heard {
        Heard::Status(snapshot) => Command::RecordStatus(snapshot),
        Heard::Failure(why) => Command::RecordPollFailure(why),
        Heard::Violation(why) => Command::RecordPollViolation(why),
    }
}

fn overdue(what: &str, limit: Duration) -> String {
    format!("the {what} call did not answer within {} ms", limit.as_millis())
}

/// An outage heals by itself; anything else needs somebody.
pub(super) fn failed(error: &StoreError, task: &TaskId, lane: Lane) {
    let (lane, chain) = (lane.as_str(), Chain(error));
    if matches!(error, StoreError::Unavailable { .. }) {
        tracing::warn!(task.id = %task, lane, error = %chain, "the table failed an item; it is claimed again when its lease ends");
    } else {
        tracing::error!(task.id = %task, lane, error = %chain, "an item could not be worked on");
    }
}
