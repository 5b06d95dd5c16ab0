//! What a request must say of itself, and what is said of Pudu.

use acceptance::{World, request, send};
use http::{HeaderValue, Method};
use serde_json::json;

use super::{Client, NEWEST, OLDER, error, post};

#[tokio::test]
async fn the_newest_revision_discovers_without_a_handshake() {
    let world = World::new().await;
    let found = Client::newest(&world).result("server/discover", json!({})).await;
    assert_eq!(found["supportedVersions"], json!([NEWEST, OLDER[0], OLDER[1], OLDER[2]]));
    assert_eq!(found["resultType"], "complete");
    assert!(found["capabilities"]["tools"].is_object() && found["ttlMs"].is_u64(), "{found}");
    assert_eq!(found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "pudu");
}

#[tokio::test]
async fn an_older_client_shakes_hands_and_nothing_is_kept_of_it() {
    let world = World::new().await;
    for version in OLDER {
        let client = Client::older(&world, version);
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let answer = client.ask("initialize", params).await;
        assert_eq!(answer.expect(200)["result"]["protocolVersion"], version);
        assert!(answer.headers.get("mcp-session-id").is_none());
        let told = post(&world, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, &[]).await;
        assert_eq!((told.status.as_u16(), told.text.as_str()), (202, ""));
        assert_eq!(client.result("ping", json!({})).await, json!({}));
        assert_eq!(client.refused(200, "prompts/list", json!({})).await.0, -32601);
    }
    // Another instance knows as much of it as this one.
    let client = Client::older(&world, OLDER[1]);
    assert!(client.result("tools/list", json!({})).await["tools"].is_array());
    let newer = json!({"protocolVersion": "2030-01-01", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": newer});
    assert_eq!(post(&world, &body.to_string(), &[]).await.expect(200)["result"]["protocolVersion"], OLDER[0]);
}

#[tokio::test]
async fn what_the_newest_revision_has_no_more_is_not_found() {
    let world = World::new().await;
    let client = Client::newest(&world);
    for method in [
        "initialize",
        "ping",
        "logging/setLevel",
        "tasks/list",
        "tasks/result",
        "subscriptions/listen",
        "x/y",
    ] {
        assert_eq!(client.refused(404, method, json!({})).await.0, -32601, "{method}");
    }
}

#[tokio::test]
async fn a_request_that_says_less_or_other_things_than_it_must_is_refused() {
    let world = World::new().await;
    let client = Client::newest(&world);
    let sent = |params, headers: Vec<(String, String)>| {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params}).to_string();
        let world = &world;
        async move { error(&post(world, &body, &headers).await.expect(400)).0 }
    };
    let (params, headers) = client.dressed("tools/list", &json!({}));
    assert_eq!(sent(json!({}), headers.clone()).await, -32602, "no _meta");
    assert_eq!(sent(params.clone(), headers[..1].to_vec()).await, -32020, "no Mcp-Method");
    assert_eq!(sent(params.clone(), headers[1..].to_vec()).await, -32020, "no MCP-Protocol-Version");
    let other = vec![headers[0].clone(), ("mcp-method".to_owned(), "tools/call".to_owned())];
    assert_eq!(sent(params, other).await, -32020);
}

#[tokio::test]
async fn what_is_no_message_is_refused_and_a_stream_of_the_server_is_not_offered() {
    let world = World::new().await;
    for (body, code) in [
        ("{", -32700),
        ("[]", -32600),
        ("7", -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
    ] {
        assert_eq!(error(&post(&world, body, &[]).await.expect(400)).0, code, "{body}");
    }
    let large = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":"{}"}}}}"#,
        "x".repeat(1024 * 1024)
    );
    assert_eq!(post(&world, &large, &[]).await.status.as_u16(), 413);
    for method in [Method::GET, Method::DELETE] {
        let answer = world.call(method, "/mcp", None).await;
        assert_eq!(
            (answer.status.as_u16(), &answer.headers["allow"]),
            (405, &HeaderValue::from_static("POST"))
        );
    }
    let mut html = request(Method::POST, "/mcp", Some(&json!({})));
    html.headers_mut().insert("accept", HeaderValue::from_static("text/html, application/json;q=0"));
    assert_eq!(send(&world.gateway, html).await.status.as_u16(), 406);
    let mut form = request(Method::POST, "/mcp", Some(&json!({})));
    form.headers_mut().insert("content-type", HeaderValue::from_static("text/plain"));
    assert_eq!(send(&world.gateway, form).await.status.as_u16(), 415);
}
