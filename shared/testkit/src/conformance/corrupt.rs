//! Rows that do not decode: named, moved out of the way once, and no obstacle to others (DESIGN "Poison").

use pudu_app::ports::{ItemKey, SHARDS, StoreError};
use pudu_domain::{Lane, Status, Timestamp};

use super::life::{fail, key, version};
use super::{Case, World, cases, eventually};
use crate::clock::EPOCH;
use crate::fixture::{lease, said, task_key, thread};

pub(super) const CASES: &[Case] = cases![
    a_task_that_does_not_decode_is_an_error_of_its_own,
    a_task_that_does_not_decode_leaves_its_lane_at_the_first_claim,
];
pub(super) const NOTE_CASES: &[Case] = cases![a_note_that_does_not_decode_leaves_its_lane_at_the_first_claim];

async fn lane(world: &World, lane: Lane) -> Vec<ItemKey> {
    let mut found = Vec::new();
    for shard in 0..SHARDS {
        let until = Timestamp::from_millis(u64::MAX / 1_000_000);
        let page = world.due.due(lane, shard, until, 100, None).await.unwrap_or_else(|e| fail(&e));
        found.extend(page.hints.into_iter().map(|hint| hint.key));
    }
    found
}

fn must_be_corrupt<T: std::fmt::Debug>(answer: &Result<T, StoreError>) {
    assert!(matches!(answer, Err(StoreError::Corrupt { .. })), "{answer:?}");
}

async fn a_task_that_does_not_decode_is_an_error_of_its_own(world: World) {
    let Some(vandal) = &world.vandal else { return };
    world.tracked(&key()).await;
    let neighbour = task_key(&thread("t1"), EPOCH, 2);
    world.tracked(&neighbour).await;
    vandal.break_task(&key()).await;
    must_be_corrupt(&world.tasks.load(&key()).await);
    world.load(&neighbour).await;
}

async fn a_task_that_does_not_decode_leaves_its_lane_at_the_first_claim(world: World) {
    let Some(vandal) = &world.vandal else { return };
    world.tracked(&key()).await;
    vandal.break_task(&key()).await;
    assert_eq!(
        world.claim(&key(), Lane::Poll, "early").await,
        None,
        "a claim that may not be is refused first"
    );
    world.at(5000);
    must_be_corrupt(&world.tasks.claim(&key(), Lane::Poll, lease("w", world.now())).await);
    eventually(vec![], || lane(&world, Lane::Poll)).await;
    eventually(vec![ItemKey::Task(key())], || lane(&world, Lane::Corrupt)).await;
    assert_eq!(world.claim(&key(), Lane::Poll, "w2").await, None, "nobody tries it again");
}

async fn a_note_that_does_not_decode_leaves_its_lane_at_the_first_claim(world: World) {
    let Some(vandal) = &world.vandal else { return };
    world.tracked(&key()).await;
    world.polled(&key(), said(Status::Completed)).await;
    let at = version(&key(), 1);
    vandal.break_note(&at).await;
    must_be_corrupt(&world.notes.load(&at).await);
    must_be_corrupt(&world.notes.claim(&at, Lane::Notify, lease("n", world.now())).await);
    eventually(vec![], || lane(&world, Lane::Notify)).await;
    eventually(vec![ItemKey::Note(at.clone())], || lane(&world, Lane::Corrupt)).await;
    let again = world.notes.claim(&at, Lane::Notify, lease("n2", world.now())).await;
    assert_eq!(again.unwrap_or_else(|e| fail(&e)), None);
}
