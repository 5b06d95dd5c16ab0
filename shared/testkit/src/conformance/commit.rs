//! Commits: who may write, and that a write that may not leaves no trace.

use futures_util::future::join_all;
use pudu_app::ports::Committed;
use pudu_domain::task::{Change, Command, Context, decide};
use pudu_domain::{Lane, Payload, Policy, Status};

use super::life::{fail, key, took, version};
use super::{Case, World, cases};
use crate::fixture::said;

pub(super) const CASES: &[Case] = cases![
    a_holder_commits_up_to_the_last_instant_of_its_lease,
    a_lost_lease_cannot_commit_even_when_nobody_took_over,
    a_replaced_holder_cannot_commit,
    a_fenced_holder_cannot_commit,
    a_commit_applies_once,
    a_holder_that_was_woken_is_told_so,
    a_woken_holder_whose_lease_is_over_has_lost,
    a_reader_cannot_write_over_a_claim_or_a_commit,
    one_of_many_requests_to_cancel_wins,
    a_commit_for_a_row_that_is_gone_is_lost,
    the_event_is_born_in_the_commit_that_makes_it,
];

fn completed() -> Command {
    Command::RecordStatus(said(Status::Completed))
}

/// A change that must not apply leaves the row, the payload and the notifications as they were.
async fn must_be(outcome: Committed, change: &Change, world: &World) {
    let key = &change.task.key;
    let (row, payload) = (world.load(key).await, world.payload(key).await);
    assert_eq!(world.commit(change).await, outcome);
    assert_eq!((world.load(key).await, world.payload(key).await), (row, payload));
    if let Some(news) = &change.note {
        assert_eq!(world.note(&version(key, news.note.version)).await, None, "its event must not exist");
    }
}

async fn a_holder_commits_up_to_the_last_instant_of_its_lease(world: World) {
    world.tracked(&key()).await;
    world.at(5000);
    let image = world.claimed(&key(), Lane::Poll, "w").await;
    world.at(125_000);
    let ended = world.settle(&image, completed()).await;
    assert_eq!(world.load(&key()).await, ended);
}

async fn a_lost_lease_cannot_commit_even_when_nobody_took_over(world: World) {
    world.tracked(&key()).await;
    world.at(5000);
    let image = world.claimed(&key(), Lane::Poll, "w").await;
    world.at(125_001);
    let change = world.decided(&image, completed()).await;
    must_be(Committed::Lost, &change, &world).await;
}

async fn a_replaced_holder_cannot_commit(world: World) {
    world.tracked(&key()).await;
    world.at(5000);
    let first = world.claimed(&key(), Lane::Poll, "w1").await;
    world.at(125_001);
    let second = world.claimed(&key(), Lane::Poll, "w2").await;
    world.at(125_000);
    let change = world.decided(&first, completed()).await;
    must_be(Committed::Lost, &change, &world).await;
    world.settle(&second, Command::RecordStatus(said(Status::Working))).await;
    must_be(Committed::Lost, &change, &world).await;
}

async fn a_fenced_holder_cannot_commit(world: World) {
    world.tracked(&key()).await;
    world.at(5000);
    let image = world.claimed(&key(), Lane::Poll, "w").await;
    let fenced = world.settle(&image, Command::RequestCancel).await;
    assert_eq!((&fenced.durable.lease, fenced.durable.generation), (&None, image.durable.generation.next()));
    let change = world.decided(&image, completed()).await;
    must_be(Committed::Lost, &change, &world).await;
    let holder = world.claimed(&key(), Lane::Cancel, "w2").await;
    must_be(Committed::Lost, &change, &world).await;
    world.settle(&holder, Command::RecordCancel(said(Status::Cancelled))).await;
}

async fn a_commit_applies_once(world: World) {
    world.tracked(&key()).await;
    world.at(5000);
    let image = world.claimed(&key(), Lane::Poll, "w").await;
    let change = world.decided(&image, Command::RecordStatus(said(Status::Working))).await;
    assert_eq!(world.commit(&change).await, Committed::Done);
    must_be(Committed::Lost, &change, &world).await;
}

/// DESIGN "Cancel": the cancel of an intent does not fence; its submitter decides again.
async fn a_holder_that_was_woken_is_told_so(world: World) {
    let born = world.born(&key()).await;
    let woken = world.settle(&born, Command::RequestCancel).await;
    assert_eq!((&woken.durable.lease, woken.durable.wake), (&born.durable.lease, born.durable.wake + 1));
    let change = world.decided(&born, took("r", Status::Submitted, world.now())).await;
    must_be(Committed::Woken, &change, &world).await;
    let again = world.load(&key()).await;
    let tracked = world.settle(&again, took("r", Status::Submitted, world.now())).await;
    assert_eq!(tracked.durable.due.map(|due| due.lane), Some(Lane::Cancel));
}

async fn a_woken_holder_whose_lease_is_over_has_lost(world: World) {
    let born = world.born(&key()).await;
    world.settle(&born, Command::RequestCancel).await;
    let change = world.decided(&born, took("r", Status::Submitted, world.now())).await;
    world.at(120_001);
    must_be(Committed::Lost, &change, &world).await;
}

async fn a_reader_cannot_write_over_a_claim_or_a_commit(world: World) {
    let seen = world.tracked(&key()).await;
    let on_free = world.decided(&seen, Command::RequestCancel).await;
    world.at(5000);
    let image = world.claimed(&key(), Lane::Poll, "w").await;
    must_be(Committed::Lost, &on_free, &world).await;
    let on_held = world.decided(&image, Command::RequestCancel).await;
    world.settle(&image, Command::RecordStatus(said(Status::Working))).await;
    must_be(Committed::Lost, &on_held, &world).await;
    must_be(Committed::Lost, &on_free, &world).await;
    let fresh = world.load(&key()).await;
    world.settle(&fresh, Command::RequestCancel).await;
}

async fn one_of_many_requests_to_cancel_wins(world: World) {
    let seen = world.tracked(&key()).await;
    let change = world.decided(&seen, Command::RequestCancel).await;
    let outcomes = join_all((0..16).map(|_| world.commit(&change))).await;
    assert_eq!(outcomes.iter().filter(|o| **o == Committed::Done).count(), 1, "{outcomes:?}");
    assert_eq!(world.load(&key()).await, change.task);
}

async fn a_commit_for_a_row_that_is_gone_is_lost(world: World) {
    let born = crate::fixture::intent(&key(), "submitter", world.now());
    let command = took("r", Status::Submitted, world.now());
    let spec = born.spec.unwrap_or_else(|| fail(&"an intent has a spec"));
    let context = Context { spec: &spec, payload: &Payload::default(), policy: &Policy::default() };
    let change = decide(&born.task, command, world.now(), context);
    let Ok(Some(change)) = change else { fail(&"the submit must be recordable") };
    assert_eq!(world.commit(&change).await, Committed::Lost);
    assert_eq!(world.tasks.load(&key()).await.unwrap_or_else(|e| fail(&e)), None);
}

async fn the_event_is_born_in_the_commit_that_makes_it(world: World) {
    world.tracked(&key()).await;
    world.at(5000);
    let image = world.claimed(&key(), Lane::Poll, "w").await;
    let change = world.decided(&image, completed()).await;
    assert_eq!(world.note(&version(&key(), 1)).await, None);
    assert_eq!(world.commit(&change).await, Committed::Done);
    assert_eq!(world.note(&version(&key(), 1)).await, change.note.map(|news| news.note));
}
