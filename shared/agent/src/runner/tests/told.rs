//! What whoever follows a run hears of its steps: each of them once and whole, whether it is a checkpoint or several, and whether the
//! run was parked in it or not.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pudu_app::ports::{Clock, ModelCall, ModelFault};
use pudu_app::runs::follow::{Follower, FrameId};
use pudu_app::runs::modes::Modes;
use pudu_domain::RunKey;
use pudu_domain::chat::Speaker;
use pudu_domain::state::Write;
use pudu_testkit::{Gate, Speech};
use serde_json::{Value, json};

use super::last;
use super::stage::{COUNT, Stage, call};
use crate::middleware::{Aside, Middleware};
use crate::subagents::TASK;
use crate::turn::Turn;

/// Writes before the model is asked, once.
struct Names;

#[async_trait]
impl Middleware for Names {
    fn name(&self) -> &'static str {
        "names"
    }

    async fn before_model(&self, turn: &mut Turn<'_>, _aside: &dyn Aside) {
        if turn.state().title.is_none() {
            turn.write(Write::Title("Deer".into()));
        }
    }

    async fn after_run(&self, turn: &mut Turn<'_>, _aside: &dyn Aside) {
        turn.write(Write::Title("Doe".into()));
    }
}

/// All frames of a run in these modes: event, data, id.
async fn heard(
    stage: &Stage,
    key: &RunKey,
    modes: &[&str],
    resumed: Option<FrameId>,
) -> Vec<(String, Value, Option<FrameId>)> {
    let run = stage.load(key).await;
    let modes = Modes::named(modes.iter().copied()).unwrap();
    let mut follower = Follower::new(stage.wiring(&Gate::open()).runs(), &run, modes, resumed);
    let mut all = Vec::new();
    loop {
        let look = follower.look().await.unwrap();
        all.extend(look.frame.map(|frame| (frame.event, frame.data, frame.id)));
        if look.over.is_some() {
            return all;
        }
    }
}

/// The nodes of the updates.
fn nodes(all: &[(String, Value, Option<FrameId>)]) -> Vec<&str> {
    let updates = all.iter().filter(|(event, ..)| event == "updates");
    updates.flat_map(|(_, data, _)| data.as_object().unwrap().keys().map(String::as_str)).collect()
}

/// Tasks that began, each of which must have ended before the next one began. Names, in order.
fn tasks(all: &[(String, Value, Option<FrameId>)]) -> Vec<String> {
    let (mut begun, mut open, mut ids) = (Vec::new(), None, BTreeSet::new());
    for (_, data, _) in all.iter().filter(|(event, ..)| event == "tasks") {
        let named = (data["id"].as_str().unwrap().to_owned(), data["name"].as_str().unwrap().to_owned());
        if data.get("result").is_some() {
            assert_eq!(open.take(), Some(named), "what ends is what began: {all:#?}");
        } else {
            assert_eq!(open, None, "what began has ended: {all:#?}");
            assert!(ids.insert(named.0.clone()), "an id is one task's");
            begun.push(named.1.clone());
            open = Some(named);
        }
    }
    assert_eq!(open, None, "the last one ends: {all:#?}");
    begun
}

fn delegates(model: &ModelCall) -> Speech {
    let is_lead = model.tools.iter().any(|tool| tool.name == TASK);
    let task = |id| {
        call(id, TASK, json!({"description": "look", "prompt": "x", "subagent_type": "general-purpose"}))
    };
    match (is_lead, last(model).speaker) {
        (true, Speaker::Tool) => Speech::text("done"),
        (true, _) if model.messages.iter().any(|message| message.content.text() == "both") => {
            Speech::calls("", [task("a"), call("c", COUNT, json!({}))])
        }
        (true, _) => Speech::calls("", [task("a")]),
        (false, _) => Speech::text("looked"),
    }
}

const ALL: [&str; 3] = ["values", "updates", "tasks"];

#[tokio::test(start_paused = true)]
async fn a_delegation_is_one_step_of_tools_that_begins_and_ends() {
    for (text, results) in [("one", 1), ("both", 2)] {
        let stage = Stage::new(delegates).await;
        let key = stage.admit("r1", text, &json!({"subagent_enabled": true})).await;
        stage.rest(&key).await;
        let all = heard(&stage, &key, &ALL, None).await;
        assert_eq!(nodes(&all), ["model", "tools", "model"], "{text}");
        assert_eq!(tasks(&all), ["model", "tools", "model"], "{text}");
        assert_eq!(all.iter().filter(|(event, ..)| event == "values").count(), 4);
        let wrote = all.iter().find_map(|(_, data, _)| data.get("tools")).unwrap();
        assert_eq!(wrote["messages"].as_array().unwrap().len(), results, "{text}: {wrote}");
        assert!(
            wrote["delegations"].is_array(),
            "what was written when it was parked is part of it: {wrote}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_written_before_a_pause_of_the_model_is_told_behind_it() {
    let mut tries = 0;
    let mut stage = Stage::new(move |_| {
        tries += 1;
        let retry_after = Some(Duration::from_secs(90));
        if tries == 1 {
            Speech::Fails { fault: ModelFault::Burst, retry_after }
        } else {
            Speech::text("hello")
        }
    })
    .await;
    stage.chain.push(Arc::new(Names));
    let key = stage.admit("r1", "hi", &json!({})).await;
    stage.rest(&key).await;
    let all = heard(&stage, &key, &ALL, None).await;
    assert_eq!(nodes(&all), ["model", "middleware"]);
    assert_eq!(tasks(&all), nodes(&all), "also a step that nobody announced begins");
    let update = all.iter().find(|(event, ..)| event == "updates").unwrap();
    assert_eq!(update.1["model"]["title"], "Deer", "{update:?}");
    assert_eq!(update.1["model"]["messages"][0]["content"], "hello");
}

#[tokio::test(start_paused = true)]
async fn a_run_without_input_behind_a_round_that_was_broken_off_tells_its_steps() {
    let stage = Stage::new(|model: &ModelCall| match last(model).speaker {
        Speaker::Human => {
            Speech::calls("", [call("c", COUNT, json!({})), call("d", COUNT, json!({"hang": true}))])
        }
        _ => Speech::text("done"),
    })
    .await;
    let key = stage.admit("r1", "hi", &json!({})).await;
    let runner = stage.runner(&Gate::open());
    let cancels = async {
        stage.clock.sleep(Duration::from_secs(5)).await;
        stage.cancel(&key).await;
    };
    tokio::join!(stage.work(&runner, &key, super::LONG), cancels);
    assert_eq!(stage.state(&key).await.open_calls().len(), 1, "it was broken off in its round");
    let key = stage.admit_saying("r2", Vec::new(), &json!({})).await;
    stage.rest(&key).await;
    let all = heard(&stage, &key, &ALL, None).await;
    assert_eq!((nodes(&all), tasks(&all)), (vec!["model"], vec!["model".to_owned()]));
    assert_eq!(all.iter().filter(|(event, ..)| event == "values").count(), 2);
}

#[tokio::test(start_paused = true)]
async fn whoever_comes_back_hears_the_rest_as_it_was_told() {
    let stage = Stage::new(delegates).await;
    let key = stage.admit("r1", "both", &json!({"subagent_enabled": true})).await;
    stage.rest(&key).await;
    let all = heard(&stage, &key, &ALL, None).await;
    let ids: Vec<(usize, FrameId)> =
        (1..).zip(&all).filter_map(|(behind, told)| Some((behind, told.2?))).collect();
    assert!(ids.len() > 4, "{ids:?}");
    for (behind, id) in ids.into_iter().filter(|(behind, _)| *behind < all.len()) {
        assert_eq!(heard(&stage, &key, &ALL, Some(id)).await, all[behind..], "behind {id}");
    }
}
