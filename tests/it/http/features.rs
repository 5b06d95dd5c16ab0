//! `GET /api/features`: what it says is what happens.

use acceptance::World;
use serde_json::json;

#[tokio::test]
async fn tasks_are_a_feature_as_long_as_somebody_works_on_them() {
    let world = World::new().await;
    world.tick_poller().await;
    assert_eq!(world.get("/api/features").await, json!({"mcp_tasks": {"enabled": true}}));
    world.advance(3600);
    assert_eq!(
        world.get("/api/features").await,
        json!({"mcp_tasks": {"enabled": false}}),
        "nobody was seen for an hour"
    );
    world.tick_poller().await;
    assert_eq!(world.get("/api/features").await, json!({"mcp_tasks": {"enabled": true}}));
}
