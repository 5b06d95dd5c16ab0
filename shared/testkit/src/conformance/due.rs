//! The due index: sparse, complete, in order, and no claim touches it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use pudu_app::ports::{Hint, ItemKey, SHARDS};
use pudu_domain::task::Command;
use pudu_domain::{Lane, ServerTag, Status, Timestamp, note};

use super::life::{fail, key, took, version};
use super::{Case, World, cases, eventually};
use crate::clock::EPOCH;
use crate::fixture::{SERVER, said, task_key, thread};

pub(super) const CASES: &[Case] = cases![
    an_item_is_in_one_shard_of_the_lane_that_it_wants,
    an_item_is_found_from_its_due_time_on,
    a_claim_leaves_the_index_alone,
    a_commit_moves_the_item_and_its_end_removes_it,
    a_notification_is_found_until_it_is_settled,
    a_shard_is_read_in_the_order_of_due_time,
    pages_follow_each_other_without_gap_or_repetition,
];

const FAR: Timestamp = Timestamp::from_millis(u64::MAX / 1_000_000);

fn server() -> Option<ServerTag> {
    pudu_domain::ServerName::parse(SERVER).ok().map(|name| ServerTag::of(&name))
}

/// All pages of one shard.
async fn shard(world: &World, lane: Lane, shard: u8, until: Timestamp, limit: usize) -> Vec<Hint> {
    let (mut hints, mut after) = (Vec::new(), None::<String>);
    loop {
        let page =
            world.due.due(lane, shard, until, limit, after.as_deref()).await.unwrap_or_else(|e| fail(&e));
        assert!(page.hints.len() <= limit, "{} rows in a page of {limit}", page.hints.len());
        hints.extend(page.hints);
        after = page.next;
        if after.is_none() {
            return hints;
        }
    }
}

/// The whole lane: item, server and due time, sorted by item; each as often as it is found.
async fn lane(world: &World, lane: Lane, until: Timestamp) -> Vec<(ItemKey, Option<ServerTag>, Timestamp)> {
    let mut found = Vec::new();
    for number in 0..SHARDS {
        found.extend(
            shard(world, lane, number, until, 100).await.into_iter().map(|h| (h.key, h.server, h.due_at)),
        );
    }
    found.sort();
    found
}

/// Where the one task of a case is found, in all lanes.
async fn found(world: &World, until: Timestamp) -> Vec<(Lane, Timestamp)> {
    let mut all = Vec::new();
    for at in Lane::ALL {
        for (item, tag, due) in lane(world, at, until).await {
            assert_eq!((item, tag), (ItemKey::Task(key()), server()));
            all.push((at, due));
        }
    }
    all
}

fn secs(secs: u64) -> Timestamp {
    EPOCH + Duration::from_secs(secs)
}

async fn an_item_is_in_one_shard_of_the_lane_that_it_wants(world: World) {
    let born = world.born(&key()).await;
    eventually(vec![(Lane::Intent, secs(120))], || found(&world, FAR)).await;
    let tracked = world.settle(&born, took("r", Status::Submitted, world.now())).await;
    eventually(vec![(Lane::Poll, secs(5))], || found(&world, FAR)).await;
    world.settle(&tracked, Command::RequestCancel).await;
    eventually(vec![(Lane::Cancel, secs(0))], || found(&world, FAR)).await;
}

async fn an_item_is_found_from_its_due_time_on(world: World) {
    world.tracked(&key()).await;
    eventually(vec![(Lane::Poll, secs(5))], || found(&world, secs(5))).await;
    eventually(vec![], || found(&world, Timestamp::from_millis(secs(5).as_millis() - 1))).await;
}

async fn a_claim_leaves_the_index_alone(world: World) {
    world.tracked(&key()).await;
    world.at(5000);
    world.claimed(&key(), Lane::Poll, "w").await;
    eventually(vec![(Lane::Poll, secs(5))], || found(&world, secs(5))).await;
}

async fn a_commit_moves_the_item_and_its_end_removes_it(world: World) {
    world.tracked(&key()).await;
    world.polled(&key(), said(Status::Working)).await;
    eventually(vec![(Lane::Poll, secs(10))], || found(&world, FAR)).await;
    let polled = async || {
        let mut tasks = found_tasks(&world).await;
        tasks.sort_unstable();
        tasks
    };
    world.polled(&key(), said(Status::Completed)).await;
    eventually(Vec::<(Lane, Timestamp)>::new(), polled).await;
}

/// Like [`found`], without the notifications.
async fn found_tasks(world: &World) -> Vec<(Lane, Timestamp)> {
    let mut all = Vec::new();
    for at in Lane::ALL.into_iter().filter(|at| *at != Lane::Notify) {
        all.extend(lane(world, at, FAR).await.into_iter().map(|(_, _, due)| (at, due)));
    }
    all
}

async fn a_notification_is_found_until_it_is_settled(world: World) {
    world.tracked(&key()).await;
    world.polled(&key(), said(Status::Completed)).await;
    let at = version(&key(), 1);
    eventually(vec![(ItemKey::Note(at.clone()), None, secs(5))], || lane(&world, Lane::Notify, FAR)).await;
    let held = world.claimed_note(&at, "n").await;
    let policy = pudu_domain::Policy::default();
    let change = note::decide(&held, note::Command::RecordFailure("no".into()), world.now(), &policy);
    let change = change.unwrap_or_else(|e| fail(&e));
    assert_eq!(world.commit_note(&change).await, pudu_app::ports::Committed::Done);
    eventually(vec![(ItemKey::Note(at.clone()), None, secs(10))], || lane(&world, Lane::Notify, FAR)).await;
    world.at(10_000);
    let held = world.claimed_note(&at, "n").await;
    let change = note::decide(&held, note::Command::Deliver { attention: 1 }, world.now(), &policy);
    assert_eq!(
        world.commit_note(&change.unwrap_or_else(|e| fail(&e))).await,
        pudu_app::ports::Committed::Done
    );
    eventually(vec![], || lane(&world, Lane::Notify, FAR)).await;
}

/// Forty intents, in an order of writing that is not the order of due time, with ties.
async fn many(world: &World) -> Vec<(ItemKey, Option<ServerTag>, Timestamp)> {
    let mut expected = Vec::new();
    for n in 0..40_u8 {
        let begun = u64::from(n) * 7 % 20;
        world.at(begun * 1000);
        let key = task_key(&thread("t1"), secs(begun), n);
        world.born(&key).await;
        expected.push((ItemKey::Task(key), server(), secs(begun + 120)));
    }
    expected.sort();
    expected
}

async fn a_shard_is_read_in_the_order_of_due_time(world: World) {
    let expected = many(&world).await;
    eventually(expected, || lane(&world, Lane::Intent, FAR)).await;
    for number in 0..SHARDS {
        let dues: Vec<_> =
            shard(&world, Lane::Intent, number, FAR, 100).await.iter().map(|h| h.due_at).collect();
        assert!(dues.is_sorted(), "{dues:?}");
    }
}

async fn pages_follow_each_other_without_gap_or_repetition(world: World) {
    let expected = many(&world).await;
    eventually(expected.clone(), || lane(&world, Lane::Intent, FAR)).await;
    let mut spread = BTreeMap::new();
    for limit in [1, 2, 3] {
        let mut seen = BTreeSet::new();
        for number in 0..SHARDS {
            let whole = shard(&world, Lane::Intent, number, FAR, 100).await;
            let paged = shard(&world, Lane::Intent, number, FAR, limit).await;
            assert_eq!(paged, whole, "shard {number} by {limit}");
            spread.insert(number, whole.len());
            seen.extend(whole.into_iter().map(|hint| hint.key));
        }
        assert_eq!(seen.len(), expected.len());
    }
    let used = spread.values().filter(|count| **count > 0).count();
    assert!(used > usize::from(SHARDS) / 2, "forty items should use most shards: {spread:?}");
}
