//! The catalogue and ordinary calls.

use acceptance::World;
use serde_json::{Value, json};

use super::dead_url;

#[tokio::test]
async fn tools_are_listed_without_those_of_the_task() {
    let world = World::new().await;
    let body = world.get("/api/tools").await;
    let tools: Vec<(&str, bool)> = body["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| (tool["name"].as_str().unwrap(), tool["durable"].as_bool().unwrap()))
        .collect();
    assert_eq!(tools, [("example_echo", false), ("example_submit_report", true)]);
    assert_eq!(body["tools"][0]["inputSchema"]["required"], json!(["text"]), "the schema passes unchanged");
    assert_eq!(body["servers"]["example"]["state"], "ok");
}

#[tokio::test]
async fn an_ordinary_call_returns_the_servers_result() {
    let world = World::new().await;
    let result = world.invoke("t1", "example_echo", &json!({"text": "größer"})).await.expect(200);
    assert_eq!(result["structuredContent"], json!({"text": "größer"}));
    assert_eq!(result["content"][0]["text"], "größer");
    assert_eq!(world.get("/api/threads/t1/mcp-tasks").await, json!([]), "it is no task");
    world.nothing_is_pending().await;
}

#[tokio::test]
async fn a_server_that_is_down_hides_no_other() {
    let world = World::new().await;
    let mut servers = world.get("/api/mcp/config").await["mcp_servers"].clone();
    servers["dead"] = json!({"type": "http", "url": dead_url().await});
    servers["off"] = json!({"type": "http", "url": dead_url().await, "enabled": false});
    world.put_config(&servers).await.expect(200);
    let body = world.get("/api/tools").await;
    assert_eq!(body["tools"].as_array().unwrap().len(), 2);
    assert_eq!(
        (&body["servers"]["dead"]["state"], &body["servers"]["off"]["state"]),
        (&json!("error"), &json!("disabled"))
    );
    assert!(body["servers"]["dead"]["reason"].as_str().unwrap().contains("cannot be reached"), "{body}");
    world.invoke("t1", "example_echo", &json!({"text": "on"})).await.expect(200);
}

#[tokio::test]
async fn a_list_can_be_of_one_server() {
    let world = World::without_servers().await;
    let entry = json!({"type": "http", "url": world.example.url()});
    world.put_config(&json!({"one": entry, "two": entry})).await.expect(200);
    let whole = world.get("/api/tools").await;
    let one = world.get("/api/tools?server=one").await;
    let names = |list: &Value| -> Vec<String> {
        list["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let wanted: Vec<String> = names(&whole).into_iter().filter(|name| name.starts_with("one_")).collect();
    assert!(!wanted.is_empty());
    assert_eq!((names(&one), one["servers"].as_object().unwrap().len()), (wanted, 1));
    assert_eq!(one["catalog_hash"], whole["catalog_hash"]);
    assert_eq!(world.get("/api/tools?server=nobody").await["tools"], json!([]));
}

#[tokio::test]
async fn a_toolset_whose_tools_are_missing_disables_only_itself() {
    let world = World::without_servers().await;
    let set = json!({"name": "other", "submit_tool": "submit_report", "status_tool": "no_such_tool", "cancel_tool": "cancel_report"});
    let entry = json!({"type": "http", "url": world.example.url(), "task_toolsets": [set]});
    world.put_config(&json!({"example": entry})).await.expect(200);
    let body = world.get("/api/tools").await;
    let problems = &body["servers"]["example"]["toolset_problems"];
    assert!(problems[0].as_str().unwrap().contains("no_such_tool"), "{body}");
    world.invoke("t1", "example_echo", &json!({"text": "on"})).await.expect(200);
    world.invoke("t1", "example_submit_report", &json!({"title": "Deer"})).await.refused(404);
}

#[tokio::test]
async fn vector_4_an_unsupported_transport_is_a_reason_beside_its_server_and_hides_no_sibling() {
    let world = World::without_servers().await;
    let sibling = json!({"type": "http", "url": world.example.url()});
    world
        .put_config(&json!({"odd": {"type": "websocket", "url": "http://h/"}, "fine": sibling}))
        .await
        .expect(200);
    let listed = world.get("/api/tools").await;
    assert_eq!(listed["servers"]["odd"]["state"], "error", "{listed}");
    let reason = listed["servers"]["odd"]["reason"].as_str().unwrap();
    assert!(reason.contains("websocket") && reason.contains("http"), "{reason}");
    assert_eq!(listed["servers"]["fine"]["state"], "ok", "{listed}");
    world.invoke("t1", "fine_echo", &json!({"text": "x"})).await.expect(200);
    let refused = world.invoke("t1", "odd_tool", &json!({})).await;
    assert!(refused.text.contains("websocket"), "{}", refused.text);
}
