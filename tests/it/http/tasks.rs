//! Tasks and events as callers see them.

use acceptance::World;
use http::Method;
use serde_json::{Value, json};

#[tokio::test]
async fn a_thread_lists_its_own_tasks_newest_first() {
    let world = World::new().await;
    let mut ids = Vec::new();
    for number in 0..3 {
        ids.push(world.submit("t1", &json!({"title": format!("r{number}"), "duration_seconds": 60})).await);
        world.advance(1);
    }
    world.submit("t2", &json!({"title": "other", "duration_seconds": 60})).await;
    ids.reverse();
    let listed = |body: &Value| -> Vec<String> {
        body.as_array().unwrap().iter().map(|task| task["task_id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(listed(&world.get("/api/threads/t1/mcp-tasks").await), ids);
    assert_eq!(listed(&world.get("/api/threads/t1/mcp-tasks?limit=1").await), ids[..1]);
    assert_eq!(world.get("/api/threads/never-used/mcp-tasks").await, json!([]));
}

#[tokio::test]
async fn vector_92_a_task_shows_these_fields_and_nothing_of_the_server() {
    let world = World::new().await;
    let id = world.submit("t1", &json!({"title": "Deer", "duration_seconds": 60})).await;
    let task = world.task("t1", &id).await;
    let fields: Vec<&str> = task.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        fields,
        [
            "task_id",
            "task_name",
            "status",
            "created_at",
            "updated_at",
            "error",
            "tracking_degraded",
            "cancel_requested",
            "last_polled_at",
            "last_poll_error",
            "last_cancel_error",
            "cancel_attempt_count",
            "notification_status",
            "notification_error",
            "notification_attempt_count",
            "result",
            "result_preview",
            "result_truncated",
            "result_artifact",
            "input_required",
            "input_answered",
            "event_version",
        ]
    );
    assert_eq!(task["created_at"], "2026-11-01T00:00:00Z");
    let remote = world.example.inside().reports()[0].id.clone();
    for inner in [remote.as_str(), "submit_report", "example"] {
        assert!(
            !task.to_string().contains(inner),
            "the handle, driver data and server are not shown: {task}"
        );
    }
    assert!(!world.get("/api/threads/t1/mcp-tasks").await.to_string().contains(&remote));
}

#[tokio::test]
async fn vector_92_an_error_is_cut_to_500_characters() {
    let world = World::new().await;
    let told = "ä".repeat(1_000);
    let failing = json!({"title": "Deer", "duration_seconds": 1, "fail": true, "fail_message": told});
    let id = world.submit("t1", &failing).await;
    world.advance(5);
    world.tick_poller().await;
    world.tick_notifier().await;
    let task = world.task("t1", &id).await;
    assert_eq!(task["status"], "failed");
    let error = task["error"].as_str().unwrap();
    assert_eq!((error.chars().count(), error.trim_matches('ä')), (500, ""));
    let listed = &world.get("/api/threads/t1/mcp-tasks").await[0];
    assert!(listed["error"].as_str().unwrap().chars().count() <= 500, "{listed}");
}

#[tokio::test]
async fn a_task_of_another_thread_is_no_task() {
    let world = World::new().await;
    let id = world.submit("t1", &json!({"title": "Deer", "duration_seconds": 60})).await;
    let there = world.call(Method::GET, &format!("/api/threads/t2/mcp-tasks/{id}"), None).await.refused(404);
    let nowhere = world.call(Method::GET, "/api/threads/t1/mcp-tasks/no-id-at-all", None).await.refused(404);
    assert_eq!(there, nowhere, "the same words, so that nothing is learned");
    world.call(Method::POST, &format!("/api/threads/t2/mcp-tasks/{id}/cancel"), None).await.refused(404);
    assert_eq!(world.task("t1", &id).await["cancel_requested"], false);
}

/// Reference 8.2, [seed-only]; vector numbers end before it.
#[tokio::test]
async fn a_cancel_that_nobody_would_carry_out_is_refused_and_not_recorded() {
    let world = World::new().await;
    let id = world.submit("t1", &json!({"title": "Deer", "duration_seconds": 600})).await;
    world.advance(300);
    let before = world.task("t1", &id).await;
    let path = format!("/api/threads/t1/mcp-tasks/{id}/cancel");
    let refused = world.call(Method::POST, &path, None).await.refused(503);
    assert!(refused.contains("no task-poller was seen"), "{refused}");
    assert_eq!(world.task("t1", &id).await, before);
    let other = format!("/api/threads/t2/mcp-tasks/{id}/cancel");
    world.call(Method::POST, &other, None).await.refused(404);
    world.tick_poller().await;
    assert_eq!(world.cancel("t1", &id).await["cancel_requested"], true);
    world.tick_poller().await;
    world.tick_notifier().await;
    world.nothing_is_pending().await;
}

#[tokio::test]
async fn events_come_in_the_order_of_their_delivery() {
    let world = World::new().await;
    let slow = world.submit("t1", &json!({"title": "slow", "duration_seconds": 8})).await;
    world.advance(1);
    let fast = world.submit("t1", &json!({"title": "fast", "duration_seconds": 1})).await;
    for _ in 0..4 {
        world.advance(5);
        world.tick_poller().await;
        world.tick_notifier().await;
    }
    let events = world.get("/api/threads/t1/events").await;
    let ids: Vec<&str> =
        events.as_array().unwrap().iter().map(|e| e["event"]["task_id"].as_str().unwrap()).collect();
    assert_eq!(ids, [fast.as_str(), slow.as_str()]);
    let newest = world.get("/api/threads/t1/events?limit=1").await;
    assert_eq!(newest[0]["event"]["task_id"], json!(slow));
    world.nothing_is_pending().await;
}
