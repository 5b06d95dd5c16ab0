//! `tools/list`.

use std::time::Duration;

use acceptance::World;
use serde_json::{Value, json};

use super::{Client, OLDER, TASKS};

fn names(list: &Value) -> Vec<String> {
    list["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn tools_are_listed_by_name_as_their_servers_define_them() {
    let world = World::new().await;
    let client = Client { capabilities: json!({"extensions": {TASKS: {}}}), ..Client::newest(&world) };
    let list = client.result("tools/list", json!({})).await;
    assert_eq!(names(&list), ["example_echo", "example_submit_report"]);
    assert_eq!(list["tools"][0]["inputSchema"]["required"], json!(["text"]));
    assert!(list["tools"][0]["outputSchema"].is_object(), "it passes unchanged: {list}");
    assert!(list["tools"][1].get("outputSchema").is_none(), "a task is no result of that shape");
    assert_eq!((&list["resultType"], &list["cacheScope"]), (&json!("complete"), &json!("private")));
    let holds = list["ttlMs"].as_u64().unwrap();
    assert!((1..=600_000).contains(&holds), "{holds}");
    let older = Client::older(&world, OLDER[1]).result("tools/list", json!({})).await;
    assert_eq!((names(&older)[..2].to_vec(), older.get("ttlMs")), (names(&list), None));
}

#[tokio::test]
async fn hints_end_with_the_first_list_that_does() {
    let world = World::new().await;
    let client = Client::newest(&world);
    let ttl = async || client.result("tools/list", json!({})).await["ttlMs"].as_u64().unwrap();
    let first = ttl().await;
    world.clock.advance(Duration::from_millis(first / 2));
    assert_eq!(ttl().await, first - first / 2);
}

#[tokio::test]
async fn a_cursor_that_nobody_gave_is_refused() {
    let world = World::new().await;
    for cursor in [json!("???"), json!(7)] {
        let (code, _) = Client::newest(&world).refused(200, "tools/list", json!({ "cursor": cursor })).await;
        assert_eq!(code, -32602);
    }
}
