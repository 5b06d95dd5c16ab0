//! The config in a file of the operator: read, watched and written through the same door as the one in the table.

use std::fs;
use std::time::Duration;

use acceptance::{Answer, World, request, send};
use http::{Method, header};
use serde_json::{Value, json};

const CONFIG: &str = "/api/mcp/config";

/// A file with the example server, one that nobody reaches, a stdio server, and everything that an API must not lose.
async fn world() -> World {
    World::on_file(|example| {
        json!({
            "own": {"key": [1, 2.5, null]},
            "mcpServers": {
                "example": {"type": "http", "url": example, "headers": {"X-Token": "$TOKEN_OF_NOBODY"}, "enabled": false},
                "shown": {"type": "http", "url": example, "x-own": {"apiKey": "secret-a", "note": "n"}},
                "child": {"command": "npx", "args": ["-y", "server"], "env": {"KEY": "secret-b"}, "enabled": false},
            },
            "skills": {"s": {"enabled": false}},
        })
    })
    .await
}

fn stored(world: &World) -> Value {
    serde_json::from_slice(&fs::read(world.config_file()).unwrap()).unwrap()
}

fn edit(world: &World, change: impl FnOnce(&mut Value)) {
    let mut config = stored(world);
    change(&mut config);
    fs::write(world.config_file(), format!("{config:#}")).unwrap();
    world.advance(1);
}

async fn tools(world: &World) -> Vec<String> {
    let listed = world.get("/api/tools").await;
    let mut names: Vec<_> = listed["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

async fn put_over(world: &World, etag: &str, body: &Value) -> Answer {
    let mut request = request(Method::PUT, CONFIG, Some(body));
    request.headers_mut().insert(header::IF_MATCH, etag.parse().unwrap());
    send(&world.gateway, request).await
}

async fn etag(world: &World) -> String {
    let read = send(&world.gateway, request(Method::GET, CONFIG, None)).await;
    read.headers[header::ETAG].to_str().unwrap().to_owned()
}

#[tokio::test]
async fn an_edit_by_hand_changes_the_tools_within_a_second() {
    let world = world().await;
    assert!(tools(&world).await.contains(&"shown_echo".to_owned()));
    edit(&world, |config| config["mcpServers"]["shown"]["tool_name_prefix"] = json!(false));
    assert!(tools(&world).await.contains(&"echo".to_owned()));
    edit(&world, |config| config["mcpServers"]["shown"]["enabled"] = json!(false));
    assert_eq!(tools(&world).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_get_sent_back_changes_nothing_in_the_file() {
    let world = world().await;
    let before = stored(&world);
    let shown = world.get(CONFIG).await;
    let text = shown.to_string();
    assert!(!text.contains("secret-") && text.contains("$TOKEN_OF_NOBODY"), "{text}");
    let put = world.call(Method::PUT, CONFIG, Some(&shown)).await;
    assert_eq!(put.expect(200), shown);
    assert_eq!(stored(&world).to_string(), before.to_string());
}

#[tokio::test]
async fn a_put_writes_the_file_and_is_seen_at_once() {
    let world = world().await;
    let mut expected = stored(&world);
    let mut shown = world.get(CONFIG).await;
    shown["mcp_servers"]["shown"]["description"] = json!("new");
    shown["mcp_servers"].as_object_mut().unwrap().remove("child");
    let answer = put_over(&world, &etag(&world).await, &shown).await.expect(200);
    assert_eq!(
        (world.get(CONFIG).await, &answer["mcp_servers"]["shown"]["description"]),
        (answer.clone(), &json!("new"))
    );
    expected["mcpServers"]["shown"]["description"] = json!("new");
    expected["mcpServers"].as_object_mut().unwrap().remove("child");
    assert_eq!(stored(&world), expected);
    assert!(!world.rows().await.text().contains("pk=config"), "nothing of it is in the table");
}

#[tokio::test]
async fn a_put_over_an_edit_by_hand_is_refused_when_it_says_what_it_read() {
    let world = world().await;
    let read = etag(&world).await;
    let shown = world.get(CONFIG).await;
    edit(&world, |config| config["mcpServers"]["shown"]["description"] = json!("by hand"));
    assert_ne!(etag(&world).await, read);
    put_over(&world, &read, &shown).await.expect(412);
    assert_eq!(stored(&world)["mcpServers"]["shown"]["description"], "by hand");
    put_over(&world, &etag(&world).await, &shown).await.expect(200);
}

#[tokio::test]
async fn a_broken_edit_keeps_the_last_good_config_and_is_not_overwritten() {
    let world = world().await;
    let shown = world.get(CONFIG).await;
    fs::write(world.config_file(), "{ \"mcpServers\": half of an edit").unwrap();
    world.advance(1);
    assert_eq!(world.get(CONFIG).await, shown);
    let detail = world.call(Method::PUT, CONFIG, Some(&shown)).await.refused(409);
    assert!(detail.contains("repair it first") && detail.contains("line 1"), "{detail}");
    assert_eq!(fs::read_to_string(world.config_file()).unwrap(), "{ \"mcpServers\": half of an edit");
    fs::remove_file(world.config_file()).unwrap();
    world.advance(1);
    assert_eq!(world.get(CONFIG).await, shown);
    world.call(Method::PUT, CONFIG, Some(&shown)).await.expect(200);
    assert_eq!(
        stored(&world)["mcpServers"]["child"]["env"]["KEY"],
        "secret-b",
        "made again from what was in force"
    );
}

#[tokio::test]
async fn vector_61_a_put_with_a_duplicate_role_leaves_the_file_as_it_is() {
    let world = world().await;
    let before = fs::read(world.config_file()).unwrap();
    let roles = json!([{"name": "n", "submit_tool": "a", "status_tool": "a", "cancel_tool": "c"}]);
    let mut shown = world.get(CONFIG).await;
    shown["mcp_servers"]["shown"]["task_toolsets"] = roles;
    let detail = world.call(Method::PUT, CONFIG, Some(&shown)).await.refused(400);
    assert!(detail.contains("must be unique across task_toolsets"), "{detail}");
    let stdio = json!({"mcp_servers": {"mine": {"command": "sh"}}});
    world.call(Method::PUT, CONFIG, Some(&stdio)).await.refused(400);
    assert_eq!(fs::read(world.config_file()).unwrap(), before);
}

#[tokio::test]
async fn who_is_told_to_read_again_reads_what_is_there_without_waiting() {
    let world = world().await;
    let (read, shown) = (etag(&world).await, world.get(CONFIG).await);
    let mut config = stored(&world);
    config["mcpServers"]["shown"]["description"] = json!("by hand");
    fs::write(world.config_file(), config.to_string()).unwrap();
    assert_eq!(etag(&world).await, read, "a look may be a second old");
    put_over(&world, &read, &shown).await.expect(412);
    assert_eq!(world.get(CONFIG).await["mcp_servers"]["shown"]["description"], "by hand");
    put_over(&world, &etag(&world).await, &shown).await.expect(200);
}

#[tokio::test]
async fn a_clock_that_is_set_back_does_not_keep_an_old_config() {
    let world = world().await;
    assert!(tools(&world).await.contains(&"shown_echo".to_owned()));
    world.clock.turn_back(Duration::from_secs(3600));
    edit(&world, |config| config["mcpServers"]["shown"]["enabled"] = json!(false));
    assert_eq!(tools(&world).await, Vec::<String>::new());
}
