//! Steps of a task's life on a metered table, without a server: what a bench measures or prepares.

use std::sync::Arc;
use std::time::Duration;

use acceptance::MeteredTable;
use anyhow::Context;
use pudu_app::drivers::Drivers;
use pudu_app::limits::Limits;
use pudu_app::ports::{Clock, DueIndex, TaskStore, shards};
use pudu_app::settle::{Settle, Settled};
use pudu_app::wakeups::Wakeups;
use pudu_app::wiring::{Ports, Wiring};
use pudu_compose::{Base, Egress, ports};
use pudu_config::NoSecrets;
use pudu_domain::task::{Command, Intent, intend};
use pudu_domain::{Lane, Policy, Snapshot, Status, Task, TaskKey, Timestamp};
use pudu_lambda::random::OsRandom;
use pudu_testkit::{FakeBlobs, FixedKeys, fixture};

use crate::still::Still;

/// A table, and the time by which it is used.
pub(crate) struct Life {
    pub(crate) metered: MeteredTable,
    pub(crate) clock: Arc<dyn Clock>,
    /// The identity of the tasks' server, which matters to whoever calls it.
    pub(crate) identity: String,
}

impl Life {
    /// For tasks whose server nobody calls.
    pub(crate) fn new(metered: MeteredTable, clock: Arc<dyn Clock>) -> Self {
        Self { metered, clock, identity: fixture::IDENTITY.to_owned() }
    }

    /// The use cases of a process that has just started and remembers nothing, with a driver that calls nobody.
    pub(crate) fn wiring(&self, still: Still, limits: Limits) -> anyhow::Result<Wiring> {
        let base = Base {
            table: self.metered.cold(),
            blobs: Arc::new(FakeBlobs::default()),
            config: None,
            keys: Arc::new(FixedKeys),
            secrets: Arc::new(NoSecrets),
            egress: Egress::machine(),
            waker: None,
            tokens: None,
            stdio: None,
            clock: Arc::clone(&self.clock),
            random: Arc::new(OsRandom),
        };
        let ports = Ports { drivers: Drivers::new(vec![Arc::new(still)]), ..ports(base)? };
        Ok(Wiring::new(ports, Policy::default(), limits, "bench".to_owned()))
    }

    /// Decides and commits.
    pub(crate) fn settle(&self) -> Settle {
        let (table, clock) = (self.metered.table.clone(), self.clock.clone());
        let (limits, beacons) = (Limits::default(), table.clone());
        let wakeups = Wakeups { beacons, waker: None, clock: clock.clone(), limits };
        Settle { tasks: table, clock, policy: Policy::default(), wakeups }
    }

    /// Forgets what was called and paid until now.
    pub(crate) fn forget(&self) {
        self.metered.calls.take();
        self.metered.costs.take();
    }

    /// A tracked task, whose first poll is due `hint` after `started_at`.
    pub(crate) async fn submit(
        &self,
        key: &TaskKey,
        started_at: Timestamp,
        hint: Option<Duration>,
    ) -> anyhow::Result<Task> {
        let intent = Intent { identity: self.identity.clone(), ..fixture::wanted(key) };
        let now = self.clock.now();
        let birth = intend(intent, fixture::lease("bench", now), now);
        TaskStore::commit(&*self.metered.table, &birth).await?;
        self.track(birth.task, started_at, hint).await
    }

    /// The intent's second half.
    pub(crate) async fn track(
        &self,
        task: Task,
        started_at: Timestamp,
        hint: Option<Duration>,
    ) -> anyhow::Result<Task> {
        let spec = self.metered.table.spec(&task).await?.context("a task has its spec")?;
        let command = Command::RecordSubmit {
            remote: fixture::remote(task.key.id.as_str()),
            snapshot: Snapshot { poll_after: hint, ..Snapshot::bare(Status::Submitted) },
            started_at,
        };
        done(self.settle().held(task, &spec, command).await?)
    }

    /// A poll that is due, or a cancel, from its claim to its commit.
    pub(crate) async fn poll(&self, key: &TaskKey, command: Command) -> anyhow::Result<Task> {
        let lease = fixture::lease("bench", self.clock.now());
        let lane = if matches!(command, Command::RecordCancel(_)) { Lane::Cancel } else { Lane::Poll };
        let claimed = TaskStore::claim(&*self.metered.table, key, lane, lease).await?.context("it is due")?;
        let spec = self.metered.table.spec(&claimed).await?.context("a task has its spec")?;
        done(self.settle().held(claimed, &spec, command).await?)
    }

    /// A poller's look through its lanes.
    pub(crate) async fn look(&self) -> anyhow::Result<()> {
        for lane in [Lane::Cancel, Lane::Poll, Lane::Intent, Lane::Delete] {
            for shard in 0..shards(lane) {
                self.metered.table.due(lane, shard, self.clock.now(), 100, None).await?;
            }
        }
        Ok(())
    }
}

fn done(settled: Settled) -> anyhow::Result<Task> {
    match settled {
        Settled::Done { task, .. } => Ok(*task),
        other => anyhow::bail!("not settled: {other:?}"),
    }
}
