//! The goal of a thread at the gateway.

use acceptance::Talk;
use http::Method;
use serde_json::{Value, json};

use super::said;

const GOAL: &str = "/api/threads/t/goal";

async fn put(talk: &Talk, body: Value) -> acceptance::Answer {
    talk.call(Method::PUT, GOAL, Some(&body)).await
}

#[tokio::test(start_paused = true)]
async fn a_goal_is_set_seen_replaced_and_forgotten() {
    let talk = Talk::new();
    talk.post("/api/threads", json!({ "thread_id": "t" })).await.expect(200);
    assert_eq!(talk.get(GOAL).await, json!({ "goal": null }));
    let set = put(&talk, json!({ "objective": "  All tests pass. " })).await.expect(200);
    assert_eq!(
        (&set["goal"]["objective"], &set["goal"]["status"]),
        (&json!("All tests pass."), &json!("active"))
    );
    assert!(set["goal"]["created_at"].is_string(), "{set}");
    assert_eq!(talk.get(GOAL).await, set);
    assert_eq!(talk.get("/api/threads/t/state").await["values"]["goal"], set["goal"]);
    let other = put(&talk, json!({ "objective": "任".repeat(4000) })).await.expect(200);
    assert_eq!(talk.get(GOAL).await, other);
    for _ in 0..2 {
        let gone = talk.call(Method::DELETE, GOAL, None).await.expect(200);
        assert_eq!(gone, json!({ "goal": null }));
        assert_eq!(talk.get(GOAL).await, gone);
    }
    assert!(talk.get("/api/threads/t/state").await["values"].get("goal").is_none());
}

#[tokio::test(start_paused = true)]
async fn what_is_no_goal_is_refused_and_says_why() {
    let talk = Talk::new();
    put(&talk, json!({ "objective": "x" })).await.refused(404);
    talk.call(Method::GET, GOAL, None).await.refused(404);
    talk.call(Method::DELETE, GOAL, None).await.refused(404);
    talk.post("/api/threads", json!({ "thread_id": "t" })).await.expect(200);
    for body in [
        json!({ "objective": "" }),
        json!({ "objective": " \n" }),
        json!({ "objective": "x".repeat(4001) }),
        json!({ "objective": format!("{}\n", "x".repeat(4000)) }),
    ] {
        let detail = put(&talk, body).await.refused(422);
        assert!(detail.contains("4000"), "{detail}");
    }
    for body in
        [json!({}), json!({ "objective": 1 }), json!({ "objective": "x", "status": "met" }), json!([])]
    {
        put(&talk, body).await.refused(422);
    }
    let state = json!({ "values": { "goal": { "objective": "x".repeat(4001) } } });
    talk.post("/api/threads/t/state", state).await.refused(422);
}

#[tokio::test(start_paused = true)]
async fn a_goal_is_not_changed_under_a_run() {
    let talk = Talk::new();
    let run = talk.begin(said("hi")).await;
    talk.take(&run).await;
    let detail = put(&talk, json!({ "objective": "x" })).await.refused(409);
    assert!(detail.contains("active run"), "{detail}");
    assert_eq!(talk.get(GOAL).await, json!({ "goal": null }), "it can be looked at");
}
