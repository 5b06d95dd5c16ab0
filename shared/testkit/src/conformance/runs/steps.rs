//! Steps: commits that keep the lease, and everything that goes with them or is left out with them.

use std::time::Duration;

use pudu_app::ports::{Applied, ConversationKept};
use pudu_domain::run::{Body, Change, Child, Command, Ending, Outcome, Phase, Step, Strategy, Totals};
use pudu_domain::state::Write;
use pudu_domain::{Conversation, Policy, Run, RunKey};

use super::super::life::fail;
use super::{Case, World, cases, frame, record, run_key, spec, telling, wanted, well};
use crate::clock::EPOCH;
use crate::fixture::{LEASE, thread};

pub(in super::super) const CASES: &[Case] = cases![
    a_step_keeps_the_lease_and_is_found_by_its_holder,
    a_holder_commits_up_to_the_last_instant_of_its_lease,
    whose_lease_is_over_or_was_taken_writes_nothing,
    who_was_fenced_writes_nothing,
    what_is_told_beside_the_holder_wakes_him,
    children_begin_with_the_commit_that_parks_their_parent,
    a_child_tells_in_its_parents_name_or_nothing_is_written,
    the_last_child_to_end_wakes_its_parent,
    a_conversation_that_moved_is_read_again,
    an_end_takes_the_secrets_and_gives_the_rows_their_time,
    secrets_are_gone_after_a_day,
    a_large_row_of_totals_is_read_as_it_was_written,
];

fn written(text: &str) -> Step {
    Step {
        body: Some(Body::Delta(vec![Write::Title(text.into())])),
        notices: vec![frame(text), record(text)],
        ..Step::default()
    }
}

impl World {
    /// A change that must not apply leaves no row.
    async fn must_not_apply(&self, change: &Change, outcome: Applied) {
        let mut before = Vec::new();
        for row in std::iter::once(&change.run).chain(&change.others) {
            before.push((row.run.key.clone(), self.found_run(&row.run.key).await));
        }
        let key = &change.run.run.key;
        let (talk, told) = (self.conversation(&key.thread).await, self.told(key).await);
        let records = self.all_records().await;
        assert_eq!(self.apply(change).await, outcome);
        for (key, row) in before {
            assert_eq!(self.found_run(&key).await, row);
        }
        assert_eq!(self.conversation(&key.thread).await, talk);
        assert_eq!((self.told(key).await, self.all_records().await), (told, records));
        if let Some(new) = &change.checkpoint {
            assert_eq!(self.chain(key, new.number).await, [], "its checkpoint must not exist");
        }
    }

    /// A parent that waits for two children.
    async fn parked(&self) -> (Run, RunKey, RunKey) {
        let parent = self.working(&run_key(1)).await;
        let child = |second: u64| Child {
            run: run_key(second).id,
            call: format!("call-{second}"),
            spec: spec(Strategy::Reject),
            until: EPOCH + Duration::from_secs(900),
        };
        let until = self.now() + Duration::from_secs(600);
        let children = vec![child(2), child(3)];
        let parent = self.does(&parent, Command::Park { step: written("delegates"), children, until }).await;
        (parent, run_key(2), run_key(3))
    }
}

async fn a_step_keeps_the_lease_and_is_found_by_its_holder(world: World) {
    let run = world.working(&run_key(1)).await;
    world.at(10_000);
    let change =
        world.decided_run(&run, Command::Advance { step: written("one"), lease: world.now() + LEASE }).await;
    assert_eq!(world.apply(&change).await, Applied::Done);
    let stored = world.run(&run.key).await;
    assert_eq!(stored, change.run.run);
    let lease = stored.durable.lease.clone().unwrap_or_else(|| fail(&"the lease is kept"));
    assert_eq!((lease.until, stored.checkpoints), (world.now() + LEASE, 1));
    // As after an answer that was lost: he reads, and finds that the step stands.
    world.must_not_be_written_again(&change).await;
    world.clock.set(EPOCH + LEASE + Duration::from_millis(1));
    assert_eq!(world.claim_run(&run.key, "other").await, None, "the new lease counts");
    let next = world.advance(&stored, written("two")).await;
    assert_eq!((next.checkpoints, next.told), (2, 4));
}

impl World {
    async fn must_not_be_written_again(&self, change: &Change) {
        let before = self.run(&change.run.run.key).await;
        assert_eq!(self.apply(change).await, Applied::Woken);
        assert_eq!(self.run(&change.run.run.key).await, before);
    }
}

async fn a_holder_commits_up_to_the_last_instant_of_its_lease(world: World) {
    let run = world.working(&run_key(1)).await;
    world.clock.set(EPOCH + LEASE);
    world.advance(&run, written("late")).await;
}

async fn whose_lease_is_over_or_was_taken_writes_nothing(world: World) {
    let run = world.working(&run_key(1)).await;
    world.clock.set(EPOCH + LEASE + Duration::from_millis(1));
    let change =
        world.decided_run(&run, Command::Advance { step: written("x"), lease: world.now() + LEASE }).await;
    world.must_not_apply(&change, Applied::Lost).await;
    let taken = world.claimed_run(&run.key, "other").await;
    world.must_not_apply(&change, Applied::Lost).await;
    world.advance(&taken, written("y")).await;
}

async fn who_was_fenced_writes_nothing(world: World) {
    let run = world.working(&run_key(1)).await;
    let change =
        world.decided_run(&run, Command::Advance { step: written("x"), lease: world.now() + LEASE }).await;
    let ended = world.does(&run, Command::Cancel(Ending::new(Outcome::Interrupted, Some("no")))).await;
    assert_eq!((&ended.durable.lease, ended.durable.due), (&None, None));
    world.must_not_apply(&change, Applied::Lost).await;
}

async fn what_is_told_beside_the_holder_wakes_him(world: World) {
    let run = world.working(&run_key(1)).await;
    let change =
        world.decided_run(&run, Command::Advance { step: written("x"), lease: world.now() + LEASE }).await;
    let woken = world.does(&run, Command::Relay(vec![frame("beside")])).await;
    assert_eq!((&woken.durable.lease, woken.told), (&run.durable.lease, 1));
    world.must_not_apply(&change, Applied::Woken).await;
    let stored = world.advance(&woken, written("x")).await;
    assert_eq!(stored.told, 3);
    let stale = world.decided_run(&run, Command::Relay(vec![frame("late")])).await;
    world.must_not_apply(&stale, Applied::Lost).await;
}

async fn children_begin_with_the_commit_that_parks_their_parent(world: World) {
    let (parent, first, second) = world.parked().await;
    let open = [first.id.clone(), second.id.clone()].into();
    assert_eq!((&parent.phase, parent.children), (&Phase::Parked { open }, 2));
    assert_eq!(world.claim_run(&parent.key, "agent").await, None, "it waits");
    for key in [first, second] {
        let child = world.claimed_run(&key, "agent").await;
        assert_eq!((child.ordinal, child.until), (1, Some(EPOCH + Duration::from_secs(900))));
        assert_eq!(world.spec_of(&key).await, Some(spec(Strategy::Reject)));
    }
    world.clock.set(EPOCH + Duration::from_secs(600));
    world.claimed_run(&parent.key, "agent").await;
}

async fn a_child_tells_in_its_parents_name_or_nothing_is_written(world: World) {
    let (parent, first, _) = world.parked().await;
    let child = world.claimed_run(&first, "agent").await;
    let step = Step { to_parent: vec![frame("from the child"), record("of it")], ..written("own") };
    let change =
        world.decided_run(&child, Command::Advance { step: step.clone(), lease: world.now() + LEASE }).await;
    let told = world.does(&parent, Command::Relay(vec![frame("between")])).await;
    world.must_not_apply(&change, Applied::Moved).await;
    let child = world.advance(&child, step).await;
    let after = world.run(&parent.key).await;
    assert_eq!((after.told, after.durable.wake), (told.told + 2, told.durable.wake + 1));
    assert_eq!(child.told, 1, "its own record is nobody's");
    let last = world.told(&parent.key).await;
    assert_eq!(last.last().map(|told| (told.seq, told.notice.clone())), Some((4, frame("from the child"))));
}

async fn the_last_child_to_end_wakes_its_parent(world: World) {
    let (parent, first, second) = world.parked().await;
    for (key, is_last) in [(first, false), (second, true)] {
        let child = world.claimed_run(&key, "agent").await;
        world.run_ends(&child).await;
        assert_eq!(world.claim_run(&parent.key, "agent").await.is_some(), is_last);
    }
    assert_eq!(world.run(&parent.key).await.phase, Phase::Parked { open: [].into() });
    assert_eq!(world.talk().await.active, Some(parent.key.id), "it still has the thread");
}

async fn a_conversation_that_moved_is_read_again(world: World) {
    let run = world.working(&run_key(1)).await;
    let change = world.decided_run(&run, Command::Finish { step: written("last"), ending: well() }).await;
    let talk = world.talk().await;
    let renamed = Conversation { title: Some("another".into()), ..talk.clone() };
    let kept = Conversation::kept(Some(&talk), renamed, world.now());
    let answer = world.runs.keep(&kept, None).await.unwrap_or_else(|e| fail(&e));
    assert_eq!(answer, ConversationKept::Done);
    world.must_not_apply(&change, Applied::Moved).await;
    world.does(&run, Command::Finish { step: written("last"), ending: well() }).await;
    let talk = world.talk().await;
    assert_eq!((talk.title.as_deref(), talk.active), (Some("another"), None));
}

async fn an_end_takes_the_secrets_and_gives_the_rows_their_time(world: World) {
    let mut admission = wanted(&run_key(1), Strategy::Reject);
    admission.secrets = Some("sealed:v1:00".into());
    assert_eq!(world.admit(admission).await, Applied::Done);
    let run = world.claimed_run(&run_key(1), "agent").await;
    let run = world.advance(&run, written("only")).await;
    assert!(world.secrets_of(&run.key).await.is_some());
    world.at(60_000);
    world.run_ends(&run).await;
    assert_eq!(world.secrets_of(&run.key).await, None);
    let kept = Policy::default().retention;
    world.clock.set(EPOCH + kept + Duration::from_secs(58));
    assert!(world.found_run(&run.key).await.is_some() && world.spec_of(&run.key).await.is_some());
    world.clock.set(EPOCH + kept + Duration::from_secs(62));
    assert_eq!((world.found_run(&run.key).await, world.spec_of(&run.key).await), (None, None));
    assert_eq!(world.all_records().await, []);
    assert_eq!(world.listed_runs(10, None).await, []);
    let talk = world.talk().await;
    assert_eq!((talk.head, talk.active), (run.head(), None), "the thread's state stays");
    assert_eq!(world.history_of(&run.key, 0, 5).await.len(), 1);
}

async fn secrets_are_gone_after_a_day(world: World) {
    let mut admission = wanted(&run_key(1), Strategy::Reject);
    admission.secrets = Some("sealed:v1:00".into());
    assert_eq!(world.admit(admission).await, Applied::Done);
    let day = Duration::from_hours(24);
    world.clock.set(EPOCH + day.saturating_sub(Duration::from_secs(2)));
    assert!(world.secrets_of(&run_key(1)).await.is_some());
    world.clock.set(EPOCH + day + Duration::from_secs(2));
    assert_eq!(world.secrets_of(&run_key(1)).await, None);
    assert_eq!(world.secrets_of(&run_in_another_thread()).await, None);
}

fn run_in_another_thread() -> RunKey {
    super::run_in(&thread("t2"), 1)
}

async fn a_large_row_of_totals_is_read_as_it_was_written(world: World) {
    let run = world.working(&run_key(1)).await;
    let mut totals = Totals { calls: 7, lead: u64::from(u32::MAX), ..Totals::default() };
    for model in 0..50 {
        totals.by_model.insert(format!("model {model} \u{fc}"), totals.tokens);
    }
    let step = Step { totals: Some(totals), ..telling(vec![]) };
    world.advance(&run, step).await;
}
