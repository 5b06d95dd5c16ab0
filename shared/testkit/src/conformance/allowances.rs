//! Buckets of users: exchanged only against the one that was seen, each by its own owner.

use std::time::Duration;

use pudu_app::ports::Swapped;
use pudu_domain::bucket::Bucket;
use pudu_domain::{Timestamp, UserId};

use super::life::fail;
use super::{Case, World, cases};

pub(super) const CASES: &[Case] = cases![
    a_stranger_has_a_full_bucket,
    a_bucket_is_exchanged_only_against_what_was_seen,
    all_full_buckets_are_one,
    a_bucket_is_full_from_its_moment_on,
    each_user_has_an_own_bucket,
    one_of_many_who_saw_the_same_takes_it,
];

fn user(name: &str) -> UserId {
    UserId::parse(format!("key:{name}")).unwrap_or_else(|e| fail(&e))
}

/// The bucket that is full `millis` after the world's now.
fn full_in(world: &World, millis: u64) -> Bucket {
    Bucket::full_from(world.now() + Duration::from_millis(millis))
}

async fn swap_of(world: &World, name: &str, before: Bucket, after: Bucket) -> Swapped {
    world.allowances.swap(&user(name), before, after).await.unwrap_or_else(|e| fail(&e))
}

async fn swap(world: &World, before: Bucket, after: Bucket) -> Swapped {
    swap_of(world, "a", before, after).await
}

async fn a_stranger_has_a_full_bucket(world: World) {
    let [first, second] = [full_in(&world, 500), full_in(&world, 900)];
    assert_eq!(swap(&world, first, second).await, Swapped::Not(Bucket::default()));
    assert_eq!(swap(&world, Bucket::default(), first).await, Swapped::Done);
    assert_eq!(swap(&world, Bucket::default(), second).await, Swapped::Not(first));
}

async fn a_bucket_is_exchanged_only_against_what_was_seen(world: World) {
    let [first, second, third] = [400, 800, 1200].map(|millis| full_in(&world, millis));
    swap(&world, Bucket::default(), first).await;
    assert_eq!(swap(&world, first, second).await, Swapped::Done);
    assert_eq!(swap(&world, first, third).await, Swapped::Not(second));
    // Microseconds count.
    let near = Bucket::full_at(second.micros() + 1);
    assert_eq!(swap(&world, near, third).await, Swapped::Not(second));
    assert_eq!(swap(&world, second, near).await, Swapped::Done);
    assert_eq!(swap(&world, second, third).await, Swapped::Not(near));
}

async fn all_full_buckets_are_one(world: World) {
    let first = full_in(&world, 500);
    swap(&world, Bucket::default(), first).await;
    world.clock.pass(Duration::from_secs(1));
    let (second, third) = (full_in(&world, 500), full_in(&world, 900));
    // Neither the row's own moment nor none: any that has passed.
    let other = Bucket::full_at(first.micros() + 7);
    assert_eq!(swap(&world, other, second).await, Swapped::Done);
    world.clock.pass(Duration::from_secs(100));
    assert_eq!(swap(&world, Bucket::default(), third).await, Swapped::Done);
}

async fn a_bucket_is_full_from_its_moment_on(world: World) {
    let first = full_in(&world, 500);
    swap(&world, Bucket::default(), first).await;
    let moment = world.now() + Duration::from_millis(500);
    world.clock.set(Timestamp::from_millis(moment.as_millis() - 1));
    let second = full_in(&world, 900);
    assert_eq!(swap(&world, Bucket::default(), second).await, Swapped::Not(first));
    world.clock.set(moment);
    assert_eq!(swap(&world, Bucket::default(), second).await, Swapped::Done);
}

async fn each_user_has_an_own_bucket(world: World) {
    let first = full_in(&world, 500);
    for name in ["a", "A", "a#b", "a%23b"] {
        assert_eq!(swap_of(&world, name, Bucket::default(), first).await, Swapped::Done, "{name}");
    }
}

async fn one_of_many_who_saw_the_same_takes_it(world: World) {
    let afters: Vec<Bucket> = (1..=8).map(|number| full_in(&world, 100 * number)).collect();
    let swaps = afters.iter().map(|after| swap(&world, Bucket::default(), *after));
    let done = futures_util::future::join_all(swaps).await;
    assert_eq!(done.iter().filter(|swapped| **swapped == Swapped::Done).count(), 1, "{done:?}");
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::{Arc, Mutex};

    use async_trait::async_trait;
    use pudu_app::ports::{Allowances, Clock, StoreError};

    use super::super::{Suite, fake_world};
    use super::*;
    use crate::clock::ManualClock;
    use crate::lock::lock;

    /// Ways to keep buckets wrongly.
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Wrong {
        /// The last writer wins.
        NeverCompares,
        /// A bucket never fills.
        NeverFills,
        /// Every bucket is full.
        IsAlwaysFull,
        /// All users share one.
        TakesAllForOne,
        /// A moment is a whole millisecond.
        Rounds,
        /// A bucket is full a moment too late.
        FillsLate,
    }

    struct WrongBuckets(Wrong, Arc<ManualClock>, Mutex<BTreeMap<UserId, Bucket>>);

    #[async_trait]
    impl Allowances for WrongBuckets {
        async fn swap(&self, owner: &UserId, before: Bucket, after: Bucket) -> Result<Swapped, StoreError> {
            let Self(wrong, clock, rows) = self;
            let owner = if *wrong == Wrong::TakesAllForOne { user("all") } else { owner.clone() };
            let now = clock.now().as_millis() - u64::from(*wrong == Wrong::FillsLate);
            let is_full = |bucket: Bucket| match wrong {
                Wrong::NeverFills => bucket == Bucket::default(),
                Wrong::IsAlwaysFull => true,
                _ => bucket.is_full(Timestamp::from_millis(now)),
            };
            let same = |there: Bucket| match wrong {
                Wrong::NeverCompares => true,
                Wrong::Rounds => there.micros() / 1000 == before.micros() / 1000,
                _ => there == before,
            };
            let mut rows = lock(rows);
            let there = rows.get(&owner).copied().unwrap_or_default();
            if same(there) || is_full(there) && is_full(before) {
                rows.insert(owner, after);
                return Ok(Swapped::Done);
            }
            Ok(Swapped::Not(there))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn every_wrong_way_to_keep_a_bucket_fails_a_case() {
        let suite = Suite { port: "allowances", parts: &[CASES] };
        for wrong in [
            Wrong::NeverCompares,
            Wrong::NeverFills,
            Wrong::IsAlwaysFull,
            Wrong::TakesAllForOne,
            Wrong::Rounds,
            Wrong::FillsLate,
        ] {
            let world = || {
                let world = fake_world(None);
                let buckets = WrongBuckets(wrong, world.clock.clone(), Mutex::default());
                World { allowances: Arc::new(buckets), ..world }
            };
            assert!(!suite.failures(async || world()).await.is_empty(), "{wrong:?} passes every case");
        }
    }
}
