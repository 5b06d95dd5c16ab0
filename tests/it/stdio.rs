//! A stdio server in the whole house: its tools in the catalogue, a call through the gateway, and a durable task whose
//! state lives in the memory of one process, so that it can only be polled in the session that began it.

use std::time::Duration;

use acceptance::World;
use http::Method;
use serde_json::{Value, json};

/// A server in a shell. A task is done at the second question for its status.
const PEER: &str = r#"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
plain() { answer "{\"content\":[],\"structuredContent\":{\"task_id\":\"r1\",$1}}"; }
asked=never
while IFS= read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}
  case "$line" in
    *'"method":"initialize"'*)
      answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}';;
    *'"method":"tools/list"'*)
      answer '{"tools":[{"name":"submit","inputSchema":{"type":"object"}},{"name":"status","inputSchema":{"type":"object"}},{"name":"stop","inputSchema":{"type":"object"}},{"name":"write","inputSchema":{"type":"object"}}]}';;
    *'"name":"submit"'*) asked=0; plain '"status":"running"';;
    *'"name":"status"'*)
      case $asked in
        0) asked=1; plain '"status":"running"';;
        1) plain '"status":"completed","result":{"kept":"in memory"}';;
        never) plain '"status":"failed","error":"another process"';;
      esac;;
    *'"name":"write"'*) echo x > shot.png; answer '{"content":[{"type":"text","text":"saved shot.png"}]}';;
  esac
done
case $PWD in */workspace) echo end >> ended;; esac
"#;

fn config() -> Value {
    let toolsets =
        json!([{"name": "report", "submit_tool": "submit", "status_tool": "status", "cancel_tool": "stop"}]);
    json!({"mcpServers": {"sh": {"command": "/bin/sh", "args": ["-c", PEER], "task_toolsets": toolsets}}})
}

#[tokio::test]
async fn a_task_on_a_stdio_server_is_polled_in_the_session_that_began_it() {
    let world = World::on_file(|_| config()).await;
    let tools = world.get("/api/tools").await;
    let names: Vec<&str> =
        tools["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["sh_submit", "sh_write"], "{tools}");

    let submitted = world.invoke("t", "sh_submit", &json!({})).await.expect(200);
    let id = submitted["task_id"].as_str().unwrap();
    for status in ["working", "completed"] {
        world.advance(5);
        world.tick_poller().await;
        assert_eq!(world.task("t", id).await["status"], status);
    }
    assert_eq!(world.task("t", id).await["result"], json!({"kept": "in memory"}));
    world.tick_notifier().await;
    assert_eq!(world.told("t").await, ["completed"]);
    world.nothing_is_pending().await;
}

#[tokio::test]
async fn a_call_shows_the_threads_file_and_the_end_of_the_house_ends_its_process() {
    let world = World::on_file(|_| config()).await;
    let result = world.invoke("t", "sh_write", &json!({})).await.expect(200);
    assert_eq!(result["content"][0]["text"], "saved /mnt/user-data/workspace/shot.png");
    let workspace = world.files().join("users/local%3Adefault/threads/t/user-data/workspace");
    assert!(workspace.join("shot.png").is_file());
    world.house.wiring.close().await;
    assert!(workspace.join("ended").is_file(), "it was asked to end, and had the time for it");
}

#[tokio::test]
async fn a_reset_ends_the_processes_and_the_next_call_has_another() {
    let world = World::on_file(|_| config()).await;
    world.invoke("t", "sh_write", &json!({})).await.expect(200);
    let ended = world.files().join("users/local%3Adefault/threads/t/user-data/workspace/ended");
    assert!(!ended.exists());
    world.call(Method::POST, "/api/mcp/cache/reset", None).await.expect(200);
    assert!(ended.is_file());
    world.invoke("t", "sh_write", &json!({})).await.expect(200);
}

#[tokio::test]
async fn a_server_that_is_switched_off_keeps_no_process() {
    let world = World::on_file(|_| config()).await;
    world.invoke("t", "sh_write", &json!({})).await.expect(200);
    let ended = world.files().join("users/local%3Adefault/threads/t/user-data/workspace/ended");
    let shown = world.get("/api/mcp/config").await;
    world.call(Method::PUT, "/api/mcp/config", Some(&shown)).await.expect(200);
    world.invoke("t", "sh_write", &json!({})).await.expect(200);
    assert!(!ended.exists(), "a config that says the same ends nothing");
    world.call(Method::PUT, "/api/mcp/config", Some(&json!({"mcp_servers": {}}))).await.expect(200);
    // It is let go of, and nobody waits for its end but this test.
    let end = async {
        while !ended.is_file() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), end).await.expect("its process ends");
}
