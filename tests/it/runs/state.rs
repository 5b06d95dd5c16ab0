//! What stands in a thread, before and now, and how it is edited.

use acceptance::Talk;
use http::Method;
use pudu_app::ports::Clock;
use pudu_domain::run::Outcome;
use serde_json::{Value, json};

use super::said;

fn contents(messages: &Value) -> Vec<&str> {
    messages.as_array().unwrap().iter().map(|message| message["content"].as_str().unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn threads_are_made_found_and_noted_upon() {
    let talk = Talk::new();
    let made = talk
        .post("/api/threads", json!({ "metadata": { "topic": "deer", "user_id": "x" } }))
        .await
        .expect(200);
    let id = made["thread_id"].as_str().unwrap();
    assert_eq!((&made["status"], &made["metadata"]), (&json!("idle"), &json!({ "topic": "deer" })));
    let again = talk
        .post("/api/threads", json!({ "thread_id": id, "metadata": { "topic": "elk" } }))
        .await
        .expect(200);
    assert_eq!(again["metadata"], json!({ "topic": "deer" }), "the one that is there");
    talk.post("/api/threads", json!({ "thread_id": id, "if_exists": "raise" })).await.refused(409);
    let path = format!("/api/threads/{id}");
    let before = talk.get(&path).await;
    talk.clock.sleep(std::time::Duration::from_secs(1)).await;
    let pinned =
        talk.call(Method::PATCH, &path, Some(&json!({ "metadata": { "pinned": true } }))).await.expect(200);
    assert_eq!(pinned["updated_at"], before["updated_at"]);
    let noted = talk.call(Method::PATCH, &path, Some(&json!({ "metadata": { "a": 1 } }))).await.expect(200);
    assert_eq!(noted["metadata"], json!({ "topic": "deer", "pinned": true, "a": 1 }));
    assert_ne!(noted["updated_at"], before["updated_at"]);
    talk.clock.sleep(std::time::Duration::from_secs(1)).await;
    talk.post("/api/threads", json!({ "thread_id": "other" })).await.expect(200);
    for (search, found) in [
        (json!({}), vec!["other", id]),
        (json!({ "metadata": { "a": 1 } }), vec![id]),
        (json!({ "limit": 1 }), vec!["other"]),
        (json!({ "offset": 1 }), vec![id]),
        (json!({ "status": "busy" }), vec![]),
    ] {
        let answer = talk.post("/api/threads/search", search.clone()).await.expect(200);
        let ids: Vec<&str> =
            answer.as_array().unwrap().iter().map(|row| row["thread_id"].as_str().unwrap()).collect();
        assert_eq!(ids, found, "{search}");
    }
    talk.post("/api/threads/search", json!({ "limit": 0 })).await.refused(422);
}

#[tokio::test(start_paused = true)]
async fn before_everything_there_is_an_empty_checkpoint() {
    let talk = Talk::new();
    let made = talk.post("/api/threads", json!({ "thread_id": "t" })).await.expect(200);
    let state = talk.get("/api/threads/t/state").await;
    assert_eq!(state["values"]["messages"], json!([]));
    assert_eq!(state["metadata"], json!({ "source": "input", "step": -1 }));
    assert_eq!((&state["created_at"], &state["next"]), (&made["created_at"], &json!([])));
    assert_eq!((&state["parent_checkpoint"], &state["parent_checkpoint_id"]), (&Value::Null, &Value::Null));
    let id = state["checkpoint_id"].as_str().unwrap();
    let history = talk.post("/api/threads/t/history", json!({})).await.expect(200);
    assert_eq!(history, json!([state]));
    assert_eq!(talk.get(&format!("/api/threads/t/state/{id}")).await, state);
    let run = talk.lived(said("hi"), "hello").await;
    let first = talk.get(&format!("/api/threads/t/state/{run}:0")).await;
    assert_eq!(first["parent_checkpoint"], state["checkpoint"]);
    // A run from there begins with nothing, and hears nothing of what was said.
    let mut again = said("once more");
    again["checkpoint"] = state["checkpoint"].clone();
    let again = talk.begin(again).await;
    assert_eq!(talk.get(&format!("/api/threads/t/runs/{again}")).await["kwargs"]["checkpoint_id"], json!(id));
    // Another thread's beginning is none of this one.
    talk.clock.sleep(std::time::Duration::from_secs(1)).await;
    talk.post("/api/threads", json!({ "thread_id": "other" })).await.expect(200);
    let other = format!("/api/threads/other/state/{id}");
    talk.call(Method::GET, &other, None).await.refused(404);
    let mut wrong = said("hi");
    wrong["checkpoint_id"] = json!(id);
    talk.post("/api/threads/other/runs", wrong).await.refused(422);
}

#[tokio::test(start_paused = true)]
async fn the_state_is_the_newest_also_while_a_run_works() {
    let talk = Talk::new();
    let run = talk.begin(said("hi")).await;
    assert_eq!(talk.get("/api/threads/t/state").await["next"], json!(["model"]));
    talk.take(&run).await;
    talk.say(&run, "hello").await;
    let state = talk.get("/api/threads/t/state").await;
    assert_eq!(contents(&state["values"]["messages"]), ["hi", "hello"]);
    assert_eq!(state["checkpoint"]["checkpoint_id"], json!(format!("{run}:1")));
    assert_eq!(state["parent_checkpoint_id"], json!(format!("{run}:0")));
    assert!(!state.to_string().contains("__"), "{state}");
    talk.end(&run, Outcome::Success, None).await;
    let state = talk.get("/api/threads/t/state").await;
    assert_eq!((&state["next"], &state["tasks"]), (&json!([]), &json!([])));
    let first = talk.get(&format!("/api/threads/t/state/{run}:0")).await;
    assert_eq!(contents(&first["values"]["messages"]), ["hi"]);
    let same =
        talk.post("/api/threads/t/state/checkpoint", json!({ "checkpoint": first["checkpoint"] })).await;
    assert_eq!(same.expect(200), first);
    assert_eq!(talk.call(Method::GET, "/api/threads/t/state/none:1", None).await.status, 404);
    assert_eq!(talk.call(Method::GET, "/api/threads/t/state/none", None).await.status, 422);
}

#[tokio::test(start_paused = true)]
async fn a_history_goes_along_the_chain_across_runs_and_edits() {
    let talk = Talk::new();
    let first = talk.lived(said("one"), "1").await;
    talk.post("/api/threads/t/state", json!({ "values": { "title": "Numbers" } })).await.expect(200);
    let second = talk.lived(said("two"), "2").await;
    let entries = talk.post("/api/threads/t/history", json!({})).await.expect(200);
    let entries = entries.as_array().unwrap();
    let of = |entry: &Value| {
        (
            entry["metadata"]["source"].as_str().unwrap().to_owned(),
            entry["metadata"]["step"].as_i64().unwrap(),
        )
    };
    let sources: Vec<(String, i64)> = entries.iter().map(of).collect();
    let expected = [("loop", 1), ("input", 0), ("update", 0), ("loop", 1), ("input", 0), ("input", -1)];
    assert_eq!(sources, expected.map(|(source, step)| (source.to_owned(), step)));
    for pair in entries.windows(2) {
        assert_eq!(pair[0]["parent_checkpoint_id"], pair[1]["checkpoint_id"]);
    }
    assert_eq!(contents(&entries[0]["values"]["messages"]), ["one", "1", "two", "2"]);
    assert!(entries[1..].iter().all(|entry| entry["values"].get("messages").is_none()));
    let before = json!({ "before": format!("{second}:0"), "limit": 2 });
    let older = talk.post("/api/threads/t/history", before).await.expect(200);
    assert_eq!(older[1]["checkpoint_id"], json!(format!("{first}:1")));
    assert_eq!(older.as_array().unwrap().len(), 2);
    let oldest = &entries[5]["checkpoint_id"];
    let before = json!({ "before": oldest });
    assert_eq!(talk.post("/api/threads/t/history", before).await.expect(200), json!([]));
    talk.post("/api/threads/t/history", json!({ "limit": 101 })).await.refused(422);
}

#[tokio::test(start_paused = true)]
async fn a_rolled_back_run_is_in_nobodys_history() {
    let talk = Talk::new();
    talk.lived(said("one"), "1").await;
    let before = talk.get("/api/threads/t/state").await;
    let run = talk.begin(said("two")).await;
    talk.take(&run).await;
    let path = format!("/api/threads/t/runs/{run}/cancel?action=rollback");
    assert_eq!(talk.call(Method::POST, &path, None).await.status, 202);
    assert_eq!(talk.get("/api/threads/t/state").await, before, "sequence C of the reference");
    let shown = talk.get(&format!("/api/threads/t/runs/{run}")).await;
    assert_eq!(shown["status"], "error");
    assert!(shown["error"].as_str().unwrap().contains("rolled back"), "{shown}");
    talk.lived(said("three"), "3").await;
    let entries = talk.post("/api/threads/t/history", json!({})).await.expect(200);
    assert_eq!(entries.as_array().unwrap().len(), 5);
    assert!(!entries.to_string().contains(&run));
}

#[tokio::test(start_paused = true)]
async fn channels_are_written_as_they_merge_and_not_while_a_run_is_active() {
    let talk = Talk::new();
    talk.lived(said("hi"), "hello").await;
    let path = "/api/threads/t/state";
    let id = talk.get(path).await["values"]["messages"][0]["id"].clone();
    let values = json!({ "messages": [{ "type": "remove", "id": id }, { "role": "user", "content": "bye" }], "artifacts": ["a"] });
    let state = talk.post(path, json!({ "values": values, "as_node": "model" })).await.expect(200);
    assert_eq!(contents(&state["values"]["messages"]), ["hello", "bye"]);
    assert_eq!(state["values"]["artifacts"], json!(["a"]));
    let detail = talk.post(path, json!({ "values": { "nope": 1 } })).await.refused(422);
    assert!(detail.contains("'nope'"), "{detail}");
    talk.post(path, json!({ "values": { "todos": [{ "content": "a", "status": "done" }] } }))
        .await
        .refused(422);
    talk.begin(said("again")).await;
    talk.post(path, json!({ "values": {} })).await.refused(409);
    talk.post("/api/threads/never/state", json!({ "values": {} })).await.refused(404);
}

#[tokio::test(start_paused = true)]
async fn a_branch_has_what_was_said_up_to_its_message() {
    let talk = Talk::new();
    talk.lived(said("one"), "1").await;
    talk.lived(said("two"), "2").await;
    let state = talk.get("/api/threads/t/state").await;
    let message = state["values"]["messages"][1]["id"].clone();
    let made = talk
        .post("/api/threads/t/branches", json!({ "message_id": message, "title": "Only one" }))
        .await
        .expect(200);
    assert_eq!(
        (&made["parent_thread_id"], &made["parent_checkpoint_id"]),
        (&json!("t"), &state["checkpoint_id"])
    );
    let branch = made["thread_id"].as_str().unwrap();
    let there = talk.get(&format!("/api/threads/{branch}/state")).await;
    assert_eq!(contents(&there["values"]["messages"]), ["one", "1"]);
    assert_eq!(there["values"]["title"], "Only one");
    assert_eq!(talk.get("/api/threads/t/state").await, state, "the old thread is as it was");
    talk.post("/api/threads/t/branches", json!({ "message_id": "none" })).await.refused(404);
    talk.post("/api/threads/t/branches", json!({})).await.refused(422);
}

#[tokio::test(start_paused = true)]
async fn what_runs_left_is_read_by_thread_and_by_run() {
    let talk = Talk::new();
    let first = talk.lived(said("one"), "1").await;
    talk.lived(said("two"), "2").await;
    let all = talk.get("/api/threads/t/messages").await;
    assert_eq!(all.as_array().unwrap().len(), 2);
    assert!(all[0]["seq"].as_u64() < all[1]["seq"].as_u64());
    assert_eq!((&all[0]["run_id"], &all[0]["event_type"]), (&json!(first), &json!("llm.ai.response")));
    let page = talk.get("/api/threads/t/messages/page?limit=1").await;
    assert_eq!((&page["data"][0], &page["has_more"]), (&all[1], &json!(true)));
    let before = page["next_before_seq"].as_u64().unwrap();
    let page = talk.get(&format!("/api/threads/t/messages/page?limit=1&before_seq={before}")).await;
    assert_eq!(
        (&page["data"][0], &page["has_more"], &page["next_before_seq"]),
        (&all[0], &json!(false), &Value::Null)
    );
    let events = talk.get(&format!("/api/threads/t/runs/{first}/events")).await;
    let types: Vec<&str> =
        events.as_array().unwrap().iter().map(|event| event["event_type"].as_str().unwrap()).collect();
    assert_eq!(types, ["run.start", "llm.ai.response", "run.end"]);
    let some = talk.get(&format!("/api/threads/t/runs/{first}/events?event_types=run.end,run.error")).await;
    assert_eq!(some.as_array().unwrap().len(), 1);
    let messages = talk.get(&format!("/api/threads/t/runs/{first}/messages")).await;
    assert_eq!((&messages["data"], &messages["has_more"]), (&json!([all[0]]), &json!(false)));
    assert_eq!(talk.get("/api/threads/t/token-usage").await["total_runs"], 2);
}
