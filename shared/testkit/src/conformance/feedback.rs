//! Feedback on runs: one of each, the last writer wins, and it goes with its thread.

use pudu_domain::feedback::{Feedback, Rating};
use pudu_domain::{RunId, RunKey, ThreadKey, Timestamp};

use super::life::fail;
use super::{Case, World, cases};
use crate::clock::EPOCH;
use crate::fixture::{task_key, thread, thread_of};

pub(super) const CASES: &[Case] = cases![
    nothing_is_said_of_a_run_at_first,
    what_was_said_last_of_a_run_is_kept,
    what_is_said_of_one_run_is_said_of_no_other,
    feedback_is_taken_back_alone_and_as_often_as_one_likes,
    a_thread_that_is_not_there_takes_none,
    a_thread_that_is_being_deleted_takes_none,
    feedback_goes_with_its_thread,
];

/// Long after what any of these cases does.
const UNTIL: Timestamp = Timestamp::from_millis(4_102_444_800_000);

fn run_in(thread: &ThreadKey, number: u8) -> RunKey {
    RunKey { thread: thread.clone(), id: RunId::new(EPOCH, [number; 10]) }
}

fn run(number: u8) -> RunKey {
    run_in(&thread("t1"), number)
}

fn good(run: &RunKey) -> Feedback {
    Feedback { run: run.clone(), rating: Rating::Good, comment: None, message: None, at: EPOCH }
}

impl World {
    async fn give(&self, feedback: &Feedback) -> bool {
        self.feedback.keep(feedback, UNTIL).await.unwrap_or_else(|e| fail(&e))
    }

    /// What is said of the first few runs of a thread, in their order.
    async fn said_in(&self, thread: &ThreadKey) -> Vec<Feedback> {
        let runs: Vec<RunId> = (0..5).map(|number| run_in(thread, number).id).collect();
        let mut found = self.feedback.of(thread, &runs).await.unwrap_or_else(|e| fail(&e));
        found.sort_by(|a, b| a.run.cmp(&b.run));
        found
    }

    async fn take_back(&self, run: &RunKey) {
        self.feedback.remove(run).await.unwrap_or_else(|e| fail(&e));
    }

    /// The thread is there.
    async fn begun(&self, thread: &ThreadKey) {
        self.born(&task_key(thread, EPOCH, 1)).await;
    }
}

async fn nothing_is_said_of_a_run_at_first(world: World) {
    assert_eq!(world.said_in(&thread("t1")).await, []);
    world.begun(&thread("t1")).await;
    assert_eq!(world.said_in(&thread("t1")).await, []);
    let none = world.feedback.of(&thread("t1"), &[]).await.unwrap_or_else(|e| fail(&e));
    assert_eq!(none, []);
}

async fn what_was_said_last_of_a_run_is_kept(world: World) {
    world.begun(&thread("t1")).await;
    let whole = Feedback {
        comment: Some("größer \u{0} ".to_owned()),
        message: Some("m#1".to_owned()),
        ..good(&run(1))
    };
    let bad = Feedback { rating: Rating::Bad, ..good(&run(1)) };
    for said in [good(&run(1)), whole, bad] {
        for _ in 0..2 {
            assert!(world.give(&said).await);
            assert_eq!(world.said_in(&thread("t1")).await, std::slice::from_ref(&said));
        }
    }
}

async fn what_is_said_of_one_run_is_said_of_no_other(world: World) {
    let foreign = thread_of("local:other", "t1");
    for thread in [&thread("t1"), &thread("t2"), &foreign] {
        world.begun(thread).await;
    }
    for said in [good(&run(1)), good(&run(2)), good(&run_in(&foreign, 1))] {
        assert!(world.give(&said).await);
    }
    assert_eq!(world.said_in(&thread("t1")).await, [good(&run(1)), good(&run(2))]);
    assert_eq!(world.said_in(&thread("t2")).await, []);
    assert_eq!(world.said_in(&foreign).await, [good(&run_in(&foreign, 1))]);
    let one = world.feedback.of(&thread("t1"), &[run(2).id]).await.unwrap_or_else(|e| fail(&e));
    assert_eq!(one, [good(&run(2))], "only what is asked for");
}

async fn feedback_is_taken_back_alone_and_as_often_as_one_likes(world: World) {
    world.begun(&thread("t1")).await;
    for number in [1, 2] {
        assert!(world.give(&good(&run(number))).await);
    }
    for _ in 0..2 {
        world.take_back(&run(1)).await;
        assert_eq!(world.said_in(&thread("t1")).await, [good(&run(2))]);
    }
    assert!(world.give(&good(&run(1))).await);
    assert_eq!(world.said_in(&thread("t1")).await.len(), 2);
}

async fn a_thread_that_is_not_there_takes_none(world: World) {
    assert!(!world.give(&good(&run(1))).await);
    assert_eq!(world.said_in(&thread("t1")).await, []);
    assert_eq!(world.threads.load(&thread("t1")).await.unwrap_or_else(|e| fail(&e)), None, "nor is it made");
}

async fn a_thread_that_is_being_deleted_takes_none(world: World) {
    world.begun(&thread("t1")).await;
    assert!(world.give(&good(&run(1))).await);
    world.entombed(&thread("t1")).await;
    assert!(!world.give(&good(&run(2))).await);
    assert!(!world.give(&Feedback { rating: Rating::Bad, ..good(&run(1)) }).await);
    assert_eq!(
        world.said_in(&thread("t1")).await,
        [good(&run(1))],
        "what was said goes when everything does"
    );
}

async fn feedback_goes_with_its_thread(world: World) {
    for thread in [&thread("t1"), &thread("t2")] {
        world.begun(thread).await;
        assert!(world.give(&good(&run_in(thread, 1))).await);
    }
    world.entombed(&thread("t1")).await;
    let held = world.held_thread(&thread("t1"), "w").await;
    world.emptied(&held).await;
    assert_eq!(world.said_in(&thread("t1")).await, []);
    assert_eq!(world.said_in(&thread("t2")).await, [good(&run_in(&thread("t2"), 1))]);
}
