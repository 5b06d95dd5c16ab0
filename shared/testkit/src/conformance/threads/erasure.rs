//! What goes with a thread, and what does not.

use std::time::Duration;

use pudu_app::ports::{Committed, Erased};
use pudu_domain::task::{Repeatable, intend};
use pudu_domain::thread::Command;
use pudu_domain::{Payload, Policy, Status, Task, TaskKey, Thread, ThreadKey, note};

use super::super::life::{fail, took, version};
use super::{Case, World, cases};
use crate::clock::EPOCH;
use crate::fixture::{LEASE, lease, said, task_key, thread, wanted};

pub(in super::super) const CASES: &[Case] = cases![
    everything_of_a_thread_goes_and_its_own_row_last,
    handles_and_keys_are_free_again,
    no_other_thread_is_touched,
    who_lost_the_claim_removes_nothing,
    a_later_thread_by_the_same_name_is_not_touched,
    a_handle_that_another_task_took_over_stays_its_own,
    what_does_not_decode_goes_too,
];

impl World {
    async fn erase(&self, held: &Thread) -> Erased {
        self.threads.erase(held).await.unwrap_or_else(|e| fail(&e))
    }

    /// Everything but the row of the thread.
    pub(in super::super) async fn emptied(&self, held: &Thread) {
        for _ in 0..100 {
            match self.erase(held).await {
                Erased::Some => {}
                Erased::All => return,
                Erased::Lost => fail(&"the claim stands"),
            }
        }
        fail(&"it does not come to an end");
    }

    async fn finish(&self, held: &Thread) {
        let change = self.decided_thread(held, Command::Finish);
        assert_eq!(self.change_thread(&change).await, Committed::Done);
    }

    async fn has_task(&self, key: &TaskKey) -> bool {
        self.tasks.load(key).await.unwrap_or_else(|e| fail(&e)).is_some()
    }

    /// A task that has everything that a task may have: payload, handle, caller's key, a note delivered and one that waits.
    async fn rich(&self, key: &TaskKey, handle: &str) -> Task {
        let mut order = wanted(key);
        order.repeatable = Some(Repeatable { key: handle.repeat(32), request: "r".into() });
        let birth = intend(order, lease(key.id.as_str(), self.now()), self.now());
        assert_eq!(self.commit(&birth).await, Committed::Done);
        self.settle(&birth.task, took(handle, Status::InputRequired, self.now())).await;
        let note = self.claimed_note(&version(key, 1), "notifier").await;
        let command = note::Command::Deliver { attention: 1 };
        let change = note::decide(&note, command, self.now(), &Policy::default());
        assert_eq!(self.commit_note(&change.unwrap_or_else(|e| fail(&e))).await, Committed::Done);
        self.polled(key, said(Status::Completed)).await
    }
}

fn nth(thread: &ThreadKey, n: u8) -> TaskKey {
    task_key(thread, EPOCH, n)
}

async fn everything_of_a_thread_goes_and_its_own_row_last(world: World) {
    let tasks: Vec<TaskKey> = (0..5).map(|n| nth(&thread("t1"), n)).collect();
    for (n, task) in tasks.iter().enumerate() {
        world.rich(task, &format!("r{n}")).await;
    }
    world.entombed(&thread("t1")).await;
    let held = world.held_thread(&thread("t1"), "w").await;
    world.emptied(&held).await;
    for task in &tasks {
        assert!(!world.has_task(task).await);
        assert_eq!(world.payload(task).await, Payload::default());
        assert_eq!((world.note(&version(task, 1)).await, world.note(&version(task, 2)).await), (None, None));
    }
    assert_eq!(world.events.events(&thread("t1"), 100).await.unwrap_or_else(|e| fail(&e)), []);
    assert_eq!(world.tasks.list(&thread("t1"), 100, None).await.unwrap_or_else(|e| fail(&e)), []);
    assert_eq!(world.thread(&thread("t1")).await, Some(held.clone()), "the tombstone stands to the end");
    world.finish(&held).await;
    assert_eq!(world.thread(&thread("t1")).await, None);
    world.born(&nth(&thread("t1"), 9)).await;
    assert_eq!(world.thread(&thread("t1")).await, Some(Thread::open(thread("t1"), world.now())));
}

async fn handles_and_keys_are_free_again(world: World) {
    world.rich(&nth(&thread("t1"), 1), "r").await;
    world.entombed(&thread("t1")).await;
    let held = world.held_thread(&thread("t1"), "w").await;
    world.emptied(&held).await;
    world.finish(&held).await;
    world.rich(&nth(&thread("t1"), 2), "r").await;
}

async fn no_other_thread_is_touched(world: World) {
    let others = [thread("t10"), thread("T1"), crate::fixture::thread_of("key:else", "t1")];
    world.rich(&nth(&thread("t1"), 1), "r").await;
    for (n, other) in (2..).zip(&others) {
        world.rich(&nth(other, n), &format!("r{n}")).await;
    }
    world.entombed(&thread("t1")).await;
    let held = world.held_thread(&thread("t1"), "w").await;
    world.emptied(&held).await;
    world.finish(&held).await;
    for (n, other) in (2..).zip(&others) {
        let task = nth(other, n);
        assert!(world.has_task(&task).await && world.thread(other).await.is_some());
        assert_ne!(world.payload(&task).await, Payload::default());
        assert!(world.note(&version(&task, 2)).await.is_some());
        assert_eq!(world.events.events(other, 9).await.unwrap_or_else(|e| fail(&e)).len(), 1);
    }
}

async fn who_lost_the_claim_removes_nothing(world: World) {
    let task = nth(&thread("t1"), 1);
    world.rich(&task, "r").await;
    world.entombed(&thread("t1")).await;
    let slow = world.held_thread(&thread("t1"), "slow").await;
    world.clock.pass(LEASE * 2);
    world.held_thread(&thread("t1"), "next").await;
    assert_eq!(world.erase(&slow).await, Erased::Lost);
    assert!(world.has_task(&task).await);
}

async fn a_later_thread_by_the_same_name_is_not_touched(world: World) {
    world.rich(&nth(&thread("t1"), 1), "r").await;
    world.entombed(&thread("t1")).await;
    let held = world.held_thread(&thread("t1"), "w").await;
    world.emptied(&held).await;
    let last = world.decided_thread(&held, Command::Finish);
    world.finish(&held).await;
    world.clock.pass(Duration::from_millis(1));
    let later = nth(&thread("t1"), 2);
    world.rich(&later, "r").await;
    assert_eq!(world.erase(&held).await, Erased::Lost, "while it is open");
    world.entombed(&thread("t1")).await;
    assert_eq!(world.erase(&held).await, Erased::Lost, "while it is being deleted");
    let next = world.held_thread(&thread("t1"), "next").await;
    assert_eq!(world.erase(&held).await, Erased::Lost, "while somebody else holds it");
    assert_eq!(world.change_thread(&last).await, Committed::Lost, "its row is not the later one's");
    assert_eq!(world.thread(&thread("t1")).await, Some(next));
    assert!(world.has_task(&later).await);
}

async fn a_handle_that_another_task_took_over_stays_its_own(world: World) {
    let ended = world.rich(&nth(&thread("t1"), 1), "r").await;
    world.outlive(ended.updated_at);
    let (heir, third) = (nth(&thread("t2"), 2), nth(&thread("t3"), 3));
    let born = world.born(&heir).await;
    world.settle(&born, took("r", Status::Working, world.now())).await;
    world.entombed(&thread("t1")).await;
    let held = world.held_thread(&thread("t1"), "w").await;
    world.emptied(&held).await;
    let born = world.born(&third).await;
    let change = world.decided(&born, took("r", Status::Working, world.now())).await;
    assert_eq!(world.commit(&change).await, Committed::HandleTaken(heir));
}

async fn what_does_not_decode_goes_too(world: World) {
    let Some(vandal) = world.vandal.clone() else { return };
    let task = nth(&thread("t1"), 1);
    world.rich(&task, "r").await;
    vandal.break_task(&task).await;
    vandal.break_note(&version(&task, 2)).await;
    world.entombed(&thread("t1")).await;
    let held = world.held_thread(&thread("t1"), "w").await;
    world.emptied(&held).await;
    assert!(!world.has_task(&task).await);
    assert_eq!(world.note(&version(&task, 2)).await, None);
}
