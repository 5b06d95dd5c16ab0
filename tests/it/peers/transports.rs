//! Servers of other people over every transport that they have.

use std::path::Path;
use std::process::Command;

use acceptance::{Peer, World};
use serde_json::{Value, json};

/// A house that knows one server by the operator's own hand, as stdio servers are given.
pub(super) async fn knowing(entry: Value) -> World {
    let world = World::without_servers().await;
    world.import_config(&json!({ "peer": entry })).await;
    world
}

pub(super) fn stdio(arguments: &[&str]) -> Value {
    json!({"type": "stdio", "command": Peer::program(), "args": arguments})
}

async fn names(world: &World) -> Vec<String> {
    let listed = world.get("/api/tools").await;
    let names =
        listed["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned());
    let names: Vec<String> = names.collect();
    assert!(!names.is_empty(), "{listed}");
    names
}

/// The answer of a tool, whose texts are one text.
async fn answer(world: &World, tool: &str, arguments: &Value) -> (Value, String) {
    let answer = world.invoke("t1", tool, arguments).await.expect(200);
    assert_ne!(answer["isError"], true, "{answer}");
    let texts = answer["content"].as_array().unwrap().iter().filter_map(|block| block["text"].as_str());
    let text = texts.collect::<Vec<_>>().join("\n");
    (answer, text)
}

/// The official example server: many kinds of tools and contents.
async fn everything(world: &World) {
    assert!(names(world).await.len() > 5);
    let (answered, _) = answer(world, "peer_echo", &json!({"message": "größer"})).await;
    assert_eq!(answered["content"], json!([{"type": "text", "text": "Echo: größer"}]));
    // Content that the SDK's typed model would have to know passes as it is.
    let image = names(world).await.into_iter().find(|name| name.contains("image")).unwrap();
    let (answered, _) = answer(world, &image, &json!({})).await;
    assert!(
        answered["content"].as_array().unwrap().iter().any(|block| block["type"] == "image"),
        "{answered}"
    );
    let wrong = world.invoke("t1", "peer_echo", &json!({"message": 5})).await.refused(422);
    assert!(wrong.contains("peer_echo"), "{wrong}");
}

async fn fastmcp(world: &World, revisions: &[&str]) {
    let (answered, _) = answer(world, "peer_echo", &json!({"text": "größer"})).await;
    assert_eq!(answered["structuredContent"]["text"], "größer");
    let revision = answered["structuredContent"]["protocol_revision"].as_str().unwrap();
    assert!(revisions.contains(&revision), "{revision}");
}

peers! {
    the_official_server_over_streamable_http: "server-everything over Streamable HTTP" => async {
        let peer = Peer::start(&["everything", "streamableHttp"]).await;
        everything(&knowing(json!({"type": "http", "url": peer.url()})).await).await;
    };
    the_official_server_over_sse: "server-everything over SSE" => async {
        let peer = Peer::start(&["everything", "sse"]).await;
        everything(&knowing(json!({"type": "sse", "url": peer.url()})).await).await;
    };
    the_official_server_over_stdio: "server-everything over stdio" => async {
        everything(&knowing(stdio(&["everything", "stdio"])).await).await;
    };
    fastmcp_over_streamable_http: "FastMCP over Streamable HTTP" => async {
        let peer = Peer::start(&["fastmcp"]).await;
        fastmcp(&knowing(json!({"type": "http", "url": peer.url()})).await, &["2026-07-28"]).await;
    };
    fastmcp_over_sse: "FastMCP over SSE" => async {
        let peer = Peer::start(&["fastmcp", "--transport", "sse"]).await;
        fastmcp(&knowing(json!({"type": "sse", "url": peer.url()})).await, &["2025-11-25"]).await;
    };
    fastmcp_over_stdio: "FastMCP over stdio" => async {
        let world = knowing(stdio(&["fastmcp", "--transport", "stdio"])).await;
        fastmcp(&world, &["2025-11-25", "2026-07-28"]).await;
    };
    the_time_server: "mcp-server-time" => async {
        let world = knowing(stdio(&["time"])).await;
        let noon = json!({"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"});
        let (_, text) = answer(&world, "peer_convert_time", &noon).await;
        assert!(text.contains("21:00"), "{text}");
    };
    the_git_server: "mcp-server-git" => async {
        let repository = tempfile::tempdir().unwrap();
        let made = Command::new("git").args(["init", "--quiet"]).arg(repository.path()).status().unwrap();
        assert!(made.success());
        std::fs::write(repository.path().join("deer.txt"), "pudu").unwrap();
        let path = repository.path().to_str().unwrap();
        let world = knowing(stdio(&["git", path])).await;
        let (_, text) = answer(&world, "peer_git_status", &json!({"repo_path": path})).await;
        assert!(text.contains("deer.txt"), "{text}");
    };
    the_filesystem_server: "server-filesystem" => async {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deer.txt");
        let world = knowing(stdio(&["filesystem", folder.path().to_str().unwrap()])).await;
        answer(&world, "peer_write_file", &json!({"path": file, "content": "The smallest deer"})).await;
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "The smallest deer");
        let (_, text) = answer(&world, "peer_read_text_file", &json!({"path": file})).await;
        assert_eq!(text, "The smallest deer");
        let outside = json!({"path": Path::new("/etc/hostname")});
        let refused = world.invoke("t1", "peer_read_text_file", &outside).await.expect(200);
        assert_eq!(refused["isError"], true, "{refused}");
    };
    the_memory_server_remembers_between_calls: "server-memory" => async {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("memory.jsonl");
        let world = knowing(stdio(&["memory", file.to_str().unwrap()])).await;
        let pudu = json!({"name": "pudu", "entityType": "deer", "observations": ["is small"]});
        answer(&world, "peer_create_entities", &json!({"entities": [pudu]})).await;
        let (_, text) = answer(&world, "peer_read_graph", &json!({})).await;
        assert!(text.contains("is small"), "{text}");
    };
    what_a_tool_declares_is_what_a_caller_gets: "FastMCP with an output schema" => async {
        let peer = Peer::start(&["fastmcp"]).await;
        let world = knowing(json!({"type": "http", "url": peer.url()})).await;
        let (answered, _) = answer(&world, "peer_temperature", &json!({})).await;
        assert_eq!(answered["structuredContent"], json!({"degrees": 21.5}));
        let refused = world.invoke("t1", "peer_temperature", &json!({"honest": false})).await.refused(502);
        assert!(refused.contains("temperature") && refused.contains("degrees"), "{refused}");
    };
}
