//! Many workers, each of which dies, loses answers and is slow by chance, on a run with children: whatever happens, what stands is
//! whole, and what was streamed of it is what stands.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::future::join_all;
use pudu_app::ports::{Clock, ModelCall};
use pudu_domain::chat::Speaker;
use pudu_domain::run::Outcome;
use pudu_domain::{Lane, RunKey};
use pudu_testkit::gate::Mishaps;
use pudu_testkit::{SeededRandom, Speech};
use serde_json::{Value, json};

use super::last;
use super::stage::{COUNT, Stage, call};
use crate::subagents::TASK;

/// The lead delegates twice and calls a tool, all of them speak slowly.
fn plan(model: &ModelCall) -> Speech {
    let is_lead = model.tools.iter().any(|tool| tool.name == TASK);
    let slowly = |text: &str| Speech::slowly(text, Duration::from_millis(700));
    let task = |id: &str| {
        let args = json!({"description": "look", "prompt": id, "subagent_type": "general-purpose"});
        call(id, TASK, args)
    };
    match (is_lead, last(model).speaker) {
        (true, Speaker::Tool) => slowly("both of them are done and this is what they found out"),
        (true, _) => {
            let Speech::Says { pieces, pause, mut message } = slowly("let me ask two others") else {
                unreachable!()
            };
            message.tool_calls = vec![task("a"), task("b"), call("c", COUNT, json!({}))];
            Speech::Says { pieces, pause, message }
        }
        (false, Speaker::Tool) => slowly("looked at it"),
        (false, _) => Speech::calls("", [call("x", COUNT, json!({}))]),
    }
}

/// Plays a seed; how many workers died too.
async fn storm(seed: u64) -> (Stage, RunKey, u32) {
    let mut died = 0;
    let stage = Stage::new(plan).await;
    let random = SeededRandom::new(seed);
    let key = stage.admit("r1", "hello", &json!({"subagent_enabled": true})).await;
    for _ in 0..400 {
        if stage.load(&key).await.end().is_some() {
            break;
        }
        let now = stage.clock.now();
        let due: Vec<RunKey> = stage
            .table
            .runs()
            .into_iter()
            .filter(|run| run.durable.claimable(Lane::Run, now))
            .map(|run| run.key)
            .collect();
        // Each of them twice: wake-ups come twice, too.
        let lives = due.iter().chain(&due).map(|run| {
            let mishaps = Mishaps {
                random: random.fork(),
                crash: 20,
                fail: 25,
                slow: 25,
                slowest: Duration::from_secs(40),
            };
            let (gate, time) = (stage.gate(mishaps), random.millis(25_000..300_000));
            let runner = stage.runner(&gate);
            let stage = &stage;
            async move {
                tokio::select! {
                    biased;
                    () = gate.crashed() => 1,
                    _ = Box::pin(stage.work(&runner, run, time)) => 0,
                }
            }
        });
        died += join_all(lives).await.into_iter().sum::<u32>();
        stage.clock.sleep(random.millis(1000..60_000)).await;
    }
    (stage, key, died)
}

/// What was streamed, by message.
fn streamed(frames: &[(String, Value)]) -> BTreeMap<String, String> {
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    for (_, data) in frames.iter().filter(|(name, _)| name == "messages") {
        let (id, text) = (data[0]["id"].as_str().unwrap(), data[0]["content"].as_str().unwrap());
        texts.entry(id.to_owned()).or_default().push_str(text);
    }
    texts
}

/// Looks whether everything holds; whether it ended well, and how many workers died.
async fn judge(seed: u64) -> (bool, u32) {
    let (stage, key, died) = storm(seed).await;
    let run = stage.load(&key).await;
    let end = run.end().unwrap_or_else(|| panic!("seed {seed}: it does not end: {run:?}"));
    let (state, frames) = (stage.state(&key).await, stage.frames(&key).await);
    let ended = frames.iter().filter(|(name, _)| name == "end").count();
    assert_eq!((ended, frames.last().map(|(name, _)| name.as_str())), (1, Some("end")), "seed {seed}");
    let ids: BTreeSet<&str> = state.messages.iter().map(|message| message.id.as_str()).collect();
    assert_eq!(ids.len(), state.messages.len(), "seed {seed}: no message twice");
    let values: Vec<u64> =
        frames.iter().filter(|(name, _)| name == "values").filter_map(|(_, data)| data.as_u64()).collect();
    assert!(values.is_sorted_by(|a, b| a < b), "seed {seed}: {values:?}");
    let conversation = stage.store().conversation(&key.thread).await.unwrap().unwrap();
    assert_eq!((conversation.active, conversation.head), (None, run.head()), "seed {seed}");
    assert!(stage.table.runs().len() <= 3, "seed {seed}: no child begins twice");
    let streamed = streamed(&frames);
    for message in state.messages.iter().filter(|message| message.speaker == Speaker::Ai) {
        let told = streamed.get(&message.id).cloned().unwrap_or_default();
        assert_eq!(told, message.content.text(), "seed {seed}: what was streamed is what stands");
    }
    if end.outcome == Outcome::Success {
        let answers = state.messages.iter().filter(|message| message.speaker == Speaker::Tool).count();
        assert_eq!((answers, state.open_calls().len()), (3, 0), "seed {seed}");
        let begun = frames.iter().filter(|(_, data)| data["type"] == "task_started").count();
        assert_eq!(begun, 2, "seed {seed}");
    }
    (end.outcome == Outcome::Success, died)
}

#[tokio::test(start_paused = true)]
async fn whatever_happens_what_stands_is_whole() {
    let (mut well, mut died) = (0, 0);
    for seed in 0..40 {
        let (ended_well, deaths) = judge(seed).await;
        well += u32::from(ended_well);
        died += deaths;
    }
    // A model may fail as often as its budget allows; a worker's death is no reason to fail.
    assert!(well > 30 && died > 50, "{well} ended well, {died} workers died");
}
