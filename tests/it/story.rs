//! The main job, told whole: submit, poll, question, end, delivery; and what may go wrong on the way.

use std::time::Duration;

use acceptance::World;
use acceptance::world::{notify, poll};
use pudu_app::ports::{Clock, TaskStore};
use pudu_app::worker::Report;
use pudu_domain::{Lane, Lease, Owner, TaskId, TaskKey, ThreadId, ThreadKey};
use serde_json::{Value, json};

const ONE: Report = Report { worked: 1, refused: 0, failed: 0, scans_failed: 0 };
const NOTHING: Report = Report { worked: 0, refused: 0, failed: 0, scans_failed: 0 };

#[tokio::test]
async fn a_report_is_submitted_polled_and_delivered_once() {
    let world = World::new().await;
    let answer = world
        .invoke("t1", "example_submit_report", &json!({"title": "Deer", "duration_seconds": 12}))
        .await
        .expect(200);
    let fields: Vec<&String> = answer.as_object().unwrap().keys().collect();
    assert_eq!(fields, ["task_id", "task_name", "status", "message"], "nothing of the remote");
    assert_eq!((&answer["task_name"], &answer["status"]), (&json!("report"), &json!("submitted")));
    let id = answer["task_id"].as_str().unwrap().to_owned();

    assert_eq!(world.tick_poller().await, NOTHING, "nothing is due yet");
    for _ in 0..2 {
        world.advance(5);
        assert_eq!(world.tick_poller().await, ONE);
        assert_eq!(world.task("t1", &id).await["status"], "working");
    }
    assert_eq!(world.tick_notifier().await, NOTHING, "a running task is no news");
    world.advance(5);
    assert_eq!(world.tick_poller().await, ONE);
    let task = world.task("t1", &id).await;
    assert_eq!(task["status"], "completed");
    assert_eq!(task["result"]["title"], "Deer");
    assert_eq!(task["result_artifact"]["mime_type"], "text/markdown");
    assert_eq!(world.told("t1").await, Vec::<String>::new(), "not before it is delivered");

    assert_eq!(world.tick_notifier().await, ONE);
    assert_eq!(world.told("t1").await, ["completed"]);
    let event = &world.get("/api/threads/t1/events").await[0];
    assert_eq!((&event["version"], &event["event"]["task_id"]), (&json!(1), &json!(id)));
    assert_eq!(event["event"]["result"]["title"], "Deer");
    assert_eq!(world.task("t1", &id).await["notification_status"], "delivered");

    // Ticks that come twice, or late, change nothing; another thread hears nothing.
    assert_eq!((world.tick_poller().await, world.tick_notifier().await), (NOTHING, NOTHING));
    assert_eq!(world.told("t1").await, ["completed"]);
    assert_eq!(world.told("t2").await, Vec::<String>::new());
    assert_eq!(world.example.inside().log().status_calls, 3, "one status call per poll");
    assert_eq!(world.rows().await.count("event#"), 1);
    world.nothing_is_pending().await;
}

#[tokio::test]
async fn a_question_is_shown_and_told_and_the_report_goes_on() {
    let world = World::new().await;
    let order = json!({
        "title": "Deer", "duration_seconds": 8, "ask": "Which year?", "answer_after_seconds": 30,
    });
    let id = world.submit("t1", &order).await;
    world.advance(5);
    world.tick_poller().await;
    let task = world.task("t1", &id).await;
    assert_eq!(
        (&task["status"], &task["input_required"]["question"]),
        (&json!("input_required"), &json!("Which year?"))
    );
    world.tick_notifier().await;
    assert_eq!(world.told("t1").await, ["input_required"]);

    // The same question is not news; a task that waits for input is asked once a minute.
    world.advance(59);
    assert_eq!(world.tick_poller().await, NOTHING);
    world.advance(1);
    assert_eq!(world.tick_poller().await, ONE);
    assert_eq!(world.tick_notifier().await, ONE);
    assert_eq!(world.told("t1").await, ["input_required", "completed"]);
    let task = world.task("t1", &id).await;
    assert_eq!((&task["status"], &task["input_required"]), (&json!("completed"), &Value::Null));
    world.nothing_is_pending().await;
}

#[tokio::test]
async fn an_event_that_is_no_longer_true_is_not_delivered() {
    let world = World::new().await;
    let order =
        json!({"title": "Deer", "duration_seconds": 8, "ask": "Which year?", "answer_after_seconds": 10});
    world.submit("t1", &order).await;
    world.advance(5);
    world.tick_poller().await;
    // The notifier was away while the question came and went.
    world.advance(60);
    world.tick_poller().await;
    assert_eq!(world.tick_notifier().await.worked, 2);
    assert_eq!(world.told("t1").await, ["completed"]);
    world.nothing_is_pending().await;
}

#[tokio::test]
async fn a_failed_report_is_told_with_its_error() {
    let world = World::new().await;
    let order =
        json!({"title": "Deer", "duration_seconds": 1, "fail": true, "fail_message": "no deer were seen"});
    let id = world.submit("t1", &order).await;
    world.advance(5);
    world.tick_poller().await;
    world.tick_notifier().await;
    let task = world.task("t1", &id).await;
    assert_eq!((&task["status"], &task["error"]), (&json!("failed"), &json!("no deer were seen")));
    assert_eq!(world.get("/api/threads/t1/events").await[0]["event"]["error"], "no deer were seen");
    world.nothing_is_pending().await;
}

#[tokio::test]
async fn a_cancel_is_recorded_at_once_and_carried_out_in_the_background() {
    let world = World::new().await;
    let id = world.submit("t1", &json!({"title": "Deer", "duration_seconds": 600})).await;
    let asked = world.cancel("t1", &id).await;
    assert_eq!((&asked["status"], &asked["cancel_requested"]), (&json!("submitted"), &json!(true)));
    let before = world.rows().await.text();
    world.cancel("t1", &id).await;
    assert_eq!(world.rows().await.text().len(), before.len(), "a repeat writes nothing");

    assert_eq!(world.tick_poller().await, ONE, "the cancel is due at once");
    assert_eq!(world.task("t1", &id).await["status"], "cancelled");
    assert_eq!(world.tick_notifier().await, ONE);
    assert_eq!(world.told("t1").await, ["cancelled"]);
    let reports = world.example.inside().reports();
    assert!(reports[0].cancelled_at.is_some(), "the server was told");
    // A task at its end takes a cancel and stays as it is.
    assert_eq!(world.cancel("t1", &id).await["status"], "cancelled");
    world.nothing_is_pending().await;
}

#[tokio::test]
async fn a_server_that_restarts_in_the_middle_loses_no_task() {
    let mut world = World::new().await;
    let id = world.submit("t1", &json!({"title": "Deer", "duration_seconds": 100})).await;
    world.example.stop().await;
    for (failures, pause) in [(1, 5), (2, 60), (3, 120)] {
        world.advance(pause);
        assert_eq!(world.tick_poller().await, ONE);
        let task = world.task("t1", &id).await;
        assert_eq!(
            (&task["status"], &task["tracking_degraded"]),
            (&json!("submitted"), &json!(failures >= 3))
        );
        assert!(task["last_poll_error"].as_str().unwrap().contains("example"), "{task}");
    }
    world.example.start_again().await;
    world.advance(300);
    assert_eq!(world.tick_poller().await, ONE);
    let task = world.task("t1", &id).await;
    assert_eq!((&task["status"], &task["last_poll_error"]), (&json!("completed"), &Value::Null));
    world.tick_notifier().await;
    assert_eq!(world.told("t1").await.last().unwrap(), "completed");
    world.nothing_is_pending().await;
}

#[tokio::test]
async fn another_process_on_the_same_folder_goes_on() {
    let mut world = World::new().await;
    let id = world.submit("t1", &json!({"title": "Deer", "duration_seconds": 12})).await;
    world.advance(5);
    world.tick_poller().await;
    world = world.restarted().await;
    assert!(
        !world.house.seed("http://127.0.0.1:1/other").await.unwrap(),
        "a config is there: it is not touched"
    );
    assert_eq!(world.task("t1", &id).await["status"], "working");
    world.advance(10);
    world.tick_poller().await;
    world = world.restarted().await;
    world.tick_notifier().await;
    assert_eq!(world.told("t1").await, ["completed"]);
    world = world.restarted().await;
    assert_eq!(world.told("t1").await, ["completed"]);
    world.nothing_is_pending().await;
}

#[tokio::test]
async fn two_processes_on_one_table_share_the_work() {
    let world = World::new().await;
    let second = world.second_house();
    for number in 0..8 {
        world.submit(&format!("t{number}"), &json!({"title": "Deer", "duration_seconds": 1})).await;
    }
    world.advance(5);
    let (a, b) = tokio::join!(world.tick_poller(), poll(&second));
    assert_eq!((a.worked + b.worked, a.failed + b.failed), (8, 0), "{a:?} {b:?}");
    let (a, b) = tokio::join!(world.tick_notifier(), notify(&second));
    assert_eq!((a.worked + b.worked, a.failed + b.failed), (8, 0), "{a:?} {b:?}");
    for number in 0..8 {
        assert_eq!(world.told(&format!("t{number}")).await, ["completed"]);
    }
    assert_eq!(world.example.inside().log().status_calls, 8, "no poll was made twice");
    world.nothing_is_pending().await;
}

#[tokio::test]
async fn a_config_change_reaches_another_process_within_a_second() {
    let world = World::new().await;
    let second = world.second_house();
    assert_eq!(second.wiring.configs.current().await.unwrap().version.number, 1);
    let entry = json!({"type": "http", "url": world.example.url(), "enabled": false});
    world.put_config(&json!({"example": entry})).await.expect(200);
    let seen = async || second.wiring.configs.current().await.unwrap().version.number;
    world.clock.advance(Duration::from_millis(999));
    assert_eq!(seen().await, 1);
    world.clock.advance(Duration::from_millis(1));
    assert_eq!(seen().await, 2);
}

#[tokio::test]
async fn a_task_of_a_server_that_was_removed_waits_for_it() {
    let world = World::new().await;
    let stored = world.get("/api/mcp/config").await;
    let id = world.submit("t1", &json!({"title": "Deer", "duration_seconds": 1})).await;
    world.put_config(&json!({})).await.expect(200);
    world.advance(5);
    world.tick_poller().await;
    let task = world.task("t1", &id).await;
    assert_eq!(task["status"], "submitted");
    assert!(task["last_poll_error"].as_str().unwrap().contains("no longer in the config"), "{task}");
    assert_eq!(world.example.inside().log().status_calls, 0);
    world.call(http::Method::PUT, "/api/mcp/config", Some(&stored)).await.expect(200);
    world.advance(60);
    world.tick_poller().await;
    assert_eq!(world.task("t1", &id).await["status"], "completed");
    world.tick_notifier().await;
    world.nothing_is_pending().await;
}

#[tokio::test]
async fn what_a_killed_poller_had_claimed_is_taken_up_when_its_lease_ends() {
    let world = World::new().await;
    let id = world.submit("t1", &json!({"title": "Deer", "duration_seconds": 1})).await;
    world.advance(5);
    let thread = ThreadKey { user: world.house.user.clone(), thread: ThreadId::parse("t1").unwrap() };
    let key = TaskKey { thread, id: TaskId::parse(id.as_str()).unwrap() };
    let lease = Lease { owner: Owner::new("killed", 1), until: world.clock.now() + Duration::from_secs(120) };
    let claimed = TaskStore::claim(world.house.table.as_ref(), &key, Lane::Poll, lease).await.unwrap();
    assert!(claimed.is_some());
    // It dies here. The index still shows the task; nobody can take it until the lease is over, then one does.
    assert_eq!(world.tick_poller().await, Report { refused: 1, ..NOTHING });
    world.advance(120);
    assert_eq!(
        world.tick_poller().await,
        Report { refused: 1, ..NOTHING },
        "the last instant is still the holder's"
    );
    world.advance(6);
    assert_eq!(world.tick_poller().await, ONE);
    world.tick_notifier().await;
    assert_eq!(world.told("t1").await, ["completed"]);
    assert_eq!(world.example.inside().log().status_calls, 1);
    world.nothing_is_pending().await;
}
