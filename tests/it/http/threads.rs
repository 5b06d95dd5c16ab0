//! Deleting a thread: gone for its callers at once, and in the table when everything in it has ended.

use acceptance::{World, request, send};
use http::Method;
use http::header::HeaderValue;
use serde_json::{Value, json};

const RUNNING: &str = r#"{"title": "long", "duration_seconds": 86400}"#;

fn running() -> Value {
    serde_json::from_str(RUNNING).unwrap()
}

async fn delete(world: &World, thread: &str) -> acceptance::Answer {
    world.call(Method::DELETE, &format!("/api/threads/{thread}"), None).await
}

/// Ticks of both workers, each after what the last one left for later.
async fn work(world: &World) {
    for _ in 0..4 {
        world.tick_poller().await;
        world.tick_notifier().await;
        world.advance(10);
    }
}

#[tokio::test]
async fn a_deleted_thread_is_gone_for_its_callers_at_once() {
    let world = World::new().await;
    let id = world.submit("t1", &running()).await;
    let answer = delete(&world, "t1").await.expect(202);
    assert_eq!((&answer["thread_id"], &answer["status"]), (&json!("t1"), &json!("deleting")));
    assert_eq!(delete(&world, "t1").await.expect(202)["status"], "deleting", "a repeat says the same");
    for path in ["mcp-tasks".to_owned(), format!("mcp-tasks/{id}"), "events".to_owned()] {
        let answer = world.call(Method::GET, &format!("/api/threads/t1/{path}"), None).await;
        assert_eq!(answer.refused(404), "there is no such thread", "{path}");
    }
    let path = format!("/api/threads/t1/mcp-tasks/{id}/cancel");
    world.call(Method::POST, &path, None).await.refused(404);
    for (tool, arguments) in [("example_submit_report", running()), ("example_echo", json!({"text": "x"}))] {
        world.invoke("t1", tool, &arguments).await.refused(404);
    }
    assert_eq!(world.get("/api/threads/t2/mcp-tasks").await, json!([]), "another thread is not touched");
}

#[tokio::test]
async fn nothing_is_left_of_a_deleted_thread_and_its_tasks_are_cancelled_at_their_servers() {
    let world = World::new().await;
    for _ in 0..3 {
        world.submit("t1", &running()).await;
        world.advance(1);
    }
    world.submit("t1", &json!({"title": "short", "duration_seconds": 1})).await;
    let kept = world.submit("t2", &running()).await;
    world.advance(6);
    world.tick_poller().await;
    world.tick_notifier().await;
    assert_eq!(world.told("t1").await, ["completed"]);
    delete(&world, "t1").await.expect(202);
    work(&world).await;
    let text = world.rows().await.text();
    assert!(
        !text.contains("#t1"),
        "{}",
        text.lines().filter(|line| line.contains("#t1")).collect::<String>()
    );
    let cancelled =
        world.example.inside().reports().iter().filter(|report| report.cancelled_at.is_some()).count();
    assert_eq!(cancelled, 3);
    assert_eq!(world.task("t2", &kept).await["status"], "working");
    delete(&world, "t1").await.refused(404);
}

#[tokio::test]
async fn a_thread_that_is_used_again_after_its_deletion_begins_anew() {
    let world = World::new().await;
    world.submit("t1", &running()).await;
    delete(&world, "t1").await.expect(202);
    work(&world).await;
    let id = world.submit("t1", &running()).await;
    let tasks = world.get("/api/threads/t1/mcp-tasks").await;
    assert_eq!((tasks.as_array().unwrap().len(), &tasks[0]["task_id"]), (1, &json!(id)));
    assert_eq!(world.told("t1").await, Vec::<String>::new());
}

#[tokio::test]
async fn a_thread_whose_server_is_down_waits_for_it() {
    let mut world = World::new().await;
    world.submit("t1", &running()).await;
    world.example.stop().await;
    delete(&world, "t1").await.expect(202);
    work(&world).await;
    assert!(world.rows().await.text().contains("#t1"), "its task may still run");
    delete(&world, "t1").await.expect(202);
    world.example.start_again().await;
    // Once for the cancel, once for the look that follows it.
    for _ in 0..2 {
        world.advance(120);
        work(&world).await;
    }
    assert!(!world.rows().await.text().contains("#t1"));
}

#[tokio::test]
async fn a_thread_that_never_was_is_404_and_a_name_that_is_none_422() {
    let world = World::new().await;
    delete(&world, "never-used").await.refused(404);
    delete(&world, "no%20name").await.refused(422);
    world.invoke("t1", "example_echo", &json!({"text": "x"})).await.expect(200);
    delete(&world, "t1").await.refused(404);
}

#[tokio::test]
async fn a_repeated_submission_gets_the_first_task() {
    let world = World::new().await;
    let submit = async |key: &str, arguments: &Value| {
        let body = json!({ "arguments": arguments });
        let mut request = request(Method::POST, "/api/threads/t1/tools/example_submit_report", Some(&body));
        request.headers_mut().insert("idempotency-key", HeaderValue::from_str(key).unwrap());
        send(&world.gateway, request).await
    };
    let first = submit("order-7", &running()).await.expect(200);
    assert_eq!(submit("order-7", &running()).await.expect(200), first);
    assert_ne!(submit("order-8", &running()).await.expect(200)["task_id"], first["task_id"]);
    let detail = submit("order-7", &json!({"title": "other"})).await.refused(422);
    assert!(detail.contains("Idempotency-Key"), "{detail}");
    assert_eq!(world.example.inside().reports().len(), 2);
    for bad in ["", "a b", &"k".repeat(256)] {
        let detail = submit(bad, &running()).await.refused(422);
        assert!(detail.contains("255 visible ASCII"), "{detail}");
    }
    assert!(!world.rows().await.text().contains("order-7"), "only its digest is stored");
}
