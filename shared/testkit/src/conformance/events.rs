//! The events of a thread.

use std::time::Duration;

use pudu_app::ports::{Committed, DeliveredEvent};
use pudu_domain::{Note, Policy, Status, TaskKey, ThreadKey, note};

use super::life::{fail, version};
use super::{Case, World, cases};
use crate::clock::EPOCH;
use crate::fixture::{said, task_key, thread, thread_of};

pub(super) const CASES: &[Case] = cases![
    events_are_read_in_the_order_of_their_delivery,
    an_event_is_read_as_it_was_made,
    a_limit_keeps_the_newest,
    a_thread_reads_its_own_events,
    an_event_that_was_withdrawn_is_not_there,
    more_events_than_fit_into_one_request_are_all_read,
];

async fn events(world: &World, thread: &ThreadKey, limit: usize) -> Vec<DeliveredEvent> {
    world.events.events(thread, limit).await.unwrap_or_else(|e| fail(&e))
}

async fn completed(world: &World, key: &TaskKey) {
    let born = world.born(key).await;
    let took = super::life::took(key.id.as_str(), Status::Completed, world.now());
    world.settle(&born, took).await;
}

async fn deliver(world: &World, key: &TaskKey, v: u32) -> Note {
    let held = world.claimed_note(&version(key, v), "n").await;
    let change =
        note::decide(&held, note::Command::Deliver { attention: v }, world.now(), &Policy::default());
    let change = change.unwrap_or_else(|e| fail(&e));
    assert_eq!(world.commit_note(&change).await, Committed::Done);
    change.note
}

async fn events_are_read_in_the_order_of_their_delivery(world: World) {
    let thread = thread("t1");
    assert_eq!(events(&world, &thread, 10).await, []);
    let keys: Vec<_> = (1..=4).map(|n| task_key(&thread, EPOCH, n)).collect();
    for key in &keys {
        completed(&world, key).await;
    }
    let mut expected = Vec::new();
    for (n, key) in keys.iter().enumerate().rev() {
        world.clock.pass(Duration::from_secs(9 - n as u64));
        deliver(&world, key, 1).await;
        expected.push(key.id.clone());
    }
    let found: Vec<_> = events(&world, &thread, 10).await.into_iter().map(|e| e.event.task_id).collect();
    assert_eq!(found, expected);
}

async fn an_event_is_read_as_it_was_made(world: World) {
    let key = task_key(&thread("t1"), EPOCH, 1);
    world.tracked(&key).await;
    world.polled(&key, said(Status::InputRequired)).await;
    let first = deliver(&world, &key, 1).await;
    world.polled(&key, said(Status::Completed)).await;
    let second = deliver(&world, &key, 2).await;
    let mut expected = Vec::new();
    for note in [first, second] {
        let note::State::Delivered { at } = note.state else { fail(&"not delivered") };
        let event = world.notes.event(&note).await.unwrap_or_else(|e| fail(&e));
        let event = event.unwrap_or_else(|| fail(&"no event"));
        expected.push(DeliveredEvent { version: note.version, delivered_at: at, event });
    }
    assert_eq!(events(&world, &key.thread, 10).await, expected);
    let told = |n: usize| expected.get(n).map(|told| (told.event.status, told.event.task_id.clone()));
    assert_eq!(told(0), Some((Status::InputRequired, key.id.clone())));
    assert_eq!(told(1), Some((Status::Completed, key.id)));
}

async fn a_limit_keeps_the_newest(world: World) {
    let thread = thread("t1");
    for n in 1..=12 {
        let key = task_key(&thread, world.now(), n);
        completed(&world, &key).await;
        world.clock.pass(Duration::from_secs(1));
        deliver(&world, &key, 1).await;
    }
    let all = events(&world, &thread, 100).await;
    assert_eq!(all.len(), 12);
    for limit in [1, 5, 12] {
        let newest: Vec<_> = all.iter().skip(12 - limit).cloned().collect();
        assert_eq!(events(&world, &thread, limit).await, newest, "{limit}");
    }
}

async fn a_thread_reads_its_own_events(world: World) {
    let threads = [thread("t1"), thread("t10"), thread_of("key:else", "t1")];
    for (n, thread) in (1..).zip(&threads) {
        let key = task_key(thread, EPOCH, n);
        completed(&world, &key).await;
        deliver(&world, &key, 1).await;
    }
    for (n, thread) in (1..).zip(&threads) {
        let found: Vec<_> = events(&world, thread, 10).await.into_iter().map(|e| e.event.task_id).collect();
        assert_eq!(found, [task_key(thread, EPOCH, n).id]);
    }
}

async fn an_event_that_was_withdrawn_is_not_there(world: World) {
    let key = task_key(&thread("t1"), EPOCH, 1);
    world.tracked(&key).await;
    world.polled(&key, said(Status::InputRequired)).await;
    world.polled(&key, said(Status::Working)).await;
    let held = world.claimed_note(&version(&key, 1), "n").await;
    let change =
        note::decide(&held, note::Command::Deliver { attention: 0 }, world.now(), &Policy::default());
    assert_eq!(world.commit_note(&change.unwrap_or_else(|e| fail(&e))).await, Committed::Done);
    assert_eq!(events(&world, &key.thread, 10).await, []);
}

/// The largest batch that DynamoDB reads is 100 rows, and 16 MB.
async fn more_events_than_fit_into_one_request_are_all_read(world: World) {
    let thread = thread("t1");
    for n in 0..104 {
        let key = task_key(&thread, EPOCH, n);
        completed(&world, &key).await;
        deliver(&world, &key, 1).await;
    }
    let found: Vec<_> = events(&world, &thread, 1000).await.into_iter().map(|e| e.event.task_id).collect();
    let expected: Vec<_> = (0..104).map(|n| task_key(&thread, EPOCH, n).id).collect();
    assert_eq!(found, expected);
}
