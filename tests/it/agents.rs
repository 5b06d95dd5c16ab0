//! Agents of a whole house, with the built-in script for a model, through HTTP.

use acceptance::{Answer, World, request, send};
use http::Method;
use pudu_config::Document;
use serde_json::{Value, json};

/// A house where conversations are summarized.
async fn world() -> World {
    let world = World::without_servers().await;
    let config = json!({ "mcpServers": {}, "summarization": {
        "enabled": true, "keep": { "type": "messages", "value": 2 },
    }});
    assert!(world.house.wiring.configs.seed(Document::parse(config).unwrap()).await.unwrap());
    world
}

/// What is answered to whoever waits for an agent, which works meanwhile.
async fn waited(world: &World, path: &str, body: &Value) -> Answer {
    let works = async {
        loop {
            world.tick_agent().await;
            world.advance(1);
        }
    };
    tokio::select! {
        answer = send(&world.gateway, request(Method::POST, path, Some(body))) => answer,
        never = works => never,
    }
}

async fn say(world: &World, text: &str) -> Value {
    let said = json!({ "input": { "messages": [{ "role": "user", "content": text }] } });
    waited(world, "/api/threads/t/runs/wait", &said).await.expect(200)
}

fn texts(values: &Value) -> Vec<&str> {
    let messages = values["messages"].as_array().unwrap();
    messages.iter().map(|message| message["content"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_run_goes_on_for_the_goal_of_its_thread_and_says_so() {
    let world = world().await;
    world.call(Method::POST, "/api/threads", Some(&json!({ "thread_id": "t" }))).await.expect(200);
    let goal = json!({ "objective": "Say hello twice." });
    world.call(Method::PUT, "/api/threads/t/goal", Some(&goal)).await.expect(200);
    let values = say(&world, "hello").await;
    let agents = values["messages"].as_array().unwrap().iter().filter(|message| message["type"] == "ai");
    assert_eq!(agents.count(), 2, "{values}");
    let told: Vec<&Value> = values["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["name"] == "goal_continuation")
        .collect();
    assert_eq!((told.len(), &told[0]["additional_kwargs"]["hide_from_ui"]), (1, &json!(true)));
    let goal = world.get("/api/threads/t/goal").await["goal"].clone();
    assert_eq!((&goal["status"], &goal["evaluation"]["verdict"]), (&json!("met"), &json!("met")));
    assert_eq!(goal["evaluation"]["continuations"], 1);
    let runs = world.get("/api/threads/t/runs").await;
    assert_eq!((runs.as_array().unwrap().len(), &runs[0]["status"]), (1, &json!("success")));
    let run = runs[0]["run_id"].as_str().unwrap();
    let events = world.get(&format!("/api/threads/t/runs/{run}/events?event_types=middleware:goal")).await;
    let verdicts: Vec<&Value> =
        events.as_array().unwrap().iter().map(|it| &it["content"]["verdict"]).collect();
    assert_eq!(verdicts, [&json!("continues"), &json!("met")]);
    // No user is shown what the house said.
    let shown = world.get("/api/threads/t/messages").await;
    assert!(!shown.to_string().contains("goal_continuation"), "{shown}");
}

#[tokio::test]
async fn a_thread_is_compacted_by_its_agent_while_the_caller_waits() {
    let world = world().await;
    for text in ["one", "two", "three"] {
        say(&world, text).await;
    }
    let before = world.get("/api/threads/t/state").await;
    let answer = waited(&world, "/api/threads/t/compact", &json!({})).await;
    let place = answer.headers["content-location"].to_str().unwrap().to_owned();
    let done = answer.expect(200);
    let after = world.get("/api/threads/t/state").await;
    let (had, has) = (texts(&before["values"]).len(), texts(&after["values"]).len());
    assert!(has < had, "{after}");
    assert_eq!(done["compacted"], true);
    assert_eq!((&done["reason"], &done["summary_updated"]), (&Value::Null, &json!(true)));
    assert_eq!(
        (&done["removed_message_count"], &done["preserved_message_count"]),
        (&json!(had - has), &json!(has))
    );
    assert_eq!(done["checkpoint_id"], after["checkpoint_id"]);
    assert_eq!(after["parent_checkpoint_id"], before["checkpoint_id"]);
    assert_eq!(after["metadata"]["source"], "update");
    assert!(done["total_tokens"].as_u64().unwrap() > 0, "{done}");
    assert!(after["values"]["summary_text"].is_string() && before["values"].get("summary_text").is_none());
    assert_eq!(after["values"]["title"], before["values"]["title"]);
    let run = world.get(&place).await;
    assert_eq!((&run["operation_kind"], &run["status"]), (&json!("compact"), &json!("success")));
    assert_eq!((&run["run_id"], &run["message_count"]), (&done["run_id"], &json!(0)));
    // It is no turn of the conversation.
    let messages = world.get("/api/threads/t/messages").await;
    assert!(
        messages.as_array().unwrap().iter().all(|record| record["run_id"] != done["run_id"]),
        "{messages}"
    );
    let again = waited(&world, "/api/threads/t/compact", &json!({ "force": false })).await.expect(200);
    assert_eq!((&again["compacted"], &again["reason"]), (&json!(false), &json!("not_due")));
    assert_eq!(again["checkpoint_id"], Value::Null);
    let keep = json!({ "keep": { "type": "messages", "value": 50 } });
    let again = waited(&world, "/api/threads/t/compact", &keep).await.expect(200);
    assert_eq!(again["reason"], "not_enough_messages");
    let last = say(&world, "four").await;
    assert!(texts(&last).iter().any(|text| text.contains("four")), "{last}");
}
