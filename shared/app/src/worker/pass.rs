//! One look through the due index: every shard of every lane that a worker serves.

use futures_util::future::join_all;
use pudu_domain::{Lane, Timestamp};

use super::drain::Drain;
use super::queue::{Found, Queue};
use crate::chain::Chain;
use crate::ports::{DuePage, StoreError, shards};

/// Index rows per page.
const PAGE: usize = 100;

/// What a look saw.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// Due items that nobody knew of.
    pub(super) found: usize,
    /// Shards that the table failed.
    pub(super) failed: usize,
}

impl Drain {
    /// Takes in what is due by `until`. The shards of a lane are asked side by side: one after the other, their round trips
    /// would add up to longer than a poll.
    pub(super) async fn pass(
        &self,
        lanes: &[Lane],
        queue: &mut Queue,
        until: Timestamp,
        first_shard: u8,
    ) -> Seen {
        let mut seen = Seen::default();
        queue.look_again(self.clock.now());
        for (rank, lane) in lanes.iter().enumerate() {
            let count = shards(*lane);
            let order = (0..count).map(|offset| (first_shard + offset) % count);
            let pages = order.map(async |shard| (shard, self.page(*lane, shard, until, None).await));
            for (shard, page) in join_all(pages).await {
                let taken = self.take_in((rank, *lane, shard), page, until, queue, &mut seen.found).await;
                if let Err(error) = taken {
                    seen.failed += 1;
                    tracing::warn!(lane = lane.as_str(), shard, error = %Chain(&error), "the due index could not be read");
                }
            }
        }
        seen
    }

    async fn page(
        &self,
        lane: Lane,
        shard: u8,
        until: Timestamp,
        after: Option<&str>,
    ) -> Result<DuePage, StoreError> {
        self.due.due(lane, shard, until, PAGE, after).await
    }

    /// Takes in a shard, page by page, past what may not be taken.
    async fn take_in(
        &self,
        (rank, lane, shard): (usize, Lane, u8),
        first: Result<DuePage, StoreError>,
        until: Timestamp,
        queue: &mut Queue,
        found: &mut usize,
    ) -> Result<(), StoreError> {
        let mut page = first?;
        loop {
            let now = self.clock.now();
            for hint in page.hints {
                let due = hint.due_at <= now;
                let taken = queue.offer(Found::new(rank, lane, hint), now);
                *found += usize::from(due && taken);
            }
            let Some(after) = page.next else { return Ok(()) };
            if queue.is_full() {
                queue.cut_short();
                return Ok(());
            }
            page = self.page(lane, shard, until, Some(&after)).await?;
        }
    }
}
