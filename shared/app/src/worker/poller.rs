//! The task-poller: asks servers how tasks are, asks them to cancel, and ends submissions whose submitter never came back.

use std::sync::Arc;

use async_trait::async_trait;
use pudu_domain::task::Command;
use pudu_domain::{Lane, Lease, RemoteTaskId, Snapshot, Task, TaskKey, TaskSpec};

use super::drain::{Ran, Work};
use crate::chain::Chain;
use crate::configs::{Configs, TaskServer};
use crate::deadline::Deadline;
use crate::drivers::Drivers;
use crate::limits::Limits;
use crate::ports::{Committed, DriverError, Hint, ItemKey, Random, StoreError, TaskDriver};
use crate::settle::{Settle, Settled};

/// Serves the cancel, poll and intent lanes.
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
}

/// What a task needs for a call, or why there is none today.
enum Reach<'a> {
    Call { server: TaskServer, driver: &'a Arc<dyn TaskDriver>, remote: &'a RemoteTaskId },
    Not(String),
}

#[async_trait]
impl Work for Poller {
    fn lanes(&self) -> &'static [Lane] {
        &[Lane::Cancel, Lane::Poll, Lane::Intent]
    }

    async fn run(&self, lane: Lane, hint: &Hint, deadline: Deadline) -> Ran {
        let ItemKey::Task(key) = &hint.key else { return Ran::Refused };
        match self.work(lane, key, deadline).await {
            Ok(ran) => ran,
            Err(error) => {
                tracing::error!(task.id = %key.id, lane = lane.as_str(), error = %Chain(&error), "a task could not be worked on");
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
        let Some(spec) = self.settle.tasks.spec(&task).await? else {
            tracing::error!(task.id = %key.id, "a task has no spec row; it is left to its lease");
            return Ok(Ran::Failed);
        };
        let command = match lane {
            Lane::Intent => Command::Recover,
            Lane::Cancel => self.cancel(&spec, deadline).await,
            _ => self.poll(&spec, deadline).await,
        };
        self.conclude(task, &spec, command).await
    }

    async fn conclude(&self, task: Task, spec: &TaskSpec, command: Command) -> Result<Ran, StoreError> {
        let (id, generation, name) = (task.key.id.clone(), task.durable.generation.number(), command.name());
        match self.settle.held(task, spec, command).await? {
            Settled::Done { task, announced } => {
                let status = task.status().as_str();
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

    async fn poll(&self, spec: &TaskSpec, deadline: Deadline) -> Command {
        let answer = match self.reach(spec).await {
            Reach::Not(why) => Err(DriverError::Retry(why)),
            Reach::Call { server, driver, remote } => {
                let call = |limit| driver.status(&server.entry, &spec.driver_data, remote, limit);
                self.within(&server, deadline, "status", call).await
            }
        };
        match answer {
            Ok(snapshot) => Command::RecordStatus(snapshot),
            Err(DriverError::Retry(why)) => Command::RecordPollFailure(why),
            Err(DriverError::Violation(why)) => Command::RecordPollViolation(why),
        }
    }

    async fn cancel(&self, spec: &TaskSpec, deadline: Deadline) -> Command {
        let answer = match self.reach(spec).await {
            Reach::Not(why) => Err(DriverError::Retry(why)),
            Reach::Call { server, driver, remote } => {
                let call = |limit| driver.cancel(&server.entry, &spec.driver_data, remote.as_str(), limit);
                self.within(&server, deadline, "cancel", call).await
            }
        };
        match answer {
            Ok(snapshot) => Command::RecordCancel(snapshot),
            // A cancel is never given up because of its answer: the poll goes on and sees the real end.
            Err(DriverError::Retry(why) | DriverError::Violation(why)) => Command::RecordCancelFailure(why),
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
            Err(why) => Reach::Not(why.to_string()),
        }
    }

    /// One call inside its deadline. The driver has the limit too; the timer here holds even if it forgets.
    async fn within<F>(
        &self,
        server: &TaskServer,
        deadline: Deadline,
        what: &'static str,
        call: impl FnOnce(std::time::Duration) -> F,
    ) -> Result<Snapshot, DriverError>
    where
        F: Future<Output = Result<Snapshot, DriverError>>,
    {
        let configured = server.entry.call_timeout();
        let Some(limit) = deadline.call_limit(self.settle.clock.now(), configured, self.limits.lease) else {
            return Err(DriverError::Retry("no time was left in this invocation".to_owned()));
        };
        let late =
            || DriverError::Retry(format!("the {what} call did not answer within {} ms", limit.as_millis()));
        match tokio::time::timeout(limit, call(limit)).await {
            Ok(answer) => answer,
            Err(_) => Err(late()),
        }
    }
}
