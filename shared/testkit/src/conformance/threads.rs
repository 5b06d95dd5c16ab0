//! Threads: born with their first task, deleted under a tombstone, emptied by who holds them.

mod erasure;

use std::time::Duration;

use futures_util::future::join_all;
use pudu_app::ports::{Committed, ItemKey};
use pudu_domain::thread::{Change, Command, decide};
use pudu_domain::{Lane, Policy, Status, Thread, ThreadKey, note};

use super::life::{fail, key, took, version};
use super::{Case, World, cases, eventually};
use crate::clock::EPOCH;
use crate::fixture::{LEASE, intent, lease, said, task_key, thread};

pub(super) use erasure::CASES as ERASURES;

pub(super) const CASES: &[Case] = cases![
    a_thread_is_there_from_its_first_task_on,
    a_tombstone_is_set_once_and_only_on_a_thread,
    nothing_begins_in_a_thread_that_is_being_deleted,
    what_is_under_way_in_it_goes_on,
    one_of_many_claims_of_a_thread_wins,
    a_holder_whose_time_is_over_writes_nothing,
    a_thread_is_due_while_it_is_being_deleted,
    live_notes_are_those_that_somebody_works_on,
];

impl World {
    async fn thread(&self, key: &ThreadKey) -> Option<Thread> {
        self.threads.load(key).await.unwrap_or_else(|e| fail(&e))
    }

    pub(super) async fn change_thread(&self, change: &Change) -> Committed {
        self.threads.commit(change).await.unwrap_or_else(|e| fail(&e))
    }

    async fn claim_thread(&self, key: &ThreadKey, owner: &str) -> Option<Thread> {
        self.threads.claim(key, lease(owner, self.now())).await.unwrap_or_else(|e| fail(&e))
    }

    pub(super) fn decided_thread(&self, thread: &Thread, command: Command) -> Change {
        let change = decide(thread, command, self.now(), &Policy::default());
        change.unwrap_or_else(|e| fail(&e)).unwrap_or_else(|| fail(&"nothing changes"))
    }

    /// Sets the tombstone on a thread that is there.
    pub(super) async fn entombed(&self, key: &ThreadKey) -> Thread {
        let thread = self.thread(key).await.unwrap_or_else(|| fail(&"no such thread"));
        let change = self.decided_thread(&thread, Command::RequestDelete);
        assert_eq!(self.change_thread(&change).await, Committed::Done);
        change.thread
    }

    /// The same, claimed.
    pub(super) async fn held_thread(&self, key: &ThreadKey, owner: &str) -> Thread {
        self.claim_thread(key, owner).await.unwrap_or_else(|| fail(&"the claim of the thread was refused"))
    }
}

async fn a_thread_is_there_from_its_first_task_on(world: World) {
    assert_eq!(world.thread(&thread("t1")).await, None);
    world.born(&key()).await;
    let open = Thread::open(thread("t1"), EPOCH);
    assert_eq!(world.thread(&thread("t1")).await, Some(open.clone()));
    world.at(5000);
    world.born(&task_key(&thread("t1"), world.now(), 2)).await;
    assert_eq!(world.thread(&thread("t1")).await, Some(open), "a later task changes nothing");
    assert_eq!(world.thread(&thread("t2")).await, None);
}

async fn a_tombstone_is_set_once_and_only_on_a_thread(world: World) {
    let nobody = Thread::open(thread("t2"), EPOCH);
    let change = world.decided_thread(&nobody, Command::RequestDelete);
    assert_eq!(world.change_thread(&change).await, Committed::Lost);
    assert_eq!(world.thread(&thread("t2")).await, None, "it is not made by being deleted");
    world.born(&key()).await;
    let open = world.thread(&thread("t1")).await.unwrap_or_else(|| fail(&"no such thread"));
    world.at(1000);
    let going = world.entombed(&thread("t1")).await;
    assert_eq!(world.thread(&thread("t1")).await, Some(going.clone()));
    world.at(2000);
    let again = world.decided_thread(&open, Command::RequestDelete);
    assert_eq!(world.change_thread(&again).await, Committed::Lost);
    assert_eq!(world.thread(&thread("t1")).await, Some(going));
}

async fn nothing_begins_in_a_thread_that_is_being_deleted(world: World) {
    world.born(&key()).await;
    world.entombed(&thread("t1")).await;
    let late = task_key(&thread("t1"), world.now(), 2);
    assert_eq!(world.commit(&intent(&late, "submitter", world.now())).await, Committed::ThreadGone);
    assert_eq!(world.tasks.load(&late).await.unwrap_or_else(|e| fail(&e)), None);
    world.born(&task_key(&thread("t2"), world.now(), 3)).await;
}

async fn what_is_under_way_in_it_goes_on(world: World) {
    let born = world.born(&key()).await;
    world.entombed(&thread("t1")).await;
    world.settle(&born, took("r", Status::Submitted, world.now())).await;
    world.polled(&key(), said(Status::Completed)).await;
    let note = world.claimed_note(&version(&key(), 1), "notifier").await;
    let command = note::Command::Deliver { attention: 1 };
    let change = note::decide(&note, command, world.now(), &Policy::default()).unwrap_or_else(|e| fail(&e));
    assert_eq!(world.commit_note(&change).await, Committed::Done);
}

async fn one_of_many_claims_of_a_thread_wins(world: World) {
    world.born(&key()).await;
    assert_eq!(world.claim_thread(&thread("t1"), "early").await, None, "an open thread is nobody's work");
    let going = world.entombed(&thread("t1")).await;
    let owners: Vec<String> = (0..8).map(|n| format!("w{n}")).collect();
    let claims = join_all(owners.iter().map(|owner| world.claim_thread(&going.key, owner))).await;
    let won: Vec<&Thread> = claims.iter().flatten().collect();
    let [held] = won.as_slice() else { fail(&format!("{} claims", won.len())) };
    assert_eq!(world.thread(&going.key).await.as_ref(), Some(*held));
    assert_eq!((held.state, held.durable.generation), (going.state, going.durable.generation.next()));
    world.clock.set(EPOCH + LEASE);
    assert_eq!(world.claim_thread(&going.key, "at the last instant").await, None);
    world.clock.pass(Duration::from_millis(1));
    world.held_thread(&going.key, "next").await;
}

async fn a_holder_whose_time_is_over_writes_nothing(world: World) {
    world.born(&key()).await;
    world.entombed(&thread("t1")).await;
    let held = world.held_thread(&thread("t1"), "slow").await;
    world.clock.set(EPOCH + LEASE + Duration::from_millis(1));
    for command in [Command::Wait, Command::GiveBack, Command::Finish] {
        let change = world.decided_thread(&held, command);
        assert_eq!(world.change_thread(&change).await, Committed::Lost, "{command:?}");
    }
    assert_eq!(world.thread(&thread("t1")).await, Some(held));
    let next = world.held_thread(&thread("t1"), "next").await;
    let waiting = world.decided_thread(&next, Command::Wait);
    assert_eq!(world.change_thread(&waiting).await, Committed::Done);
    assert_eq!(world.thread(&thread("t1")).await, Some(waiting.thread.clone()));
    assert_eq!(world.claim_thread(&thread("t1"), "early").await, None, "it waits");
    world.clock.pass(Duration::from_secs(5));
    world.held_thread(&thread("t1"), "in time").await;
}

async fn a_thread_is_due_while_it_is_being_deleted(world: World) {
    let far = EPOCH + Duration::from_hours(1);
    let due = async || {
        let page = world.due.due(Lane::Delete, 0, far, 10, None).await.unwrap_or_else(|e| fail(&e));
        page.hints.into_iter().map(|hint| (hint.key, hint.server, hint.due_at)).collect::<Vec<_>>()
    };
    world.born(&key()).await;
    world.entombed(&thread("t1")).await;
    eventually(vec![(ItemKey::Thread(thread("t1")), None, EPOCH)], &due).await;
    let held = world.held_thread(&thread("t1"), "w").await;
    let waiting = world.decided_thread(&held, Command::Wait);
    assert_eq!(world.change_thread(&waiting).await, Committed::Done);
    let later = EPOCH + Duration::from_secs(5);
    eventually(vec![(ItemKey::Thread(thread("t1")), None, later)], &due).await;
    world.at(5000);
    let held = world.held_thread(&thread("t1"), "w").await;
    let gone = world.decided_thread(&held, Command::Finish);
    assert_eq!(world.change_thread(&gone).await, Committed::Done);
    assert_eq!(world.thread(&thread("t1")).await, None);
    eventually(vec![], &due).await;
}

async fn live_notes_are_those_that_somebody_works_on(world: World) {
    let versions = async |limit| {
        let notes = world.threads.live_notes(&thread("t1"), limit).await.unwrap_or_else(|e| fail(&e));
        notes.into_iter().map(|note| (note.task, note.version)).collect::<Vec<_>>()
    };
    world.tracked(&key()).await;
    assert_eq!(versions(10).await, []);
    for status in [Status::InputRequired, Status::Working, Status::InputRequired, Status::Completed] {
        world.polled(&key(), said(status)).await;
    }
    assert_eq!(versions(10).await, [(key(), 1), (key(), 2), (key(), 3)]);
    assert_eq!(versions(2).await.len(), 2);
    let policy = Policy { notification_attempts: 1, ..Policy::default() };
    for (number, command) in
        [(1, note::Command::Deliver { attention: 0 }), (2, note::Command::RecordFailure("no".into()))]
    {
        let held = world.claimed_note(&version(&key(), number), "w").await;
        let change = note::decide(&held, command, world.now(), &policy).unwrap_or_else(|e| fail(&e));
        assert_eq!(world.commit_note(&change).await, Committed::Done);
    }
    world.claimed_note(&version(&key(), 3), "w").await;
    assert_eq!(versions(10).await, [(key(), 3)], "neither a withdrawn nor a dead one");
}
