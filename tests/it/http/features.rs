//! `GET /api/features`: what it says is what happens.

use acceptance::{World, request, send};
use http::Method;
use serde_json::json;

#[tokio::test]
async fn tasks_are_a_feature_as_long_as_somebody_works_on_them() {
    let world = World::new().await;
    world.tick_poller().await;
    let tasks = async || world.get("/api/features").await["mcp_tasks"].clone();
    assert_eq!(tasks().await, json!({"enabled": true}));
    world.advance(3600);
    assert_eq!(tasks().await, json!({"enabled": false}), "nobody was seen for an hour");
    world.tick_poller().await;
    assert_eq!(tasks().await, json!({"enabled": true}));
}

#[tokio::test]
async fn agents_are_a_feature_with_what_they_can_do() {
    let world = World::without_servers().await;
    let agents = async || world.get("/api/features").await["agents"].clone();
    assert_eq!(agents().await["enabled"], false, "nobody was ever seen");
    world.tick_agent().await;
    let usual = json!({
        "enabled": true, "models": ["scripted"], "scripted": true, "streaming": true, "plan_mode": true,
        "subagents": {"enabled": true, "custom_types": [], "max_total_per_run": 6},
        "summarization": false, "titles": true, "goals": true, "memory": false, "sandbox": false,
    });
    assert_eq!(agents().await, usual);
    assert_eq!(world.get("/api/features").await["agents_api"], json!({"enabled": false}));
    let config = json!({
        "mcpServers": {}, "models": [{"name": "m", "use": "langchain_openai:ChatOpenAI", "model": "x", "api_key": "k"}],
        "summarization": {"enabled": true}, "title": {"enabled": false}, "memory": {"enabled": true},
        "subagents": {"max_total_per_run": 2, "custom_agents": {"deer": {"description": "d", "system_prompt": "p"}}},
    });
    let mut put = request(Method::PUT, "/operator/config", Some(&config));
    let key = format!("Bearer {}", world.house.key().expose());
    put.headers_mut().insert("authorization", key.parse().unwrap());
    send(&world.gateway, put).await.expect(200);
    world.advance(1);
    let told = agents().await;
    assert_eq!((&told["models"], &told["scripted"]), (&json!(["m"]), &json!(false)));
    assert_eq!((&told["summarization"], &told["titles"]), (&json!(true), &json!(false)));
    assert_eq!(told["memory"], true);
    let delegation = json!({"enabled": true, "custom_types": ["deer"], "max_total_per_run": 2});
    assert_eq!(told["subagents"], delegation);
}
