//! Runs beside the conversation.

use std::time::Duration;

use super::*;
use crate::run::Aside;

const AFTER: Duration = Duration::from_secs(30);

fn ending(outcome: Outcome) -> Ending {
    let spec = RunSpec { operation: Operation::Remember, ..RunSpec::of("lead_agent") };
    Ending { aside: Some(Box::new(Aside { spec, after: AFTER })), ..Ending::new(outcome, None) }
}

fn ends(world: &mut World, name: &str, outcome: Outcome) {
    world.admit(name, Strategy::Reject).unwrap();
    world.claim(name);
    world.does(name, Command::Finish { step: step(), ending: ending(outcome) }).unwrap();
}

fn asides(world: &World) -> Vec<RunId> {
    world.runs.values().filter(|run| run.origin == Origin::Aside).map(|run| run.key.id.clone()).collect()
}

fn claim(world: &mut World, aside: &RunId) {
    let run = world.runs.get_mut(aside).unwrap();
    let later = NOW + AFTER;
    assert!(!run.durable.claimable(Lane::Run, NOW) && run.durable.claimable(Lane::Run, later));
    run.durable = run.durable.claimed(Lease { owner: Owner::new("w", 1), until: later });
}

fn does(world: &mut World, aside: &RunId, command: Command) {
    let run = world.runs[aside].clone();
    let change = decide(&run, command, &world.seen(None), NOW, &Policy::default()).unwrap();
    world.keep(change);
}

#[test]
fn a_run_that_ends_well_begins_one_that_looks_back_and_nobody_waits_for_it() {
    let mut world = World::default();
    ends(&mut world, "a", Outcome::Success);
    let aside = asides(&world).remove(0);
    let run = &world.runs[&aside];
    assert_eq!((run.ordinal, run.durable.due.map(|due| due.at)), (1, Some(NOW + AFTER)));
    assert!(run.until.is_some_and(|until| until > NOW + AFTER));
    let conversation = world.conversation();
    assert_eq!((conversation.to_remember, conversation.remembered, conversation.runs), (1, 0, 1));
    assert_eq!((conversation.status, &conversation.active), (Status::Idle, &None));
    world.admit("b", Strategy::Reject).unwrap();
}

#[test]
fn nothing_looks_back_behind_a_run_that_did_not_end_well() {
    for outcome in [Outcome::Error, Outcome::Timeout, Outcome::Interrupted] {
        let mut world = World::default();
        ends(&mut world, "a", outcome);
        assert_eq!(asides(&world), []);
        assert_eq!(world.conversation().to_remember, 0);
    }
    let mut world = World::default();
    parked(&mut world);
    world.claim("c1");
    world.does("c1", Command::Finish { step: step(), ending: ending(Outcome::Success) }).unwrap();
    assert_eq!(asides(&world), [], "a child is no conversation");
}

#[test]
fn that_somebody_looked_is_noted_and_shows_nowhere() {
    let mut world = World::default();
    ends(&mut world, "a", Outcome::Success);
    let (aside, before) = (asides(&world).remove(0), world.conversation().clone());
    let told = world.told.len();
    claim(&mut world, &aside);
    does(&mut world, &aside, Command::Finish { step: Step::default(), ending: ending(Outcome::Success) });
    let after = world.conversation().clone();
    assert_eq!((after.remembered, after.revision), (1, before.revision + 1));
    let unseen = Conversation { remembered: before.remembered, revision: before.revision, ..after };
    assert_eq!(unseen, before);
    assert_eq!(world.told.len(), told, "it tells nothing");
    assert_eq!(asides(&world).len(), 1, "and begins nothing");
    assert_eq!(world.runs[&aside].durable.due, None);
}

#[test]
fn who_did_not_look_leaves_it_to_the_next() {
    for outcome in [Outcome::Error, Outcome::Interrupted, Outcome::Timeout] {
        let mut world = World::default();
        ends(&mut world, "a", Outcome::Success);
        let aside = asides(&world).remove(0);
        claim(&mut world, &aside);
        does(&mut world, &aside, Command::Finish { step: Step::default(), ending: ending(outcome) });
        assert_eq!((world.conversation().to_remember, world.conversation().remembered), (1, 0));
    }
}

#[test]
fn an_earlier_look_takes_nothing_back() {
    let mut world = World::default();
    ends(&mut world, "a", Outcome::Success);
    let first = asides(&world).remove(0);
    ends(&mut world, "b", Outcome::Success);
    let second = asides(&world).into_iter().find(|id| *id != first).unwrap();
    for aside in [&second, &first] {
        claim(&mut world, aside);
        does(&mut world, aside, Command::Finish { step: Step::default(), ending: ending(Outcome::Success) });
        assert_eq!(world.conversation().remembered, 2);
    }
}

#[test]
fn a_look_can_be_ended_by_anybody() {
    let mut world = World::default();
    ends(&mut world, "a", Outcome::Success);
    let aside = asides(&world).remove(0);
    does(&mut world, &aside, Command::Cancel(Ending::new(Outcome::Interrupted, None)));
    assert!(world.runs[&aside].end().is_some());
    assert_eq!(world.conversation().remembered, 0);
}

#[test]
fn a_run_that_was_taken_back_says_so_in_its_record() {
    let mut world = World::default();
    world.admit("a", Strategy::Reject).unwrap();
    world.admit("b", Strategy::Rollback).unwrap();
    let record = world.told.iter().find_map(|told| match &told.notice {
        Notice::Record { event_type, metadata, .. } if event_type == "run.end" => Some(metadata.clone()),
        _ => None,
    });
    assert_eq!(record, Some(json!({"rolled_back": true})));
}
