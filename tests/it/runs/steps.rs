//! What each step of a run shows: updates, tasks, checkpoints, and all of it as debug (agent reference 2.3, 2.6).

use acceptance::Talk;
use http::Method;
use serde_json::{Value, json};

use super::said;

/// Events of a run that has ended, to whoever joins in these modes.
async fn heard(talk: &Talk, run: &str, modes: &str) -> Vec<(String, Value, Option<String>)> {
    let path = format!("/api/threads/t/runs/{run}/stream?stream_mode={modes}");
    let mut stream = talk.listen(Method::GET, &path, None, None).await;
    let mut all = Vec::new();
    while let Some(heard) = stream.heard().await {
        all.push(heard);
    }
    all
}

fn names(heard: &[(String, Value, Option<String>)]) -> Vec<&str> {
    heard.iter().map(|(event, ..)| event.as_str()).collect()
}

#[tokio::test(start_paused = true)]
async fn updates_are_told_of_a_run_that_was_begun_without_them() {
    let talk = Talk::new();
    let run = talk.lived(said("hi"), "hello").await;
    let all = heard(&talk, &run, "updates").await;
    assert_eq!(names(&all), ["metadata", "updates", "end"], "what a run begins with is nobody's step");
    let update = &all[1].1;
    assert_eq!(update["model"]["messages"][0]["content"], "hello");
    assert_eq!(update["model"].as_object().unwrap().len(), 1, "what it wrote and nothing else");
    assert!(all[1].2.is_some(), "a client comes back behind it");
}

#[tokio::test(start_paused = true)]
async fn of_what_is_told_together_the_last_has_the_id() {
    let talk = Talk::new();
    let run = talk.lived(said("hi"), "hello").await;
    let all = heard(&talk, &run, "updates,values").await;
    assert_eq!(names(&all), ["metadata", "values", "updates", "values", "end"]);
    let ids: Vec<bool> = all.iter().map(|(_, _, id)| id.is_some()).collect();
    assert_eq!(ids, [true, true, false, true, true], "whoever is cut off between them hears both again");
    let path = format!("/api/threads/t/runs/{run}/stream?stream_mode=updates,values");
    let mut again = talk.listen(Method::GET, &path, None, all[1].2.as_deref()).await;
    assert_eq!(again.events().await, ["updates", "values", "end"]);
    let mut rest = talk.listen(Method::GET, &path, None, all[3].2.as_deref()).await;
    assert_eq!(rest.events().await, ["end"]);
}

#[tokio::test(start_paused = true)]
async fn tasks_begin_and_end_under_one_id() {
    let talk = Talk::new();
    let run = talk.lived(said("hi"), "hello").await;
    let all = heard(&talk, &run, "tasks").await;
    assert_eq!(names(&all), ["metadata", "tasks", "tasks", "end"]);
    let (begun, ended) = (&all[1].1, &all[2].1);
    assert_eq!((&begun["name"], &begun["id"]), (&json!("model"), &json!(format!("{run}:0:model"))));
    assert_eq!(begun["input"]["messages"][0]["content"], "hi");
    assert_eq!((&ended["name"], &ended["id"]), (&begun["name"], &begun["id"]));
    assert_eq!(ended["result"]["messages"][0]["content"], "hello");
}

#[tokio::test(start_paused = true)]
async fn checkpoints_are_told_as_the_state_shows_them() {
    let talk = Talk::new();
    let run = talk.lived(said("hi"), "hello").await;
    let all = heard(&talk, &run, "checkpoints").await;
    assert_eq!(names(&all), ["metadata", "checkpoints", "checkpoints", "end"]);
    for (number, (_, told, _)) in all[1..3].iter().enumerate() {
        let state = talk.get(&format!("/api/threads/t/state/{run}:{number}")).await;
        assert_eq!(told["values"], state["values"]);
        assert_eq!(told["metadata"], state["metadata"]);
        assert_eq!(told["config"]["configurable"], state["checkpoint"]);
        assert_eq!(told["parent_config"]["configurable"], state["parent_checkpoint"]);
    }
    assert_eq!((&all[1].1["next"], &all[2].1["next"]), (&json!(["model"]), &json!([])));
}

#[tokio::test(start_paused = true)]
async fn debug_is_all_of_it_under_one_name() {
    let talk = Talk::new();
    let run = talk.lived(said("hi"), "hello").await;
    let all = heard(&talk, &run, "debug").await;
    let told: Vec<(&str, i64)> = all[1..all.len() - 1]
        .iter()
        .map(|(event, data, _)| {
            assert_eq!(event, "debug");
            assert!(data["timestamp"].as_str().unwrap().starts_with("20") && data["payload"].is_object());
            (data["type"].as_str().unwrap(), data["step"].as_i64().unwrap())
        })
        .collect();
    assert_eq!(told, [("checkpoint", 0), ("task", 1), ("task_result", 1), ("checkpoint", 1)]);
}

#[tokio::test(start_paused = true)]
async fn every_mode_of_the_reference_is_served_and_others_are_refused() {
    let talk = Talk::new();
    for mode in ["values", "messages-tuple", "updates", "debug", "tasks", "checkpoints", "custom"] {
        let mut body = said("hi");
        body["stream_mode"] = json!([mode]);
        body["multitask_strategy"] = "interrupt".into();
        let run = talk.lived(body, "hello").await;
        let stream = format!("/api/threads/t/runs/{run}/stream");
        let events = talk.listen(Method::GET, &stream, None, None).await.events().await;
        let event = if mode == "messages-tuple" { "messages" } else { mode };
        assert!(
            events.len() > 2 && events[1..events.len() - 1].iter().all(|told| told == event),
            "{events:?}"
        );
    }
    for other in ["messages", "events", "all"] {
        let mut body = said("hi");
        body["stream_mode"] = other.into();
        let detail = talk.post("/api/threads/t/runs", body).await.refused(422);
        assert!(detail.contains("checkpoints"), "{detail}");
    }
}
