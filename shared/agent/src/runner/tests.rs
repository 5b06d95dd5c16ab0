//! The loop against the fake table, in virtual time.

mod children;
mod compactions;
mod ends;
mod goals;
mod guards;
mod lost;
mod memory;
mod remember;
mod stage;
mod told;
mod whole;

use std::collections::BTreeSet;
use std::time::Duration;

use pudu_app::ports::{Background, Clock, ItemKey, ModelCall, ModelFault};
use pudu_app::worker::Ran;
use pudu_domain::chat::{Message, Speaker};
use pudu_domain::run::{Outcome, StopReason};
use pudu_domain::state::State;
use pudu_domain::task::Delivery;
use pudu_testkit::fixture::{SERVER, SUBMIT_TOOL};
use pudu_testkit::gate::CrashAt;
use pudu_testkit::{Gate, Speech};
use serde_json::{Value, json};
use stage::{COUNT, Stage, answer, call, named};

const LONG: Duration = Duration::from_secs(900);

fn last(call: &ModelCall) -> &Message {
    call.messages.last().unwrap()
}

/// First calls a tool of ours, one of a server and one that starts a task, then answers.
fn tools_then_answer(model: &ModelCall) -> Speech {
    if last(model).speaker == Speaker::Tool {
        return Speech::text("all done");
    }
    Speech::calls(
        "let me see",
        [
            call("a", COUNT, json!({})),
            call("b", &format!("{SERVER}_echo"), json!({"text": "hi"})),
            call("c", &format!("{SERVER}_{SUBMIT_TOOL}"), json!({"topic": "x"})),
        ],
    )
}

fn names(frames: &[(String, Value)]) -> Vec<&str> {
    frames.iter().map(|(name, _)| name.as_str()).collect()
}

fn said(state: &State) -> Vec<(Speaker, String)> {
    state.messages.iter().map(|message| (message.speaker, message.content.text())).collect()
}

#[tokio::test(start_paused = true)]
async fn a_run_calls_its_tools_answers_and_ends() {
    let stage = Stage::new(tools_then_answer).await;
    let key = stage.admit("r1", "hello", &json!({})).await;
    let ran = stage.work(&stage.runner(&Gate::open()), &key, LONG).await;
    assert_eq!(ran, Ran::Settled { next: None, event: None });
    let (run, state) = (stage.load(&key).await, stage.state(&key).await);
    assert_eq!(run.end().map(|end| (end.outcome, end.stop_reason)), Some((Outcome::Success, None)));
    let said = said(&state);
    assert_eq!(said.iter().map(|(speaker, _)| *speaker).collect::<Vec<_>>(), {
        use Speaker::{Ai, Human, Tool};
        [Human, Ai, Tool, Tool, Tool, Ai]
    });
    assert_eq!((said[2].1.as_str(), said[5].1.as_str()), ("counted", "all done"));
    assert_eq!(state.messages[3].tool_call_id.as_deref().map(named), Some("b"), "in the order of the calls");
    assert_eq!(state.background_tasks.as_ref().map(Vec::len), Some(1));
    let deliveries: Vec<Delivery> = stage.table.tasks().iter().map(|row| row.task.delivery).collect();
    assert_eq!(deliveries, [Delivery::Run], "its news are told by a run");
    let frames = stage.frames(&key).await;
    assert_eq!(
        names(&frames),
        ["metadata", "values", "messages", "values", "values", "messages", "values", "end"]
    );
    assert_eq!(frames[0].1, json!({"run_id": "r1", "thread_id": "t"}));
    assert_eq!(frames[7].1, json!({"status": "success", "stop_reason": null, "error": null}));
    assert_eq!((run.totals.calls, run.totals.lead, run.totals.messages), (2, 30, 6));
    let conversation = stage.store().conversation(&key.thread).await.unwrap().unwrap();
    assert_eq!((conversation.active, conversation.head), (None, run.head()));
    let heard = stage.models.heard();
    let offered: Vec<&str> = heard[0].tools.iter().map(|tool| tool.name.as_str()).collect();
    assert!(offered.contains(&COUNT) && offered.contains(&"example_echo"), "{offered:?}");
}

#[tokio::test(start_paused = true)]
async fn the_next_run_goes_on_from_the_conversation() {
    let stage = Stage::new(|model| Speech::text(&format!("heard {}", model.messages.len()))).await;
    let first = stage.admit("r1", "hello", &json!({})).await;
    stage.rest(&first).await;
    let second = stage.admit("r2", "again", &json!({})).await;
    stage.rest(&second).await;
    let texts: Vec<String> = said(&stage.state(&second).await).into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["hello", "heard 1", "again", "heard 3"]);
}

/// What of a run stands: answers of the model, and answers of tools.
fn stands(state: &State) -> (usize, usize) {
    let count = |speaker| state.messages.iter().filter(|message| message.speaker == speaker).count();
    (count(Speaker::Ai), count(Speaker::Tool))
}

/// Kills the worker at every call, before and after it, and looks that nothing is done again that stands.
#[tokio::test(start_paused = true)]
async fn killed_anywhere_it_goes_on_behind_what_stands() {
    let mut survived = false;
    for number in 0..500 {
        let mut died = false;
        for after in [false, true] {
            let stage = Stage::new(tools_then_answer).await;
            let key = stage.admit("r1", "hello", &json!({})).await;
            let gate = stage.gate(CrashAt { number, after });
            let runner = stage.runner(&gate);
            tokio::select! {
                biased;
                () = gate.crashed() => died = true,
                _ = Box::pin(stage.work(&runner, &key, LONG)) => {}
            }
            let before = stage.state(&key).await;
            let (answers, results) = stands(&before);
            let (asked, counted) = (stage.models.heard().len(), stage.counted.calls().len());
            let run = stage.rest(&key).await;
            let at = format!("killed at call {number}, after it: {after}");
            assert_eq!(run.end().map(|end| end.outcome), Some(Outcome::Success), "{at}");
            assert_eq!(stage.models.heard().len() - asked, 2 - answers, "{at}: model calls");
            let has_count = answer(&before, "a").is_some();
            assert_eq!(stage.counted.calls().len() - counted, usize::from(!has_count), "{at}: tool calls");
            // Killed between the intent and the submission, the first task is the one that recovery ends.
            assert_eq!(stage.table.tasks().len(), 1, "{at}: one task, {results} results stood");
            assert!(stage.server.tasks().len() <= 1, "{at}");
            let state = stage.state(&key).await;
            assert_eq!(stands(&state), (2, 3), "{at}");
            assert!(
                said(&state)[..1] == said(&before)[..before.messages.len().min(1)]
                    || before.messages.is_empty()
            );
            let frames = stage.frames(&key).await;
            assert_eq!(names(&frames).iter().filter(|name| **name == "end").count(), 1, "{at}");
        }
        if !died {
            survived = true;
            break;
        }
    }
    assert!(survived, "the sweep came to the end of the run");
}

#[tokio::test(start_paused = true)]
async fn of_two_invocations_one_works() {
    let stage = Stage::new(|_| Speech::slowly("one two three", Duration::from_secs(3))).await;
    let key = stage.admit("r1", "hello", &json!({})).await;
    let (one, two) = (stage.runner(&Gate::open()), stage.runner(&Gate::open()));
    let (first, second) = tokio::join!(stage.work(&one, &key, LONG), stage.work(&two, &key, LONG));
    assert!([&first, &second].contains(&&Ran::Refused), "{first:?} {second:?}");
    assert_eq!(stage.models.heard().len(), 1);
    assert_eq!(stands(&stage.state(&key).await), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_the_model_call_between_two_pieces() {
    let stage = Stage::new(|_| Speech::slowly(&"word ".repeat(1000), Duration::from_secs(1))).await;
    let key = stage.admit("r1", "hello", &json!({})).await;
    let runner = stage.runner(&Gate::open());
    let began = stage.clock.elapsed();
    let cancel = async {
        stage.clock.sleep(Duration::from_secs(10)).await;
        stage.cancel(&key).await;
    };
    let (ran, ()) = tokio::join!(stage.work(&runner, &key, LONG), cancel);
    assert_eq!(ran, Ran::Worked);
    let took = stage.clock.elapsed().saturating_sub(began);
    assert!(took < Duration::from_secs(13), "{took:?}");
    assert_eq!(stage.load(&key).await.end().map(|end| end.outcome), Some(Outcome::Interrupted));
    assert_eq!(stands(&stage.state(&key).await), (0, 0));
    let frames = stage.frames(&key).await;
    let told = names(&frames);
    assert!(told.iter().filter(|name| **name == "messages").count() >= 5, "{told:?}");
    assert_eq!(told.last(), Some(&"end"));
}

#[tokio::test(start_paused = true)]
async fn without_time_it_is_handed_over_and_another_goes_on() {
    let mut tries = 0;
    let stage = Stage::new(move |_| {
        tries += 1;
        if tries == 1 { Speech::Hangs } else { Speech::text("here") }
    })
    .await;
    let key = stage.admit("r1", "hello", &json!({})).await;
    let runner = stage.runner(&Gate::open());
    assert_eq!(stage.work(&runner, &key, Duration::from_secs(30)).await, Ran::Worked);
    assert!(stage.clock.elapsed() < Duration::from_secs(30));
    let woken = stage.waker.take();
    assert_eq!(woken.len(), 1);
    assert_eq!((woken[0].0, &woken[0].1[0].item), (Background::Agent, &ItemKey::Run(key.clone())));
    assert!(stage.load(&key).await.durable.lease.is_none());
    stage.work(&runner, &key, LONG).await;
    assert_eq!(stands(&stage.state(&key).await), (1, 0));
    assert_eq!(
        stage.work(&runner, &key, Duration::from_secs(5)).await,
        Ran::Refused,
        "too little to begin with"
    );
}

#[tokio::test(start_paused = true)]
async fn a_model_that_is_silent_is_asked_again_and_then_the_run_fails_visibly() {
    let stage = Stage::new(|_| Speech::Hangs).await;
    let key = stage.admit("r1", "hello", &json!({})).await;
    let run = stage.rest(&key).await;
    assert_eq!(stage.models.heard().len(), 2, "once more, by its own budget");
    let end = run.end().unwrap();
    assert_eq!(end.outcome, Outcome::Error);
    assert!(end.error.as_ref().unwrap().as_str().contains("stream_chunk_timeout"));
    let frames = stage.frames(&key).await;
    assert_eq!(names(&frames), ["metadata", "values", "custom", "messages", "values", "error", "end"]);
    let retry = &frames[2].1;
    assert_eq!(
        (&retry["type"], &retry["attempt"], &retry["max_attempts"]),
        (&json!("llm_retry"), &json!(2), &json!(2))
    );
    let state = stage.state(&key).await;
    assert!(crate::retry::is_fallback(state.messages.last().unwrap()));
}

#[tokio::test(start_paused = true)]
async fn a_failing_model_is_asked_three_times_and_a_refused_one_once() {
    for (fault, tries) in [(ModelFault::Transient, 3), (ModelFault::Burst, 2), (ModelFault::Auth, 1)] {
        let failing = fault.clone();
        let stage = Stage::new(move |_| Speech::fails(failing.clone())).await;
        let key = stage.admit("r1", "hello", &json!({})).await;
        assert_eq!(stage.rest(&key).await.end().map(|end| end.outcome), Some(Outcome::Error));
        assert_eq!(stage.models.heard().len(), tries, "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_whose_schema_is_not_taken_is_left_out_from_then_on() {
    let stage = Stage::new(|model| {
        if model.tools.iter().any(|tool| tool.name == "example_echo") {
            let tool = Some("example_echo".to_owned());
            return Speech::fails(ModelFault::Schema { tool, path: Some("$.properties".to_owned()) });
        }
        if last(model).speaker == Speaker::Tool {
            Speech::text("done")
        } else {
            Speech::calls("", [call("a", COUNT, json!({}))])
        }
    })
    .await;
    let key = stage.admit("r1", "hello", &json!({})).await;
    assert_eq!(stage.rest(&key).await.end().map(|end| end.outcome), Some(Outcome::Success));
    assert_eq!(stage.models.heard().len(), 3, "the second step leaves it out at once");
}

#[tokio::test(start_paused = true)]
async fn a_run_without_an_end_uses_up_its_steps() {
    let mut number = 0;
    let stage = Stage::new(move |_| {
        number += 1;
        Speech::calls("", [call(&format!("c{number}"), COUNT, json!({}))])
    })
    .await;
    let key = stage.admit("r1", "hello", &json!({"recursion_limit": 6})).await;
    let run = stage.rest(&key).await;
    assert_eq!(run.end().map(|end| end.outcome), Some(Outcome::Error));
    assert!(run.end().unwrap().error.as_ref().unwrap().as_str().contains("recursion limit of 6"));
    assert_eq!((stage.models.heard().len(), stage.counted.calls().len()), (3, 3));
}

#[tokio::test(start_paused = true)]
async fn a_model_that_counts_its_calls_from_nought_is_understood() {
    let mut number = 0;
    let stage = Stage::new(move |_| {
        number += 1;
        if number > 3 { Speech::text("done") } else { Speech::calls("", [call("call_0", COUNT, json!({}))]) }
    })
    .await;
    let key = stage.admit("r1", "hello", &json!({})).await;
    assert_eq!(stage.rest(&key).await.end().map(|end| end.outcome), Some(Outcome::Success));
    assert_eq!(stands(&stage.state(&key).await), (4, 3));
    let ids: BTreeSet<String> =
        stage.state(&key).await.messages.into_iter().filter_map(|message| message.tool_call_id).collect();
    assert_eq!(ids.len(), 3, "{ids:?}");
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_workers_always_die_is_given_up() {
    let stage = Stage::new(|_| Speech::Hangs).await;
    let key = stage.admit("r1", "hello", &json!({})).await;
    for _ in 0..7 {
        let gate = stage.gate(|call: pudu_testkit::gate::Call<'_>| match call.op {
            "models.call" => pudu_testkit::Fate::CrashBefore,
            _ => pudu_testkit::Fate::Pass,
        });
        let runner = stage.runner(&gate);
        tokio::select! {
            () = gate.crashed() => {}
            _ = stage.work(&runner, &key, LONG) => break,
        }
        stage.clock.sleep(Duration::from_secs(125)).await;
    }
    let run = stage.load(&key).await;
    assert_eq!(run.end().map(|end| end.outcome), Some(Outcome::Error));
    assert!(run.end().unwrap().error.as_ref().unwrap().as_str().contains("without getting a step further"));
    assert_eq!(run.end().unwrap().stop_reason, None::<StopReason>);
}

#[tokio::test(start_paused = true)]
async fn a_long_pause_before_another_try_is_waited_for_by_nobody() {
    let mut tries = 0;
    let stage = Stage::new(move |_| {
        tries += 1;
        let retry_after = Some(Duration::from_secs(90));
        if tries == 1 {
            Speech::Fails { fault: ModelFault::Burst, retry_after }
        } else {
            Speech::text("here")
        }
    })
    .await;
    let key = stage.admit("r1", "hello", &json!({})).await;
    let runner = stage.runner(&Gate::open());
    let Ran::Settled { next: Some(due), .. } = stage.work(&runner, &key, LONG).await else { panic!() };
    assert_eq!(due.at.since(stage.clock.now()), Duration::from_secs(90));
    assert!(stage.load(&key).await.durable.lease.is_none());
    assert_eq!(stage.work(&runner, &key, LONG).await, Ran::Refused);
    stage.clock.sleep(Duration::from_secs(90)).await;
    stage.work(&runner, &key, LONG).await;
    assert_eq!(stage.load(&key).await.end().map(|end| end.outcome), Some(Outcome::Success));
    assert_eq!(
        names(&stage.frames(&key).await),
        ["metadata", "values", "custom", "messages", "values", "end"]
    );
}

#[tokio::test(start_paused = true)]
async fn tries_are_counted_over_pauses() {
    let stage = Stage::new(|_| Speech::Fails {
        fault: ModelFault::Burst,
        retry_after: Some(Duration::from_secs(90)),
    })
    .await;
    let key = stage.admit("r1", "hello", &json!({})).await;
    assert_eq!(stage.rest(&key).await.end().map(|end| end.outcome), Some(Outcome::Error));
    assert_eq!(stage.models.heard().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_thinks_for_long_keeps_its_run() {
    let stage = Stage::new(|_| Speech::slowly("one two three four", Duration::from_secs(200))).await;
    let key = stage.admit("r1", "hello", &json!({})).await;
    let (one, two) = (stage.runner(&Gate::open()), stage.runner(&Gate::open()));
    let others = async {
        let mut refused = 0;
        for _ in 0..30 {
            stage.clock.sleep(Duration::from_secs(10)).await;
            refused += u32::from(stage.work(&two, &key, LONG).await == Ran::Refused);
        }
        refused
    };
    let (_, refused) = tokio::join!(stage.work(&one, &key, Duration::from_secs(3600)), others);
    assert_eq!(refused, 30);
    // 600 s are the whole call's time; it is asked again, and no more than its budget.
    assert!(stage.models.heard().len() <= 3);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_a_tool_at_work() {
    let stage = Stage::new(|model| match last(model).speaker {
        Speaker::Tool => Speech::text("done"),
        _ => Speech::calls("", [call("a", COUNT, json!({"hang": true}))]),
    })
    .await;
    let key = stage.admit("r1", "hello", &json!({})).await;
    let runner = stage.runner(&Gate::open());
    let cancel = async {
        stage.clock.sleep(Duration::from_secs(10)).await;
        stage.cancel(&key).await;
    };
    let began = stage.clock.elapsed();
    let (ran, ()) = tokio::join!(stage.work(&runner, &key, LONG), cancel);
    assert_eq!(ran, Ran::Worked);
    assert!(stage.clock.elapsed().saturating_sub(began) < Duration::from_secs(12));
    assert_eq!(stands(&stage.state(&key).await), (1, 0), "the call stays open");
}

#[tokio::test(start_paused = true)]
async fn a_model_that_speaks_without_a_pause_is_left_before_the_time_is_over() {
    let stage = Stage::new(|_| Speech::slowly(&"word ".repeat(3000), Duration::from_millis(100))).await;
    let key = stage.admit("r1", "hello", &json!({})).await;
    let runner = stage.runner(&Gate::open());
    assert_eq!(stage.work(&runner, &key, Duration::from_secs(60)).await, Ran::Worked);
    assert!(stage.clock.elapsed() < Duration::from_secs(60));
    assert_eq!(stage.waker.take().len(), 1, "another goes on");
    assert!(stage.load(&key).await.durable.lease.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_is_too_long_is_none() {
    for seconds in [601, 3600, u64::MAX / 2] {
        let stage = Stage::new(move |_| Speech::Fails {
            fault: ModelFault::Burst,
            retry_after: Some(Duration::from_secs(seconds)),
        })
        .await;
        let key = stage.admit("r1", "hello", &json!({})).await;
        stage.work(&stage.runner(&Gate::open()), &key, LONG).await;
        assert_eq!(stage.load(&key).await.end().map(|end| end.outcome), Some(Outcome::Error), "{seconds}");
        assert_eq!(stage.models.heard().len(), 1);
    }
}
