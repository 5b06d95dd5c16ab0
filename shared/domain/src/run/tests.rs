mod aside;
mod stands;
mod stored;

use serde_json::json;

use super::*;
use crate::conversation::{Conversation, QUEUE, Status};
use crate::durable::{Due, Lane, Lease, Owner};
use crate::ids::{ThreadId, UserId};
use crate::policy::Policy;
use crate::principal::Scope;

const NOW: Timestamp = Timestamp::from_millis(1_000_000);

fn thread() -> ThreadKey {
    ThreadKey { user: UserId::parse("local:default").unwrap(), thread: ThreadId::parse("t").unwrap() }
}

fn id(id: &str) -> RunId {
    RunId::parse(id).unwrap()
}

fn spec(strategy: Strategy) -> RunSpec {
    RunSpec { strategy, ..RunSpec::of("lead_agent") }
}

fn wanted(name: &str, strategy: Strategy) -> Admission {
    Admission { thread: thread(), run: id(name), spec: spec(strategy), secrets: None, key: None }
}

/// A table of one thread.
#[derive(Default)]
struct World {
    conversation: Option<Conversation>,
    runs: std::collections::BTreeMap<RunId, Run>,
    told: Vec<Told>,
}

impl World {
    fn keep(&mut self, change: Change) {
        for written in std::iter::once(change.run).chain(change.others) {
            let stored = self.runs.get(&written.run.key.id).map(|run| &run.durable);
            assert!(written.expect.holds(stored, NOW), "{:?} of {:?}", written.expect, written.run.key.id);
            self.runs.insert(written.run.key.id.clone(), written.run);
        }
        if let Some(kept) = change.conversation {
            assert_eq!(self.conversation.as_ref().map(|old| old.revision), kept.expect);
            self.conversation = Some(kept.conversation);
        }
        self.told.extend(change.told);
    }

    fn run(&self, name: &str) -> &Run {
        &self.runs[&id(name)]
    }

    fn named(&self, run: Option<&RunId>) -> Option<&Run> {
        self.runs.get(run?)
    }

    fn seen(&self, run: Option<&Run>) -> Seen<'_> {
        let conversation = self.conversation.as_ref();
        let parent = run.and_then(|run| match &run.origin {
            Origin::Child { parent, .. } => self.runs.get(parent),
            Origin::Lead | Origin::Aside => None,
        });
        Seen {
            conversation,
            active: self.named(conversation.and_then(|conversation| conversation.active.as_ref())),
            next: self.named(conversation.and_then(|conversation| conversation.queue.first())),
            parent,
            base: None,
        }
    }

    fn admit(&mut self, name: &str, strategy: Strategy) -> Result<(), Refused> {
        self.take(wanted(name, strategy))
    }

    fn take(&mut self, wanted: Admission) -> Result<(), Refused> {
        let change = admit(wanted, &self.seen(None), NOW, &Policy::default())?;
        self.keep(change);
        Ok(())
    }

    fn claim(&mut self, name: &str) {
        let run = self.runs.get_mut(&id(name)).unwrap();
        assert!(run.durable.claimable(Lane::Run, NOW), "{name}");
        let lease = Lease { owner: Owner::new("w", 1), until: NOW };
        run.durable = run.durable.claimed(lease);
    }

    fn does(&mut self, name: &str, command: Command) -> Result<(), Rejected> {
        let run = self.run(name).clone();
        let change = decide(&run, command, &self.seen(Some(&run)), NOW, &Policy::default())?;
        self.keep(change);
        Ok(())
    }

    fn conversation(&self) -> &Conversation {
        self.conversation.as_ref().unwrap()
    }

    fn frames(&self, name: &str) -> Vec<String> {
        let told = self.told.iter().filter(|told| told.run.id == id(name));
        told.filter_map(|told| match &told.notice {
            Notice::Frame { event, .. } => Some(event.clone()),
            _ => None,
        })
        .collect()
    }
}

fn step() -> Step {
    Step {
        body: Some(Body::Delta(vec![])),
        notices: vec![Notice::Values { number: 0, behind: None }],
        ..Step::default()
    }
}

fn advance() -> Command {
    Command::Advance { step: step(), lease: NOW }
}

fn finish(outcome: Outcome) -> Command {
    Command::Finish { step: step(), ending: Ending::new(outcome, None) }
}

#[test]
fn vector_13_a_second_run_is_refused() {
    let mut world = World::default();
    world.admit("a", Strategy::Reject).unwrap();
    let before = world.conversation().clone();
    let refused = world.admit("b", Strategy::Reject).unwrap_err();
    assert_eq!(refused, Refused::Busy);
    assert!(refused.to_string().contains("already has an active run"));
    assert_eq!(*world.conversation(), before);
}

#[test]
fn vector_14_a_second_run_interrupts_the_first_and_what_that_did_stays() {
    let mut world = World::default();
    world.admit("a", Strategy::Reject).unwrap();
    world.claim("a");
    world.does("a", advance()).unwrap();
    world.admit("b", Strategy::Interrupt).unwrap();
    assert_eq!((world.run("a").phase.status(), world.run("b").phase.status()), ("interrupted", "pending"));
    assert_eq!(world.conversation().head, Some(Head { run: id("a"), number: 0 }));
    assert_eq!(world.conversation().active, Some(id("b")));
    assert_eq!(world.frames("a"), ["end"]);
    assert_eq!(world.does("a", advance()), Err(Rejected::Ended), "its holder is too late");
}

#[test]
fn a_run_that_is_replaced_is_kept_for_as_long_as_the_operator_says() {
    let mut world = World::default();
    world.admit("a", Strategy::Reject).unwrap();
    let wanted = wanted("b", Strategy::Interrupt);
    let policy = Policy { retention: std::time::Duration::from_secs(7), ..Policy::default() };
    let change = admit(wanted, &world.seen(None), NOW, &policy).unwrap();
    assert_eq!(change.others[0].expires, Some(NOW + policy.retention));
    assert_eq!(change.kept_until, NOW + policy.retention);
}

#[test]
fn vector_15_a_second_run_rolls_the_first_back() {
    let mut world = World::default();
    world.admit("a", Strategy::Reject).unwrap();
    world.claim("a");
    world.does("a", finish(Outcome::Success)).unwrap();
    world.admit("b", Strategy::Reject).unwrap();
    world.claim("b");
    world.does("b", advance()).unwrap();
    world.admit("c", Strategy::Rollback).unwrap();
    assert_eq!(world.run("b").phase.status(), "interrupted");
    assert_eq!(world.conversation().head, Some(Head { run: id("a"), number: 0 }), "as before b");
}

#[test]
fn runs_that_wait_have_their_turn_in_order_and_a_queue_ends() {
    let mut world = World::default();
    world.admit("a", Strategy::Enqueue).unwrap();
    for n in 0..QUEUE {
        world.admit(&format!("q{n}"), Strategy::Enqueue).unwrap();
    }
    assert_eq!(world.admit("more", Strategy::Enqueue), Err(Refused::QueueFull));
    assert!(world.run("q0").durable.due.is_none(), "nobody works on what waits for its turn");
    world.does("q1", Command::Cancel(Ending::new(Outcome::Interrupted, None))).unwrap();
    assert_eq!(world.conversation().active, Some(id("a")), "one that waited is only taken out");
    world.claim("a");
    world.does("a", finish(Outcome::Success)).unwrap();
    assert_eq!(world.conversation().active, Some(id("q0")));
    assert_eq!(world.conversation().status, Status::Busy);
    world.claim("q0");
    world.does("q0", finish(Outcome::Error)).unwrap();
    assert_eq!(world.conversation().active, Some(id("q2")));
    assert_eq!(world.frames("q0"), ["error", "end"]);
}

#[test]
fn vector_19_a_run_that_was_cancelled_before_it_began_never_runs_and_frees_the_thread() {
    let mut world = World::default();
    world.admit("a", Strategy::Reject).unwrap();
    world.does("a", Command::Cancel(Ending::new(Outcome::Interrupted, None))).unwrap();
    let run = world.run("a");
    assert_eq!((run.phase.status(), run.durable.due), ("interrupted", None));
    assert_eq!(
        (world.conversation().active.as_ref(), world.conversation().status),
        (None, Status::Interrupted)
    );
    world.admit("b", Strategy::Reject).unwrap();
}

#[test]
fn a_cancel_fences_whoever_works_and_a_repeat_is_refused() {
    let mut world = World::default();
    world.admit("a", Strategy::Reject).unwrap();
    world.claim("a");
    let held = world.run("a").clone();
    let rolled_back =
        Ending { rolled_back: true, ..Ending::new(Outcome::Error, Some("rolled back by user")) };
    world.does("a", Command::Cancel(rolled_back.clone())).unwrap();
    assert!(!held.durable.held().holds(Some(&world.run("a").durable), NOW));
    assert_eq!(world.conversation().head, None);
    assert_eq!(world.does("a", Command::Cancel(rolled_back)), Err(Rejected::Ended));
}

#[test]
fn steps_are_numbered_and_their_holder_keeps_the_run() {
    let mut world = World::default();
    world.admit("a", Strategy::Reject).unwrap();
    assert_eq!(world.does("a", advance()), Err(Rejected::NotHeld));
    world.claim("a");
    for n in 1..=3 {
        world.does("a", advance()).unwrap();
        assert_eq!((world.run("a").checkpoints, world.run("a").told), (n, u64::from(n)));
        assert_eq!(world.run("a").attempts(), 0);
    }
    assert_eq!(world.told.iter().map(|told| told.seq).collect::<Vec<_>>(), [1, 2, 3]);
    world.does("a", Command::HandOver).unwrap();
    let run = world.run("a");
    assert_eq!((run.phase.status(), run.durable.due.map(|due| due.at)), ("running", Some(NOW)));
    world.claim("a");
    assert_eq!(world.run("a").attempts(), 1, "a claim in which nothing was done yet");
}

fn parked(world: &mut World) {
    world.admit("a", Strategy::Reject).unwrap();
    world.claim("a");
    let child = |name: &str| Child {
        run: id(name),
        call: format!("call-{name}"),
        spec: RunSpec {
            subagent: Some(Subagent {
                name: "bash".into(),
                description: "look".into(),
                max_turns: 60,
                token_budget: 1000,
                instructions: "Run commands.".into(),
                tools: Some(vec!["bash".into()]),
                without: vec!["task".into()],
            }),
            ..spec(Strategy::Reject)
        },
        until: NOW,
    };
    let children = vec![child("c1"), child("c2")];
    world
        .does("a", Command::Park { step: step(), children, until: Timestamp::from_millis(2_000_000) })
        .unwrap();
}

#[test]
fn a_parent_is_parked_until_its_last_child_has_ended() {
    let mut world = World::default();
    parked(&mut world);
    let parent = world.run("a");
    assert_eq!(
        (parent.phase.status(), parent.children, parent.durable.lease.is_none()),
        ("running", 2, true)
    );
    assert!(!parent.durable.claimable(Lane::Run, NOW));
    world.claim("c1");
    let told = Step { to_parent: vec![Notice::Values { number: 0, behind: None }], ..step() };
    world.does("c1", Command::Advance { step: told.clone(), lease: NOW }).unwrap();
    assert_eq!(world.run("a").told, 2, "the parent's numbers are one sequence, whoever speaks");
    world.does("c1", Command::Finish { step: told, ending: Ending::new(Outcome::Success, None) }).unwrap();
    assert!(!world.run("a").durable.claimable(Lane::Run, NOW), "one is at work");
    assert_eq!(world.conversation().active, Some(id("a")), "a child has no thread");
    world.does("c2", Command::Cancel(Ending::new(Outcome::Interrupted, None))).unwrap();
    assert_eq!(world.run("a").durable.due, Some(Due { lane: Lane::Run, at: NOW }));
    world.claim("a");
    world.does("a", advance()).unwrap();
    assert_eq!(world.run("a").children, 2);
}

#[test]
fn a_child_has_no_records_but_those_that_it_tells_in_its_parents_name() {
    let mut world = World::default();
    parked(&mut world);
    world.claim("c1");
    let record = || Notice::Record {
        event_type: "llm.ai.response".to_owned(),
        category: "message".to_owned(),
        content: json!({}),
        metadata: json!({}),
    };
    let (parent, before) = (id("a"), world.told.len());
    let step = Step { notices: vec![record()], to_parent: vec![record()], ..step() };
    world.does("c1", Command::Finish { step, ending: Ending::new(Outcome::Success, None) }).unwrap();
    let records = world.told[before..].iter().filter(|told| matches!(told.notice, Notice::Record { .. }));
    let whose: Vec<(&RunId, u64)> = records.map(|told| (&told.run.id, told.seq)).collect();
    assert_eq!(whose, [(&parent, world.run("a").told)]);
}

#[test]
fn a_child_of_a_parent_that_has_ended_reports_to_nobody() {
    let mut world = World::default();
    parked(&mut world);
    world.does("a", Command::Cancel(Ending::new(Outcome::Interrupted, None))).unwrap();
    let before = world.run("a").clone();
    world.claim("c1");
    let told = Step { to_parent: vec![Notice::Values { number: 0, behind: None }], ..step() };
    world
        .does("c1", Command::Finish { step: told, ending: Ending::new(Outcome::Interrupted, None) })
        .unwrap();
    assert_eq!(*world.run("a"), before);
}

#[test]
fn the_first_checkpoint_of_a_run_says_where_the_conversation_stood() {
    let mut world = World::default();
    let begin = |world: &mut World, name: &str| {
        world.admit(name, Strategy::Reject).unwrap();
        world.claim(name);
        let run = world.run(name).clone();
        let change = decide(&run, advance(), &world.seen(Some(&run)), NOW, &Policy::default()).unwrap();
        let parent = change.checkpoint.clone().unwrap().parent;
        world.keep(change);
        parent
    };
    assert_eq!(begin(&mut world, "a"), None);
    world.does("a", finish(Outcome::Success)).unwrap();
    assert_eq!(begin(&mut world, "b"), Some(Head { run: id("a"), number: 1 }));
    let base = Head { run: id("a"), number: 0 };
    world.does("b", finish(Outcome::Success)).unwrap();
    world.admit("c", Strategy::Reject).unwrap();
    world.claim("c");
    let run = world.run("c").clone();
    let seen = Seen { base: Some(&base), ..world.seen(Some(&run)) };
    let change = decide(&run, advance(), &seen, NOW, &Policy::default()).unwrap();
    assert_eq!(change.checkpoint.clone().unwrap().parent, Some(base), "it begins from where it was told to");
    world.keep(change);
    let run = world.run("c").clone();
    let second = decide(&run, advance(), &world.seen(Some(&run)), NOW, &Policy::default()).unwrap();
    assert_eq!(second.checkpoint.unwrap().parent, None, "it follows the one before");
}

#[test]
fn a_wait_for_time_is_a_wait_for_nobody() {
    let mut world = World::default();
    world.admit("a", Strategy::Reject).unwrap();
    world.claim("a");
    world.does("a", Command::Park { step: Step::default(), children: vec![], until: NOW }).unwrap();
    world.claim("a");
    assert_eq!(world.run("a").attempts(), 2, "a wait is no progress");
    world.does("a", Command::Wait { until: NOW }).unwrap();
    world.claim("a");
    assert_eq!(world.run("a").attempts(), 1, "but one that is no fault of the run's is no failure");
}

#[test]
fn what_is_told_beside_the_holder_is_found_by_him() {
    let mut world = World::default();
    world.admit("a", Strategy::Reject).unwrap();
    world.claim("a");
    let held = world.run("a").clone();
    world.does("a", Command::Relay(vec![Notice::Values { number: 0, behind: None }])).unwrap();
    let stored = &world.run("a").durable;
    assert!(!held.durable.held().holds(Some(stored), NOW));
    assert_eq!(held.durable.held().judge(Some(stored), false, NOW), crate::Verdict::Woken);
}

#[test]
fn the_end_says_how_and_why() {
    let mut world = World::default();
    world.admit("a", Strategy::Reject).unwrap();
    world.claim("a");
    let ending = Ending {
        stop_reason: Some(StopReason::LoopCapped),
        title: Some("A talk".into()),
        ..Ending::new(Outcome::Success, None)
    };
    world.does("a", Command::Finish { step: step(), ending }).unwrap();
    let data = world.told.iter().rev().find_map(|told| match &told.notice {
        Notice::Frame { event, data } if event == "end" => Some(data.clone()),
        _ => None,
    });
    assert_eq!(data, Some(json!({"status": "success", "stop_reason": "loop_capped", "error": null})));
    assert_eq!(world.conversation().title.as_deref(), Some("A talk"));
    assert_eq!(world.conversation().status, Status::Idle);
}

/// A state of the table that nobody has is not decided upon.
#[test]
fn what_was_not_read_is_read_again() {
    let mut world = World::default();
    world.admit("a", Strategy::Reject).unwrap();
    let wanted = wanted("b", Strategy::Interrupt);
    let seen = Seen { active: None, ..world.seen(None) };
    assert_eq!(admit(wanted, &seen, NOW, &Policy::default()), Err(Refused::Stale));
    world.claim("a");
    let run = world.run("a").clone();
    let blind = Seen::default();
    assert_eq!(decide(&run, finish(Outcome::Success), &blind, NOW, &Policy::default()), Err(Rejected::Stale));
}
