//! Runs: the verbs that their cases are told in, how they begin, and who may claim them.

mod lists;
mod states;
mod steps;
mod told;

use std::time::Duration;

use futures_util::future::join_all;
use pudu_app::ports::{Applied, ItemKey, StoreError};
use pudu_domain::run::{
    Admission, Change, Command, Ending, Notice, Outcome, Phase, Refused, Seen, Step, Strategy, admit, decide,
};
use pudu_domain::{
    Conversation, IdempotencyKey, Lane, Policy, Run, RunId, RunKey, RunSpec, ThreadKey, Timestamp,
};
use serde_json::{Map, json};

use super::life::fail;
use super::{Case, World, cases, eventually};
use crate::clock::EPOCH;
use crate::fixture::{LEASE, lease, thread, thread_of};

pub(super) use lists::CASES as LISTS;
pub(super) use states::CASES as STATES;
pub(super) use steps::CASES as STEPS;
pub(super) use told::CASES as TOLD;

pub(super) const CASES: &[Case] = cases![
    a_run_is_admitted_with_its_thread_its_spec_and_its_conversation,
    an_admission_under_a_tombstone_leaves_nothing,
    a_key_stands_for_one_run_of_its_user,
    a_key_is_free_again_when_its_time_is_over,
    of_many_admissions_one_wins,
    a_second_run_takes_the_first_ones_place,
    a_run_that_waits_has_its_turn,
    what_was_read_must_still_be_there,
    one_of_many_claims_of_a_run_wins,
    a_run_is_claimed_only_when_it_is_due_and_free,
    a_run_is_in_its_lane_as_long_as_somebody_is_to_work_on_it,
    a_run_that_does_not_decode_leaves_its_lane_at_the_first_claim,
];

/// What was read beside a run.
#[derive(Default)]
struct Looked {
    conversation: Option<Conversation>,
    active: Option<Run>,
    next: Option<Run>,
    parent: Option<Run>,
}

impl Looked {
    const fn seen(&self) -> Seen<'_> {
        Seen {
            conversation: self.conversation.as_ref(),
            active: self.active.as_ref(),
            next: self.next.as_ref(),
            parent: self.parent.as_ref(),
            base: None,
        }
    }
}

/// A run of the thread `t1` that was made so many seconds after the beginning.
fn run_key(second: u64) -> RunKey {
    run_in(&thread("t1"), second)
}

fn run_in(thread: &ThreadKey, second: u64) -> RunKey {
    RunKey { thread: thread.clone(), id: RunId::new(EPOCH + Duration::from_secs(second), [7; 10]) }
}

fn spec(strategy: Strategy) -> RunSpec {
    let metadata = Map::from_iter([("source".to_owned(), json!("a case"))]);
    RunSpec { metadata, strategy, ..RunSpec::of("lead_agent") }
}

fn wanted(key: &RunKey, strategy: Strategy) -> Admission {
    let spec = spec(strategy);
    Admission { thread: key.thread.clone(), run: key.id.clone(), spec, secrets: None, key: None }
}

/// The same by a caller who may repeat it.
fn keyed(key: &RunKey, text: &str) -> Admission {
    let name = IdempotencyKey::parse(text.to_owned()).unwrap_or_else(|e| fail(&e));
    let mut admission = wanted(key, Strategy::Reject);
    admission.spec.key = Some(name.digest());
    admission.key = Some((name, format!("request of {text}")));
    admission
}

fn frame(text: &str) -> Notice {
    Notice::Frame { event: "messages".into(), data: json!({ "text": text }) }
}

fn record(text: &str) -> Notice {
    Notice::Record {
        event_type: "llm.ai.response".into(),
        category: "message".into(),
        content: json!({ "text": text }),
        metadata: json!({}),
    }
}

fn telling(notices: Vec<Notice>) -> Step {
    Step { notices, ..Step::default() }
}

fn well() -> Ending {
    Ending::new(Outcome::Success, None)
}

impl World {
    async fn run(&self, key: &RunKey) -> Run {
        self.found_run(key).await.unwrap_or_else(|| fail(&"no such run"))
    }

    async fn found_run(&self, key: &RunKey) -> Option<Run> {
        self.runs.load(key).await.unwrap_or_else(|e| fail(&e))
    }

    async fn conversation(&self, thread: &ThreadKey) -> Option<Conversation> {
        self.runs.conversation(thread).await.unwrap_or_else(|e| fail(&e))
    }

    async fn talk(&self) -> Conversation {
        self.conversation(&thread("t1")).await.unwrap_or_else(|| fail(&"no conversation"))
    }

    async fn apply(&self, change: &Change) -> Applied {
        self.runs.commit(change).await.unwrap_or_else(|e| fail(&e))
    }

    /// Everything that a decision about `run` may have to see, as it is now.
    async fn look(&self, thread: &ThreadKey, run: Option<&Run>) -> Looked {
        let conversation = self.conversation(thread).await;
        let named = async |id: Option<&RunId>| match id {
            Some(id) => self.found_run(&RunKey { thread: thread.clone(), id: id.clone() }).await,
            None => None,
        };
        let parent = run.and_then(|run| match &run.origin {
            pudu_domain::run::Origin::Child { parent, .. } => Some(parent),
            pudu_domain::run::Origin::Lead | pudu_domain::run::Origin::Aside => None,
        });
        Looked {
            active: named(conversation.as_ref().and_then(|it| it.active.as_ref())).await,
            next: named(conversation.as_ref().and_then(|it| it.queue.first())).await,
            parent: named(parent).await,
            conversation,
        }
    }

    async fn admission(&self, wanted: Admission) -> Result<Change, Refused> {
        let looked = self.look(&wanted.thread.clone(), None).await;
        admit(wanted, &looked.seen(), self.now(), &Policy::default())
    }

    async fn admit(&self, wanted: Admission) -> Applied {
        let change = self.admission(wanted).await.unwrap_or_else(|e| fail(&e));
        self.apply(&change).await
    }

    /// A run that was admitted; the row as it was written.
    async fn admitted(&self, key: &RunKey) -> Run {
        assert_eq!(self.admit(wanted(key, Strategy::Reject)).await, Applied::Done);
        self.run(key).await
    }

    async fn claim_run(&self, key: &RunKey, owner: &str) -> Option<Run> {
        self.runs.claim(key, lease(owner, self.now())).await.unwrap_or_else(|e| fail(&e))
    }

    async fn claimed_run(&self, key: &RunKey, owner: &str) -> Run {
        self.claim_run(key, owner).await.unwrap_or_else(|| fail(&"the claim of the run was refused"))
    }

    /// A run that somebody works on.
    async fn working(&self, key: &RunKey) -> Run {
        self.admitted(key).await;
        self.claimed_run(key, "agent").await
    }

    async fn decided_run(&self, run: &Run, command: Command) -> Change {
        let looked = self.look(&run.key.thread, Some(run)).await;
        decide(run, command, &looked.seen(), self.now(), &Policy::default()).unwrap_or_else(|e| fail(&e))
    }

    /// What `command` makes of the run, written; the row as it then is.
    async fn does(&self, run: &Run, command: Command) -> Run {
        let change = self.decided_run(run, command).await;
        assert_eq!(self.apply(&change).await, Applied::Done);
        let stored = self.run(&run.key).await;
        assert_eq!(stored, change.run.run, "what is read is what was written");
        stored
    }

    /// A step that keeps the run for another lease.
    async fn advance(&self, run: &Run, step: Step) -> Run {
        self.does(run, Command::Advance { step, lease: self.now() + LEASE }).await
    }

    async fn run_ends(&self, run: &Run) -> Run {
        self.does(run, Command::Finish { step: Step::default(), ending: well() }).await
    }

    async fn by_key(&self, thread: &ThreadKey, text: &str) -> Option<(RunKey, String)> {
        let key = IdempotencyKey::parse(text.to_owned()).unwrap_or_else(|e| fail(&e));
        self.runs.by_key(&thread.user, &key.digest()).await.unwrap_or_else(|e| fail(&e))
    }

    async fn spec_of(&self, key: &RunKey) -> Option<RunSpec> {
        self.runs.spec(key).await.unwrap_or_else(|e| fail(&e))
    }

    async fn secrets_of(&self, key: &RunKey) -> Option<String> {
        self.runs.secrets(key).await.unwrap_or_else(|e| fail(&e))
    }
}

async fn a_run_is_admitted_with_its_thread_its_spec_and_its_conversation(world: World) {
    let key = run_key(1);
    assert_eq!((world.found_run(&key).await, world.spec_of(&key).await), (None, None));
    let mut admission = wanted(&key, Strategy::Reject);
    admission.secrets = Some("sealed:v1:00".into());
    admission.spec.secrets = true;
    let change = world.admission(admission.clone()).await.unwrap_or_else(|e| fail(&e));
    assert_eq!(world.apply(&change).await, Applied::Done);
    assert_eq!(world.run(&key).await, change.run.run);
    assert_eq!(world.spec_of(&key).await, Some(admission.spec));
    assert_eq!(world.secrets_of(&key).await.as_deref(), Some("sealed:v1:00"));
    let kept = change.conversation.unwrap_or_else(|| fail(&"an admission writes the conversation"));
    assert_eq!(world.talk().await, kept.conversation);
    let row = world.threads.load(&thread("t1")).await.unwrap_or_else(|e| fail(&e));
    assert_eq!(row.map(|thread| thread.is_going()), Some(false), "the thread is there from now on");
    assert_eq!(world.found_run(&run_in(&thread("t2"), 1)).await, None);
}

async fn an_admission_under_a_tombstone_leaves_nothing(world: World) {
    let first = world.working(&run_key(1)).await;
    world.entombed(&thread("t1")).await;
    let second = run_key(2);
    let before = world.talk().await;
    let change = world.admission(wanted(&second, Strategy::Enqueue)).await.unwrap_or_else(|e| fail(&e));
    assert_eq!(world.apply(&change).await, Applied::ThreadGone);
    assert_eq!((world.found_run(&second).await, world.spec_of(&second).await), (None, None));
    assert_eq!(world.talk().await, before);
    world.run_ends(&first).await;
    assert_eq!(world.admit(wanted(&run_in(&thread("t2"), 3), Strategy::Reject)).await, Applied::Done);
}

async fn a_key_stands_for_one_run_of_its_user(world: World) {
    let first = run_key(1);
    assert_eq!(world.admit(keyed(&first, "k")).await, Applied::Done);
    assert_eq!(world.by_key(&first.thread, "k").await, Some((first.clone(), "request of k".into())));
    assert_eq!(world.by_key(&first.thread, "other").await, None);
    let elsewhere = run_in(&thread("t2"), 2);
    let taken = Applied::KeyTaken { run: first.clone(), request: "request of k".into() };
    assert_eq!(world.admit(keyed(&elsewhere, "k")).await, taken, "it is the user's, in every thread");
    assert_eq!(world.found_run(&elsewhere).await, None);
    assert_eq!(world.conversation(&elsewhere.thread).await, None);
    let foreign = run_in(&thread_of("local:other", "t1"), 3);
    assert_eq!(world.by_key(&foreign.thread, "k").await, None);
    assert_eq!(world.admit(keyed(&foreign, "k")).await, Applied::Done);
}

async fn a_key_is_free_again_when_its_time_is_over(world: World) {
    let first = run_key(1);
    assert_eq!(world.admit(keyed(&first, "k")).await, Applied::Done);
    let first = world.claimed_run(&first, "agent").await;
    world.run_ends(&first).await;
    let kept = Policy::default().retention;
    world.clock.set(EPOCH + kept.saturating_sub(Duration::from_secs(2)));
    assert!(world.by_key(&first.key.thread, "k").await.is_some());
    world.clock.set(EPOCH + kept + Duration::from_secs(2));
    assert_eq!(world.by_key(&first.key.thread, "k").await, None);
    let second = run_key(2);
    assert_eq!(world.admit(keyed(&second, "k")).await, Applied::Done);
    assert_eq!(world.by_key(&second.thread, "k").await.map(|(run, _)| run), Some(second));
}

async fn of_many_admissions_one_wins(world: World) {
    let mut changes = Vec::new();
    for second in 1..=8 {
        let change = world.admission(wanted(&run_key(second), Strategy::Reject)).await;
        changes.push(change.unwrap_or_else(|e| fail(&e)));
    }
    let outcomes = join_all(changes.iter().map(|change| world.apply(change))).await;
    let won = outcomes.iter().filter(|outcome| **outcome == Applied::Done).count();
    let moved = outcomes.iter().filter(|outcome| **outcome == Applied::Moved).count();
    assert_eq!((won, moved), (1, 7), "{outcomes:?}");
    let active = world.talk().await.active.unwrap_or_else(|| fail(&"nobody is active"));
    for second in 1..=8 {
        let there = world.found_run(&run_key(second)).await.is_some();
        assert_eq!(there, active == run_key(second).id, "{second}");
    }
    assert_eq!(world.admission(wanted(&run_key(9), Strategy::Reject)).await, Err(Refused::Busy));
}

async fn a_second_run_takes_the_first_ones_place(world: World) {
    let mut admission = wanted(&run_key(1), Strategy::Reject);
    admission.secrets = Some("sealed:v1:00".into());
    assert_eq!(world.admit(admission).await, Applied::Done);
    let first = world.claimed_run(&run_key(1), "agent").await;
    world.at(1000);
    let late = world.decided_run(&first, Command::Finish { step: Step::default(), ending: well() }).await;
    assert_eq!(world.admit(wanted(&run_key(2), Strategy::Interrupt)).await, Applied::Done);
    let ended = world.run(&first.key).await;
    assert_eq!(ended.end().map(|end| end.outcome), Some(Outcome::Interrupted));
    assert_eq!((world.talk().await.active, world.talk().await.runs), (Some(run_key(2).id), 2));
    assert_eq!(world.secrets_of(&first.key).await, None, "they go with the run that had them");
    assert_eq!(world.apply(&late).await, Applied::Lost, "its holder was fenced");
    assert_eq!(world.run(&first.key).await, ended);
}

async fn a_run_that_waits_has_its_turn(world: World) {
    let first = world.working(&run_key(1)).await;
    assert_eq!(world.admit(wanted(&run_key(2), Strategy::Enqueue)).await, Applied::Done);
    assert_eq!(world.run(&run_key(2)).await.phase, Phase::Queued);
    assert_eq!(world.claim_run(&run_key(2), "early").await, None);
    world.run_ends(&first).await;
    let talk = world.talk().await;
    assert_eq!((talk.active, talk.queue), (Some(run_key(2).id), vec![]));
    world.claimed_run(&run_key(2), "agent").await;
}

/// The run that has its turn next was claimed, cancelled or anything else since it was read.
async fn what_was_read_must_still_be_there(world: World) {
    let first = world.working(&run_key(1)).await;
    assert_eq!(world.admit(wanted(&run_key(2), Strategy::Enqueue)).await, Applied::Done);
    let ends = world.decided_run(&first, Command::Finish { step: telling(vec![frame("x")]), ending: well() });
    let ends = ends.await;
    let second = world.run(&run_key(2)).await;
    world.does(&second, Command::Relay(vec![frame("y")])).await;
    assert_eq!(world.apply(&ends).await, Applied::Moved);
    assert_eq!(world.run(&first.key).await, first, "nothing was written");
    world.run_ends(&first).await;
    assert_eq!(world.talk().await.active, Some(second.key.id));
}

async fn one_of_many_claims_of_a_run_wins(world: World) {
    world.admitted(&run_key(1)).await;
    let owners: Vec<String> = (0..16).map(|n| format!("a{n}")).collect();
    let key = run_key(1);
    let claims = join_all(owners.iter().map(|owner| world.claim_run(&key, owner))).await;
    let won: Vec<&Run> = claims.iter().flatten().collect();
    assert_eq!(won.len(), 1);
    assert_eq!(Some(&world.run(&run_key(1)).await), won.first().copied());
}

async fn a_run_is_claimed_only_when_it_is_due_and_free(world: World) {
    assert_eq!(world.claim_run(&run_key(1), "agent").await, None, "there is none");
    let admitted = world.admitted(&run_key(1)).await;
    let held = world.claimed_run(&run_key(1), "agent").await;
    assert_eq!(held.durable.generation, admitted.durable.generation.next());
    world.clock.set(EPOCH + LEASE);
    assert_eq!(world.claim_run(&run_key(1), "other").await, None, "a lease counts at its last moment");
    world.clock.set(EPOCH + LEASE + Duration::from_millis(1));
    let second = world.claimed_run(&run_key(1), "other").await;
    let until = world.now() + Duration::from_secs(60);
    let parked = world.does(&second, Command::Park { step: Step::default(), children: vec![], until }).await;
    assert_eq!(world.claim_run(&run_key(1), "agent").await, None, "it waits for its time");
    world.clock.set(until);
    let third = world.claimed_run(&run_key(1), "agent").await;
    assert_eq!(third.durable.generation, parked.durable.generation.next());
    let handed = world.does(&third, Command::HandOver).await;
    assert_eq!(handed.durable.lease, None);
    let last = world.claimed_run(&run_key(1), "another").await;
    world.run_ends(&last).await;
    assert_eq!(world.claim_run(&run_key(1), "agent").await, None, "it has ended");
}

async fn lane(world: &World, lane: Lane) -> Vec<(ItemKey, Timestamp)> {
    let mut found = Vec::new();
    for shard in 0..pudu_app::ports::SHARDS {
        let until = Timestamp::from_millis(u64::MAX / 1_000_000);
        let page = world.due.due(lane, shard, until, 100, None).await.unwrap_or_else(|e| fail(&e));
        found.extend(page.hints.into_iter().map(|hint| (hint.key, hint.due_at)));
    }
    found
}

async fn a_run_is_in_its_lane_as_long_as_somebody_is_to_work_on_it(world: World) {
    world.admitted(&run_key(1)).await;
    let waits = vec![(ItemKey::Run(run_key(1)), world.now())];
    eventually(waits.clone(), || lane(&world, Lane::Run)).await;
    let held = world.claimed_run(&run_key(1), "agent").await;
    let held = world.advance(&held, telling(vec![frame("x")])).await;
    eventually(waits, || lane(&world, Lane::Run)).await;
    world.run_ends(&held).await;
    eventually(vec![], || lane(&world, Lane::Run)).await;
}

async fn a_run_that_does_not_decode_leaves_its_lane_at_the_first_claim(world: World) {
    let Some(vandal) = &world.vandal else { return };
    world.admitted(&run_key(1)).await;
    vandal.break_run(&run_key(1)).await;
    let corrupt = |answer: &Result<Option<Run>, StoreError>| {
        assert!(matches!(answer, Err(StoreError::Corrupt { .. })), "{answer:?}");
    };
    corrupt(&world.runs.load(&run_key(1)).await);
    corrupt(&world.runs.claim(&run_key(1), lease("agent", world.now())).await);
    eventually(vec![], || lane(&world, Lane::Run)).await;
    eventually(vec![(ItemKey::Run(run_key(1)), world.now())], || lane(&world, Lane::Corrupt)).await;
    assert_eq!(world.claim_run(&run_key(1), "other").await, None, "nobody tries it again");
    assert_eq!(world.listed_runs(10, None).await, [], "and it hides no other");
}
