//! Notifications: claimed like tasks, delivered once, and never after a newer one.

use futures_util::future::join_all;
use pudu_app::ports::{Committed, NoteKey};
use pudu_domain::note::{Change, Command, State, decide};
use pudu_domain::task::{Delivery, Intent, intend};
use pudu_domain::{Lane, Lease, Note, Owner, Policy, RunId, Snapshot, Status};
use serde_json::json;

use super::life::{fail, key, took, version};
use super::{Case, World, cases};
use crate::fixture::{LEASE, lease, said, wanted};

pub(super) const CASES: &[Case] = cases![
    a_note_is_claimed_like_everything_durable,
    one_of_many_notifiers_wins,
    every_state_is_read_as_it_was_written,
    a_delivery_is_applied_once,
    a_notifier_whose_lease_is_over_delivers_nothing,
    a_replaced_notifier_delivers_nothing,
    an_event_that_was_delivered_is_not_delivered_again,
    an_older_event_is_not_delivered_after_a_newer_one,
    an_older_note_may_still_be_settled_without_delivery,
    versions_of_one_task_do_not_touch_another,
    what_a_note_tells_is_read_as_it_was_made,
    every_state_of_a_delivery_by_a_run_is_read_as_it_was_written,
    what_a_run_has_told_shows_whatever_was_told_before,
    a_dead_letter_is_replayed_once_and_its_holder_of_before_has_lost,
    a_dropped_note_is_out_of_its_holders_hands,
    what_has_ended_leaves_and_a_dead_letter_waits_with_its_event,
];

fn decided(world: &World, note: &Note, command: Command) -> Change {
    decide(note, command, world.now(), &Policy::default()).unwrap_or_else(|e| fail(&e))
}

/// A notifier that believes that this version is the current one.
fn delivery(world: &World, note: &Note) -> Change {
    let change = decided(world, note, Command::Deliver { attention: note.version });
    assert!(change.deliver);
    change
}

async fn delivered(world: &World) -> Vec<u32> {
    let events = world.events.events(&key().thread, 100).await.unwrap_or_else(|e| fail(&e));
    events.into_iter().map(|event| event.version).collect()
}

/// A task that asked a question (v1) and then completed (v2).
async fn two_versions(world: &World) -> [NoteKey; 2] {
    world.tracked(&key()).await;
    world.polled(&key(), said(Status::InputRequired)).await;
    world.polled(&key(), said(Status::Completed)).await;
    [version(&key(), 1), version(&key(), 2)]
}

async fn one_version(world: &World) -> NoteKey {
    world.tracked(&key()).await;
    world.polled(&key(), said(Status::Completed)).await;
    version(&key(), 1)
}

async fn a_note_is_claimed_like_everything_durable(world: World) {
    let at = one_version(&world).await;
    let before = world.note(&at).await.unwrap_or_else(|| fail(&"no note"));
    let claim = async |lane, owner| {
        world.notes.claim(&at, lane, lease(owner, world.now())).await.unwrap_or_else(|e| fail(&e))
    };
    world.at(4999);
    assert_eq!(claim(Lane::Notify, "n1").await, None, "not due");
    world.at(5000);
    assert_eq!(claim(Lane::Poll, "n1").await, None, "not its lane");
    let image = claim(Lane::Notify, "n1").await;
    let durable = before.durable.claimed(lease("n1", world.now()));
    assert_eq!(image, Some(Note { durable, ..before }));
    assert_eq!(world.note(&at).await, image);
    world.at(125_000);
    assert_eq!(claim(Lane::Notify, "n2").await, None, "the lease's last instant");
    world.at(125_001);
    assert!(claim(Lane::Notify, "n2").await.is_some());
    let nobody = version(&key(), 9);
    let claim = world.notes.claim(&nobody, Lane::Notify, lease("n", world.now())).await;
    assert_eq!((claim.unwrap_or_else(|e| fail(&e)), world.note(&nobody).await), (None, None));
}

async fn one_of_many_notifiers_wins(world: World) {
    let at = one_version(&world).await;
    let until = world.now() + LEASE;
    let leases: Vec<_> = (0..32).map(|n| Lease { owner: Owner::new(&format!("n{n}"), n), until }).collect();
    let claims =
        join_all(leases.iter().map(|lease| world.notes.claim(&at, Lane::Notify, lease.clone()))).await;
    let won = claims.into_iter().filter_map(|claim| claim.unwrap_or_else(|e| fail(&e))).count();
    assert_eq!(won, 1);
}

async fn every_state_is_read_as_it_was_written(world: World) {
    let at = one_version(&world).await;
    let mut now = 5000;
    for attempt in 1..=5 {
        let held = world.claimed_note(&at, "n").await;
        let change = decided(&world, &held, Command::RecordFailure("é".repeat(300)));
        assert_eq!(world.commit_note(&change).await, Committed::Done);
        assert_eq!(world.note(&at).await, Some(change.note.clone()), "after {attempt} failures");
        now += 100_000;
        world.at(now);
    }
    assert_eq!(world.note(&at).await.map(|note| note.state), Some(State::Dead));
    let other = crate::fixture::task_key(&key().thread, world.now(), 2);
    world.tracked(&other).await;
    world.polled(&other, said(Status::InputRequired)).await;
    world.polled(&other, said(Status::Completed)).await;
    for (v, attention) in [(1, 2), (2, 2)] {
        let held = world.claimed_note(&version(&other, v), "n").await;
        let change = decided(&world, &held, Command::Deliver { attention });
        assert_eq!(world.commit_note(&change).await, Committed::Done);
        assert_eq!(world.note(&version(&other, v)).await, Some(change.note));
    }
}

async fn a_delivery_is_applied_once(world: World) {
    let at = one_version(&world).await;
    let held = world.claimed_note(&at, "n").await;
    let change = delivery(&world, &held);
    let outcomes = join_all((0..8).map(|_| world.commit_note(&change))).await;
    assert_eq!(outcomes.iter().filter(|o| **o == Committed::Done).count(), 1, "{outcomes:?}");
    assert_eq!((world.note(&at).await, delivered(&world).await), (Some(change.note), vec![1]));
}

async fn a_notifier_whose_lease_is_over_delivers_nothing(world: World) {
    let at = one_version(&world).await;
    let held = world.claimed_note(&at, "n").await;
    let change = delivery(&world, &held);
    world.at(125_001);
    assert_eq!(world.commit_note(&change).await, Committed::Lost);
    assert_eq!((world.note(&at).await, delivered(&world).await), (Some(held), vec![]));
}

async fn a_replaced_notifier_delivers_nothing(world: World) {
    let at = one_version(&world).await;
    let first = world.claimed_note(&at, "n1").await;
    world.at(125_001);
    let second = world.claimed_note(&at, "n2").await;
    world.at(125_000);
    assert_eq!(world.commit_note(&delivery(&world, &first)).await, Committed::Lost);
    assert_eq!(delivered(&world).await, [] as [u32; 0]);
    assert_eq!(world.commit_note(&delivery(&world, &second)).await, Committed::Done);
    assert_eq!(world.commit_note(&delivery(&world, &first)).await, Committed::Lost);
    assert_eq!(delivered(&world).await, [1]);
}

/// Whatever a note's row says: what lies in the thread decides.
async fn an_event_that_was_delivered_is_not_delivered_again(world: World) {
    let at = one_version(&world).await;
    let held = world.claimed_note(&at, "n").await;
    let mut careless = delivery(&world, &held);
    // The event is appended, but the note stays claimable: as if somebody had replayed it.
    careless.note.durable.due = held.durable.due;
    careless.note.state = State::Delivered { at: world.now() };
    assert_eq!(world.commit_note(&careless).await, Committed::Done);
    let mut again = world.claimed_note(&at, "n2").await;
    again.state = State::Pending;
    assert_eq!(world.commit_note(&delivery(&world, &again)).await, Committed::Lost);
    assert_eq!(delivered(&world).await, [1]);
}

async fn an_older_event_is_not_delivered_after_a_newer_one(world: World) {
    let [older, newer] = two_versions(&world).await;
    let (held, newest) = (world.claimed_note(&older, "n1").await, world.claimed_note(&newer, "n2").await);
    assert_eq!(world.commit_note(&delivery(&world, &newest)).await, Committed::Done);
    assert_eq!(world.commit_note(&delivery(&world, &held)).await, Committed::Lost);
    assert_eq!((world.note(&older).await, delivered(&world).await), (Some(held), vec![2]));
}

async fn an_older_note_may_still_be_settled_without_delivery(world: World) {
    let [older, newer] = two_versions(&world).await;
    let (held, newest) = (world.claimed_note(&older, "n1").await, world.claimed_note(&newer, "n2").await);
    assert_eq!(world.commit_note(&delivery(&world, &newest)).await, Committed::Done);
    let change = decided(&world, &held, Command::Deliver { attention: 2 });
    assert_eq!(world.commit_note(&change).await, Committed::Done);
    assert_eq!(world.note(&older).await.map(|note| note.state), Some(State::Superseded));
    assert_eq!(delivered(&world).await, [2]);
}

async fn versions_of_one_task_do_not_touch_another(world: World) {
    let [older, newer] = two_versions(&world).await;
    let newest = world.claimed_note(&newer, "n").await;
    assert_eq!(world.commit_note(&delivery(&world, &newest)).await, Committed::Done);
    let other = crate::fixture::task_key(&key().thread, world.now(), 2);
    world.tracked(&other).await;
    world.polled(&other, said(Status::Completed)).await;
    let held = world.claimed_note(&version(&other, 1), "n").await;
    assert_eq!(world.commit_note(&delivery(&world, &held)).await, Committed::Done, "v1 of another task");
    assert_eq!(world.note(&older).await.map(|note| note.state), Some(State::Pending));
}

fn run(name: &str) -> RunId {
    RunId::parse(name).unwrap_or_else(|e| fail(&e))
}

/// A task of an agent that asked a question (v1) and then completed (v2).
async fn two_versions_by_run(world: &World) -> [NoteKey; 2] {
    let now = world.now();
    let birth = intend(Intent { delivery: Delivery::Run, ..wanted(&key()) }, lease("s", now), now);
    assert_eq!(world.commit(&birth).await, Committed::Done);
    world.settle(&birth.task, took("r", Status::InputRequired, now)).await;
    world.polled(&key(), said(Status::Completed)).await;
    [version(&key(), 1), version(&key(), 2)]
}

/// Claims and commits, and insists that it stands and reads.
async fn done(world: &World, at: &NoteKey, command: Command) -> Note {
    let due = world.note(at).await.and_then(|note| note.durable.due).unwrap_or_else(|| fail(&"not due"));
    if due.at > world.now() {
        world.clock.set(due.at);
    }
    let held = world.claimed_note(at, "n").await;
    let change = decided(world, &held, command);
    assert_eq!(world.commit_note(&change).await, Committed::Done);
    assert_eq!(world.note(at).await.as_ref(), Some(&change.note));
    change.note
}

async fn what_a_note_tells_is_read_as_it_was_made(world: World) {
    world.tracked(&key()).await;
    let text: String = ('a'..='z').cycle().take(60_000).collect();
    let result = Some(json!({"text": text, "n": [1, -2.5, null], "ü": "\u{0}"}));
    let due = world.load(&key()).await.durable.due.unwrap_or_else(|| fail(&"not due"));
    world.clock.set(due.at);
    let image = world.claimed(&key(), due.lane, "p").await;
    let ended = pudu_domain::task::Command::RecordStatus(Snapshot { result, ..said(Status::Completed) });
    let change = world.decided(&image, ended).await;
    assert_eq!(world.commit(&change).await, Committed::Done);
    let news = change.note.unwrap_or_else(|| fail(&"no news"));
    let at = version(&key(), 1);
    let read = async |note: &Note| world.notes.event(note).await.unwrap_or_else(|e| fail(&e));
    assert_eq!(
        (world.note(&at).await.as_ref(), read(&news.note).await.as_ref()),
        (Some(&news.note), Some(&news.event))
    );
    let note = done(&world, &at, Command::RecordFailure("no".into())).await;
    assert_eq!(read(&note).await.as_ref(), Some(&news.event), "whatever becomes of the note");
    let note = done(&world, &at, Command::Deliver { attention: 1 }).await;
    assert_eq!(read(&note).await, Some(news.event));
    let other = Note { version: 2, ..note };
    assert_eq!(read(&other).await, None);
}

async fn every_state_of_a_delivery_by_a_run_is_read_as_it_was_written(world: World) {
    let [first, second] = two_versions_by_run(&world).await;
    done(&world, &first, Command::RecordLaunch(run("run-1:a.B_2"))).await;
    done(&world, &first, Command::RecordRunning).await;
    done(&world, &first, Command::RecordRunFailure("é".repeat(300))).await;
    done(&world, &first, Command::RecordBusy).await;
    done(&world, &first, Command::RecordLaunch(run("run-2"))).await;
    let again = done(&world, &first, Command::RecordRunVanished).await;
    assert_eq!((again.attempts, again.dispatch), (2, 2));
    done(&world, &second, Command::RecordMissingThread("no thread".into())).await;
}

async fn what_a_run_has_told_shows_whatever_was_told_before(world: World) {
    let [first, second] = two_versions_by_run(&world).await;
    for (at, name) in [(&first, "r1"), (&second, "r2")] {
        done(&world, at, Command::RecordLaunch(run(name))).await;
    }
    done(&world, &second, Command::RecordRunSuccess).await;
    done(&world, &first, Command::RecordRunSuccess).await;
    let mut versions = delivered(&world).await;
    versions.sort_unstable();
    assert_eq!(versions, [1, 2]);
}

async fn a_dead_letter_is_replayed_once_and_its_holder_of_before_has_lost(world: World) {
    let at = one_version(&world).await;
    let holder = world.claimed_note(&at, "slow").await;
    let late = delivery(&world, &holder);
    world.at(125_001);
    let dead = done(&world, &at, Command::RecordMissingThread("gone".into())).await;
    assert_eq!(dead.durable.due.map(|due| due.lane), Some(Lane::Dead));
    let claim = world.notes.claim(&at, Lane::Notify, lease("n", world.now())).await;
    assert_eq!(claim.unwrap_or_else(|e| fail(&e)), None, "no notifier takes it");
    let replay = decided(&world, &dead, Command::Replay);
    let outcomes = join_all((0..8).map(|_| world.commit_note(&replay))).await;
    assert_eq!(outcomes.iter().filter(|o| **o == Committed::Done).count(), 1, "{outcomes:?}");
    assert_eq!(world.note(&at).await, Some(replay.note));
    assert_eq!(world.commit_note(&late).await, Committed::Lost);
    done(&world, &at, Command::Deliver { attention: 1 }).await;
    assert_eq!(delivered(&world).await, [1]);
}

async fn a_dropped_note_is_out_of_its_holders_hands(world: World) {
    let at = one_version(&world).await;
    let held = world.claimed_note(&at, "n").await;
    let drop = decided(&world, &held, Command::Drop);
    assert_eq!(world.commit_note(&drop).await, Committed::Done);
    assert_eq!(world.commit_note(&delivery(&world, &held)).await, Committed::Lost);
    assert_eq!((world.note(&at).await, delivered(&world).await), (Some(drop.note), vec![]));
}

async fn what_has_ended_leaves_and_a_dead_letter_waits_with_its_event(world: World) {
    let policy = Policy::default();
    let [told, dead] = two_versions_by_run(&world).await;
    done(&world, &told, Command::RecordLaunch(run("r"))).await;
    done(&world, &told, Command::RecordRunSuccess).await;
    let letter = done(&world, &dead, Command::RecordMissingThread("gone".into())).await;
    assert_eq!(delivered(&world).await, [1]);
    world.clock.pass(policy.retention * 2);
    assert_eq!((world.note(&told).await, delivered(&world).await), (None, vec![]));
    assert_eq!(world.note(&dead).await.as_ref(), Some(&letter));
    let event = world.notes.event(&letter).await.unwrap_or_else(|e| fail(&e));
    assert_eq!(event.map(|event| event.status), Some(Status::Completed));
    // Tried again, it is delivered with its event, and leaves like every other.
    let replay = decided(&world, &letter, Command::Replay);
    assert_eq!(world.commit_note(&replay).await, Committed::Done);
    done(&world, &dead, Command::RecordLaunch(run("r2"))).await;
    done(&world, &dead, Command::RecordRunSuccess).await;
    assert_eq!(delivered(&world).await, [2]);
    world.clock.pass(policy.retention * 2);
    assert_eq!((world.note(&dead).await, delivered(&world).await), (None, vec![]));
    let event = world.notes.event(&letter).await.unwrap_or_else(|e| fail(&e));
    assert_eq!(event, None);
}
