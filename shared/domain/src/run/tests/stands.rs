//! Where a thread stands behind a run that answers nobody.

use super::*;

fn compaction(name: &str, strategy: Strategy) -> Admission {
    let operation = Operation::Compact(Compaction { force: true, keep: None });
    Admission { spec: RunSpec { operation, ..spec(strategy) }, ..wanted(name, strategy) }
}

#[test]
fn behind_a_run_that_answers_nobody_the_thread_stands_where_it_stood() {
    let ends = [Outcome::Success, Outcome::Error, Outcome::Timeout, Outcome::Interrupted];
    for (before, stands) in
        ends.into_iter().zip([Status::Idle, Status::Error, Status::Error, Status::Interrupted])
    {
        for outcome in ends {
            let mut world = World::default();
            world.admit("a", Strategy::Reject).unwrap();
            world.claim("a");
            world.does("a", finish(before)).unwrap();
            world.take(compaction("b", Strategy::Reject)).unwrap();
            assert_eq!(
                (world.conversation().status, world.conversation().stood),
                (Status::Busy, Some(stands))
            );
            world.claim("b");
            world.does("b", finish(outcome)).unwrap();
            assert_eq!(
                (world.conversation().status, world.conversation().stood),
                (stands, None),
                "{outcome:?}"
            );
        }
    }
}

#[test]
fn a_run_in_the_place_of_one_that_answers_nobody_says_itself_where_the_thread_stands() {
    let mut world = World::default();
    world.take(compaction("a", Strategy::Reject)).unwrap();
    world.admit("b", Strategy::Interrupt).unwrap();
    world.admit("c", Strategy::Enqueue).unwrap();
    world.claim("b");
    world.does("b", finish(Outcome::Error)).unwrap();
    assert_eq!((world.conversation().status, world.conversation().stood), (Status::Busy, None));
    world.claim("c");
    world.does("c", finish(Outcome::Interrupted)).unwrap();
    assert_eq!(world.conversation().status, Status::Interrupted);
}
