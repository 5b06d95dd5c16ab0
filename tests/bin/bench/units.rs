//! Write and read units, and requests, of each step of a task's life, from the embedded engine's own account. The same
//! steps are asserted in `it::units`; here they are printed.

use std::sync::Arc;
use std::time::Duration;

use acceptance::{HandClock, MeteredTable};
use anyhow::Context;
use pudu_app::ports::{Clock, DueIndex, EventLog, NoteKey, NoteStore, SHARDS, TaskStore};
use pudu_app::settle::{Settle, Settled};
use pudu_domain::note;
use pudu_domain::task::{Command, intend};
use pudu_domain::{Lane, Policy, Snapshot, Status, Task, TaskKey};
use pudu_testkit::fixture;

use crate::row::Row;

/// Tasks that wait in the table, not due, while the steps that must not depend on them are measured again.
const NOT_DUE: [u32; 2] = [1_000, 20_000];
/// Longer than the bench's clock moves.
const DAY: Duration = Duration::from_secs(86_400);

struct Walk<'a, F> {
    metered: MeteredTable,
    clock: Arc<HandClock>,
    out: &'a mut F,
}

/// Prints each step.
pub(crate) async fn run(out: &mut impl FnMut(Row)) -> anyhow::Result<()> {
    let clock = Arc::new(HandClock::default());
    let metered = MeteredTable::new(clock.clone()).await;
    let mut walk = Walk { metered, clock, out };
    let key = fixture::task_key(&fixture::thread("t1"), walk.clock.now(), 0);
    walk.life(&key).await?;
    walk.cancel(&fixture::task_key(&fixture::thread("t1"), walk.clock.now(), 1)).await?;
    let mut made = 0;
    for count in NOT_DUE {
        while made < count {
            made += 1;
            let at = walk.clock.now() + Duration::from_millis(made.into());
            walk.submit(&fixture::task_key(&fixture::thread("t2"), at, 2), Some(DAY)).await?;
        }
        walk.forget();
        for lane in [Lane::Cancel, Lane::Poll, Lane::Intent] {
            for shard in 0..SHARDS {
                walk.metered.table.due(lane, shard, walk.clock.now(), 100, None).await?;
            }
        }
        walk.step(&format!("a poller's look through its lanes, {count} tasks not due"));
        let at = walk.clock.now();
        let key = fixture::task_key(&fixture::thread("t3"), at, 3);
        walk.submit(&key, None).await?;
        walk.poll(&key, Command::RecordStatus(fixture::said(Status::Working))).await?;
        walk.forget();
        walk.poll(&key, Command::RecordStatus(fixture::said(Status::Working))).await?;
        walk.step(&format!("an unchanged poll, {count} tasks not due"));
    }
    Ok(())
}

impl<F: FnMut(Row)> Walk<'_, F> {
    fn forget(&self) {
        self.metered.calls.take();
        self.metered.costs.take();
    }

    fn step(&mut self, name: &str) {
        let (calls, cost) = (self.metered.calls.take(), self.metered.costs.take());
        let mut kinds: Vec<(String, usize)> = Vec::new();
        for call in calls {
            match kinds.iter_mut().find(|(kind, _)| *kind == call) {
                Some((_, count)) => *count += 1,
                None => kinds.push((call, 1)),
            }
        }
        let requests =
            kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect::<Vec<_>>().join(", ");
        (self.out)(
            Row::of("units")
                .with("step", name)
                .number("write", cost.write)
                .number("read", cost.read)
                .with("requests", requests),
        );
    }

    fn settle(&self) -> Settle {
        Settle { tasks: self.metered.table.clone(), clock: self.clock.clone(), policy: Policy::default() }
    }

    async fn submit(&self, key: &TaskKey, hint: Option<Duration>) -> anyhow::Result<Task> {
        let birth = fixture::intent(key, "bench", self.clock.now());
        TaskStore::commit(&*self.metered.table, &birth).await?;
        self.track(birth.task, hint).await
    }

    async fn track(&self, task: Task, hint: Option<Duration>) -> anyhow::Result<Task> {
        let spec = self.metered.table.spec(&task).await?.context("a task has its spec")?;
        let command = Command::RecordSubmit {
            remote: fixture::remote(task.key.id.as_str()),
            snapshot: Snapshot { poll_after: hint, ..Snapshot::bare(Status::Submitted) },
            started_at: self.clock.now(),
        };
        done(self.settle().held(task, &spec, command).await?)
    }

    async fn poll(&self, key: &TaskKey, command: Command) -> anyhow::Result<Task> {
        self.clock.advance(Duration::from_secs(600));
        let lease = fixture::lease("bench", self.clock.now());
        let claimed =
            TaskStore::claim(&*self.metered.table, key, Lane::Poll, lease).await?.context("it is due")?;
        let spec = self.metered.table.spec(&claimed).await?.context("a task has its spec")?;
        done(self.settle().held(claimed, &spec, command).await?)
    }

    async fn life(&mut self, key: &TaskKey) -> anyhow::Result<()> {
        let table = self.metered.table.clone();
        self.forget();
        let birth = intend(fixture::wanted(key), fixture::lease("bench", self.clock.now()), self.clock.now());
        TaskStore::commit(&*table, &birth).await?;
        self.step("submit: the intent");
        self.track(birth.task, None).await?;
        self.step("submit: the handle");
        self.poll(key, Command::RecordStatus(fixture::said(Status::Working))).await?;
        self.step("a poll that sees work begin");
        self.poll(key, Command::RecordStatus(fixture::said(Status::Working))).await?;
        self.step("an unchanged poll");
        self.poll(key, Command::RecordPollFailure("the server did not answer".to_owned())).await?;
        self.step("a failed poll");
        self.poll(key, Command::RecordStatus(fixture::said(Status::InputRequired))).await?;
        self.step("a poll that brings a question, with its event");
        let ended = self.poll(key, Command::RecordStatus(fixture::said(Status::Completed))).await?;
        self.step("a poll that sees the end, with its event");
        let note = NoteKey { task: key.clone(), version: ended.attention.version };
        let lease = fixture::lease("bench", self.clock.now());
        let claimed = NoteStore::claim(&*table, &note, Lane::Notify, lease).await?.context("it is due")?;
        let attention = TaskStore::load(&*table, key).await?.context("it is there")?.attention.version;
        self.step("delivery: claim and look");
        let deliver = note::Command::Deliver { attention };
        let change = note::decide(&claimed, deliver, self.clock.now(), &Policy::default())?;
        NoteStore::commit(&*table, &change).await?;
        self.step("delivery: the event in its thread");
        table.events(&key.thread, 50).await?;
        self.step("reading a thread's events");
        table.list(&key.thread, 50, None).await?;
        self.step("listing a thread's tasks");
        Ok(())
    }

    async fn cancel(&mut self, key: &TaskKey) -> anyhow::Result<()> {
        self.submit(key, None).await?;
        self.forget();
        self.settle().beside(key, Command::RequestCancel).await?;
        self.step("a request to cancel");
        self.settle().beside(key, Command::RequestCancel).await?;
        self.step("the same request again");
        Ok(())
    }
}

fn done(settled: Settled) -> anyhow::Result<Task> {
    match settled {
        Settled::Done { task, .. } => Ok(*task),
        other => anyhow::bail!("not settled: {other:?}"),
    }
}
