//! Runs that are ended from outside, or that cannot go on: their thread is deleted, they are replaced, the config or their own rows
//! cannot be read, a step cannot be stored, a task is being submitted.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use pudu_app::deadline::Deadline;
use pudu_app::ports::{Blobs, Clock, ModelCall, StoreError};
use pudu_app::runs::Wanted;
use pudu_app::worker::Ran;
use pudu_domain::chat::{Message, Speaker};
use pudu_domain::run::{Operation, Outcome, Phase, Strategy};
use pudu_domain::task::State as TaskState;
use pudu_domain::{Lease, Owner, RunKey, Scope};
use pudu_testkit::fixture::{SERVER, SUBMIT_TOOL, thread};
use pudu_testkit::gate::Call;
use pudu_testkit::{Fate, Gate, Speech};
use serde_json::{Map, json};

use super::stage::{Stage, answer, call};
use super::{LONG, last};
use crate::runner::session::{Session, Stop};
use crate::subagents::TASK;

fn submits(model: &ModelCall) -> Speech {
    match last(model).speaker {
        Speaker::Tool => Speech::text("it runs"),
        _ => Speech::calls("", [call("c", &format!("{SERVER}_{SUBMIT_TOOL}"), json!({"topic": "x"}))]),
    }
}

/// Begins a task where it is asked to, and else delegates.
fn begins(model: &ModelCall) -> Speech {
    let is_asked = |text: &str| model.messages.iter().any(|message| message.content.text() == text);
    let args = json!({"description": "look", "prompt": "look", "subagent_type": "general-purpose"});
    match last(model).speaker {
        Speaker::Tool => Speech::text("done"),
        _ if is_asked("delegate") => Speech::calls("", [call("a", TASK, args)]),
        _ => submits(model),
    }
}

fn wanted(strategy: Strategy, text: &str) -> Wanted {
    Wanted {
        operation: Operation::Run,
        thread: thread("t"),
        must_exist: false,
        assistant: "lead_agent".into(),
        input: vec![Message::new(Speaker::Human, "", text)],
        options: Map::new(),
        metadata: Map::new(),
        kwargs: Map::new(),
        strategy,
        scope: Scope::All,
        base: None,
        secrets: std::collections::BTreeMap::new(),
        key: None,
    }
}

/// A run whose child has begun.
async fn delegated(stage: &Stage) -> (RunKey, RunKey) {
    let key = stage.admit("r1", "delegate", &json!({"subagent_enabled": true})).await;
    stage.work(&stage.runner(&Gate::open()), &key, LONG).await;
    let child = stage.child(&key, "a");
    (key, child)
}

async fn outcome(stage: &Stage, key: &RunKey) -> Option<Outcome> {
    stage.load(key).await.end().map(|end| end.outcome)
}

#[tokio::test(start_paused = true)]
async fn the_runs_of_a_deleted_thread_end_first_and_none_begins() {
    let stage = Stage::new(begins).await;
    let first = stage.admit("r0", "submit", &json!({})).await;
    stage.work(&stage.runner(&Gate::open()), &first, LONG).await;
    let (active, child) = delegated(&stage).await;
    let wiring = stage.wiring(&Gate::open());
    let queued = wiring.runs().admit(wanted(Strategy::Enqueue, "later")).await.unwrap().run.key;
    stage.waker.take();
    stage.blobs.put(&thread("t"), &"0".repeat(64), vec![1]).await.unwrap();
    wiring.threads().delete(&thread("t")).await.unwrap().unwrap();
    let failing = stage.gate(|call: Call<'_>| match call.op {
        "driver.cancel" => Fate::FailBefore,
        _ => Fate::Pass,
    });
    let deadline = Deadline::at(stage.clock.now() + Duration::from_secs(60));
    let failing = stage.wiring(&failing);
    failing.drain().run(Arc::new(failing.poller()), deadline).await;
    assert_eq!(stage.table.tasks().len(), 1, "the task is still being cancelled, so every row is there");
    for key in [&active, &child, &queued] {
        assert_eq!(outcome(&stage, key).await, Some(Outcome::Interrupted), "{}", key.id);
    }
    let conversation = stage.store().conversation(&thread("t")).await.unwrap().unwrap();
    assert_eq!((conversation.active, conversation.queue.len()), (None, 0));
    assert_eq!(stage.load(&queued).await.durable.generation.number(), 1, "it was ended, and never begun");
    for _ in 0..20 {
        stage.clock.sleep(Duration::from_secs(60)).await;
        let deadline = Deadline::at(stage.clock.now() + Duration::from_secs(50));
        wiring.drain().run(Arc::new(wiring.poller()), deadline).await;
    }
    assert!(stage.table.runs().is_empty() && stage.table.tasks().is_empty());
    assert!(stage.blobs.digests(&thread("t")).is_empty(), "and what was too large for rows");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_replaces_another_ends_its_children_though_its_answer_was_lost() {
    let stage = Stage::new(begins).await;
    let (replaced, child) = delegated(&stage).await;
    let (store, clock) = (stage.store(), stage.clock);
    let (table, mut commits) = (stage.table.clone(), 0);
    let gate = stage.gate(move |call: Call<'_>| {
        if call.op != "runs.commit" {
            return Fate::Pass;
        }
        commits += 1;
        if commits == 2 {
            // Somebody works on it already when it is written again.
            let begun = table.runs().into_iter().find(|run| matches!(run.phase, Phase::Pending)).unwrap();
            let lease = Lease { owner: Owner::new("w", 1), until: clock.now() + Duration::from_secs(120) };
            assert!(store.claim(&begun.key, lease).now_or_never().unwrap().unwrap().is_some());
        }
        if commits == 1 { Fate::LoseAnswer } else { Fate::Pass }
    });
    stage.waker.take();
    let runs = stage.wiring(&gate).runs();
    let admitted = runs.admit(wanted(Strategy::Interrupt, "instead")).await.unwrap();
    assert!(admitted.run.durable.lease.is_some(), "as it stands");
    assert_eq!(outcome(&stage, &replaced).await, Some(Outcome::Interrupted));
    assert_eq!(outcome(&stage, &child).await, Some(Outcome::Interrupted));
}

#[tokio::test(start_paused = true)]
async fn a_config_that_cannot_be_read_uses_up_no_attempt() {
    let stage = Stage::new(|_| Speech::text("here")).await;
    let key = stage.admit("r1", "hello", &json!({})).await;
    let gate = stage.gate(
        |call: Call<'_>| {
            if call.op.starts_with("config.") { Fate::FailBefore } else { Fate::Pass }
        },
    );
    for _ in 0..8 {
        let ran = stage.work(&stage.runner(&gate), &key, LONG).await;
        assert!(matches!(ran, Ran::Settled { next: Some(_), .. }), "{ran:?}");
        stage.clock.sleep(Duration::from_secs(31)).await;
    }
    assert_eq!(stage.rest(&key).await.end().map(|end| end.outcome), Some(Outcome::Success));
}

#[tokio::test(start_paused = true)]
async fn a_run_without_a_spec_ends_after_its_attempts() {
    let stage = Stage::new(|_| Speech::text("here")).await;
    let key = stage.admit("r1", "hello", &json!({})).await;
    stage.table.forget_spec(&key);
    for _ in 0..5 {
        assert_eq!(stage.work(&stage.runner(&Gate::open()), &key, LONG).await, Ran::Failed);
        stage.clock.sleep(Duration::from_secs(125)).await;
    }
    stage.work(&stage.runner(&Gate::open()), &key, LONG).await;
    let run = stage.load(&key).await;
    assert_eq!(run.end().map(|end| end.outcome), Some(Outcome::Error));
    let conversation = stage.store().conversation(&key.thread).await.unwrap().unwrap();
    assert_eq!(conversation.active, None, "the thread is free");
}

#[tokio::test(start_paused = true)]
async fn a_step_that_the_table_refuses_ends_the_run() {
    let stage = Stage::new(|_| Speech::text("here")).await;
    let key = stage.admit("r1", "hello", &json!({})).await;
    let runner = stage.runner(&Gate::open());
    let now = stage.clock.now();
    let lease = Lease { owner: Owner::new("w", 1), until: now + Duration::from_secs(120) };
    let run = stage.store().claim(&key, lease).await.unwrap().unwrap();
    let spec = stage.store().spec(&key).await.unwrap().unwrap();
    let session = Session::new(Arc::clone(&runner.parts), run, spec, Deadline::at(now + LONG));
    let refused = StoreError::Refused { operation: "committing a step", source: "too large".into() };
    let ran = session.conclude(Err(Stop::Store(refused))).await.unwrap();
    assert_eq!(ran, Ran::Settled { next: None, event: None });
    let run = stage.load(&key).await;
    assert!(run.end().unwrap().error.as_ref().unwrap().as_str().contains("committing a step"));
}

#[tokio::test(start_paused = true)]
async fn a_submission_under_way_comes_to_its_record_though_the_run_is_cancelled() {
    let stage = Stage::new(submits).await;
    let key = stage.admit("r1", "submit", &json!({})).await;
    let gate = stage.gate(|call: Call<'_>| match call.op {
        "driver.submit" => Fate::Late(Duration::from_secs(15)),
        _ => Fate::Pass,
    });
    let cancel = async {
        stage.clock.sleep(Duration::from_secs(5)).await;
        stage.cancel(&key).await;
    };
    let runner = stage.runner(&gate);
    tokio::join!(stage.work(&runner, &key, LONG), cancel);
    assert_eq!(outcome(&stage, &key).await, Some(Outcome::Interrupted));
    let tasks = stage.table.tasks();
    assert_eq!((tasks.len(), stage.server.tasks().len()), (1, 1));
    assert!(!matches!(tasks[0].task.state, TaskState::Intent { .. }), "it is tracked: {:?}", tasks[0].task);
}

#[tokio::test(start_paused = true)]
async fn no_submission_begins_without_the_time_that_it_may_take() {
    let stage = Stage::new(submits).await;
    let key = stage.admit("r1", "submit", &json!({})).await;
    assert_eq!(stage.work(&stage.runner(&Gate::open()), &key, Duration::from_secs(50)).await, Ran::Worked);
    assert!(stage.table.tasks().is_empty() && stage.load(&key).await.end().is_none());
    stage.work(&stage.runner(&Gate::open()), &key, LONG).await;
    assert!(answer(&stage.state(&key).await, "c").is_some());
}
