//! The task-poller: asks servers how tasks are, asks them to cancel, ends submissions whose submitter never came back, and deletes
//! threads.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pudu_config::Server;
use pudu_domain::task::Command;
use pudu_domain::{
    Lane, Lease, RemoteTaskId, Snapshot, Task, TaskId, TaskKey, TaskSpec, ThreadKey, Timestamp,
};

use super::deletion::Deletion;
use super::drain::{Ran, Work};
use crate::chain::Chain;
use crate::configs::{Configs, Unreachable};
use crate::deadline::Deadline;
use crate::drivers::Drivers;
use crate::limits::Limits;
use crate::ports::{Caller, Cancelled, Committed, DriverError, ItemKey, Random, StoreError, TaskDriver};
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

/// What a task needs for a call, or why there is none today.
enum Reach<'a> {
    Call {
        server: Arc<Server>,
        driver: &'a Arc<dyn TaskDriver>,
        remote: &'a RemoteTaskId,
    },
    /// The task's server is not what it was: that counts, and is shown.
    Not(String),
    /// We could not even look: that is nobody's failure but ours.
    Unknown(String),
}

/// What came of a call; the error is that nothing came of it that says anything of the server.
type Called = Result<Result<Snapshot, DriverError>, GiveBack>;

/// Why a claim ends without anything being counted.
struct GiveBack(String);

#[async_trait]
impl Work for Poller {
    fn lanes(&self) -> &'static [Lane] {
        &[Lane::Cancel, Lane::Poll, Lane::Intent, Lane::Delete]
    }

    async fn run(&self, lane: Lane, key: &ItemKey, deadline: Deadline) -> Ran {
        let key = match key {
            ItemKey::Task(key) => key,
            ItemKey::Thread(key) => return self.deletion.run(key, deadline).await,
            ItemKey::Note(_) => return Ran::Refused,
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
        let called = match lane {
            Lane::Intent => return self.conclude(task, &spec, Command::Recover).await,
            Lane::Cancel => self.cancel(&key.thread, &spec, until, deadline).await,
            _ => self.poll(&key.thread, &spec, until, deadline).await,
        };
        let command = match (lane, called) {
            (_, Err(GiveBack(why))) => {
                tracing::warn!(task.id = %key.id, lane = lane.as_str(), why, "a claim was given back");
                self.conclude(task, &spec, Command::GiveBack).await?;
                return Ok(Ran::Refused);
            }
            (Lane::Cancel, Ok(Ok(snapshot))) => Command::RecordCancel(snapshot),
            // A cancel is never given up because of its answer: the poll goes on and sees the real end.
            (Lane::Cancel, Ok(Err(DriverError::Retry(why) | DriverError::Violation(why)))) => {
                Command::RecordCancelFailure(why)
            }
            (_, Ok(Ok(snapshot))) => Command::RecordStatus(snapshot),
            (_, Ok(Err(DriverError::Retry(why)))) => Command::RecordPollFailure(why),
            (_, Ok(Err(DriverError::Violation(why)))) => Command::RecordPollViolation(why),
        };
        self.conclude(task, &spec, command).await
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

    async fn poll(&self, owner: &ThreadKey, spec: &TaskSpec, until: Timestamp, deadline: Deadline) -> Called {
        let caller = Caller::background(owner.clone());
        match self.reach(spec).await {
            Reach::Not(why) => Ok(Err(DriverError::Retry(why))),
            Reach::Unknown(why) => Err(GiveBack(why)),
            Reach::Call { server, driver, remote } => {
                let call = |limit| driver.status(&server, &caller, &spec.driver_data, remote, limit);
                self.within(&server, until, deadline, "status", call).await
            }
        }
    }

    async fn cancel(
        &self,
        owner: &ThreadKey,
        spec: &TaskSpec,
        until: Timestamp,
        deadline: Deadline,
    ) -> Called {
        let caller = Caller::background(owner.clone());
        match self.reach(spec).await {
            Reach::Not(why) => Ok(Err(DriverError::Retry(why))),
            Reach::Unknown(why) => Err(GiveBack(why)),
            Reach::Call { server, driver, remote } => {
                let (entry, data) = (server.as_ref(), &spec.driver_data);
                let call =
                    async |limit| match driver.cancel(entry, &caller, data, remote.as_str(), limit).await? {
                        Cancelled::Snapshot(snapshot) => Ok(snapshot),
                        Cancelled::Acknowledged => {
                            Err(DriverError::Retry("the server only acknowledged the cancel".to_owned()))
                        }
                    };
                self.within(&server, until, deadline, "cancel", call).await
            }
        }
    }

    /// The server as it is today, if it is still the one that the task was submitted to (DESIGN section 4).
    async fn reach<'a>(&'a self, spec: &'a TaskSpec) -> Reach<'a> {
        let Some(driver) = self.drivers.get(&spec.driver) else {
            return Reach::Not(format!("this process has no driver '{}'", spec.driver));
        };
        let Some(remote) = &spec.remote else {
            return Reach::Not("the server's handle for the task is missing".to_owned());
        };
        match self.configs.task_server(&spec.server, &spec.identity).await {
            Ok(server) => Reach::Call { server, driver, remote },
            Err(Unreachable::Config(error)) => Reach::Unknown(Chain(&error).to_string()),
            Err(why @ Unreachable::Unread(_)) => Reach::Unknown(why.to_string()),
            Err(why) => Reach::Not(why.to_string()),
        }
    }

    /// One call inside its deadline. The driver has the limit too; the timer here holds even if it forgets.
    async fn within<F>(
        &self,
        server: &Server,
        until: Timestamp,
        deadline: Deadline,
        what: &'static str,
        call: impl FnOnce(Duration) -> F,
    ) -> Called
    where
        F: Future<Output = Result<Snapshot, DriverError>>,
    {
        let began = self.settle.clock.now();
        let Some(limit) = deadline.call_limit(began, server.call_timeout(), until.since(began)) else {
            return Err(GiveBack("no time was left in this invocation".to_owned()));
        };
        let answer = match tokio::time::timeout(limit.time, call(limit.time)).await {
            Ok(answer) => answer,
            Err(_) => Err(DriverError::Retry(format!(
                "the {what} call did not answer within {} ms",
                limit.time.as_millis()
            ))),
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

/// An outage heals by itself; anything else needs somebody.
pub(super) fn failed(error: &StoreError, task: &TaskId, lane: Lane) {
    let (lane, chain) = (lane.as_str(), Chain(error));
    if matches!(error, StoreError::Unavailable { .. }) {
        tracing::warn!(task.id = %task, lane, error = %chain, "the table failed an item; it is claimed again when its lease ends");
    } else {
        tracing::error!(task.id = %task, lane, error = %chain, "an item could not be worked on");
    }
}
