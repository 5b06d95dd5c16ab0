//! Claims: who may take a row, and when.

use futures_util::future::join_all;
use pudu_domain::task::{Command, Context, decide};
use pudu_domain::{Lane, Lease, Owner, Payload, Policy, Status};

use super::life::{fail, key};
use super::{Case, World, cases};
use crate::fixture::{LEASE, lease, said};

pub(super) const CASES: &[Case] = cases![
    nothing_is_claimed_that_does_not_exist,
    only_the_lane_that_the_row_wants_may_claim,
    nothing_is_claimed_before_it_is_due,
    a_claim_returns_the_row_that_it_wrote,
    a_lease_ends_after_its_last_instant,
    a_claim_is_judged_by_the_clock_of_its_claimer,
    one_of_many_racers_wins,
    a_task_at_its_end_is_never_claimed,
];

async fn nothing_is_claimed_that_does_not_exist(world: World) {
    assert_eq!(world.claim(&key(), Lane::Poll, "w").await, None);
    assert_eq!(world.tasks.load(&key()).await.unwrap_or_else(|e| fail(&e)), None, "a claim makes no row");
}

async fn only_the_lane_that_the_row_wants_may_claim(world: World) {
    world.tracked(&key()).await;
    world.at(1_000_000);
    for lane in Lane::ALL.into_iter().filter(|lane| *lane != Lane::Poll) {
        assert_eq!(world.claim(&key(), lane, "w").await, None, "{lane:?}");
    }
    world.claimed(&key(), Lane::Poll, "w").await;
}

async fn nothing_is_claimed_before_it_is_due(world: World) {
    world.tracked(&key()).await;
    world.at(4999);
    assert_eq!(world.claim(&key(), Lane::Poll, "w").await, None);
    world.at(5000);
    world.claimed(&key(), Lane::Poll, "w").await;
}

async fn a_claim_returns_the_row_that_it_wrote(world: World) {
    let before = world.tracked(&key()).await;
    world.at(5000);
    let lease = lease("w", world.now());
    let image = world.claimed(&key(), Lane::Poll, "w").await;
    let expected = pudu_domain::Task { durable: before.durable.claimed(lease), ..before };
    assert_eq!(image, expected);
    assert_eq!(world.load(&key()).await, expected);
}

/// Vector 65.
async fn a_lease_ends_after_its_last_instant(world: World) {
    world.tracked(&key()).await;
    world.at(5000);
    let first = world.claimed(&key(), Lane::Poll, "w1").await;
    for millis in [5000, 5001, 124_999, 125_000] {
        world.at(millis);
        assert_eq!(world.claim(&key(), Lane::Poll, "w2").await, None, "at {millis} ms");
    }
    world.at(125_001);
    let second = world.claimed(&key(), Lane::Poll, "w2").await;
    assert_eq!(second.durable.generation, first.durable.generation.next());
    assert_eq!(second.durable.lease, Some(lease("w2", world.now())));
}

async fn a_claim_is_judged_by_the_clock_of_its_claimer(world: World) {
    world.tracked(&key()).await;
    world.at(5000);
    world.claimed(&key(), Lane::Poll, "ahead").await;
    world.at(4000);
    assert_eq!(
        world.claim(&key(), Lane::Poll, "behind").await,
        None,
        "whose clock has not reached the due time"
    );
}

async fn one_of_many_racers_wins(world: World) {
    let before = world.tracked(&key()).await;
    world.at(5000);
    let until = world.now() + LEASE;
    let leases: Vec<_> = (0..32).map(|n| Lease { owner: Owner::new(&format!("w{n}"), n), until }).collect();
    let key = key();
    let outcomes =
        join_all(leases.iter().map(|lease| world.tasks.claim(&key, Lane::Poll, lease.clone()))).await;
    let won: Vec<_> = outcomes.into_iter().filter_map(|o| o.unwrap_or_else(|e| fail(&e))).collect();
    assert_eq!(won.len(), 1, "{} winners", won.len());
    let image = won.first().unwrap_or_else(|| fail(&"no winner"));
    assert_eq!(image.durable.generation, before.durable.generation.next());
    assert_eq!(world.load(&key).await, *image);
    assert!(leases.iter().any(|lease| image.durable.lease.as_ref() == Some(lease)));
}

async fn a_task_at_its_end_is_never_claimed(world: World) {
    world.tracked(&key()).await;
    world.polled(&key(), said(Status::Completed)).await;
    let ended = world.load(&key()).await;
    world.at(10_000_000);
    for lane in Lane::ALL {
        assert_eq!(world.claim(&key(), lane, "w").await, None, "{lane:?}");
    }
    assert_eq!(world.load(&key()).await, ended);
    let spec = world.spec(&ended).await;
    let context = Context { spec: &spec, payload: &Payload::default(), policy: &Policy::default() };
    assert_eq!(decide(&ended, Command::RequestCancel, world.now(), context), Ok(None));
}
