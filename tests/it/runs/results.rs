//! Long results of tools, through the API of one machine: kept whole, told in short, read back in parts, and gone with their thread.

use std::path::Path;

use acceptance::World;
use http::Method;
use serde_json::{Value, json};

/// More than a row takes, so it goes through the blob store wherever it stands: in what was said, and in what is called.
fn long() -> String {
    (0..12_000).map(|number| format!("{number:05}-deer")).collect::<Vec<_>>().join("/")
}

/// Says something in the thread `t`, and lets the agent answer it.
async fn say(world: &World, text: &str) {
    world.call(Method::POST, "/api/threads/t/runs", Some(&super::said(text))).await.expect(200);
    world.tick_agent().await;
    assert_eq!(world.get("/api/threads/t/runs").await[0]["status"], "success");
}

/// What tools answered, the last one last.
async fn results(world: &World) -> Vec<Value> {
    let state = world.get("/api/threads/t/state").await;
    let messages = state["values"]["messages"].as_array().unwrap().clone();
    messages.into_iter().filter(|message| message["type"] == "tool").collect()
}

/// Files below a folder.
fn files(folder: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    entries.map(|entry| entry.unwrap().path()).map(|path| if path.is_dir() { files(&path) } else { 1 }).sum()
}

#[tokio::test]
async fn a_long_result_is_kept_whole_read_in_parts_and_gone_with_its_thread() {
    let (world, text) = (World::new().await, long());
    say(&world, &format!("call example_echo text={text}")).await;
    let state = world.get("/api/threads/t/state").await;
    let messages = state["values"]["messages"].as_array().unwrap();
    let said =
        messages.iter().find(|message| message["content"].as_str().is_some_and(|said| said.ends_with(&text)));
    assert!(said.is_some(), "a state that is no row's is read back whole");
    let told = results(&world).await.pop().unwrap();
    let shown = told["content"].as_str().unwrap();
    assert!(shown.chars().count() < 4000 && shown.contains("read_tool_result"), "{shown}");
    let saved = told["additional_kwargs"]["saved_result"].clone();
    assert_eq!((&saved["chars"], &saved["kind"]), (&json!(text.len()), &json!("text")));
    let name = saved["result"].as_str().unwrap();
    let mut read = String::new();
    while read.len() < text.len() {
        say(&world, &format!("call read_tool_result result={name} offset={} limit=16000", read.len())).await;
        let part = results(&world).await.pop().unwrap()["content"].as_str().unwrap().to_owned();
        let (head, part) = part.split_once("\n\n").unwrap();
        assert!(head.starts_with(&format!("[Characters {} to ", read.len())), "{head}");
        read.push_str(part);
    }
    assert!(read == text, "every character, once");

    assert!(read_in(&world, "other", name).await.contains("UnknownResult"), "it is no other thread's");
    let branch = json!({ "message_id": told["id"] });
    let branch = world.call(Method::POST, "/api/threads/t/branches", Some(&branch)).await.expect(200);
    let branch = branch["thread_id"].as_str().unwrap().to_owned();
    let blobs = world.blobs();
    assert!(files(&blobs) > 2, "the result, and states");
    delete(&world, "t").await;
    assert!(read_in(&world, &branch, name).await.contains("00000-deer"), "a branch has its own");
    delete(&world, &branch).await;
    assert_eq!(files(&blobs), 0);
}

/// What a tool of another thread brings of that result.
async fn read_in(world: &World, thread: &str, name: &str) -> String {
    let path = format!("/api/threads/{thread}");
    let read = super::said(&format!("call read_tool_result result={name}"));
    world.call(Method::POST, &format!("{path}/runs"), Some(&read)).await.expect(200);
    world.tick_agent().await;
    let state = world.get(&format!("{path}/state")).await;
    let last = state["values"]["messages"]
        .as_array()
        .unwrap()
        .iter()
        .rfind(|message| message["type"] == "tool")
        .cloned();
    last.unwrap()["content"].as_str().unwrap().to_owned()
}

async fn delete(world: &World, thread: &str) {
    let path = format!("/api/threads/{thread}");
    world.call(Method::DELETE, &path, None).await.expect(202);
    world.tick_poller().await;
    world.call(Method::GET, &format!("{path}/state"), None).await.expect(404);
}
