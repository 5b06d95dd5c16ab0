//! A caller's key stands for one task of its thread, in the transaction that writes the intent.

use futures_util::future::join_all;
use pudu_app::ports::Committed;
use pudu_domain::task::{Change, Repeatable, intend};
use pudu_domain::{Status, TaskKey, ThreadKey};

use super::life::{fail, took};
use super::{Case, World, cases};
use crate::clock::EPOCH;
use crate::fixture::{lease, task_key, thread, thread_of, wanted};

pub(super) const CASES: &[Case] = cases![
    a_key_stands_for_the_first_task_that_took_it,
    of_many_submissions_with_one_key_one_is_written,
    a_birth_repeated_by_its_own_writer_keeps_its_key,
    a_key_belongs_to_its_thread,
    a_key_stands_for_its_task_until_the_tasks_time_is_over,
];

fn birth(world: &World, key: &TaskKey, name: &str, request: &str) -> Change {
    let repeatable = Some(Repeatable { key: name.repeat(64), request: request.to_owned() });
    let mut wanted = wanted(key);
    wanted.repeatable = repeatable;
    intend(wanted, lease(key.id.as_str(), world.now()), world.now())
}

fn nth(thread: &ThreadKey, n: u8) -> TaskKey {
    task_key(thread, EPOCH, n)
}

async fn a_key_stands_for_the_first_task_that_took_it(world: World) {
    let (first, second) = (nth(&thread("t1"), 1), nth(&thread("t1"), 2));
    let born = birth(&world, &first, "a", "one");
    assert_eq!(world.commit(&born).await, Committed::Done);
    let taken = Committed::KeyTaken { task: first.clone(), request: "one".into() };
    assert_eq!(world.commit(&birth(&world, &second, "a", "one")).await, taken, "while it is an intent");
    world.settle(&born.task, took("r", Status::Working, world.now())).await;
    assert_eq!(world.commit(&birth(&world, &second, "a", "two")).await, taken, "whatever it asks for");
    assert_eq!(world.tasks.load(&second).await.unwrap_or_else(|e| fail(&e)), None, "nothing of it applies");
    assert_eq!(world.commit(&birth(&world, &second, "b", "one")).await, Committed::Done, "another key");
    let spec = world.spec(&world.load(&first).await).await;
    assert_eq!(spec.repeatable, born.spec.and_then(|spec| spec.repeatable), "it is remembered");
}

async fn of_many_submissions_with_one_key_one_is_written(world: World) {
    let births: Vec<Change> =
        (0..8).map(|n| birth(&world, &nth(&thread("t1"), n), "a", &n.to_string())).collect();
    let outcomes = join_all(births.iter().map(|birth| world.commit(birth))).await;
    let won: Vec<_> = births.iter().zip(&outcomes).filter(|(_, o)| **o == Committed::Done).collect();
    let [(first, _)] = won.as_slice() else { fail(&format!("{outcomes:?}")) };
    let request = first.spec.as_ref().and_then(|spec| spec.repeatable.clone()).map(|r| r.request);
    let lost = Committed::KeyTaken { task: first.task.key.clone(), request: request.unwrap_or_default() };
    assert!(outcomes.iter().all(|o| *o == Committed::Done || *o == lost), "{outcomes:?}");
    let listed = world.tasks.list(&thread("t1"), 10, None).await.unwrap_or_else(|e| fail(&e));
    assert_eq!(listed.len(), 1);
}

async fn a_birth_repeated_by_its_own_writer_keeps_its_key(world: World) {
    let born = birth(&world, &nth(&thread("t1"), 1), "a", "one");
    assert_eq!(world.commit(&born).await, Committed::Done);
    assert_eq!(world.commit(&born).await, Committed::Done);
}

async fn a_key_belongs_to_its_thread(world: World) {
    let threads = [thread("t1"), thread("t2"), thread_of("key:else", "t1")];
    for (n, thread) in (1..).zip(&threads) {
        assert_eq!(world.commit(&birth(&world, &nth(thread, n), "a", "one")).await, Committed::Done);
    }
}

async fn a_key_stands_for_its_task_until_the_tasks_time_is_over(world: World) {
    let (first, second) = (nth(&thread("t1"), 1), nth(&thread("t1"), 2));
    let born = birth(&world, &first, "a", "one");
    assert_eq!(world.commit(&born).await, Committed::Done);
    world.clock.pass(pudu_domain::Policy::default().retention * 2);
    let taken = Committed::KeyTaken { task: first.clone(), request: "one".into() };
    assert_eq!(world.commit(&birth(&world, &second, "a", "one")).await, taken, "it has not ended");
    let image = world.claimed(&first, pudu_domain::Lane::Intent, "recovery").await;
    let ended = world.settle(&image, pudu_domain::task::Command::Recover).await;
    assert_eq!(world.commit(&birth(&world, &second, "a", "one")).await, taken, "it has just ended");
    world.outlive(ended.updated_at);
    assert_eq!(world.commit(&birth(&world, &second, "a", "two")).await, Committed::Done);
}
