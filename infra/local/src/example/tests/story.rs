//! What a client sees of a report's life.

use serde_json::json;

use super::World;
use crate::example::{Act, State};

#[tokio::test]
async fn a_report_runs_and_completes_with_a_result_and_an_artifact() {
    let world = World::new().await;
    let id = world.submit(json!({ "title": "tides", "duration_seconds": 10 })).await;
    assert_eq!(world.status(&id).await, json!({ "task_id": id, "status": "running" }));
    world.advance(9.999);
    assert_eq!(world.status(&id).await["status"], "running");
    world.advance(0.001);
    let done = world.status(&id).await;
    assert_eq!(
        done,
        json!({
            "task_id": id,
            "status": "completed",
            "result": { "title": "tides", "summary": "Report after 10 s of work." },
            "result_artifact": { "uri": format!("report:///{id}"), "mime_type": "text/markdown" },
        })
    );
    world.advance(1e6);
    assert_eq!(world.status(&id).await, done, "an end is for ever");
}

#[tokio::test]
async fn a_report_can_fail_with_a_message() {
    let world = World::new().await;
    let plain = world.submit(json!({ "title": "t", "fail": true })).await;
    let told = world.submit(json!({ "title": "t", "fail": true, "fail_message": "no ink" })).await;
    assert_eq!(world.status(&plain).await["status"], "running", "it fails at its end, not before");
    world.advance(3.0);
    let failed = |id: &str, error: &str| json!({ "task_id": id, "status": "failed", "error": error });
    assert_eq!(world.status(&plain).await, failed(&plain, "the report failed"));
    assert_eq!(world.status(&told).await, failed(&told, "no ink"));
}

#[tokio::test]
async fn a_question_comes_at_half_time_stays_the_same_and_is_answered_by_time() {
    let world = World::new().await;
    let order = json!({
        "title": "t", "duration_seconds": 10, "ask": "which year?", "answer_after_seconds": 4,
        "poll_after_seconds": 1.5,
    });
    let id = world.submit(order).await;
    world.advance(4.9);
    let working = json!({ "task_id": id, "status": "running", "poll_after_seconds": 1.5 });
    assert_eq!(world.status(&id).await, working);
    world.advance(0.1);
    let asking = world.status(&id).await;
    assert_eq!(
        asking,
        json!({
            "task_id": id,
            "status": "input_required",
            "input_required": {
                "question": "which year?",
                "answer_after_seconds": 4.0,
                "schema": { "type": "string", "minLength": 1, "maxLength": 1000 },
            },
            "poll_after_seconds": 1.5,
        })
    );
    world.advance(3.9);
    assert_eq!(world.status(&id).await, asking);
    world.advance(0.1);
    assert_eq!(world.status(&id).await, working);
    world.advance(5.0);
    let done = world.status(&id).await;
    assert_eq!((&done["status"], &done["poll_after_seconds"]), (&json!("completed"), &json!(null)));
}

#[tokio::test]
async fn an_answer_sets_a_report_to_work_again_and_stands_in_its_result_also_after_a_restart() {
    let world = World::new().await;
    let order = json!({
        "title": "t", "duration_seconds": 10, "ask": "which year?", "answer_after_seconds": 1000,
    });
    let id = world.submit(order).await;
    let answer = |input: &str| json!({ "task_id": id, "input": input });
    assert_eq!(world.refused("answer_report", answer("2026")).await, "the report asks nothing now");
    world.advance(8.0);
    assert_eq!(world.status(&id).await["status"], "input_required");
    assert_eq!(world.call("answer_report", answer("2026")).await, json!({ "task_id": id }));
    assert_eq!(world.status(&id).await["status"], "running");
    assert_eq!(world.refused("answer_report", answer("2027")).await, "the report asks nothing now");
    let world = world.restart().await;
    world.advance(4.9);
    assert_eq!(world.status(&id).await["status"], "running", "half of its work was left");
    world.advance(0.1);
    assert_eq!(world.status(&id).await["result"]["answer"], "2026");
    let acts: Vec<Act> = world.example.log().seen.iter().map(|seen| seen.act).collect();
    assert_eq!(acts, [Act::Submitted, Act::Answered]);
}

#[tokio::test]
async fn a_cancel_ends_a_running_report_and_a_repeat_answers_the_same() {
    let world = World::new().await;
    let id = world.submit(json!({ "title": "t", "duration_seconds": 10 })).await;
    let cancelled = json!({ "task_id": id, "status": "cancelled" });
    assert_eq!(world.cancel(&id).await, cancelled);
    assert_eq!(world.cancel(&id).await, cancelled);
    world.advance(100.0);
    assert_eq!(world.status(&id).await, cancelled);
}

#[tokio::test]
async fn a_cancel_that_comes_too_late_answers_how_the_report_ended() {
    let world = World::new().await;
    let done = world.submit(json!({ "title": "t", "duration_seconds": 1 })).await;
    let failed = world.submit(json!({ "title": "t", "duration_seconds": 1, "fail": true })).await;
    world.advance(1.0);
    assert_eq!(world.cancel(&done).await["status"], "completed");
    assert!(world.cancel(&done).await["result"].is_object());
    assert_eq!(world.cancel(&failed).await["error"], "the report failed");
    assert_eq!(world.status(&done).await["status"], "completed");
}

#[tokio::test]
async fn an_unknown_id_is_task_not_found_and_a_cancel_of_it_is_still_final() {
    let world = World::new().await;
    let status = world.status("report-0").await;
    assert_eq!(status["error_code"], "task_not_found");
    assert_eq!(status["task_id"], "report-0");
    let cancel = world.cancel("report-0").await;
    assert_eq!((&cancel["status"], &cancel["error_code"]), (&json!("failed"), &json!("task_not_found")));
}

#[tokio::test]
async fn echo_gives_the_text_as_text_and_as_structure() {
    let world = World::new().await;
    let answer = world.post("echo", json!({ "text": "héllo\n" })).await;
    assert_eq!(answer["result"]["content"], json!([{ "type": "text", "text": "héllo\n" }]));
    assert_eq!(answer["result"]["structuredContent"], json!({ "text": "héllo\n" }));
}

#[tokio::test]
async fn wrong_arguments_are_a_tool_error_that_names_them_and_order_nothing() {
    let world = World::new().await;
    let long = "x".repeat(1_001);
    for (tool, arguments, named) in [
        ("echo", json!({}), "text"),
        ("echo", json!({ "text": 5 }), "string"),
        ("echo", json!({ "text": "a", "more": 1 }), "more"),
        ("submit_report", json!({}), "title"),
        ("submit_report", json!({ "title": "" }), "title"),
        ("submit_report", json!({ "title": long }), "title"),
        ("submit_report", json!({ "title": "t", "duration_seconds": -1 }), "duration_seconds"),
        ("submit_report", json!({ "title": "t", "duration_seconds": 1e300 }), "duration_seconds"),
        ("submit_report", json!({ "title": "t", "duration_seconds": "5" }), "f64"),
        ("submit_report", json!({ "title": "t", "fail": "yes" }), "boolean"),
        ("submit_report", json!({ "title": "t", "fail_message": "m" }), "fail"),
        ("submit_report", json!({ "title": "t", "ask": "" }), "ask"),
        ("answer_report", json!({ "task_id": "report-0" }), "input"),
        ("answer_report", json!({ "task_id": "report-0", "input": "" }), "input"),
        ("answer_report", json!({ "task_id": "report-0", "input": "x" }), "no report"),
        ("submit_report", json!({ "title": "t", "answer_after_seconds": -1 }), "answer_after_seconds"),
        ("submit_report", json!({ "title": "t", "poll_after_seconds": 0 }), "poll_after_seconds"),
        ("get_report_status", json!({ "task_id": "" }), "task_id"),
        ("get_report_status", json!({ "task_id": "x".repeat(256) }), "task_id"),
        ("cancel_report", json!({ "task_id": 7 }), "string"),
    ] {
        let text = world.refused(tool, arguments.clone()).await;
        assert!(text.contains(named), "{tool} {arguments}: {text}");
    }
    assert_eq!(world.example.reports(), []);
}

#[tokio::test]
async fn reports_survive_a_restart_and_go_on_meanwhile() {
    let world = World::new().await;
    let running = world.submit(json!({ "title": "a", "duration_seconds": 10, "ask": "which?" })).await;
    let gone = world.submit(json!({ "title": "b", "duration_seconds": 10 })).await;
    world.cancel(&gone).await;
    let before = (world.example.reports(), world.example.log().seen);

    let world = world.restart().await;
    assert_eq!((world.example.reports(), world.example.log().seen.len()), (before.0, before.1.len()));
    world.advance(5.0);
    assert_eq!(world.status(&running).await["status"], "input_required");
    assert_eq!(world.status(&gone).await["status"], "cancelled");
    let world = world.restart().await;
    world.advance(100.0);
    assert_eq!(world.status(&running).await["status"], "completed");
}

#[tokio::test]
async fn the_log_tells_what_the_server_saw() {
    let world = World::new().await;
    let id = world.submit(json!({ "title": "t", "duration_seconds": 10 })).await;
    world.status(&id).await;
    world.status("nobody").await;
    world.cancel(&id).await;
    world.cancel(&id).await;
    world.cancel("nobody").await;
    let log = world.example.log();
    let acts: Vec<_> = log.seen.iter().map(|seen| (seen.id.as_str(), seen.act)).collect();
    assert_eq!(
        acts,
        [
            (id.as_str(), Act::Submitted),
            (id.as_str(), Act::Cancelled),
            (id.as_str(), Act::CancelledInVain),
            ("nobody", Act::CancelledInVain),
        ]
    );
    assert_eq!(log.status_calls, 2);
    assert_eq!(world.example.report(&id).unwrap().1, State::Cancelled);
}

#[tokio::test]
async fn a_status_that_is_held_back_is_the_one_of_when_it_is_sent() {
    let world = World::new().await;
    let id = world.submit(json!({ "title": "t", "duration_seconds": 10, "status_delay_seconds": 1.5 })).await;
    assert_eq!(world.status(&id).await["status"], "running");
    world.advance(8.0);
    assert_eq!(world.status(&id).await["status"], "completed", "1.5 s, 8 s and 1.5 s are over");
    let text = world.refused("submit_report", json!({ "title": "t", "status_delay_seconds": 2.1 })).await;
    assert!(text.contains("status_delay_seconds"), "{text}");
}
