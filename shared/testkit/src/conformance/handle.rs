//! Remote handles: each belongs to one task, in the transaction that records it.

use pudu_app::ports::Committed;
use pudu_domain::task::{Command, Refusal, intend};
use pudu_domain::{ServerName, Status, TaskKey};

use super::life::{fail, took};
use super::{Case, World, cases};
use crate::clock::EPOCH;
use crate::fixture::{lease, remote, task_key, thread, thread_of, wanted};

pub(super) const CASES: &[Case] = cases![
    a_handle_belongs_to_one_task,
    a_handle_is_unique_only_within_its_server_its_identity_and_its_user,
    a_lost_commit_takes_no_handle,
    a_lost_commit_says_whose_the_handle_is,
    a_handle_stays_taken_after_the_end,
];

async fn a_handle_belongs_to_one_task(world: World) {
    let (first, second) = (task_key(&thread("t1"), EPOCH, 1), task_key(&thread("t2"), EPOCH, 2));
    let owner = world.born(&first).await;
    world.settle(&owner, took("same", Status::Submitted, world.now())).await;
    let born = world.born(&second).await;
    let change = world.decided(&born, took("same", Status::InputRequired, world.now())).await;
    assert_eq!(world.commit(&change).await, Committed::HandleTaken(first.clone()));
    assert_eq!(world.load(&second).await, born, "nothing of it applies");
    assert_eq!(world.spec(&born).await.remote, None);
    assert_eq!(world.payload(&second).await, pudu_domain::Payload::default());
    assert_eq!(world.note(&super::life::version(&second, 1)).await, None);
    let refused = Command::RecordRefusal(Refusal::Refused("the handle belongs to another task".into()));
    world.settle(&born, refused).await;
    assert_eq!(world.spec(&owner).await.remote, Some(remote("same")));
}

async fn a_handle_is_unique_only_within_its_server_its_identity_and_its_user(world: World) {
    let tracked = async |key: TaskKey, server: &str, identity: &str| {
        let mut wanted = wanted(&key);
        wanted.server = ServerName::parse(server).unwrap_or_else(|e| fail(&e));
        wanted.identity = identity.to_owned();
        let birth = intend(wanted, lease("submitter", world.now()), world.now());
        assert_eq!(world.commit(&birth).await, Committed::Done);
        world.settle(&birth.task, took("same", Status::Submitted, world.now())).await;
    };
    tracked(task_key(&thread("t1"), EPOCH, 1), "one", "http a").await;
    tracked(task_key(&thread("t1"), EPOCH, 2), "two", "http a").await;
    tracked(task_key(&thread("t1"), EPOCH, 3), "one", "http b").await;
    tracked(task_key(&thread_of("key:else", "t1"), EPOCH, 4), "one", "http a").await;
}

async fn a_lost_commit_takes_no_handle(world: World) {
    let (first, second) = (task_key(&thread("t1"), EPOCH, 1), task_key(&thread("t1"), EPOCH, 2));
    let born = world.born(&first).await;
    let late = world.decided(&born, took("same", Status::Submitted, world.now())).await;
    world.at(120_001);
    assert_eq!(world.commit(&late).await, Committed::Lost);
    let other = world.born(&second).await;
    world.settle(&other, took("same", Status::Submitted, world.now())).await;
}

/// Its writer would else cancel at the server what another task tracks.
async fn a_lost_commit_says_whose_the_handle_is(world: World) {
    let (first, second) = (task_key(&thread("t1"), EPOCH, 1), task_key(&thread("t1"), EPOCH, 2));
    let owner = world.born(&first).await;
    world.settle(&owner, took("same", Status::Submitted, world.now())).await;
    let born = world.born(&second).await;
    let late = world.decided(&born, took("same", Status::Submitted, world.now())).await;
    world.at(120_001);
    assert_eq!(world.commit(&late).await, Committed::HandleTaken(first));
}

async fn a_handle_stays_taken_after_the_end(world: World) {
    let (first, second) = (task_key(&thread("t1"), EPOCH, 1), task_key(&thread("t1"), EPOCH, 2));
    let born = world.born(&first).await;
    world.settle(&born, took("same", Status::Completed, world.now())).await;
    let other = world.born(&second).await;
    let change = world.decided(&other, took("same", Status::Submitted, world.now())).await;
    assert_eq!(world.commit(&change).await, Committed::HandleTaken(first));
}
