//! `GET /api/models`: what runs may choose from.

use acceptance::World;
use serde_json::json;

#[tokio::test]
async fn without_a_configured_model_there_is_the_built_in_script() {
    let world = World::new().await;
    let models = world.get("/api/models").await;
    assert_eq!(models["models"].as_array().unwrap().len(), 1);
    assert_eq!(models["models"][0]["name"], "scripted");
    assert_eq!(models["token_usage"], json!({"enabled": true}));
}
