//! What has ended goes when its time is over, whether or not the table has removed it; what has not ended has no end.

use std::time::Duration;

use pudu_app::ports::Committed;
use pudu_domain::task::{Command, Refusal};
use pudu_domain::{Lane, Payload, Policy, Status, TaskKey, Timestamp};

use super::life::{fail, key, took};
use super::{Case, World, cases};
use crate::clock::EPOCH;
use crate::fixture::{said, task_key, thread};

pub(super) const CASES: &[Case] = cases![
    a_task_is_read_until_its_time_is_over,
    a_task_that_has_not_ended_never_goes,
    a_refused_submission_goes_too,
    a_list_fills_its_pages_past_what_is_over,
    a_handle_is_free_again_when_its_owners_time_is_over,
];

/// Ends are whole seconds in a table.
const SECOND: Duration = Duration::from_secs(1);

impl World {
    /// Lets everything that has ended by now go.
    pub(super) fn outlive(&self, ended: Timestamp) {
        self.clock.set(ended + Policy::default().retention + SECOND);
    }

    async fn is_there(&self, key: &TaskKey) -> bool {
        self.tasks.load(key).await.unwrap_or_else(|e| fail(&e)).is_some()
    }

    async fn listed(&self, key: &TaskKey, limit: usize) -> Vec<TaskKey> {
        let page = self.tasks.list(&key.thread, limit, None).await.unwrap_or_else(|e| fail(&e));
        page.into_iter().map(|(task, _)| task.key).collect()
    }
}

async fn a_task_is_read_until_its_time_is_over(world: World) {
    let key = key();
    world.tracked(&key).await;
    world.polled(&key, said(Status::InputRequired)).await;
    let ended = world.polled(&key, said(Status::Completed)).await;
    let payload = world.payload(&key).await;
    world.clock.set(ended.updated_at + Policy::default().retention);
    assert_eq!(world.load(&key).await, ended);
    assert_eq!((world.payload(&key).await, world.listed(&key, 9).await), (payload, vec![key.clone()]));
    world.outlive(ended.updated_at);
    assert!(!world.is_there(&key).await);
    assert_eq!((world.payload(&key).await, world.listed(&key, 9).await), (Payload::default(), vec![]));
}

async fn a_task_that_has_not_ended_never_goes(world: World) {
    let (intent, tracked) = (task_key(&thread("t1"), EPOCH, 1), task_key(&thread("t1"), EPOCH, 2));
    world.born(&intent).await;
    world.tracked(&tracked).await;
    let waiting = world.polled(&tracked, said(Status::InputRequired)).await;
    world.outlive(world.now() + Policy::default().retention);
    assert_eq!(world.load(&tracked).await, waiting);
    assert_ne!(world.payload(&tracked).await, Payload::default());
    assert_eq!(world.listed(&tracked, 9).await, [tracked.clone(), intent.clone()]);
    let asked = world.settle(&waiting, Command::RequestCancel).await;
    assert!(world.claim(&tracked, Lane::Cancel, "poller").await.is_some(), "{asked:?}");
    world.claimed(&intent, Lane::Intent, "recovery").await;
}

async fn a_refused_submission_goes_too(world: World) {
    let born = world.born(&key()).await;
    let refused = Command::RecordRefusal(Refusal::Refused("no".into()));
    let ended = world.settle(&born, refused).await;
    world.outlive(ended.updated_at);
    assert!(!world.is_there(&key()).await);
}

async fn a_list_fills_its_pages_past_what_is_over(world: World) {
    let at = |n: u8| task_key(&thread("t1"), EPOCH, n);
    world.born(&at(0)).await;
    for n in 1..8 {
        let born = world.born(&at(n)).await;
        world.settle(&born, took(at(n).id.as_str(), Status::Completed, world.now())).await;
    }
    world.outlive(world.now());
    assert_eq!(world.listed(&at(0), 1).await, [at(0)]);
}

async fn a_handle_is_free_again_when_its_owners_time_is_over(world: World) {
    let (first, second) = (task_key(&thread("t1"), EPOCH, 1), task_key(&thread("t1"), EPOCH, 2));
    let born = world.born(&first).await;
    let ended = world.settle(&born, took("same", Status::Completed, world.now())).await;
    world.outlive(ended.updated_at);
    let other = world.born(&second).await;
    let tracked = world.settle(&other, took("same", Status::Submitted, world.now())).await;
    // The new owner has it for good, not only until the old row would have gone.
    let third = task_key(&thread("t1"), EPOCH, 3);
    world.outlive(world.now());
    let born = world.born(&third).await;
    let change = world.decided(&born, took("same", Status::Submitted, world.now())).await;
    assert_eq!(world.commit(&change).await, Committed::HandleTaken(tracked.key));
}
