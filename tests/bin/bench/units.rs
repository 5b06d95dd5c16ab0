//! Write and read units, and requests, of each step of a task's life, from the embedded engine's own account. The same
//! steps are asserted in `it::units`; here they are printed.

use std::sync::Arc;
use std::time::Duration;

use acceptance::{Cost, HandClock, MeteredTable};
use anyhow::Context;
use pudu_app::deadline::Deadline;
use pudu_app::limits::Limits;
use pudu_app::ports::{Clock, EventLog, NoteKey, NoteStore, TaskStore};
use pudu_domain::note;
use pudu_domain::task::{Command, intend};
use pudu_domain::{Lane, Policy, Status, Task, TaskKey};
use pudu_testkit::fixture;

use crate::life::Life;
use crate::row::Row;
use crate::still::Still;

struct Walk<'a, F> {
    life: Life,
    clock: Arc<HandClock>,
    out: &'a mut F,
    /// Of the steps since the last sum.
    sum: Cost,
}

/// Prints each step.
pub(crate) async fn run(out: &mut impl FnMut(Row)) -> anyhow::Result<()> {
    let clock = Arc::new(HandClock::default());
    let metered = MeteredTable::new(clock.clone()).await;
    let life = Life::new(metered, clock.clone());
    let mut walk = Walk { life, clock, out, sum: Cost::default() };
    let key = fixture::task_key(&fixture::thread("t1"), walk.clock.now(), 0);
    walk.whole_life(&key).await?;
    walk.cancel(&fixture::task_key(&fixture::thread("t1"), walk.clock.now(), 1)).await?;
    walk.deletion().await?;
    walk.life.forget();
    walk.life.look().await?;
    walk.step("a poller's look through its lanes, nothing due");
    Ok(())
}

impl<F: FnMut(Row)> Walk<'_, F> {
    fn step(&mut self, name: &str) {
        let (calls, cost) = (self.life.metered.calls.take(), self.life.metered.costs.take());
        let mut kinds: Vec<(String, usize)> = Vec::new();
        for call in calls {
            match kinds.iter_mut().find(|(kind, _)| *kind == call) {
                Some((_, count)) => *count += 1,
                None => kinds.push((call, 1)),
            }
        }
        self.sum = Cost { write: self.sum.write + cost.write, read: self.sum.read + cost.read };
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

    /// Everything since the last sum.
    fn sum(&mut self, name: &str) {
        let Cost { write, read } = std::mem::take(&mut self.sum);
        (self.out)(Row::of("units").with("step", name).number("write", write).number("read", read));
    }

    async fn poll(&self, key: &TaskKey, command: Command) -> anyhow::Result<Task> {
        self.clock.advance(Duration::from_secs(600));
        self.life.poll(key, command).await
    }

    async fn whole_life(&mut self, key: &TaskKey) -> anyhow::Result<()> {
        let table = self.life.metered.table.clone();
        self.life.forget();
        let birth = intend(fixture::wanted(key), fixture::lease("bench", self.clock.now()), self.clock.now());
        TaskStore::commit(&*table, &birth).await?;
        self.step("submit: the intent");
        self.life.track(birth.task, self.clock.now(), None).await?;
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
        self.step("delivery of an end: the claim");
        let deliver = note::Command::Deliver { attention: note.version };
        let change = note::decide(&claimed, deliver, self.clock.now(), &Policy::default())?;
        NoteStore::commit(&*table, &change).await?;
        self.step("delivery: the event shows in its thread");
        self.sum("these steps together: a life");
        table.events(&key.thread, 50).await?;
        self.step("reading a thread's events");
        table.list(&key.thread, 50, None).await?;
        self.step("listing a thread's tasks");
        Ok(())
    }

    async fn cancel(&mut self, key: &TaskKey) -> anyhow::Result<()> {
        self.life.submit(key, self.clock.now(), None).await?;
        self.life.forget();
        self.sum = Cost::default();
        self.life.settle().beside(key, Command::RequestCancel).await?;
        self.step("a request to cancel");
        self.life.settle().beside(key, Command::RequestCancel).await?;
        self.step("the same request again");
        self.poll(key, Command::RecordCancel(fixture::said(Status::Cancelled))).await?;
        self.step("the cancel that ends it, with its event");
        self.sum("these steps together: a cancel");
        Ok(())
    }

    /// A thread with tasks that have ended, as their caller deletes it and a poller does.
    async fn deletion(&mut self) -> anyhow::Result<()> {
        let still = Still { poll_after: Duration::from_secs(60), asked: Arc::default() };
        let limits = Limits { linger: Duration::ZERO, ..Limits::default() };
        let wiring = self.life.wiring(still, limits)?;
        self.clock.advance(Duration::from_secs(600));
        self.life.forget();
        wiring.threads().delete(&fixture::thread("t1")).await?.context("there is such a thread")?;
        self.step("a request to delete a thread");
        let deadline = Deadline::at(self.clock.now() + Duration::from_secs(120));
        let report = wiring.drain().run(Arc::new(wiring.poller()), deadline).await;
        report.clean()?;
        self.step("its deletion with two ended tasks, looks through the lanes included");
        Ok(())
    }
}
