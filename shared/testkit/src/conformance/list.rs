//! Listing a thread.

use std::time::Duration;

use pudu_domain::{Status, TaskId, TaskKey, ThreadKey};

use super::life::{fail, key};
use super::{Case, World, cases};
use crate::clock::EPOCH;
use crate::fixture::{said, task_key, thread, thread_of};

pub(super) const CASES: &[Case] = cases![
    a_thread_lists_its_newest_tasks_first,
    pages_follow_each_other_without_gap_or_repetition,
    a_list_shows_the_tasks_with_their_specs_and_nothing_else_of_the_thread,
    a_list_shows_one_thread_of_one_user,
    many_tasks_are_glanced_at_in_one_go,
];

async fn listed(world: &World, thread: &ThreadKey, limit: usize, before: Option<&TaskId>) -> Vec<TaskKey> {
    let page = world.tasks.list(thread, limit, before).await.unwrap_or_else(|e| fail(&e));
    page.into_iter().map(|(task, _)| task.key).collect()
}

/// Ids are ordered by time; what was written later may be older.
async fn many(world: &World, thread: &ThreadKey, count: u8) -> Vec<TaskKey> {
    let key = |n: u8| task_key(thread, EPOCH + Duration::from_secs(u64::from(n) / 2), n);
    for n in (0..count).rev() {
        world.born(&key(n)).await;
    }
    (0..count).rev().map(key).collect()
}

async fn a_thread_lists_its_newest_tasks_first(world: World) {
    assert_eq!(listed(&world, &thread("t1"), 10, None).await, []);
    let newest = many(&world, &thread("t1"), 7).await;
    assert_eq!(listed(&world, &thread("t1"), 100, None).await, newest);
    assert_eq!(
        listed(&world, &thread("t1"), 3, None).await,
        newest.iter().take(3).cloned().collect::<Vec<_>>()
    );
}

async fn pages_follow_each_other_without_gap_or_repetition(world: World) {
    let newest = many(&world, &thread("t1"), 11).await;
    for limit in [1, 4, 11] {
        let (mut seen, mut before) = (Vec::new(), None);
        loop {
            let page = listed(&world, &thread("t1"), limit, before.as_ref()).await;
            assert!(page.len() <= limit);
            let Some(last) = page.last() else { break };
            before = Some(last.id.clone());
            seen.extend(page);
        }
        assert_eq!(seen, newest, "by {limit}");
    }
}

async fn a_list_shows_the_tasks_with_their_specs_and_nothing_else_of_the_thread(world: World) {
    let key = key();
    world.tracked(&key).await;
    world.polled(&key, said(Status::InputRequired)).await;
    let ended = world.polled(&key, said(Status::Completed)).await;
    let page = world.tasks.list(&key.thread, 100, None).await.unwrap_or_else(|e| fail(&e));
    assert_eq!(
        page,
        [(ended.clone(), world.spec(&ended).await)],
        "no payload, notification or event among them"
    );
}

async fn a_list_shows_one_thread_of_one_user(world: World) {
    let threads = [thread("t1"), thread("t10"), thread("T1"), thread_of("key:else", "t1")];
    for (n, thread) in (1..).zip(&threads) {
        world.born(&task_key(thread, EPOCH, n)).await;
    }
    for (n, thread) in (1..).zip(&threads) {
        assert_eq!(listed(&world, thread, 10, None).await, [task_key(thread, EPOCH, n)]);
    }
}

async fn many_tasks_are_glanced_at_in_one_go(world: World) {
    let glance = async |keys: &[TaskKey]| {
        let mut tasks = world.tasks.glance(keys).await.unwrap_or_else(|e| fail(&e));
        tasks.sort_by(|a, b| b.key.cmp(&a.key));
        tasks
    };
    assert_eq!(glance(&[]).await, []);
    let newest = many(&world, &thread("t1"), 120).await;
    let found = glance(&newest).await;
    assert_eq!(
        found.iter().map(|task| task.key.clone()).collect::<Vec<_>>(),
        newest,
        "more than one request takes"
    );
    let key = key();
    world.tracked(&key).await;
    let ended = world.polled(&key, said(Status::Completed)).await;
    let elsewhere = TaskKey { thread: thread("t2"), id: key.id.clone() };
    assert_eq!(glance(&[elsewhere, key]).await, [ended], "what is not there is left out");
}
