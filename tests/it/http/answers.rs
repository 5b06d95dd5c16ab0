//! Questions and their answers, from the event to what the server makes of it.

use acceptance::{Answer, World};
use http::Method;
use serde_json::{Value, json};

/// A report that asks for an hour after four seconds of work, and has been asked.
async fn asking() -> (World, String) {
    let world = World::new().await;
    let order =
        json!({"title": "Deer", "duration_seconds": 8, "ask": "Which year?", "answer_after_seconds": 3600});
    let id = world.submit("t1", &order).await;
    world.advance(5);
    world.tick_poller().await;
    assert_eq!(world.task("t1", &id).await["status"], "input_required");
    (world, id)
}

async fn send(world: &World, thread: &str, id: &str, body: &Value) -> Answer {
    world.call(Method::POST, &format!("/api/threads/{thread}/mcp-tasks/{id}/input"), Some(body)).await
}

#[tokio::test]
async fn a_question_is_answered_and_the_report_completes_with_it() {
    let (world, id) = asking().await;
    world.tick_notifier().await;
    let event = world.get("/api/threads/t1/events").await[0].clone();
    assert_eq!(event["event"]["input_required"]["question"], "Which year?");

    let body = json!({"input": "2026", "version": event["version"]});
    let task = send(&world, "t1", &id, &body).await.expect(200);
    assert_eq!(task["status"], "input_required");
    assert_eq!(task["input_answered"], json!({"state": "waiting", "attempts": 0, "error": null}));
    assert_eq!(task["event_version"], 0, "it needs nobody's attention now");

    world.tick_poller().await;
    let task = world.task("t1", &id).await;
    assert_eq!((&task["status"], &task["input_answered"]), (&json!("working"), &Value::Null));
    world.advance(5);
    world.tick_poller().await;
    world.tick_notifier().await;
    let task = world.task("t1", &id).await;
    assert_eq!((&task["status"], &task["result"]["answer"]), (&json!("completed"), &json!("2026")));
    assert_eq!(world.told("t1").await, ["input_required", "completed"]);
    assert_eq!(world.rows().await.count("answer#"), 0, "what was answered is not kept");
    world.nothing_is_pending().await;
}

/// The notifier was away: nobody is asked what was answered already.
#[tokio::test]
async fn a_question_that_was_answered_is_not_told_any_more() {
    let (world, id) = asking().await;
    send(&world, "t1", &id, &json!({"input": "2026"})).await.expect(200);
    world.tick_notifier().await;
    assert_eq!(world.told("t1").await, Vec::<String>::new());
}

#[tokio::test]
async fn a_question_takes_one_answer() {
    let (world, id) = asking().await;
    let (first, second) = (json!({"input": "2026"}), json!({"input": "2027"}));
    let both = tokio::join!(send(&world, "t1", &id, &first), send(&world, "t1", &id, &second));
    let mut statuses = [both.0.status.as_u16(), both.1.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409]);
    let detail = send(&world, "t1", &id, &first).await.refused(409);
    assert!(detail.contains("answered already"), "{detail}");
    world.tick_poller().await;
    let answered = world.example.inside().reports()[0].answer.clone().unwrap().text;
    assert_eq!(answered, if both.0.status == 200 { "2026" } else { "2027" });
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_refused_with_its_place() {
    let (world, id) = asking().await;
    for wrong in [json!(2026), json!(""), json!({"year": "canary-77"}), json!(null)] {
        let detail = send(&world, "t1", &id, &json!({"input": wrong})).await.refused(422);
        assert!(detail.contains("does not fit the question: input"), "{detail}");
        assert!(!detail.contains("canary-77"), "{detail}");
    }
    for body in [json!({}), json!({"input": "2026", "version": "one"}), json!([1]), json!("2026")] {
        send(&world, "t1", &id, &body).await.refused(422);
    }
    let large = json!({"input": "x".repeat(65_535)});
    assert!(send(&world, "t1", &id, &large).await.refused(413).contains("65536"));
    assert_eq!(world.task("t1", &id).await["input_answered"], Value::Null);
}

#[tokio::test]
async fn only_the_threads_owner_answers_and_only_what_is_asked() {
    let (world, id) = asking().await;
    let body = json!({"input": "2026"});
    let there = send(&world, "t2", &id, &body).await.refused(404);
    let nowhere = send(&world, "t1", "no-id-at-all", &body).await.refused(404);
    assert_eq!(there, nowhere);

    let detail = send(&world, "t1", &id, &json!({"input": "2026", "version": 7})).await.refused(409);
    assert!(detail.contains("version 1"), "{detail}");

    let silent = world.submit("t1", &json!({"title": "Deer", "duration_seconds": 600})).await;
    let detail = send(&world, "t1", &silent, &body).await.refused(409);
    assert!(detail.contains("does not wait for input"), "{detail}");
    world.cancel("t1", &id).await;
    assert!(send(&world, "t1", &id, &body).await.refused(409).contains("being cancelled"));
    world.tick_poller().await;
    assert!(send(&world, "t1", &id, &body).await.refused(409).contains("ended"));
}

#[tokio::test]
async fn a_toolset_without_an_input_tool_takes_no_answers_and_says_so() {
    let world = World::new().await;
    let mut config = world.get("/api/mcp/config").await;
    let set = &mut config["mcp_servers"]["example"]["task_toolsets"][0];
    assert_eq!(set["input_tool"], "answer_report", "it is shown");
    set.as_object_mut().unwrap().remove("input_tool");
    world.call(Method::PUT, "/api/mcp/config", Some(&config)).await.expect(200);
    let order = json!({"title": "Deer", "duration_seconds": 8, "ask": "Which year?"});
    let id = world.submit("t1", &order).await;
    world.advance(5);
    world.tick_poller().await;
    let detail = send(&world, "t1", &id, &json!({"input": "2026"})).await.refused(409);
    assert!(detail.contains("input_tool"), "{detail}");
}

#[tokio::test]
async fn nobody_calls_the_input_tool_but_the_poller() {
    let world = World::new().await;
    let tools = world.get("/api/tools").await.to_string();
    assert!(tools.contains("example_submit_report") && !tools.contains("answer_report"), "{tools}");
    world.invoke("t1", "example_answer_report", &json!({"task_id": "r", "input": "x"})).await.refused(404);
    let config = world.get("/api/mcp/config").await;
    world.call(Method::PUT, "/api/mcp/config", Some(&config)).await.expect(200);
    assert_eq!(world.get("/api/mcp/config").await, config, "what is read can be written back");
}
