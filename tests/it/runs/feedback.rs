//! What a user thinks of a run.

use std::time::Duration;

use acceptance::Talk;
use http::Method;
use pudu_app::ports::Clock;
use serde_json::{Value, json};

use super::said;

#[tokio::test(start_paused = true)]
async fn feedback_is_given_changed_shown_and_taken_back() {
    let talk = Talk::new();
    let run = talk.lived(said("one"), "1").await;
    let path = format!("/api/threads/t/runs/{run}/feedback");
    assert_eq!(talk.get(&path).await, json!([]));
    let give = async |method: Method, body: Value| talk.call(method, &path, Some(&body)).await.expect(200);
    let given = give(Method::POST, json!({ "rating": 1 })).await;
    assert_eq!(
        (&given["run_id"], &given["thread_id"], &given["rating"]),
        (&json!(run), &json!("t"), &json!(1))
    );
    assert_eq!(talk.get(&path).await, json!([given]));
    let changed = give(Method::PUT, json!({ "rating": -1, "comment": "größer", "message_id": "m" })).await;
    assert_eq!(changed["feedback_id"], given["feedback_id"], "there is one of each run");
    assert_eq!((&changed["comment"], &changed["message_id"]), (&json!("größer"), &json!("m")));
    assert_eq!(talk.get(&path).await, json!([changed]));
    assert_eq!(talk.get(&format!("/api/runs/{run}/feedback")).await, json!([changed]));
    let stats = json!({ "run_id": run, "total": 1, "positive": 0, "negative": 1 });
    assert_eq!(talk.get(&format!("{path}/stats")).await, stats);

    let by_id = |id: &Value| format!("{path}/{}", id.as_str().unwrap());
    talk.call(Method::DELETE, &by_id(&json!("other")), None).await.refused(404);
    let gone = talk.call(Method::DELETE, &by_id(&given["feedback_id"]), None).await.expect(200);
    assert_eq!(gone, json!({ "success": true }));
    talk.call(Method::DELETE, &path, None).await.refused(404);
    give(Method::PUT, json!({ "rating": 1, "comment": null })).await;
    talk.call(Method::DELETE, &path, None).await.expect(200);
    assert_eq!(talk.get(&format!("{path}/stats")).await["total"], 0);
}

#[tokio::test(start_paused = true)]
async fn feedback_goes_when_its_time_is_over_and_is_taken_back_without_its_run() {
    const DAY: Duration = Duration::from_hours(24);
    let talk = Talk::new();
    let (one, two) = (talk.lived(said("one"), "1").await, talk.lived(said("two"), "2").await);
    let [one, two] = [one, two].map(|run| format!("/api/threads/t/runs/{run}"));
    talk.clock.sleep(DAY * 20).await;
    for run in [&one, &two] {
        let body = json!({ "rating": 1 });
        talk.call(Method::PUT, &format!("{run}/feedback"), Some(&body)).await.expect(200);
    }
    talk.clock.sleep(DAY * 20).await;
    talk.call(Method::GET, &one, None).await.refused(404);
    let [one, two] = [one, two].map(|run| format!("{run}/feedback"));
    assert_eq!(talk.get(&one).await.as_array().unwrap().len(), 1, "its run has gone");
    talk.call(Method::DELETE, &one, None).await.expect(200);
    talk.call(Method::DELETE, &one, None).await.refused(404);
    talk.get(&two).await;
    talk.clock.sleep(DAY * 11).await;
    talk.call(Method::GET, &two, None).await.refused(404);
}

#[tokio::test(start_paused = true)]
async fn what_is_no_feedback_is_refused() {
    let talk = Talk::new();
    let run = talk.lived(said("one"), "1").await;
    let path = format!("/api/threads/t/runs/{run}/feedback");
    for (wrong, status) in [
        (json!({ "rating": 0 }), 422),
        (json!({ "rating": 2 }), 422),
        (json!({ "rating": "1" }), 422),
        (json!({ "comment": "x" }), 422),
        (json!({ "rating": 1, "comment": 1 }), 422),
        (json!({ "rating": 1, "comment": "x".repeat(8193) }), 413),
    ] {
        for method in [Method::PUT, Method::POST] {
            talk.call(method, &path, Some(&wrong)).await.refused(status);
        }
    }
    assert_eq!(talk.get(&path).await, json!([]));
    let body = json!({ "rating": 1 });
    for none in ["/api/threads/t/runs/none/feedback", "/api/threads/never/runs/none/feedback"] {
        talk.call(Method::PUT, none, Some(&body)).await.refused(404);
        talk.call(Method::GET, none, None).await.refused(404);
        talk.call(Method::DELETE, none, None).await.refused(404);
    }
}

#[tokio::test(start_paused = true)]
async fn feedback_stands_beside_the_last_answer_of_its_run() {
    let talk = Talk::new();
    let first = talk.begin(said("one")).await;
    talk.take(&first).await;
    for text in ["1", "2", "3"] {
        talk.say(&first, text).await;
    }
    talk.end(&first, pudu_domain::run::Outcome::Success, None).await;
    let second = talk.lived(said("two"), "4").await;
    let path = format!("/api/threads/t/runs/{first}/feedback");
    talk.call(Method::PUT, &path, Some(&json!({ "rating": 1, "comment": "good" }))).await.expect(200);
    let note = json!({ "feedback_id": first, "rating": 1, "comment": "good" });
    let beside = |messages: &Value| -> Vec<Value> {
        messages.as_array().unwrap().iter().map(|message| message["feedback"].clone()).collect()
    };
    let all = talk.get("/api/threads/t/messages").await;
    assert_eq!(beside(&all), [Value::Null, Value::Null, note.clone(), Value::Null]);
    let of_first = talk.get(&format!("/api/threads/t/runs/{first}/messages")).await;
    assert_eq!(beside(&of_first["data"]), [Value::Null, Value::Null, note.clone()]);
    let of_second = talk.get(&format!("/api/threads/t/runs/{second}/messages")).await;
    assert_eq!(beside(&of_second["data"]), [Value::Null]);
    // Of a page that ends before the last answer no message is the last one.
    let seq = |at: usize| all[at]["seq"].as_u64().unwrap();
    let older = talk.get(&format!("/api/threads/t/messages/page?before_seq={}", seq(2))).await;
    assert_eq!(beside(&older["data"]), [Value::Null, Value::Null]);
    let older = talk.get(&format!("/api/threads/t/messages/page?before_seq={}", seq(3))).await;
    assert_eq!(beside(&older["data"]), [Value::Null, Value::Null, note.clone()]);
    let some = talk.get(&format!("/api/threads/t/runs/{first}/messages?after_seq={}&limit=1", seq(0))).await;
    assert_eq!(beside(&some["data"]), [Value::Null]);
    let rest = talk.get(&format!("/api/threads/t/runs/{first}/messages?after_seq={}&limit=1", seq(1))).await;
    assert_eq!(beside(&rest["data"]), [note]);
}
