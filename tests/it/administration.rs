//! Administration of the config over HTTP: one server by itself, the history, who races with whom, how servers stand.

mod races;
mod revisions;
mod servers;
mod standing;

use acceptance::{Answer, World, request, send};
use axum::Router;
use http::{Method, header};
use pudu_config::Document;
use serde_json::{Value, json};

const CONFIG: &str = "/api/mcp/config";
const SERVERS: &str = "/api/mcp/config/servers";
const REVISIONS: &str = "/api/mcp/config/revisions";

fn http(url: &str) -> Value {
    json!({"type": "http", "url": url, "enabled": false})
}

/// A request over the config with this etag.
async fn over(gateway: &Router, method: Method, path: &str, etag: &str, body: Option<&Value>) -> Answer {
    let mut request = request(method, path, body);
    request.headers_mut().insert(header::IF_MATCH, etag.parse().unwrap());
    send(gateway, request).await
}

fn etag(answer: &Answer) -> String {
    answer.headers[header::ETAG].to_str().unwrap().to_owned()
}

/// A house whose first revision is the operator's own word.
async fn with_config(config: Value) -> World {
    let world = World::without_servers().await;
    assert!(world.house.wiring.configs.seed(Document::parse(config).unwrap()).await.unwrap());
    world
}

/// The config that is stored, with its secrets.
async fn stored(world: &World) -> Value {
    world.house.wiring.configs.current().await.unwrap().document.expose_raw().clone()
}

async fn revision(world: &World) -> u64 {
    world.get("/healthz").await["config_revision"].as_u64().unwrap()
}
