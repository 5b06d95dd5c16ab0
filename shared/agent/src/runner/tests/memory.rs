//! What is remembered of a user, as a run is told it: once, in time, and nobody else's.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use pudu_app::memories::Memories;
use pudu_app::ports::{Clock, ModelCall};
use pudu_domain::memory::{MANUAL, NewFact};
use pudu_domain::run::Outcome;
use pudu_domain::{MemoryKey, RunKey, UserId};
use pudu_testkit::gate::{Call, CrashAt, Fate};
use pudu_testkit::{Gate, Speech};
use serde_json::{Value, json};

use super::LONG;
use super::stage::{COUNT, Stage, call};

fn settings(more: &Value) -> Value {
    let mut memory = json!({"enabled": true, "mode": "tool"});
    memory.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"memory": memory, "title": {"enabled": false}})
}

async fn stage(more: &Value) -> Stage {
    let plan = |call: &ModelCall| match call.messages.last() {
        Some(last) if last.content.text().contains("count") => counted(),
        _ => Speech::text("hello"),
    };
    let mut stage = Stage::configured(settings(more), plan).await;
    stage.is_whole = true;
    stage
}

fn counted() -> Speech {
    Speech::calls("", [call("c", COUNT, json!({}))])
}

fn memories(stage: &Stage) -> Memories {
    stage.wiring(&Gate::open()).memories()
}

fn whose(run: &RunKey) -> MemoryKey {
    MemoryKey { user: run.thread.user.clone(), agent: None }
}

async fn remember(stage: &Stage, key: &MemoryKey, content: &str) {
    let new = NewFact { content: content.into(), category: String::new(), confidence: 1.0 };
    memories(stage).add(key, None, (&new, MANUAL), 100).await.unwrap();
}

/// The reminders that a call was sent: what a provider gets is one system's message.
fn reminders(call: &ModelCall) -> Vec<String> {
    let whole: String = call.messages.iter().map(|message| message.content.text()).collect();
    let parts = whole.split("<system-reminder>").skip(1).map(|part| part.split("</system-reminder>").next());
    parts.map(|part| part.unwrap_or_default().to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn what_is_remembered_of_the_user_is_told_in_the_reminder_and_of_nobody_else() {
    let stage = stage(&json!({})).await;
    let key = stage.admit("r1", "please count", &json!({})).await;
    remember(&stage, &whose(&key), "likes tea </memory>").await;
    let other = UserId::parse("key:bob").unwrap();
    remember(&stage, &MemoryKey { user: other, agent: None }, "bob's secret").await;
    let writer = pudu_domain::AgentName::parse("writer").ok();
    remember(&stage, &MemoryKey { agent: writer, ..whose(&key) }, "of another agent").await;
    assert_eq!(stage.rest(&key).await.end().map(|end| end.outcome), Some(Outcome::Success));
    let heard = stage.models.heard();
    assert!(heard.len() > 1);
    for model in &heard {
        let told = reminders(model).concat();
        assert!(told.contains("- [context] likes tea &lt;/memory&gt;"), "{told}");
        assert!(!format!("{model:?}").contains("bob's secret") && !told.contains("of another agent"));
        assert_eq!(model.messages[..2], heard[0].messages[..2], "a cache finds it each time");
    }
}

#[tokio::test(start_paused = true)]
async fn a_memory_is_read_once_a_day_and_not_at_every_step_or_run() {
    let stage = stage(&json!({})).await;
    let reads = Arc::new(Mutex::new(0));
    let counts = Arc::clone(&reads);
    let gate = stage.gate(move |call: Call<'_>| {
        *counts.lock().unwrap() += u32::from(call.op == "memories.load");
        Fate::Pass
    });
    let first = stage.admit("r1", "please count", &json!({})).await;
    remember(&stage, &whose(&first), "likes tea").await;
    stage.work(&stage.runner(&gate), &first, LONG).await;
    assert_eq!(*reads.lock().unwrap(), 1);
    remember(&stage, &whose(&first), "likes coffee").await;
    let second = stage.admit("r2", "hello", &json!({})).await;
    stage.work(&stage.runner(&gate), &second, LONG).await;
    assert_eq!(*reads.lock().unwrap(), 1, "the conversation has it already");
    stage.clock.sleep(Duration::from_hours(24)).await;
    let third = stage.admit("r3", "hello", &json!({})).await;
    stage.work(&stage.runner(&gate), &third, LONG).await;
    assert_eq!(*reads.lock().unwrap(), 2);
    let told = reminders(stage.models.heard().last().unwrap());
    assert!(told[0].contains("likes tea") && !told[0].contains("coffee"), "{told:?}");
    assert!(told[1].contains("likes coffee"), "another day: {told:?}");
}

#[tokio::test(start_paused = true)]
async fn a_memory_that_cannot_be_read_or_not_in_time_costs_the_memory_and_not_the_run() {
    for fate in [Fate::FailBefore, Fate::Delay(Duration::from_secs(60))] {
        let stage = stage(&json!({})).await;
        let key = stage.admit("r1", "hello", &json!({})).await;
        remember(&stage, &whose(&key), "likes tea").await;
        let gate =
            stage.gate(move |call: Call<'_>| if call.op == "memories.load" { fate } else { Fate::Pass });
        let began = stage.clock.now();
        stage.work(&stage.runner(&gate), &key, LONG).await;
        assert_eq!(stage.load(&key).await.end().map(|end| end.outcome), Some(Outcome::Success), "{fate:?}");
        assert!(stage.clock.now().since(began) < Duration::from_secs(10), "{fate:?}");
        let told = reminders(&stage.models.heard()[0]).concat();
        assert!(!told.contains("tea") && told.contains("<current_date>"), "{told}");
    }
}

#[tokio::test(start_paused = true)]
async fn killed_anywhere_a_run_is_told_what_is_remembered_once() {
    for number in 0..200 {
        let stage = stage(&json!({})).await;
        let key = stage.admit("r1", "please count", &json!({})).await;
        remember(&stage, &whose(&key), "likes tea").await;
        let gate = stage.gate(CrashAt { number, after: number % 2 == 0 });
        let runner = stage.runner(&gate);
        let mut died = false;
        tokio::select! {
            biased;
            () = gate.crashed() => died = true,
            _ = Box::pin(stage.work(&runner, &key, LONG)) => {}
        }
        stage.rest(&key).await;
        let told = reminders(stage.models.heard().last().unwrap());
        assert_eq!(told.len(), 1, "killed at call {number}");
        assert!(told[0].contains("likes tea"), "killed at call {number}");
        if !died {
            return;
        }
    }
    panic!("the run makes more calls than are killed here");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_told_and_nothing_read_where_the_operator_does_not_want_it() {
    for more in [json!({"enabled": false}), json!({"injection_enabled": false})] {
        let stage = stage(&more).await;
        let key = stage.admit("r1", "hello", &json!({})).await;
        remember(&stage, &whose(&key), "likes tea").await;
        let gate = stage.gate(|call: Call<'_>| {
            assert_ne!(call.op, "memories.load");
            Fate::Pass
        });
        stage.work(&stage.runner(&gate), &key, LONG).await;
        assert!(!format!("{:?}", stage.models.heard()).contains("likes tea"));
    }
}
