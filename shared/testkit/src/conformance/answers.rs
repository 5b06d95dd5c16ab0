//! Answers: their row is written and removed in the change that says so.

use pudu_app::ports::Committed;
use pudu_domain::task::{Command, Given, Heard, Sent, question_digest};
use pudu_domain::{Lane, Status, Task};
use serde_json::{Value, json};

use super::life::{fail, key};
use super::{Case, World, cases};
use crate::fixture::said;

pub(super) const CASES: &[Case] = cases![
    an_answer_is_read_as_it_was_given_until_it_was_sent,
    every_stand_of_an_answer_is_read_as_it_was_written,
    an_answer_that_does_not_apply_leaves_no_row,
    a_cancel_takes_an_answer_that_waits,
    a_claim_tells_how_the_answer_stands,
];

impl World {
    async fn answer(&self) -> Option<Value> {
        self.tasks.answer(&key()).await.unwrap_or_else(|e| fail(&e))
    }

    /// A task that asks something.
    async fn asking(&self) -> Task {
        self.tracked(&key()).await;
        self.polled(&key(), said(Status::InputRequired)).await
    }

    /// What comes of a claim in which the answer was sent.
    async fn sent(&self, sent: Sent) -> Task {
        let image = self.claimed(&key(), Lane::Poll, "w").await;
        let heard = Some(Heard::Status(said(Status::InputRequired)));
        self.settle(&image, Command::RecordAnswer { sent, heard }).await
    }
}

fn give(input: Value) -> Command {
    let question = said(Status::InputRequired).input_required.map(|question| question_digest(&question));
    Command::GiveAnswer(Given { question: question.unwrap_or_default(), version: None, input })
}

async fn an_answer_is_read_as_it_was_given_until_it_was_sent(world: World) {
    let input = json!({"year": 2026, "why": "größer \u{0}", "list": [null, true, {}]});
    let asking = world.asking().await;
    assert_eq!(world.answer().await, None);
    world.settle(&asking, give(input.clone())).await;
    assert_eq!(world.answer().await, Some(input.clone()));
    world.sent(Sent::Unsure("timed out".into())).await;
    assert_eq!(world.answer().await, Some(input));
    let due = world.load(&key()).await.durable.due.unwrap_or_else(|| fail(&"not due"));
    world.clock.set(due.at);
    world.sent(Sent::Taken).await;
    assert_eq!(world.answer().await, None);
}

async fn every_stand_of_an_answer_is_read_as_it_was_written(world: World) {
    let mut task = world.asking().await;
    for sent in [Sent::Refused("Jahr größer als jetzt".into()), Sent::Unsure(String::new()), Sent::Taken] {
        if task.answer.as_ref().is_none_or(|answer| !answer.is_waiting()) {
            task = world.settle(&task, give(json!("2026"))).await;
            assert_eq!(world.load(&key()).await, task, "given");
        }
        let due = task.durable.due.unwrap_or_else(|| fail(&"not due"));
        world.clock.set(due.at.max(world.now()));
        task = world.sent(sent.clone()).await;
        assert_eq!(world.load(&key()).await, task, "{sent:?}");
    }
}

async fn an_answer_that_does_not_apply_leaves_no_row(world: World) {
    let seen = world.asking().await;
    let (first, second) =
        (world.decided(&seen, give(json!(1))).await, world.decided(&seen, give(json!(2))).await);
    assert_eq!(world.commit(&first).await, Committed::Done);
    assert_eq!(world.commit(&second).await, Committed::Lost);
    assert_eq!(world.answer().await, Some(json!(1)));
}

async fn a_cancel_takes_an_answer_that_waits(world: World) {
    let asking = world.asking().await;
    let given = world.settle(&asking, give(json!(1))).await;
    world.settle(&given, Command::RequestCancel).await;
    assert_eq!(world.answer().await, None);
}

/// Whether it was handed over before decides whether it may be handed over blindly.
async fn a_claim_tells_how_the_answer_stands(world: World) {
    let asking = world.asking().await;
    world.settle(&asking, give(json!(1))).await;
    for sent in [Sent::Unsure("timed out".into()), Sent::Taken] {
        let image = world.claimed(&key(), Lane::Poll, "w").await;
        assert_eq!(image, world.load(&key()).await, "claimed before {sent:?}");
        let heard = Some(Heard::Status(said(Status::InputRequired)));
        let task = world.settle(&image, Command::RecordAnswer { sent, heard }).await;
        let due = task.durable.due.unwrap_or_else(|| fail(&"not due"));
        world.clock.set(due.at);
    }
}
