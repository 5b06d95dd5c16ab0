//! What is refused of a compaction before anything is begun. What one comes to is in `agents`.

use std::time::Duration;

use acceptance::Talk;
use pudu_app::ports::Clock;
use serde_json::{Value, json};

use super::said;

const COMPACT: &str = "/api/threads/t/compact";

/// Where conversations are summarized.
async fn summarizing() -> Talk {
    let talk = Talk::new();
    talk.seed(json!({ "mcpServers": {}, "summarization": { "enabled": true } })).await;
    talk
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_compacted_is_refused_and_nothing_is_begun() {
    let talk = Talk::new();
    talk.lived(said("hi"), "hello").await;
    for force in [true, false] {
        let detail = talk.post(COMPACT, json!({ "force": force })).await.refused(409);
        assert!(detail.contains("summarization.enabled"), "{detail}");
    }
    let talk = summarizing().await;
    talk.post(COMPACT, json!({})).await.refused(404);
    talk.begin(said("hi")).await;
    let detail = talk.post(COMPACT, json!({})).await.refused(409);
    assert!(detail.contains("active run") && !detail.contains("multitask"), "{detail}");
    assert_eq!(talk.get("/api/threads/t/runs").await.as_array().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_says_something_else_is_refused() {
    let talk = summarizing().await;
    talk.lived(said("hi"), "hello").await;
    let wrong: [(Value, u16); 9] = [
        (json!({ "keep": 5 }), 422),
        (json!({ "keep": { "type": "messages" } }), 422),
        (json!({ "keep": { "type": "fraction", "value": 1 } }), 422),
        (json!({ "keep": { "type": "messages", "value": -1 } }), 422),
        (json!({ "keep": { "type": "messages", "value": 100_000_001 } }), 422),
        (json!({ "force": "yes" }), 422),
        (json!({ "strategy": "interrupt" }), 422),
        (json!({ "agent_name": "a b" }), 422),
        (json!({ "model_name": "none-of-ours" }), 400),
    ];
    for (body, status) in wrong {
        talk.post(COMPACT, body).await.refused(status);
    }
    assert_eq!(talk.get("/api/threads/t/runs").await.as_array().unwrap().len(), 1);
}

/// Nobody works on it: the caller is told where it is, and can end it.
#[tokio::test(start_paused = true)]
async fn one_that_takes_too_long_is_told_where_it_is_and_is_a_run_like_any_other() {
    let talk = summarizing().await;
    talk.lived(said("hi"), "hello").await;
    let before = talk.get("/api/threads/t/state").await;
    // Ids of one moment are in no order.
    talk.clock.sleep(Duration::from_millis(1)).await;
    let answer = talk.post(COMPACT, json!({ "keep": { "type": "messages", "value": 0 } })).await;
    let place = answer.headers["content-location"].to_str().unwrap().to_owned();
    answer.refused(504);
    let run = talk.get(&place).await;
    assert_eq!((&run["operation_kind"], &run["status"]), (&json!("compact"), &json!("pending")));
    assert_eq!(talk.get("/api/threads/t/runs").await[0]["operation_kind"], "compact");
    assert_eq!(talk.get("/api/threads/t/runs").await[1]["operation_kind"], "run");
    assert_eq!(talk.get("/api/threads/t").await["status"], "busy");
    let cancel = talk.call(http::Method::POST, &format!("{place}/cancel"), None).await;
    assert_eq!(cancel.status, 202);
    assert_eq!(talk.get(&place).await["status"], "interrupted");
    assert_eq!(talk.get("/api/threads/t/state").await, before);
    assert_eq!(talk.get("/api/threads/t").await["status"], "idle", "the thread is as it was");
    talk.lived(said("again"), "hello again").await;
}
