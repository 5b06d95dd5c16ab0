//! What an agent remembers of its user, through the whole house with the built-in script: said in one thread, told in the next.

use acceptance::World;
use http::Method;
use pudu_config::Document;
use serde_json::{Value, json};

async fn world(memory: &Value) -> World {
    let world = World::without_servers().await;
    let config = json!({"mcpServers": {}, "memory": memory, "title": {"enabled": false}});
    world.house.wiring.configs.import(Document::parse(config).unwrap(), None).await.unwrap();
    world
}

async fn says(world: &World, thread: &str, text: &str) {
    let body =
        json!({"assistant_id": "lead_agent", "input": {"messages": [{"role": "user", "content": text}]}});
    world.call(Method::POST, &format!("/api/threads/{thread}/runs"), Some(&body)).await.expect(200);
    world.tick_agent().await;
    let runs = world.get(&format!("/api/threads/{thread}/runs")).await;
    assert_eq!(runs[0]["status"], "success", "{runs}");
}

async fn facts(world: &World) -> Vec<String> {
    let memory = world.get("/api/memory").await;
    let facts = memory["facts"].as_array().unwrap().iter();
    facts.map(|fact| fact["content"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn what_was_said_in_one_thread_is_remembered_and_told_in_the_next() {
    let world = world(&json!({"enabled": true})).await;
    says(&world, "t1", "Remember that I like tea.").await;
    assert!(facts(&world).await.is_empty(), "not before the thread is quiet");
    world.advance(30);
    world.tick_agent().await;
    assert_eq!(facts(&world).await, ["[built-in scripted model] that I like tea."], "labelled as what it is");
    let memory = world.get("/api/memory").await;
    assert_eq!(memory["facts"][0]["source"], "t1");
    assert_eq!(world.get("/api/threads/t1/runs").await.as_array().unwrap().len(), 1, "no run of the thread");
    says(&world, "t2", "hello").await;
    let state = world.get("/api/threads/t2/state").await;
    let messages = state["values"]["messages"].to_string();
    assert!(messages.contains("<memory>") && messages.contains("that I like tea."), "{messages}");
    world.call(Method::DELETE, "/api/memory", None).await.expect(200);
    world.advance(30);
    world.tick_agent().await;
    assert!(facts(&world).await.is_empty(), "what was forgotten is not learnt from the same words again");
    world.nothing_is_pending().await;
}

#[tokio::test]
async fn a_thread_that_is_deleted_takes_its_look_back_with_it_and_not_what_was_learnt() {
    let world = world(&json!({"enabled": true})).await;
    says(&world, "t1", "Remember that I like tea.").await;
    world.advance(30);
    world.tick_agent().await;
    says(&world, "t1", "Remember that I like coffee.").await;
    world.call(Method::DELETE, "/api/threads/t1", None).await.expect(202);
    for _ in 0..3 {
        world.tick_poller().await;
        world.advance(30);
        world.tick_agent().await;
    }
    assert_eq!(facts(&world).await, ["[built-in scripted model] that I like tea."]);
    assert!(
        world.rows().await.keys().iter().all(|(pk, _)| !pk.contains("#t1")),
        "nothing of the thread is left"
    );
    world.nothing_is_pending().await;
}

#[tokio::test]
async fn nothing_is_remembered_unless_the_operator_wants_it() {
    for memory in [json!({}), json!({"enabled": true, "mode": "tool"})] {
        let world = world(&memory).await;
        says(&world, "t1", "Remember that I like tea.").await;
        assert!(!world.rows().await.text().contains("aside"), "{memory}");
        world.nothing_is_pending().await;
        world.tick_agent().await;
        assert!(facts(&world).await.is_empty());
    }
}

#[tokio::test]
async fn an_agent_with_the_tools_remembers_by_them() {
    let world = world(&json!({"enabled": true, "mode": "tool"})).await;
    says(&world, "t1", r#"Use memory_add content="likes tea""#).await;
    assert_eq!(facts(&world).await, ["likes tea"]);
    says(&world, "t2", "Use memory_search query=tea").await;
    let state = world.get("/api/threads/t2/state").await;
    let answer = state["values"]["messages"].as_array().unwrap().last().unwrap().clone();
    assert!(answer["content"].to_string().contains("likes tea"), "{answer}");
}
