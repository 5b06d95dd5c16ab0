//! Commits of runs over scripted answers: what a failed condition means, with and without an answer that was lost before.

use std::time::Duration;

use pudu_domain::run::{Admission, Command, Ending, Outcome, Seen, Step as OfRun, admit, decide};
use pudu_domain::{IdempotencyKey, Owner, Policy, ThreadId, UserId};

use super::*;
use crate::row::{Row, number};
use crate::scripted::{Script, Step, cancelled, condition_failed, done};

const NOW: Timestamp = Timestamp::from_millis(1_793_491_200_000);
const FAILED: &str = "ConditionalCheckFailed";

fn key(n: u8) -> RunKey {
    let user = UserId::parse("local:default").unwrap();
    let thread = ThreadKey { user, thread: ThreadId::parse("t").unwrap() };
    RunKey { thread, id: RunId::new(NOW, [n; 10]) }
}

/// Row, thread, key, spec, conversation, its place in the list: in this order.
fn admission() -> Change {
    let spec = RunSpec::of("lead_agent");
    let caller = (IdempotencyKey::parse("k".to_owned()).unwrap(), "request".to_owned());
    let (thread, run) = (key(1).thread, key(1).id);
    let wanted = Admission { thread, run, spec, secrets: None, key: Some(caller) };
    admit(wanted, &Seen::default(), NOW, &Policy::default()).unwrap()
}

fn held() -> Run {
    let mut run = admission().run.run;
    let lease = Lease { owner: Owner::new("w", 1), until: NOW + Duration::from_secs(60) };
    run.durable = run.durable.claimed(lease);
    run
}

fn decided(command: Command) -> Change {
    let conversation = admission().conversation.unwrap().conversation;
    let seen = Seen { conversation: Some(&conversation), ..Seen::default() };
    decide(&held(), command, &seen, NOW, &Policy::default()).unwrap()
}

fn step() -> Change {
    decided(Command::Advance { step: OfRun::default(), lease: NOW + Duration::from_secs(90) })
}

fn end() -> Change {
    let ending = Ending::new(Outcome::Success, None);
    decided(Command::Finish { step: OfRun::default(), ending })
}

async fn commit(change: &Change, steps: impl IntoIterator<Item = Step>) -> Applied {
    RunStore::commit(&Script::new(steps).table(NOW), change).await.unwrap()
}

fn row(change: &Change) -> Row {
    run::encode(&change.run.run).unwrap()
}

#[tokio::test]
async fn a_step_that_writes_nothing_else_is_one_put() {
    let script = Script::new([done()]);
    assert_eq!(RunStore::commit(&script.table(NOW), &step()).await.unwrap(), Applied::Done);
    let asked = script.asked();
    assert!(asked.len() == 1 && asked[0].get("Item").is_some());
}

/// Its holder still has it, so he reads the row, and finds what he wrote.
#[tokio::test]
async fn a_kept_step_whose_answer_was_lost_is_found_by_its_holder() {
    let change = step();
    let applied = row(&change);
    assert_eq!(commit(&change, [Step::Silence, condition_failed(Some(&applied))]).await, Applied::Woken);
}

#[tokio::test]
async fn an_end_whose_answer_was_lost_recognises_itself() {
    let change = end();
    let applied = row(&change);
    let failed = || cancelled([(FAILED, Some(&applied)), ("None", None), (FAILED, None)]);
    assert_eq!(commit(&change, [Step::Silence, failed()]).await, Applied::Done);
    assert_eq!(commit(&change, [failed()]).await, Applied::Lost, "somebody else ended it");
}

#[tokio::test]
async fn a_cancel_whose_answer_was_lost_does_not_know() {
    let change = decided(Command::Cancel(Ending::new(Outcome::Interrupted, None)));
    let applied = row(&change);
    let failed = cancelled([(FAILED, Some(&applied)), ("None", None), (FAILED, None)]);
    assert_eq!(commit(&change, [Step::Silence, failed]).await, Applied::Unknown);
}

#[tokio::test]
async fn only_the_conversation_moved() {
    let stored = conversation::encode(&admission().conversation.unwrap().conversation).unwrap();
    let failed = cancelled([("None", None), ("None", None), (FAILED, Some(&stored))]);
    assert_eq!(commit(&end(), [failed]).await, Applied::Moved);
}

#[tokio::test]
async fn a_thread_that_goes_outranks_a_key_and_both_outrank_a_conversation() {
    let thread = Row::from([("deleting".to_owned(), number(1_u64))]);
    let name = IdempotencyKey::parse("k".to_owned()).unwrap();
    let taken = run_keyed::encode(&key(2), &name, "another", NOW);
    let (none, gone, taken) = (("None", None), (FAILED, Some(&thread)), (FAILED, Some(&taken)));
    let moved = (FAILED, None);
    let all = cancelled([none, gone, taken, none, moved]);
    assert_eq!(commit(&admission(), [all]).await, Applied::ThreadGone);
    let two = cancelled([none, none, taken, none, moved]);
    let expected = Applied::KeyTaken { run: key(2), request: "another".to_owned() };
    assert_eq!(commit(&admission(), [two]).await, expected);
    let one = cancelled([none, none, none, none, moved]);
    assert_eq!(commit(&admission(), [one]).await, Applied::Moved);
}

/// An admission that had been applied fails at every row that it wrote, its own key among them.
#[tokio::test]
async fn an_admission_whose_answer_was_lost_does_not_know_and_takes_no_key_for_anothers() {
    let change = admission();
    let applied = row(&change);
    let name = IdempotencyKey::parse("k".to_owned()).unwrap();
    let own = run_keyed::encode(&key(1), &name, "request", NOW);
    let failed = cancelled([
        (FAILED, Some(&applied)),
        ("None", None),
        (FAILED, Some(&own)),
        ("None", None),
        (FAILED, None),
    ]);
    assert_eq!(commit(&change, [Step::Silence, failed]).await, Applied::Unknown);
}

#[tokio::test]
async fn a_conversation_whose_answer_was_lost_recognises_itself() {
    let read = admission().conversation.unwrap().conversation;
    let kept = Conversation::kept(Some(&read), Conversation { title: Some("a".into()), ..read.clone() }, NOW);
    let stored = conversation::encode(&kept.conversation).unwrap();
    let keep =
        async |steps: Vec<Step>| RunStore::keep(&Script::new(steps).table(NOW), &kept, None).await.unwrap();
    let failed = || cancelled([(FAILED, Some(&stored)), ("None", None)]);
    assert_eq!(keep(vec![Step::Silence, failed()]).await, ConversationKept::Done);
    assert_eq!(keep(vec![failed()]).await, ConversationKept::Moved);
    let gone = cancelled([("None", None), (FAILED, None)]);
    assert_eq!(keep(vec![gone]).await, ConversationKept::ThreadGone);
}
