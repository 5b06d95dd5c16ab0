//! Works until nothing is due: scans the lanes' shards, and runs each found item by itself under the permits.
//!
//! A slow item delays no other: every item runs in its own task, a scan pages past what it may not take, and a server at
//! its limit keeps its items in the index. Ends when nothing is due soon, or when the deadline is near; then it waits
//! for what runs, whose own limits end before the deadline.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::join_all;
use pudu_domain::{Lane, Timestamp};
use serde::Serialize;
use tokio::task::JoinSet;

use super::queue::{Found, Queue};
use crate::chain::Chain;
use crate::deadline::Deadline;
use crate::limits::Limits;
use crate::ports::{Clock, DueIndex, DuePage, ItemKey, SHARDS, StoreError, shards};

/// Index rows per page.
const PAGE: usize = 100;
/// How long an item that could not be claimed is left alone: the index is that much behind, or somebody else works on it.
const REFUSED_FOR: Duration = Duration::from_secs(5);
/// How often a worker looks into the index again while everything it found is running.
const RESCAN: Duration = Duration::from_secs(1);

/// Scans in a row that the table failed and that found nothing, after which a worker gives up.
const FRUITLESS: u32 = 3;

/// What became of one item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ran {
    /// It was claimed and worked on.
    Worked,
    /// It could not be claimed, or the claim was given back.
    Refused,
    /// The table failed; what was claimed becomes claimable when the lease ends.
    Failed,
}

/// How one due item is worked on: claim, call, commit. Fails only by saying so.
#[async_trait]
pub trait Work: Send + Sync + 'static {
    /// The lanes it serves, the more urgent first.
    fn lanes(&self) -> &'static [Lane];

    /// Works on one item.
    async fn run(&self, lane: Lane, key: &ItemKey, deadline: Deadline) -> Ran;
}

/// What a drain did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Items worked on.
    pub worked: usize,
    /// Items that could not be claimed.
    pub refused: usize,
    /// Items that the table failed.
    pub failed: usize,
    /// Scans of the index that the table failed.
    pub scans_failed: usize,
}

/// A drain that the table failed: the invocation counts as an error, so that an alarm sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{failed} items and {scans_failed} scans failed, {worked} items were worked on; the log says why")]
pub struct Failures {
    /// Items that the table failed, or that were put aside.
    pub failed: usize,
    /// Scans that the table failed.
    pub scans_failed: usize,
    /// Items that were worked on all the same.
    pub worked: usize,
}

impl Report {
    /// The report of a drain that the table did not fail.
    pub fn clean(self) -> Result<Self, Failures> {
        let Self { worked, failed, scans_failed, .. } = self;
        if failed + scans_failed == 0 { Ok(self) } else { Err(Failures { failed, scans_failed, worked }) }
    }
}

/// The engine of every background worker.
#[derive(Clone)]
pub struct Drain {
    /// Where due items are found.
    pub due: Arc<dyn DueIndex>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Permits, lease and patience.
    pub limits: Limits,
}

/// What a scan saw.
struct Scan {
    found: usize,
    /// The earliest item that is not due yet.
    nearest: Option<Timestamp>,
    failed: usize,
}

type Finished = (Found, Ran);

impl Drain {
    /// Works until nothing is due soon or the deadline is near.
    pub async fn run(&self, work: Arc<dyn Work>, deadline: Deadline) -> Report {
        let mut queue = Queue::default();
        let mut running: JoinSet<Finished> = JoinSet::new();
        let mut report = Report::default();
        let (mut first_shard, mut fruitless) = (0, 0);
        while deadline.allows_work(self.clock.now()) {
            let scan = self.scan(work.as_ref(), &mut queue, first_shard).await;
            first_shard = (first_shard + 1) % SHARDS;
            report.scans_failed += scan.failed;
            self.work_off(&work, &mut queue, &mut running, deadline, &mut report).await;
            if scan.found > 0 {
                fruitless = 0;
                continue;
            }
            fruitless = if scan.failed > 0 { fruitless + 1 } else { 0 };
            let now = self.clock.now();
            let until_due = scan.nearest.map(|at| at.since(now)).filter(|wait| *wait <= self.limits.linger);
            let wait = match (running.is_empty(), until_due) {
                // A scan that saw nothing because the table failed is no reason to end; several of them are: an outage is
                // for the next tick to find over, not to be paid for.
                (true, None) if (1..FRUITLESS).contains(&fruitless) => RESCAN,
                (true, None) => break,
                (true, Some(wait)) => wait,
                (false, wait) => wait.unwrap_or(RESCAN).min(RESCAN),
            };
            self.idle(wait.min(deadline.remaining(now)), &mut queue, &mut running, &mut report).await;
        }
        while let Some(joined) = running.join_next().await {
            self.note(joined, &mut queue, &mut report);
        }
        report
    }

    /// Starts everything that has a permit, and goes on as permits come free, until nothing waits.
    async fn work_off(
        &self,
        work: &Arc<dyn Work>,
        queue: &mut Queue,
        running: &mut JoinSet<Finished>,
        deadline: Deadline,
        report: &mut Report,
    ) {
        let began = self.clock.now();
        loop {
            let now = self.clock.now();
            while deadline.allows_work(now)
                && let Some(found) = queue.take(&self.limits)
            {
                let work = Arc::clone(work);
                running.spawn(async move {
                    let ran = work.run(found.lane, found.key(), deadline).await;
                    (found, ran)
                });
            }
            // What still waits now waits for a permit. Look into the index again after a while all the same: other
            // servers' items may have come due behind a server that is slow.
            if queue.is_empty() || now.since(began) >= RESCAN || !deadline.allows_work(now) {
                return;
            }
            self.pause(RESCAN, queue, running, report).await;
        }
    }

    /// Waits until something finishes, at most `wait`.
    async fn pause(
        &self,
        wait: Duration,
        queue: &mut Queue,
        running: &mut JoinSet<Finished>,
        report: &mut Report,
    ) {
        tokio::select! {
            biased;
            Some(joined) = running.join_next() => {
                self.note(joined, queue, report);
                while let Some(joined) = running.try_join_next() {
                    self.note(joined, queue, report);
                }
            }
            () = self.clock.sleep(wait) => {}
        }
    }

    /// Waits for `wait`, or until nothing runs any more: then one more scan decides whether there is work left.
    async fn idle(
        &self,
        wait: Duration,
        queue: &mut Queue,
        running: &mut JoinSet<Finished>,
        report: &mut Report,
    ) {
        let over = self.clock.now() + wait;
        loop {
            let left = over.since(self.clock.now());
            self.pause(left, queue, running, report).await;
            if running.is_empty() || self.clock.now() >= over {
                return;
            }
        }
    }

    fn note(&self, joined: Result<Finished, tokio::task::JoinError>, queue: &mut Queue, report: &mut Report) {
        match joined {
            Ok((found, ran)) => {
                let later = (ran != Ran::Worked).then(|| self.clock.now() + REFUSED_FOR);
                queue.done(&found, later);
                match ran {
                    Ran::Worked => report.worked += 1,
                    Ran::Refused => report.refused += 1,
                    Ran::Failed => report.failed += 1,
                }
            }
            // Its permit stays taken for this invocation: whose it was is lost with the panic.
            Err(error) => {
                tracing::error!(%error, "an item's work panicked; its lease will end");
                report.failed += 1;
            }
        }
    }

    /// Looks into every shard of every lane. The shards of a lane are asked side by side: one after the other, their round
    /// trips would add up to longer than a poll.
    async fn scan(&self, work: &dyn Work, queue: &mut Queue, first_shard: u8) -> Scan {
        let mut scan = Scan { found: 0, nearest: None, failed: 0 };
        queue.prune(self.clock.now());
        for (rank, lane) in work.lanes().iter().enumerate() {
            let now = self.clock.now();
            let of_lane = shards(*lane);
            let shards = (0..of_lane).map(|offset| (first_shard + offset) % of_lane);
            let first_pages =
                join_all(shards.map(async |shard| (shard, self.page(*lane, shard, now, None).await)));
            for (shard, page) in first_pages.await {
                if let Err(error) = self.take_in((rank, *lane, shard), page, now, queue, &mut scan).await {
                    scan.failed += 1;
                    tracing::warn!(lane = lane.as_str(), shard, error = %Chain(&error), "the due index could not be read");
                }
            }
        }
        scan
    }

    async fn page(
        &self,
        lane: Lane,
        shard: u8,
        now: Timestamp,
        after: Option<&str>,
    ) -> Result<DuePage, StoreError> {
        self.due.due(lane, shard, now + self.limits.linger, PAGE, after).await
    }

    /// Takes in what is due of a shard, page by page, past what may not be taken.
    async fn take_in(
        &self,
        (rank, lane, shard): (usize, Lane, u8),
        first: Result<DuePage, StoreError>,
        now: Timestamp,
        queue: &mut Queue,
        scan: &mut Scan,
    ) -> Result<(), StoreError> {
        let mut page = first?;
        loop {
            for hint in page.hints {
                if hint.due_at > now {
                    scan.nearest = Some(scan.nearest.map_or(hint.due_at, |at| at.min(hint.due_at)));
                    return Ok(());
                }
                if queue.offer(Found::new(rank, lane, hint), now) {
                    scan.found += 1;
                }
            }
            match page.next {
                Some(after) if !queue.is_full() => page = self.page(lane, shard, now, Some(&after)).await?,
                _ => return Ok(()),
            }
        }
    }
}
