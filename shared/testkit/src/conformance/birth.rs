//! Births: a task is written once.

use futures_util::future::join_all;
use pudu_app::ports::Committed;
use pudu_domain::task::Command;
use pudu_domain::{Lane, Status};

use super::life::{fail, key, took};
use super::{Case, World, cases};
use crate::fixture::intent;

pub(super) const CASES: &[Case] = cases![
    one_of_many_births_of_one_id_wins,
    a_birth_repeated_by_its_own_writer_is_done,
    a_birth_never_overwrites_a_later_row,
    an_intent_is_claimable_only_after_its_submitters_time,
];

async fn one_of_many_births_of_one_id_wins(world: World) {
    let births: Vec<_> = (0..16).map(|n| intent(&key(), &format!("submitter-{n}"), world.now())).collect();
    let outcomes = join_all(births.iter().map(|birth| world.commit(birth))).await;
    let won: Vec<_> = births.iter().zip(&outcomes).filter(|(_, o)| **o == Committed::Done).collect();
    assert_eq!(won.len(), 1, "{outcomes:?}");
    assert!(outcomes.iter().all(|o| matches!(o, Committed::Done | Committed::Lost)), "{outcomes:?}");
    assert_eq!(world.load(&key()).await, won.first().unwrap_or_else(|| fail(&"no winner")).0.task);
}

async fn a_birth_repeated_by_its_own_writer_is_done(world: World) {
    let birth = intent(&key(), "submitter", world.now());
    assert_eq!(world.commit(&birth).await, Committed::Done);
    assert_eq!(world.commit(&birth).await, Committed::Done, "the row carries the writer's own lease");
    assert_eq!(world.load(&key()).await, birth.task);
}

async fn a_birth_never_overwrites_a_later_row(world: World) {
    let birth = intent(&key(), "submitter", world.now());
    assert_eq!(world.commit(&birth).await, Committed::Done);
    let tracked = world.settle(&birth.task, took("r", Status::Submitted, world.now())).await;
    assert_eq!(world.commit(&birth).await, Committed::Lost);
    assert_eq!(world.load(&key()).await, tracked);
}

async fn an_intent_is_claimable_only_after_its_submitters_time(world: World) {
    world.born(&key()).await;
    for millis in [0, 119_999, 120_000] {
        world.at(millis);
        assert_eq!(world.claim(&key(), Lane::Intent, "recovery").await, None, "at {millis} ms");
    }
    world.at(120_001);
    let image = world.claimed(&key(), Lane::Intent, "recovery").await;
    let ended = world.settle(&image, Command::Recover).await;
    assert_eq!((ended.status(), world.load(&key()).await), (Status::Failed, ended));
}
