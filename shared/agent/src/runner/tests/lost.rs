//! Answers of the table that are lost, and rows that change beside the holder.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use pudu_app::ports::{Clock, ModelCall};
use pudu_app::runs::follow::Follower;
use pudu_app::runs::modes::Modes;
use pudu_app::worker::Ran;
use pudu_domain::Policy;
use pudu_domain::chat::{Message, Speaker, ToolStatus};
use pudu_domain::run::{Command, Notice, Outcome, Seen, decide};
use pudu_testkit::gate::Call;
use pudu_testkit::{Fate, Gate, Speech};
use serde_json::json;

use super::stage::{COUNT, Stage, call};
use super::{LONG, names, stands, tools_then_answer};

/// What is done to the call of that number, if it is one to the rows of runs; which call it was.
fn mishap(
    number: u64,
    fate: Fate,
) -> (impl FnMut(Call<'_>) -> Fate + Send + 'static, Arc<Mutex<Option<String>>>) {
    let hit = Arc::new(Mutex::new(None));
    let noted = Arc::clone(&hit);
    let script = move |call: Call<'_>| {
        if call.number != number || !call.op.starts_with("runs.") {
            return Fate::Pass;
        }
        *noted.lock().unwrap() = Some(call.op.to_owned());
        fate
    };
    (script, hit)
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_of_the_table_changes_nothing() {
    let undisturbed = {
        let stage = Stage::new(tools_then_answer).await;
        let key = stage.admit("r1", "hello", &json!({})).await;
        stage.work(&stage.runner(&Gate::open()), &key, LONG).await;
        (stage.frames(&key).await, stage.models.heard().len())
    };
    let mut hits = 0;
    for number in 0..120 {
        for fate in [Fate::LoseAnswer, Fate::FailBefore] {
            let stage = Stage::new(tools_then_answer).await;
            let key = stage.admit("r1", "hello", &json!({})).await;
            let (script, hit) = mishap(number, fate);
            stage.work(&stage.runner(&stage.gate(script)), &key, LONG).await;
            let Some(op) = hit.lock().unwrap().clone() else { continue };
            hits += 1;
            let at = format!("call {number}, {op}, {fate:?}");
            let run = stage.load(&key).await;
            assert_eq!(run.end().map(|end| end.outcome), Some(Outcome::Success), "{at}");
            assert_eq!(stands(&stage.state(&key).await), (2, 3), "{at}");
            assert_eq!(stage.models.heard().len(), undisturbed.1, "{at}");
            let told = stage.frames(&key).await;
            assert_eq!(names(&told), names(&undisturbed.0), "{at}: nothing is told twice");
        }
    }
    assert!(hits > 20, "{hits}");
}

#[tokio::test(start_paused = true)]
async fn whoever_comes_late_does_nothing_that_another_has_done() {
    let stage = Stage::new(tools_then_answer).await;
    let key = stage.admit("r1", "hello", &json!({})).await;
    let mut commits = 0;
    let gate = stage.gate(move |call: Call<'_>| {
        commits += u32::from(call.op == "runs.commit");
        // The answer of the first step comes when the lease has been over for a while.
        if call.op == "runs.commit" && commits == 1 {
            Fate::Late(Duration::from_secs(200))
        } else {
            Fate::Pass
        }
    });
    let (late, other) = (stage.runner(&gate), stage.runner(&Gate::open()));
    let goes_on = async {
        stage.clock.sleep(Duration::from_secs(125)).await;
        stage.work(&other, &key, LONG).await
    };
    let (first, second) = tokio::join!(stage.work(&late, &key, LONG), goes_on);
    assert_eq!((first, second), (Ran::Worked, Ran::Settled { next: None, event: None }));
    assert_eq!((stage.models.heard().len(), stage.counted.calls().len()), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_for_the_config_until_his_lease_is_over_asks_no_model() {
    let stage = Stage::new(|model: &ModelCall| {
        if model.messages.last().unwrap().speaker == Speaker::Tool {
            return Speech::text("done");
        }
        Speech::calls("let me see", [call("a", COUNT, json!({}))])
    })
    .await;
    let key = stage.admit("r1", "hello", &json!({})).await;
    let mut has_asked = false;
    let gate = stage.gate(move |call: Call<'_>| {
        match call.op {
            // Behind it the config has to be read again.
            "models.call" if !std::mem::replace(&mut has_asked, true) => Fate::Delay(Duration::from_secs(5)),
            "config.pointer" if has_asked => Fate::Late(Duration::from_secs(200)),
            _ => Fate::Pass,
        }
    });
    let (late, other) = (stage.runner(&gate), stage.runner(&Gate::open()));
    let goes_on = async {
        stage.clock.sleep(Duration::from_secs(135)).await;
        stage.work(&other, &key, LONG).await
    };
    let (first, second) = tokio::join!(stage.work(&late, &key, LONG), goes_on);
    assert_eq!((first, second), (Ran::Worked, Ran::Settled { next: None, event: None }));
    assert_eq!((stage.models.heard().len(), stage.counted.calls().len()), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn what_stands_for_an_answer_has_an_id_under_which_nothing_was_told() {
    let stage = Stage::new(|_| Speech::slowly("one two three", Duration::from_millis(500))).await;
    let key = stage.admit("r1", "hello", &json!({})).await;
    // Each try breaks off at its end.
    let breaks = |call: Call<'_>| if call.op == "models.call" { Fate::LoseAnswer } else { Fate::Pass };
    stage.work(&stage.runner(&stage.gate(breaks)), &key, LONG).await;
    let fallback = stage.state(&key).await.messages.pop().unwrap();
    assert!(crate::retry::is_fallback(&fallback));
    let frames = stage.frames(&key).await;
    let told = frames.iter().filter(|(_, data)| data[0]["id"] == json!(fallback.id));
    let told: String = told.filter_map(|(_, data)| data[0]["content"].as_str()).collect();
    assert_eq!(told, fallback.content.text());
}

#[tokio::test(start_paused = true)]
async fn what_is_told_beside_the_holder_does_not_take_the_run_from_it() {
    let stage = Stage::new(|_| Speech::slowly(&"word ".repeat(40), Duration::from_millis(300))).await;
    let key = stage.admit("r1", "hello", &json!({})).await;
    let runner = stage.runner(&Gate::open());
    let beside = async {
        for number in 0..5 {
            stage.clock.sleep(Duration::from_secs(2)).await;
            let run = stage.load(&key).await;
            let notice =
                Notice::Frame { event: "custom".into(), data: json!({"type": "beside", "number": number}) };
            let command = Command::Relay(vec![notice]);
            let now = stage.clock.now();
            let change = decide(&run, command, &Seen::default(), now, &Policy::default()).unwrap();
            // Whoever relays tries again when it does not apply; here the holder is what is looked at.
            let _ = stage.store().commit(&change).await.unwrap();
        }
    };
    let (ran, ()) = tokio::join!(stage.work(&runner, &key, LONG), beside);
    assert_eq!(ran, Ran::Settled { next: None, event: None });
    assert_eq!(stage.models.heard().len(), 1);
    let frames = stage.frames(&key).await;
    let text: String = frames
        .iter()
        .filter(|(name, _)| name == "messages")
        .filter_map(|(_, data)| data[0]["content"].as_str())
        .collect();
    assert_eq!(text, "word ".repeat(40), "every piece once, in order");
    assert!(frames.iter().any(|(_, data)| data["type"] == "beside"));
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_spec_is_lost_ends_and_gives_its_thread_back() {
    let stage = Stage::new(tools_then_answer).await;
    let key = stage.admit("r1", "hello", &json!({})).await;
    stage.table.forget_spec(&key);
    let first = stage.work(&stage.runner(&Gate::open()), &key, LONG).await;
    assert_eq!(first, Ran::Failed, "it may only be late");
    let run = stage.rest(&key).await;
    assert_eq!(run.end().map(|end| end.outcome), Some(Outcome::Error));
    assert_eq!(stage.models.heard().len(), 0);
    stage.table.forget_spec(&key);
    let second = stage.admit("r2", "again", &json!({})).await;
    assert_eq!(stage.rest(&second).await.end().map(|end| end.outcome), Some(Outcome::Success));
}

#[tokio::test(start_paused = true)]
async fn what_each_step_wrote_is_told_to_whoever_joins() {
    let stage = Stage::new(tools_then_answer).await;
    let key = stage.admit("r1", "hello", &json!({})).await;
    let run = stage.rest(&key).await;
    let modes = Modes::named(["updates"]).unwrap();
    let mut follower = Follower::new(stage.wiring(&Gate::open()).runs(), &run, modes, None);
    let mut steps = Vec::new();
    loop {
        let look = follower.look().await.unwrap();
        let frame = look.frame.filter(|frame| frame.event == "updates");
        steps.extend(frame.and_then(|frame| frame.data.as_object().cloned()).into_iter().flatten());
        if look.over.is_some() {
            break;
        }
    }
    let nodes: Vec<&str> = steps.iter().map(|(node, _)| node.as_str()).collect();
    assert_eq!(nodes, ["model", "tools", "model"]);
    let said = |step: usize| steps[step].1["messages"].as_array().unwrap().len();
    assert_eq!((said(0), said(1), said(2)), (1, 3, 1), "a round of tools is one step: {steps:?}");
    assert!(steps[1].1["background_tasks"].is_array(), "with all that it wrote");
}

#[tokio::test(start_paused = true)]
async fn calls_that_a_client_wrote_are_not_made() {
    let stage = Stage::new(|_| Speech::text("no")).await;
    let said =
        Message { tool_calls: vec![call("a", COUNT, json!({}))], ..Message::new(Speaker::Ai, "", "x") };
    let key = stage.admit_saying("r1", vec![said], &json!({})).await;
    stage.rest(&key).await;
    assert_eq!((stage.counted.calls().len(), stage.models.heard().len()), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn only_so_many_calls_of_a_message_are_made() {
    let stage = Stage::new(|model: &ModelCall| {
        if model.messages.last().unwrap().speaker == Speaker::Tool {
            return Speech::text("done");
        }
        let calls: Vec<_> = (0..70).map(|number| call(&format!("c{number}"), COUNT, json!({}))).collect();
        Speech::calls("many", calls)
    })
    .await;
    let key = stage.admit("r1", "hello", &json!({})).await;
    stage.rest(&key).await;
    assert_eq!(stage.counted.calls().len(), 64);
    let state = stage.state(&key).await;
    let refused = state.messages.iter().filter(|message| message.status == Some(ToolStatus::Error));
    assert_eq!(refused.count(), 6);
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_nothing_is_shown() {
    let stage = Stage::new(|_| Speech::text("yes")).await;
    let mut answer = Message::new(Speaker::Human, "", "obey").hidden();
    answer.additional_kwargs.insert("human_input_response".into(), json!({"request_id": "never asked"}));
    let key = stage.admit_saying("r1", vec![answer], &json!({})).await;
    stage.rest(&key).await;
    assert!(stage.state(&key).await.messages[0].is_users());
}
