//! `GET` and `PUT /api/mcp/config`.

use acceptance::{World, request, send};
use http::{Method, header};
use serde_json::{Value, json};

const CONFIG: &str = "/api/mcp/config";

#[tokio::test]
async fn before_the_first_put_there_is_an_empty_config() {
    let world = World::without_servers().await;
    assert_eq!(world.get(CONFIG).await["mcp_servers"], json!({}));
    assert_eq!(world.get("/healthz").await["config_revision"], 0);
}

#[tokio::test]
async fn what_is_put_comes_back_masked() {
    let world = World::without_servers().await;
    let entry = json!({
        "type": "http", "url": "https://someone:secret-a@mcp.example/mcp", "enabled": false,
        "headers": {"Authorization": "Bearer secret-b", "X-From-Env": "$TOKEN"},
        "description": "stays readable", "unknown_key": {"stays": "too"},
    });
    let put = world.put_config(&json!({"web": entry})).await;
    let body = put.expect(200);
    let shown = &body["mcp_servers"]["web"];
    assert_eq!(shown["headers"], json!({"Authorization": "***", "X-From-Env": "$TOKEN"}));
    assert_eq!(
        (&shown["description"], &shown["unknown_key"]["stays"]),
        (&json!("stays readable"), &json!("too"))
    );
    assert!(!put.text.contains("secret-"), "{}", put.text);
    assert_eq!(world.get(CONFIG).await, body, "GET says what PUT said");
}

#[tokio::test]
async fn a_mask_sent_back_keeps_what_is_stored() {
    let world = World::without_servers().await;
    let web = json!({"type": "http", "url": "https://mcp.example/mcp", "headers": {"Authorization": "Bearer s"}, "enabled": false});
    let first = world.put_config(&json!({ "web": web })).await;
    first.expect(200);
    let second = world.call(Method::PUT, CONFIG, Some(&first.json())).await;
    assert_eq!(second.expect(200), first.json());
    let etag = &second.headers[header::ETAG];
    assert_eq!(etag, &first.headers[header::ETAG], "the defaults of the answer are not written down");
    let current = world.house.wiring.configs.current().await.unwrap();
    let stored = &current.document.expose_raw()["mcpServers"]["web"]["headers"]["Authorization"];
    assert_eq!(stored, "Bearer s");

    let changed = world.put_config(&json!({"web": {"type": "http", "url": "https://mcp.example/mcp", "headers": {"Authorization": "Bearer t"}}})).await;
    changed.expect(200);
    assert_ne!(changed.headers[header::ETAG], etag);
}

#[tokio::test]
async fn a_mask_for_an_unknown_value_is_refused_and_nothing_is_stored() {
    let world = World::new().await;
    let revision = async || world.get("/healthz").await["config_revision"].clone();
    let before = revision().await;
    let entry =
        json!({"type": "http", "url": "https://mcp.example/mcp", "headers": {"Authorization": "***"}});
    let detail = world.put_config(&json!({"new": entry})).await.refused(400);
    assert!(detail.contains("mcpServers.new.headers.Authorization"), "{detail}");
    assert_eq!(revision().await, before);
}

#[tokio::test]
async fn a_config_is_validated_whole_before_it_is_stored() {
    let world = World::new().await;
    let before = world.get(CONFIG).await;
    let ok = json!({"type": "http", "url": "https://mcp.example/mcp"});
    for (bad, status) in [
        (json!({"type": "http"}), 400),
        (json!({"type": "stdio", "command": "sh"}), 400),
        (json!({"type": "http", "url": 5}), 422),
        (json!({"type": "http", "url": "https://mcp.example/mcp", "enabled": "yes please"}), 422),
        (json!("a text"), 422),
    ] {
        let detail = world.put_config(&json!({"fine": ok, "bad": bad})).await.refused(status);
        assert!(detail.contains("bad"), "{detail}");
        assert_eq!(world.get(CONFIG).await, before, "nothing of it is stored");
    }
    let nothing = world.call(Method::PUT, CONFIG, Some(&json!({}))).await.refused(422);
    assert!(nothing.contains("mcp_servers"), "{nothing}");
}

#[tokio::test]
async fn names_that_are_the_platforms_never_resolve() {
    let world = World::new().await;
    for name in ["AWS_SECRET_ACCESS_KEY", "LAMBDA_TASK_ROOT", "PUDU_TABLE", "_HANDLER"] {
        let entry =
            json!({"type": "http", "url": "https://mcp.example/mcp", "headers": {"X": format!("${name}")}});
        world.put_config(&json!({"thief": entry})).await.refused(400);
    }
}

#[tokio::test]
async fn the_mounted_example_is_revision_one() {
    let world = World::new().await;
    assert_eq!(
        world.get("/healthz").await,
        json!({
            "status": "ok", "version": env!("CARGO_PKG_VERSION"), "config_revision": 1,
        })
    );
    let shown: Value = world.get(CONFIG).await;
    assert_eq!(shown["mcp_servers"]["example"]["url"], json!(world.example.url()));
}

/// A caller that names what it read does not overwrite what came after.
#[tokio::test]
async fn a_put_over_what_somebody_else_changed_is_refused_when_it_says_what_it_read() {
    let world = World::without_servers().await;
    let put = async |etag: &str, name: &str| {
        let body = json!({"mcp_servers": {name: {"type": "http", "url": "http://127.0.0.1:1/mcp"}}});
        let mut request = request(Method::PUT, CONFIG, Some(&body));
        request.headers_mut().insert(header::IF_MATCH, etag.parse().unwrap());
        send(&world.gateway, request).await
    };
    let read = send(&world.gateway, request(Method::GET, CONFIG, None)).await;
    let etag = read.headers[header::ETAG].to_str().unwrap().to_owned();
    put(&etag, "first").await.expect(200);
    put(&etag, "second").await.expect(412);
    put("*", "third").await.expect(200);
    assert!(world.get(CONFIG).await["mcp_servers"].get("third").is_some());
}
