//! Delegation: parked while children work, and every way in which that can go wrong.

use std::time::Duration;

use futures_util::FutureExt;
use pudu_app::ports::{Applied, Background, Clock, ItemKey, ModelCall};
use pudu_app::worker::Ran;
use pudu_domain::Policy;
use pudu_domain::chat::{Speaker, ToolCall};
use pudu_domain::run::{Command, Ending, Outcome, Phase, Seen, decide};
use pudu_testkit::gate::CrashAt;
use pudu_testkit::{Fate, Gate, Speech};
use serde_json::{Value, json};

use super::stage::{COUNT, Stage, answer, call};
use super::{LONG, last, names, stands};
use crate::subagents::TASK;

fn task(id: &str, prompt: &str) -> ToolCall {
    let args = json!({"description": "look", "prompt": prompt, "subagent_type": "general-purpose"});
    call(id, TASK, args)
}

/// The lead delegates twice; a child, who is not offered that, calls a tool and answers.
fn delegates(model: &ModelCall) -> Speech {
    let is_lead = model.tools.iter().any(|tool| tool.name == TASK);
    match (is_lead, last(model).speaker) {
        (true, Speaker::Tool) => Speech::text("both are done"),
        (true, _) => {
            Speech::calls("", [task("a", "first"), task("b", "second"), call("c", COUNT, json!({}))])
        }
        (false, Speaker::Tool) => Speech::text("looked"),
        (false, _) => Speech::calls("", [call("x", COUNT, json!({}))]),
    }
}

fn enabled() -> Value {
    json!({"subagent_enabled": true})
}

#[tokio::test(start_paused = true)]
async fn a_run_is_parked_while_its_children_work() {
    let stage = Stage::new(delegates).await;
    let key = stage.admit("r1", "hello", &enabled()).await;
    let ran = stage.work(&stage.runner(&Gate::open()), &key, LONG).await;
    assert!(matches!(ran, Ran::Settled { next: Some(_), .. }), "{ran:?}");
    let run = stage.load(&key).await;
    assert!(matches!(&run.phase, Phase::Parked { open } if open.len() == 2), "{:?}", run.phase);
    assert_eq!((run.children, &run.durable.lease), (2, &None));
    assert_eq!(stage.counted.calls(), ["c"], "the other call was made first");
    let woken = stage.waker.take();
    let items: Vec<_> = woken.iter().map(|(function, items)| (*function, items[0].item.clone())).collect();
    let wanted = ["a", "b"].map(|call| (Background::Agent, ItemKey::Run(stage.child(&key, call))));
    assert_eq!(items, wanted, "an invocation of its own for each");
    stage.work(&stage.runner(&Gate::open()), &stage.child(&key, "a"), LONG).await;
    assert!(stage.waker.take().is_empty(), "one is at work");
    assert_eq!(stage.work(&stage.runner(&Gate::open()), &key, LONG).await, Ran::Refused);
    stage.work(&stage.runner(&Gate::open()), &stage.child(&key, "b"), LONG).await;
    assert_eq!(stage.waker.take()[0].1[0].item, ItemKey::Run(key.clone()), "the last one wakes its parent");
    stage.work(&stage.runner(&Gate::open()), &key, LONG).await;
    let (run, state) = (stage.load(&key).await, stage.state(&key).await);
    assert_eq!(run.end().map(|end| end.outcome), Some(Outcome::Success));
    let result = answer(&state, "a").unwrap();
    assert_eq!(result.content.text(), "Task Succeeded. Result: looked");
    assert_eq!((run.totals.calls, run.totals.subagent, run.totals.lead), (6, 60, 30));
    let frames = stage.frames(&key).await;
    let told = |kind: &str| frames.iter().filter(|(_, data)| data["type"] == kind).count();
    let all = ["task_started", "task_running", "task_completed"].map(told);
    assert_eq!(all, [2, 6, 2], "{:?}", names(&frames));
}

#[tokio::test(start_paused = true)]
async fn killed_anywhere_no_child_begins_twice() {
    for number in 0..500 {
        let mut died = false;
        for after in [false, true] {
            let stage = Stage::new(delegates).await;
            let key = stage.admit("r1", "hello", &enabled()).await;
            let gate = stage.gate(CrashAt { number, after });
            let runner = stage.runner(&gate);
            let working = async {
                for _ in 0..3 {
                    for run in stage.table.runs() {
                        stage.work(&runner, &run.key, LONG).await;
                    }
                }
            };
            tokio::select! {
                biased;
                () = gate.crashed() => died = true,
                () = Box::pin(working) => {}
            }
            let run = stage.rest(&key).await;
            let at = format!("killed at call {number}, after it: {after}");
            assert_eq!(run.end().map(|end| end.outcome), Some(Outcome::Success), "{at}");
            assert_eq!(stage.table.runs().len(), 3, "{at}");
            assert_eq!(stands(&stage.state(&key).await), (2, 3), "{at}");
            assert!(stage.models.heard().len() <= 7, "{at}: at most one call again");
            let frames = stage.frames(&key).await;
            let ended = frames.iter().filter(|(_, data)| data["type"] == "task_completed").count();
            assert_eq!(ended, 2, "{at}");
        }
        if !died {
            return;
        }
    }
    panic!("the sweep did not come to the end of the run");
}

#[tokio::test(start_paused = true)]
async fn a_child_that_is_never_done_is_given_up() {
    let stage = Stage::new(delegates).await;
    let key = stage.admit("r1", "hello", &enabled()).await;
    stage.work(&stage.runner(&Gate::open()), &key, LONG).await;
    stage.clock.sleep(Duration::from_secs(1800 + 61)).await;
    stage.work(&stage.runner(&Gate::open()), &key, LONG).await;
    let (run, state) = (stage.load(&key).await, stage.state(&key).await);
    assert_eq!(run.end().map(|end| end.outcome), Some(Outcome::Success));
    assert!(answer(&state, "a").unwrap().content.text().contains("given up"));
    for call in ["a", "b"] {
        let end = stage.load(&stage.child(&key, call)).await;
        assert_eq!(end.end().map(|end| end.outcome), Some(Outcome::Timeout));
    }
}

#[tokio::test(start_paused = true)]
async fn a_child_ends_when_its_time_is_over() {
    let stage = Stage::new(|model| match delegates(model) {
        said if model.tools.iter().any(|tool| tool.name == TASK) => said,
        _ => Speech::slowly(&"word ".repeat(10_000), Duration::from_secs(1)),
    })
    .await;
    let key = stage.admit("r1", "hello", &enabled()).await;
    stage.work(&stage.runner(&Gate::open()), &key, LONG).await;
    let runner = stage.runner(&Gate::open());
    // 1800 s are its type's time.
    for _ in 0..3 {
        stage.work(&runner, &stage.child(&key, "a"), LONG).await;
    }
    assert_eq!(
        stage.load(&stage.child(&key, "a")).await.end().map(|end| end.outcome),
        Some(Outcome::Timeout)
    );
}

#[tokio::test(start_paused = true)]
async fn a_cancel_of_the_parent_reaches_a_child_at_work() {
    let stage = Stage::new(|model| match delegates(model) {
        said if model.tools.iter().any(|tool| tool.name == TASK) => said,
        _ => Speech::Hangs,
    })
    .await;
    let key = stage.admit("r1", "hello", &enabled()).await;
    stage.work(&stage.runner(&Gate::open()), &key, LONG).await;
    let (runner, first) = (stage.runner(&Gate::open()), stage.child(&key, "a"));
    let cancel = async {
        stage.clock.sleep(Duration::from_secs(5)).await;
        stage.cancel(&key).await;
    };
    let began = stage.clock.elapsed();
    tokio::join!(stage.work(&runner, &first, LONG), cancel);
    assert!(stage.clock.elapsed().saturating_sub(began) < Duration::from_secs(8));
    assert_eq!(stage.load(&first).await.end().map(|end| end.outcome), Some(Outcome::Interrupted));
    stage.work(&runner, &stage.child(&key, "b"), LONG).await;
    let second = stage.load(&stage.child(&key, "b")).await;
    assert_eq!(second.end().map(|end| end.outcome), Some(Outcome::Interrupted));
    assert_eq!(second.checkpoints, 0, "one that had not begun does not begin");
}

#[tokio::test(start_paused = true)]
async fn a_child_that_speaks_without_a_pause_keeps_its_run() {
    let stage = Stage::new(|model| match delegates(model) {
        said if model.tools.iter().any(|tool| tool.name == TASK) => said,
        _ => Speech::slowly(&"word ".repeat(3000), Duration::from_millis(100)),
    })
    .await;
    let key = stage.admit("r1", "hello", &enabled()).await;
    stage.work(&stage.runner(&Gate::open()), &key, LONG).await;
    let first = stage.child(&key, "a");
    stage.work(&stage.runner(&Gate::open()), &first, LONG).await;
    assert_eq!(stage.load(&first).await.end().map(|end| end.outcome), Some(Outcome::Success));
    let (runner, second) = (stage.runner(&Gate::open()), stage.child(&key, "b"));
    let cancel = async {
        stage.clock.sleep(Duration::from_secs(5)).await;
        stage.cancel(&key).await;
    };
    let began = stage.clock.elapsed();
    tokio::join!(stage.work(&runner, &second, LONG), cancel);
    assert!(
        stage.clock.elapsed().saturating_sub(began) < Duration::from_secs(8),
        "and hears of its parent's end"
    );
    assert_eq!(stage.load(&second).await.end().map(|end| end.outcome), Some(Outcome::Interrupted));
}

#[tokio::test(start_paused = true)]
async fn what_children_brought_is_taken_though_no_step_is_left() {
    let stage = Stage::new(delegates).await;
    let options = json!({"subagent_enabled": true, "recursion_limit": 3});
    let key = stage.admit("r1", "hello", &options).await;
    let run = stage.rest(&key).await;
    assert_eq!(run.end().map(|end| end.outcome), Some(Outcome::Success), "{:?}", run.end());
    let key = stage.admit("r2", "hello", &json!({"subagent_enabled": true, "recursion_limit": 2})).await;
    assert_eq!(stage.rest(&key).await.end().map(|end| end.outcome), Some(Outcome::Error));
    let result = answer(&stage.state(&key).await, "a").map(|answer| answer.content.text());
    assert_eq!(result.as_deref(), Some("Task Succeeded. Result: looked"));
}

#[tokio::test(start_paused = true)]
async fn a_child_that_ends_while_it_is_given_up_is_heard() {
    let stage = Stage::new(delegates).await;
    let key = stage.admit("r1", "hello", &enabled()).await;
    stage.work(&stage.runner(&Gate::open()), &key, LONG).await;
    stage.clock.sleep(Duration::from_secs(1800 + 61)).await;
    let (store, first, parent, clock) = (stage.store(), stage.child(&key, "a"), key.clone(), stage.clock);
    let mut is_done = false;
    let gate = stage.gate(move |call: pudu_testkit::gate::Call<'_>| {
        if call.op == "runs.commit" && !std::mem::replace(&mut is_done, true) {
            let ends = async {
                let (run, parent) = (store.load(&first).await.unwrap(), store.load(&parent).await.unwrap());
                let seen = Seen { parent: parent.as_ref(), ..Seen::default() };
                let ends = Command::Cancel(Ending::new(Outcome::Success, None));
                let change = decide(&run.unwrap(), ends, &seen, clock.now(), &Policy::default()).unwrap();
                store.commit(&change).await.unwrap()
            };
            assert_eq!(ends.now_or_never(), Some(Applied::Done));
        }
        Fate::Pass
    });
    stage.work(&stage.runner(&gate), &key, LONG).await;
    let state = stage.state(&key).await;
    let told = ["a", "b"].map(|name| answer(&state, name).unwrap().content.text());
    assert!(told[0].starts_with("Task Succeeded") && told[1].contains("given up"), "{told:?}");
}
