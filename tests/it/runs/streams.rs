//! Streams of runs, byte for byte where the reference says so (agent reference 2.6, 2.10).

use std::time::Duration;

use acceptance::{Listener, Talk, request, send};
use http::Method;
use http_body_util::BodyExt;
use pudu_app::ports::Clock;
use pudu_domain::run::Outcome;
use pudu_gateway::Streams;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::said;

fn streamed(modes: &Value) -> Value {
    let mut body = said("hi");
    body["stream_mode"] = modes.clone();
    body
}

/// The run that a stream is of.
fn of(listener: &Listener) -> String {
    let path = listener.headers["content-location"].to_str().unwrap();
    path.strip_prefix("/api/threads/t/runs/").unwrap().to_owned()
}

async fn status(talk: &Talk, run: &str) -> Value {
    talk.get(&format!("/api/threads/t/runs/{run}")).await["status"].take()
}

#[tokio::test(start_paused = true)]
async fn a_run_is_streamed_from_its_metadata_to_its_end() {
    let talk = Talk::new();
    let body = streamed(&json!(["values", "messages-tuple", "custom"]));
    let mut stream = talk.listen(Method::POST, "/api/threads/t/runs/stream", Some(&body), None).await;
    let run = of(&stream);
    let at = talk.row(&run).await.created_at.as_millis();
    let first = format!("event: metadata\ndata: {{\"run_id\": \"{run}\", \"thread_id\": \"t\"}}\nid: {at}-0");
    assert_eq!(stream.next().await, Some(first));
    assert_eq!(stream.headers["location"].to_str().unwrap(), format!("/threads/t/runs/{run}/stream"));
    talk.take(&run).await;
    let (event, values, _) = stream.heard().await.unwrap();
    assert_eq!((event.as_str(), &values["messages"][0]["content"]), ("values", &json!("hi")));
    talk.say(&run, "größer").await;
    talk.end(&run, Outcome::Success, None).await;
    let (event, chunk, _) = stream.heard().await.unwrap();
    assert_eq!((event.as_str(), &chunk[0]["content"]), ("messages", &json!("größer")));
    assert_eq!(stream.heard().await.unwrap().0, "custom");
    let (event, values, _) = stream.heard().await.unwrap();
    assert_eq!((event.as_str(), &values["messages"][1]["content"]), ("values", &json!("größer")));
    assert!(values.get("__counters").is_none());
    let (event, end, _) = stream.heard().await.unwrap();
    assert_eq!(event, "end");
    assert_eq!(end, json!({ "status": "success", "stop_reason": null, "error": null }));
    assert_eq!(stream.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn modes_say_what_is_told() {
    let talk = Talk::new();
    let run = talk.lived(streamed(&json!("messages-tuple")), "hello").await;
    let path = format!("/api/threads/t/runs/{run}/stream");
    let events = talk.listen(Method::GET, &path, None, None).await.events().await;
    assert_eq!(events, ["metadata", "messages", "end"], "those of the run");
    let other = format!("{path}?stream_mode=values&stream_mode=custom");
    let events = talk.listen(Method::GET, &other, None, None).await.events().await;
    assert_eq!(events, ["metadata", "values", "custom", "values", "end"]);
    talk.call(Method::GET, &format!("{path}?stream_mode=all"), None).await.refused(422);
}

#[tokio::test(start_paused = true)]
async fn whoever_comes_back_hears_what_came_since() {
    let talk = Talk::new();
    let run = talk.lived(said("hi"), "hello").await;
    let path = format!("/api/threads/t/runs/{run}/stream");
    let mut stream = talk.listen(Method::GET, &path, None, None).await;
    let mut ids = Vec::new();
    while let Some((_, _, id)) = stream.heard().await {
        ids.push(id.unwrap());
    }
    assert_eq!(ids.len(), 4);
    for (heard, id) in ids.iter().enumerate() {
        let mut rest = talk.listen(Method::GET, &path, None, Some(id)).await;
        for expected in &ids[heard + 1..] {
            assert_eq!(rest.heard().await.unwrap().2.as_ref(), Some(expected));
        }
        let last = rest.heard().await;
        let is_last = heard + 1 == ids.len();
        assert_eq!(
            last.map(|(event, ..)| event),
            is_last.then(|| "end".to_owned()),
            "an end that was heard is told again, alone"
        );
    }
    let mut asking = request(Method::GET, &path, None);
    asking.headers_mut().insert("last-event-id", "what".parse().unwrap());
    send(&talk.gateway, asking).await.refused(422);
}

#[tokio::test(start_paused = true)]
async fn vector_11_whoever_comes_back_too_late_is_told_so_and_nothing_ends() {
    let talk = Talk::new();
    let run = talk.begin(said("hi")).await;
    talk.take(&run).await;
    let (_, _, id) = {
        let path = format!("/api/threads/t/runs/{run}/stream");
        let mut stream = talk.listen(Method::GET, &path, None, None).await;
        stream.heard().await.unwrap()
    };
    talk.clock.sleep(Duration::from_secs(25 * 3600)).await;
    let again = talk.claim(&run).await.unwrap();
    assert_eq!(again.phase.status(), "running");
    talk.say(&run, "late").await;
    let path = format!("/api/threads/t/runs/{run}/stream?cancel_on_disconnect=1");
    let mut stream = talk.listen(Method::GET, &path, None, id.as_deref()).await;
    let (event, gap, _) = stream.heard().await.unwrap();
    assert_eq!(event, "gap");
    assert_eq!(
        (&gap["code"], &gap["recovery"]),
        (&json!("stream_replay_gap"), &json!("reload_durable_state"))
    );
    assert_eq!((&gap["run_id"], &gap["requested_event_id"]), (&json!(run), &json!(id)));
    assert!(gap["earliest_available_event_id"].is_string() && gap["latest_available_event_id"].is_string());
    assert_eq!(stream.next().await, None, "no end");
    assert_eq!(status(&talk, &run).await, "running");
}

#[tokio::test(start_paused = true)]
async fn a_quiet_stream_shows_that_it_lives() {
    let talk = Talk::new();
    let run = talk.begin(said("hi")).await;
    let path = format!("/api/threads/t/runs/{run}/stream");
    let mut stream = talk.listen(Method::GET, &path, None, None).await;
    stream.next().await.unwrap();
    let begun = tokio::time::Instant::now();
    for beat in 1..=2 {
        assert_eq!(stream.next().await.as_deref(), Some(": heartbeat"));
        let passed = begun.elapsed().as_secs();
        assert!((15 * beat..15 * beat + 4).contains(&passed), "{passed}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_ends_with_whoever_began_it_unless_it_is_to_go_on() {
    let talk = Talk::new();
    for (on_disconnect, expected) in [("cancel", "interrupted"), ("continue", "pending")] {
        let mut body = said("hi");
        body["on_disconnect"] = on_disconnect.into();
        let stream = talk.listen(Method::POST, "/api/threads/t/runs/stream", Some(&body), None).await;
        let run = of(&stream);
        drop(stream);
        talk.clock.sleep(Duration::from_secs(5)).await;
        assert_eq!(status(&talk, &run).await, expected);
        let joined = talk.listen(Method::GET, &format!("/api/threads/t/runs/{run}/stream"), None, None).await;
        drop(joined);
        talk.clock.sleep(Duration::from_secs(5)).await;
        assert_eq!(status(&talk, &run).await, expected, "whoever only looks takes nothing along");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_ends_before_its_run_ends_nothing() {
    let talk = Talk::new();
    let short = talk.with_streams(Streams::that_end_at_once());
    let mut stream =
        Listener::of(&short, request(Method::POST, "/api/threads/t/runs/stream", Some(&said("hi")))).await;
    let run = of(&stream);
    assert_eq!(stream.events().await, ["metadata"]);
    talk.clock.sleep(Duration::from_secs(5)).await;
    assert_eq!(status(&talk, &run).await, "pending");
}

#[tokio::test(start_paused = true)]
async fn a_failed_run_is_told_with_its_error_and_its_end() {
    let talk = Talk::new();
    let run = talk.begin(said("hi")).await;
    talk.take(&run).await;
    talk.end(&run, Outcome::Error, Some("boom")).await;
    let mut asking = request(Method::GET, &format!("/api/threads/t/runs/{run}/join"), None);
    asking.headers_mut().insert("accept", "text/event-stream".parse().unwrap());
    let mut stream = Listener::of(&talk.gateway, asking).await;
    assert_eq!(stream.events().await, ["metadata", "values", "error", "end"]);
    let waited = talk.get(&format!("/api/threads/t/runs/{run}/join")).await;
    assert_eq!((&waited["status"], &waited["error"]), (&json!("error"), &json!("boom")));
    assert_eq!(waited["__error__"], json!({ "error": "error", "message": "boom" }));
}

#[tokio::test(start_paused = true)]
async fn an_end_that_is_kept_no_longer_is_told_from_the_run() {
    let talk = Talk::new();
    let run = talk.lived(said("hi"), "hello").await;
    talk.clock.sleep(Duration::from_secs(25 * 3600)).await;
    let mut stream = talk.listen(Method::GET, &format!("/api/threads/t/runs/{run}/stream"), None, None).await;
    assert_eq!(stream.heard().await.unwrap().0, "metadata");
    assert_eq!(
        stream.next().await.as_deref(),
        Some("event: end\ndata: {\"status\": \"success\", \"stop_reason\": null, \"error\": null}")
    );
    assert_eq!(stream.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_is_answered_with_the_values() {
    let talk = Talk::new();
    let body = said("hi");
    let waiting = talk.post("/api/threads/t/runs/wait", body);
    let working = async {
        let run = loop {
            talk.clock.sleep(Duration::from_millis(50)).await;
            let listed = talk.call(Method::GET, "/api/threads/t/runs", None).await;
            if let Some(run) = listed.json()[0]["run_id"].as_str() {
                break run.to_owned();
            }
        };
        talk.take(&run).await;
        talk.say(&run, "hello").await;
        talk.end(&run, Outcome::Success, None).await;
    };
    let (answer, ()) = tokio::join!(waiting, working);
    assert_eq!(answer.expect(200)["messages"][1]["content"], "hello");
    assert!(answer.headers["content-location"].to_str().unwrap().starts_with("/api/threads/t/runs/"));
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_for_too_long_is_told_where_the_run_is() {
    let talk = Talk::new();
    let short = talk.with_streams(Streams::that_end_at_once());
    let mut body = said("hi");
    body["on_disconnect"] = "continue".into();
    let answer = send(&short, request(Method::POST, "/api/threads/t/runs/wait", Some(&body))).await;
    answer.refused(504);
    let path = answer.headers["content-location"].to_str().unwrap();
    assert_eq!(talk.get(path).await["status"], "pending");
}

#[tokio::test(start_paused = true)]
async fn a_run_without_a_thread_makes_one() {
    let talk = Talk::new();
    let stream = talk.listen(Method::POST, "/api/runs/stream", Some(&said("hi")), None).await;
    let path = stream.headers["content-location"].to_str().unwrap();
    let thread = path.split('/').nth(3).unwrap();
    assert_eq!(talk.get(&format!("/api/threads/{thread}")).await["status"], "busy");
    let mut named = said("hi");
    named["config"] = json!({ "configurable": { "thread_id": "t" } });
    let stream = talk.listen(Method::POST, "/api/runs/stream", Some(&named), None).await;
    of(&stream);
}

#[tokio::test(start_paused = true)]
async fn a_run_can_be_ended_and_its_end_heard_in_one_request() {
    let talk = Talk::new();
    let run = talk.begin(said("hi")).await;
    let path = format!("/api/threads/t/runs/{run}/stream?action=interrupt");
    let mut stream = talk.listen(Method::POST, &path, None, None).await;
    assert_eq!(stream.events().await, ["metadata", "end"]);
    assert_eq!(status(&talk, &run).await, "interrupted");
    let wrong = format!("/api/threads/t/runs/{run}/stream?action=stop");
    talk.call(Method::POST, &wrong, None).await.refused(422);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_over_before_its_run_breaks_off() {
    let talk = Talk::new();
    let run = talk.begin(said("hi")).await;
    let short = talk.with_streams(Streams::lasting(Duration::from_secs(5)));
    let path = format!("/api/threads/t/runs/{run}/stream");
    let Ok(answer) = short.clone().oneshot(request(Method::GET, &path, None)).await;
    assert!(answer.into_body().collect().await.is_err(), "its client would take it for the end");
    talk.take(&run).await;
    talk.end(&run, Outcome::Success, None).await;
    let Ok(answer) = short.oneshot(request(Method::GET, &path, None)).await;
    assert!(answer.into_body().collect().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_slow_client_ends_its_stream_and_not_its_run() {
    let talk = Talk::new();
    let body = streamed(&json!(["values", "messages-tuple", "custom"]));
    let asking = request(Method::POST, "/api/threads/t/runs/stream", Some(&body));
    let Ok(answer) = talk.gateway.clone().oneshot(asking).await;
    let path = answer.headers()["content-location"].to_str().unwrap().to_owned();
    let run = path.strip_prefix("/api/threads/t/runs/").unwrap();
    talk.take(run).await;
    for _ in 0..30 {
        talk.say(run, "more").await;
    }
    talk.clock.sleep(Duration::from_secs(30)).await;
    assert_eq!(status(&talk, run).await, "running");
    assert!(answer.into_body().collect().await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_repeated_run_without_a_thread_is_the_first() {
    let talk = Talk::new();
    let asked = async |key: &'static str| {
        let mut asking = request(Method::POST, "/api/runs/stream", Some(&said("hi")));
        asking.headers_mut().insert("idempotency-key", key.parse().unwrap());
        Listener::of(&talk.gateway, asking).await.headers
    };
    let (first, second, other) = (asked("a").await, asked("a").await, asked("b").await);
    assert_eq!(first["content-location"], second["content-location"]);
    assert_eq!(second["idempotency-replayed"], "true");
    assert_ne!(first["content-location"], other["content-location"]);
}

#[tokio::test(start_paused = true)]
async fn keys_of_deliveries_are_nobody_elses() {
    let talk = Talk::new();
    let mut asking = request(Method::POST, "/api/threads/t/runs", Some(&said("hi")));
    asking.headers_mut().insert("idempotency-key", "mcp-task:x:1:0".parse().unwrap());
    send(&talk.gateway, asking).await.refused(422);
}

#[tokio::test(start_paused = true)]
async fn no_types_of_events_are_all_and_a_list_says_nothing_of_inputs() {
    let talk = Talk::new();
    let run = talk.lived(said("hi"), "hello").await;
    let events = format!("/api/threads/t/runs/{run}/events");
    let all = talk.get(&events).await;
    assert!(!all.as_array().unwrap().is_empty());
    assert_eq!(talk.get(&format!("{events}?event_types=")).await, all);
    let listed = talk.get("/api/threads/t/runs").await;
    assert!(listed[0]["kwargs"].get("input").is_none());
}
