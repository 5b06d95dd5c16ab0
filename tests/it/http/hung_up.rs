//! Callers that hang up in the middle of a submission, at the door (vector 64).

use std::time::Duration;

use acceptance::{Toll, World, request, send};
use http::Method;
use http::header::HeaderValue;
use serde_json::{Value, json};

/// A house whose server answers only when its answers are let go.
async fn held() -> (World, Toll) {
    let world = World::without_servers().await;
    let toll = Toll::before(world.example.url()).await;
    let set = json!({"name": "report", "submit_tool": "submit_report", "status_tool": "get_report_status", "cancel_tool": "cancel_report"});
    let entry = json!({"type": "http", "url": toll.url, "task_toolsets": [set]});
    world.put_config(&json!({"example": entry})).await.expect(200);
    world.get("/api/tools").await;
    toll.hold(true);
    (world, toll)
}

fn submission(key: Option<&str>) -> http::Request<axum::body::Body> {
    let body = json!({"arguments": {"title": "long", "duration_seconds": 86_400}});
    let mut request = request(Method::POST, "/api/threads/t1/tools/example_submit_report", Some(&body));
    if let Some(key) = key {
        request.headers_mut().insert("idempotency-key", HeaderValue::from_str(key).unwrap());
    }
    request
}

/// Submits, and hangs up when the server has taken the task and its answer is on the way.
async fn hang_up(world: &World, toll: &Toll, key: Option<&str>) {
    tokio::select! {
        biased;
        answer = send(&world.gateway, submission(key)) => panic!("{answer:?}"),
        () = toll.is_holding() => {}
    }
    toll.hold(false);
}

/// The one task of the thread, as soon as it is as expected.
async fn task_that(world: &World, expected: impl Fn(&Value) -> bool) -> Value {
    let looking = async {
        loop {
            let tasks = world.get("/api/threads/t1/mcp-tasks").await;
            match tasks.as_array().unwrap().as_slice() {
                [task] if expected(task) => return task.clone(),
                _ => tokio::task::yield_now().await,
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(30), looking).await.expect("the task becomes as expected")
}

#[tokio::test]
async fn vector_64_the_task_of_a_caller_that_hung_up_is_cancelled_at_its_server() {
    let (world, toll) = held().await;
    hang_up(&world, &toll, None).await;
    task_that(&world, |task| task["cancel_requested"] == true).await;
    world.tick_poller().await;
    assert!(world.example.inside().reports()[0].cancelled_at.is_some());
    task_that(&world, |task| task["status"] == "cancelled").await;
}

#[tokio::test]
async fn vector_64_a_caller_that_hung_up_finds_its_task_again_by_its_key() {
    let (world, toll) = held().await;
    hang_up(&world, &toll, Some("k")).await;
    let again = send(&world.gateway, submission(Some("k"))).await.expect(200);
    world.advance(5);
    // Its handle is recorded when it can be polled.
    while world.tick_poller().await.worked == 0 {
        tokio::task::yield_now().await;
    }
    let task = task_that(&world, |task| task["status"] == "working").await;
    assert_eq!((&task["task_id"], &task["cancel_requested"]), (&again["task_id"], &json!(false)));
    assert_eq!(world.example.inside().reports().len(), 1);
}
