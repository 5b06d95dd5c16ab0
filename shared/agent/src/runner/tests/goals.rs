//! Runs that are held to the goal of their thread.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pudu_app::ports::{Clock, ModelCall, ModelFault, RecordQuery};
use pudu_app::runs::{NewThread, Update};
use pudu_app::worker::Ran;
use pudu_domain::chat::{Speaker, Usage};
use pudu_domain::goal::{Goal, QUESTION, Verdict};
use pudu_domain::run::{Notice, Outcome, StopReason};
use pudu_domain::state::{State, Write};
use pudu_domain::{RunKey, Scope};
use pudu_testkit::fixture::thread;
use pudu_testkit::gate::CrashAt;
use pudu_testkit::{Gate, Speech};
use serde_json::{Map, Value, json};

use super::stage::{COUNT, Stage, call};
use super::{LONG, last};
use crate::clarification::ASK_CLARIFICATION;
use crate::goal::GOAL_CONTINUATION;

fn judges(met: bool, progress: bool) -> Speech {
    Speech::text(&json!({"met": met, "progress": progress, "waits": false, "reason": "more"}).to_string())
}

fn is_judged(model: &ModelCall) -> bool {
    model.messages[0].content.text().starts_with(QUESTION)
}

/// How often the agent was told to go on, as the judge sees it.
fn went_on(model: &ModelCall) -> usize {
    model.messages[0].content.text().matches("\"who\":\"house\"").count()
}

/// A thread with a goal, whose agent says something new each time, and whose judge says that.
async fn held(judge: impl Fn(&ModelCall) -> Speech + Send + 'static) -> Stage {
    talking(judge, |model| Speech::text(&format!("heard {}", model.messages.len()))).await
}

async fn talking(
    judge: impl Fn(&ModelCall) -> Speech + Send + 'static,
    agent: impl Fn(&ModelCall) -> Speech + Send + 'static,
) -> Stage {
    conversing(json!({}), judge, agent).await
}

/// The same with these blocks in the config.
async fn conversing(
    blocks: Value,
    judge: impl Fn(&ModelCall) -> Speech + Send + 'static,
    agent: impl Fn(&ModelCall) -> Speech + Send + 'static,
) -> Stage {
    let mut stage = Stage::configured(blocks, move |model: &ModelCall| match model.tools.is_empty() {
        true if is_judged(model) => judge(model),
        true => Speech::text("Name"),
        false => agent(model),
    })
    .await;
    stage.is_whole = true;
    let runs = stage.wiring(&Gate::open()).runs();
    let new = NewThread { thread: thread("t"), metadata: Map::new(), assistant: None, scope: Scope::All };
    runs.open(new).await.unwrap();
    let goal = Goal::new("count to ten", "now".into()).unwrap().written();
    runs.update(Update { thread: thread("t"), writes: vec![Write::Goal(Some(goal))], base: None })
        .await
        .unwrap();
    stage
}

fn goal(state: &State) -> Goal {
    Goal::read(state.goal.as_ref().unwrap()).unwrap()
}

fn verdict(state: &State) -> (Verdict, u32) {
    let evaluation = goal(state).evaluation.unwrap();
    (evaluation.verdict, evaluation.continuations)
}

/// Answers of the agent, and messages that made it go on.
fn turns(state: &State) -> (usize, usize) {
    let answers = state.messages.iter().filter(|message| message.speaker == Speaker::Ai).count();
    let told = state.messages.iter().filter(|message| message.name.as_deref() == Some(GOAL_CONTINUATION));
    (answers, told.count())
}

fn asked(stage: &Stage) -> usize {
    stage.models.heard().iter().filter(|model| is_judged(model)).count()
}

async fn verdicts(stage: &Stage, key: &RunKey) -> Vec<String> {
    let frames = stage.frames(key).await;
    let told = frames.iter().filter(|(_, data)| data["type"] == "goal_evaluated");
    told.map(|(_, data)| data["verdict"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_run_goes_on_until_its_goal_is_met() {
    let stage = held(|model| judges(went_on(model) == 2, true)).await;
    let key = stage.admit("r1", "begin", &json!({})).await;
    let run = stage.rest(&key).await;
    assert_eq!(run.end().map(|end| (end.outcome, end.stop_reason)), Some((Outcome::Success, None)));
    let state = stage.state(&key).await;
    assert_eq!((turns(&state), verdict(&state)), ((3, 2), (Verdict::Met, 2)));
    assert_eq!(json!(goal(&state).status), "met");
    assert_eq!(verdicts(&stage, &key).await, ["continues", "continues", "met"]);
    let told = stage.models.heard();
    let second = told.iter().filter(|model| !model.tools.is_empty()).nth(1).unwrap();
    assert!(last(second).content.text().contains("count to ten"), "{:?}", last(second));
    let query = RecordQuery { limit: 100, ..RecordQuery::default() };
    let records = stage.store().records(&key.thread, &query).await.unwrap();
    let kept = |of: &str| {
        let is_it = |notice: &Notice| matches!(notice, Notice::Record { event_type, .. } if event_type == of);
        records.iter().filter(|record| is_it(&record.notice)).count()
    };
    assert_eq!((kept("middleware:goal"), kept("llm.human.input"), kept("llm.ai.response")), (3, 1, 3));
    assert!(run.totals.middleware > 0);
    // Nobody is held to it any more.
    let next = stage.admit("r2", "and now?", &json!({})).await;
    stage.rest(&next).await;
    assert_eq!(asked(&stage), 3);
}

#[tokio::test(start_paused = true)]
async fn eight_continuations_and_no_more_and_the_next_run_has_eight_of_its_own() {
    let stage = held(|_| judges(false, true)).await;
    for (id, answers) in [("r1", 9), ("r2", 18)] {
        let key = stage.admit(id, "begin", &json!({})).await;
        let run = stage.rest(&key).await;
        assert_eq!(run.end().map(|end| end.outcome), Some(Outcome::Success));
        let state = stage.state(&key).await;
        assert_eq!(verdict(&state), (Verdict::Exhausted, 8));
        assert_eq!((turns(&state).0, asked(&stage)), (answers, answers));
        assert_eq!(json!(goal(&state).status), "active");
    }
}

#[tokio::test(start_paused = true)]
async fn two_continuations_without_progress_end_the_run() {
    for repeats in [false, true] {
        let judge = move |_: &ModelCall| judges(false, repeats);
        let stage = talking(judge, move |model| {
            if repeats {
                Speech::text("the same")
            } else {
                Speech::text(&format!("heard {}", model.messages.len()))
            }
        })
        .await;
        let key = stage.admit("r1", "begin", &json!({})).await;
        let run = stage.rest(&key).await;
        assert_eq!(run.end().map(|end| end.outcome), Some(Outcome::Success));
        let state = stage.state(&key).await;
        assert_eq!(
            (turns(&state), verdict(&state)),
            ((3, 2), (Verdict::NoProgress, 2)),
            "repeats: {repeats}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_judgement_that_cannot_be_read_ends_the_run_well() {
    for (says, came, tries) in [
        (Speech::text("No, it must go on! {\"met\": false}"), Verdict::Unreadable, 1),
        (Speech::text("  "), Verdict::Unjudged, 1),
        (Speech::fails(ModelFault::Auth), Verdict::Unjudged, 1),
        (Speech::fails(ModelFault::Transient), Verdict::Unjudged, 3),
        // Of a breaker that is open, or of a provider that wants to be left alone for long: nobody waits for that.
        (
            Speech::Fails { fault: ModelFault::Busy, retry_after: Some(Duration::from_mins(1)) },
            Verdict::Unjudged,
            1,
        ),
    ] {
        let stage = held(move |_| says.clone()).await;
        let key = stage.admit("r1", "begin", &json!({})).await;
        let run = stage.rest(&key).await;
        assert_eq!(run.end().map(|end| end.outcome), Some(Outcome::Success));
        let state = stage.state(&key).await;
        assert_eq!((turns(&state), verdict(&state), asked(&stage)), ((1, 0), (came, 0), tries));
    }
}

#[tokio::test(start_paused = true)]
async fn a_judge_that_fails_once_is_asked_again() {
    let mut asked = 0;
    let judge = Mutex::new(move |_: &ModelCall| {
        asked += 1;
        if asked == 1 { Speech::fails(ModelFault::Transient) } else { judges(true, true) }
    });
    let stage = held(move |model| (judge.lock().unwrap())(model)).await;
    let key = stage.admit("r1", "begin", &json!({})).await;
    stage.rest(&key).await;
    let state = stage.state(&key).await;
    assert_eq!((turns(&state), verdict(&state)), ((1, 0), (Verdict::Met, 0)));
    assert_eq!(verdicts(&stage, &key).await, ["met"]);
}

#[tokio::test(start_paused = true)]
async fn a_judgement_for_which_there_is_no_model_is_told_as_one_that_did_not_come() {
    let stage = talking(|_| judges(false, true), |_| Speech::slowly("said it", Duration::from_mins(1))).await;
    let key = stage.admit("r1", "begin", &json!({})).await;
    let runner = stage.runner(&Gate::open());
    // While it answers the operator takes the secret away that its model needs.
    let taken = async {
        while stage.models.heard().is_empty() {
            stage.clock.sleep(Duration::from_millis(1)).await;
        }
        let mut config = pudu_testkit::fixture::config();
        let entry = json!({"name": "fake", "use": "langchain_openai:ChatOpenAI", "model": "fake", "api_key": "$GONE"});
        config["models"] = json!([entry]);
        let configs = stage.wiring(&Gate::open()).configs;
        configs.import(pudu_config::Document::parse(config).unwrap(), None).await.unwrap();
    };
    tokio::join!(stage.work(&runner, &key, LONG), taken);
    let run = stage.load(&key).await;
    assert_eq!(run.end().map(|end| end.outcome), Some(Outcome::Success));
    let state = stage.state(&key).await;
    assert_eq!((turns(&state), verdict(&state), asked(&stage)), ((1, 0), (Verdict::Unjudged, 0), 0));
    assert_eq!(verdicts(&stage, &key).await, ["unjudged"]);
    assert_eq!(state.title.as_deref(), Some("begin"));
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_tokens_are_used_up_is_not_continued() {
    let block = json!({"token_budget": {"enabled": true, "max_tokens": 1000}});
    let tokens = |text: &str| {
        let Speech::Says { mut message, .. } = Speech::text(text) else { panic!() };
        message.usage_metadata = Some(Usage { input_tokens: 490, output_tokens: 5, total_tokens: 495 });
        Speech::Says { pieces: vec![], pause: Duration::ZERO, message }
    };
    let stage = conversing(
        block,
        |_| judges(false, true),
        move |model| tokens(&format!("heard {}", model.messages.len())),
    )
    .await;
    let key = stage.admit("r1", "begin", &json!({})).await;
    let run = stage.rest(&key).await;
    assert_eq!(run.end().map(|end| (end.outcome, end.stop_reason)), Some((Outcome::Success, None)));
    // 495 of the agent, 15 of the judge, 495 of the agent: the second answer is the last.
    assert_eq!((turns(&stage.state(&key).await), asked(&stage)), ((2, 1), 1));
}

#[tokio::test(start_paused = true)]
async fn killed_anywhere_nothing_is_judged_again_that_stands() {
    for number in 0..600 {
        let mut died = false;
        for after in [false, true] {
            let stage = held(|model| judges(went_on(model) == 2, true)).await;
            let key = stage.admit("r1", "begin", &json!({})).await;
            let gate = stage.gate(CrashAt { number, after });
            let runner = stage.runner(&gate);
            tokio::select! {
                biased;
                () = gate.crashed() => died = true,
                _ = Box::pin(stage.work(&runner, &key, LONG)) => {}
            }
            let (stands, judged) = (verdicts(&stage, &key).await.len(), asked(&stage));
            let run = stage.rest(&key).await;
            let at = format!("killed at call {number}, after it: {after}");
            assert_eq!(run.end().map(|end| end.outcome), Some(Outcome::Success), "{at}");
            assert_eq!(asked(&stage) - judged, 3 - stands, "{at}");
            let state = stage.state(&key).await;
            assert_eq!((turns(&state), verdict(&state)), ((3, 2), (Verdict::Met, 2)), "{at}");
            assert_eq!(verdicts(&stage, &key).await, ["continues", "continues", "met"], "{at}");
            let ids: BTreeSet<&str> = state.messages.iter().map(|message| message.id.as_str()).collect();
            assert_eq!(ids.len(), state.messages.len(), "{at}");
        }
        if !died {
            return;
        }
    }
    panic!("the run makes more calls than are killed here");
}

#[tokio::test(start_paused = true)]
async fn another_invocation_goes_on_counting() {
    // A judge that takes so long that no invocation has time for two.
    let stage = held(|_| Speech::Says {
        pieces: vec![],
        pause: Duration::from_secs(20),
        message: Box::new(pudu_domain::chat::Message::new(
            Speaker::Ai,
            "",
            json!({"met": false, "progress": true, "waits": false, "reason": ""}).to_string(),
        )),
    })
    .await;
    let key = stage.admit("r1", "begin", &json!({})).await;
    let mut invocations = 0;
    while stage.load(&key).await.end().is_none() {
        let ran = stage.work(&stage.runner(&Gate::open()), &key, Duration::from_secs(38)).await;
        assert_ne!(ran, Ran::Refused);
        invocations += 1;
        assert!(invocations < 30);
    }
    assert!(invocations >= 5, "{invocations}");
    let state = stage.state(&key).await;
    assert_eq!((turns(&state), verdict(&state), asked(&stage)), ((9, 8), (Verdict::Exhausted, 8), 9));
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_a_judgement_at_work() {
    let stage = held(|_| Speech::Hangs).await;
    let key = stage.admit("r1", "begin", &json!({})).await;
    let runner = stage.runner(&Gate::open());
    let cancel = async {
        stage.clock.sleep(Duration::from_secs(10)).await;
        stage.cancel(&key).await;
    };
    let began = stage.clock.elapsed();
    let (ran, ()) = tokio::join!(stage.work(&runner, &key, LONG), cancel);
    assert_eq!(ran, Ran::Worked);
    assert!(stage.clock.elapsed().saturating_sub(began) < Duration::from_secs(12));
    let run = stage.load(&key).await;
    assert_eq!(run.end().map(|end| end.outcome), Some(Outcome::Interrupted));
    let state = stage.state(&key).await;
    assert_eq!((turns(&state), goal(&state).evaluation), ((1, 0), None));
}

#[tokio::test(start_paused = true)]
async fn limits_count_across_continuations_and_end_them() {
    // The same call in each turn: five of them are a loop, and nobody judges what is cut short.
    let stage = talking(
        |_| judges(false, true),
        |model| match last(model).speaker {
            Speaker::Tool => Speech::text(&format!("heard {}", model.messages.len())),
            _ => Speech::calls("", [call("c", COUNT, json!({}))]),
        },
    )
    .await;
    let key = stage.admit("r1", "begin", &json!({})).await;
    let run = stage.rest(&key).await;
    assert_eq!(run.end().and_then(|end| end.stop_reason), Some(StopReason::LoopCapped));
    assert_eq!((asked(&stage), stage.counted.calls().len()), (3, 4), "the warning costs a turn");

    let stage = held(|_| judges(false, true)).await;
    let key = stage.admit("r1", "begin", &json!({"recursion_limit": 3})).await;
    let run = stage.rest(&key).await;
    assert_eq!(run.end().map(|end| end.outcome), Some(Outcome::Success), "what there is is an answer");
    assert_eq!((turns(&stage.state(&key).await), asked(&stage)), ((3, 2), 2));
}

#[tokio::test(start_paused = true)]
async fn a_question_and_a_delivery_are_not_judged() {
    let seen = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&seen);
    let judge = move |_: &ModelCall| {
        *counted.lock().unwrap() += 1;
        judges(false, true)
    };
    let stage = talking(judge, |model| {
        let asks = model.messages.iter().any(|message| message.content.text().contains("paint"));
        let args: Value = json!({"question": "Which colour?", "clarification_type": "missing_info"});
        if asks { Speech::calls("", [call("q", ASK_CLARIFICATION, args)]) } else { Speech::text("told") }
    })
    .await;
    for (id, text, options) in
        [("r1", "the task is done", json!({"non_interactive": true})), ("r2", "paint it", json!({}))]
    {
        let key = stage.admit(id, text, &options).await;
        let run = stage.rest(&key).await;
        assert_eq!(run.end().map(|end| end.outcome), Some(Outcome::Success), "{id}");
    }
    assert_eq!(*seen.lock().unwrap(), 0);
}
