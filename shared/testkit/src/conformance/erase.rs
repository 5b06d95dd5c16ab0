//! A call that could have become a task and did not: nothing of its intent stays, and nothing else is touched.

use pudu_app::ports::Committed;
use pudu_domain::task::{Command, Repeatable, intend};
use pudu_domain::{Lane, Status};

use super::life::{fail, key, took};
use super::{Case, World, cases, eventually};
use crate::clock::EPOCH;
use crate::fixture::{lease, task_key, thread, wanted};

pub(super) const CASES: &[Case] = cases![
    an_erased_intent_leaves_nothing_and_frees_its_key,
    only_the_holder_erases,
    what_is_gone_already_is_erased,
    an_erased_intent_is_never_due,
];

async fn an_erased_intent_leaves_nothing_and_frees_its_key(world: World) {
    let other = world.tracked(&task_key(&thread("t1"), EPOCH, 2)).await;
    let mut wanted = wanted(&key());
    wanted.repeatable = Some(Repeatable { key: "a".repeat(64), request: "one".to_owned() });
    let born = intend(wanted, lease("submitter", world.now()), world.now());
    assert_eq!(world.commit(&born).await, Committed::Done);
    world.settle(&born.task, Command::RecordAnswered).await;
    assert_eq!(world.tasks.load(&key()).await.unwrap_or_else(|e| fail(&e)), None);
    let listed = world.tasks.list(&thread("t1"), 10, None).await.unwrap_or_else(|e| fail(&e));
    assert_eq!(listed.into_iter().map(|(task, _)| task).collect::<Vec<_>>(), [other]);
    assert_eq!(world.commit(&born).await, Committed::Done, "id and key are free again");
    assert_eq!(world.spec(&born.task).await.repeatable, born.spec.and_then(|spec| spec.repeatable));
}

async fn only_the_holder_erases(world: World) {
    let born = world.born(&key()).await;
    let erase = world.decided(&born, Command::RecordAnswered).await;
    world.at(120_001);
    assert_eq!(world.commit(&erase).await, Committed::Lost, "its time is over");
    let image = world.claimed(&key(), Lane::Intent, "recovery").await;
    assert_eq!(world.commit(&erase).await, Committed::Lost, "recovery has it");
    let ended = world.settle(&image, Command::Recover).await;
    assert_eq!(world.commit(&erase).await, Committed::Lost);
    assert_eq!(world.load(&key()).await, ended);
}

async fn what_is_gone_already_is_erased(world: World) {
    let born = world.born(&key()).await;
    let erase = world.decided(&born, Command::RecordAnswered).await;
    for time in ["once", "again, as when the first answer was lost"] {
        assert_eq!(world.commit(&erase).await, Committed::Done, "{time}");
    }
    let again = world.born(&key()).await;
    let tracked = world.settle(&again, took("r", Status::Working, world.now())).await;
    assert_eq!(world.commit(&erase).await, Committed::Lost, "another one took the place");
    assert_eq!(world.load(&key()).await, tracked);
}

async fn an_erased_intent_is_never_due(world: World) {
    let born = world.born(&key()).await;
    world.settle(&born, Command::RecordAnswered).await;
    world.at(1_000_000);
    eventually(0, async || {
        let mut found = 0;
        for shard in 0..pudu_app::ports::SHARDS {
            let page = world.due.due(Lane::Intent, shard, world.now(), 10, None).await;
            found += page.unwrap_or_else(|e| fail(&e)).hints.len();
        }
        found
    })
    .await;
}
