//! `tools/call`.

use acceptance::World;
use serde_json::json;

use super::{Client, OLDER, error, post};
use crate::http::dead_url;

#[tokio::test]
async fn a_call_brings_its_servers_result_in_either_era() {
    let world = World::new().await;
    let newest = Client::newest(&world).call("example_echo", json!({"text": "größer"})).await;
    assert_eq!(newest["structuredContent"], json!({"text": "größer"}));
    assert_eq!(newest["resultType"], "complete");
    for version in OLDER {
        let older = Client::older(&world, version).call("example_echo", json!({"text": "größer"})).await;
        assert_eq!(older["content"], newest["content"]);
    }
    world.nothing_is_pending().await;
}

#[tokio::test]
async fn a_tool_that_is_not_there_is_an_error_of_the_protocol() {
    let world = World::new().await;
    let client = Client::newest(&world);
    for params in [
        json!({"name": "example_nothing"}),
        json!({}),
        json!({"name": 7}),
        json!({"name": "example_echo", "arguments": []}),
    ] {
        assert_eq!(client.refused(200, "tools/call", params.clone()).await.0, -32602, "{params}");
    }
}

#[tokio::test]
async fn what_a_model_can_do_something_about_is_a_result_that_names_the_server() {
    let world = World::new().await;
    let mut servers = world.get("/api/mcp/config").await["mcp_servers"].clone();
    servers["dead"] = json!({"type": "http", "url": dead_url().await});
    world.put_config(&servers).await.expect(200);
    let client = Client::newest(&world);
    let unfit = client.call("example_echo", json!({"text": 7})).await;
    assert_eq!(unfit["isError"], true);
    assert!(unfit["content"][0]["text"].as_str().unwrap().contains("arguments/text"), "{unfit}");
    let down = client.call("dead_tool", json!({})).await;
    assert_eq!(down["isError"], true);
    assert!(down["content"][0]["text"].as_str().unwrap().contains("server 'dead'"), "{down}");
}

#[tokio::test]
async fn a_call_whose_headers_name_another_tool_is_refused() {
    let world = World::new().await;
    let client = Client::newest(&world);
    let (params, mut headers) =
        client.dressed("tools/call", &json!({"name": "example_echo", "arguments": {"text": "x"}}));
    headers.retain(|(name, _)| name != "mcp-name");
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    assert_eq!(error(&post(&world, &body, &headers).await.expect(400)).0, -32020);
    headers.push(("mcp-name".to_owned(), "example_submit_report".to_owned()));
    assert_eq!(error(&post(&world, &body, &headers).await.expect(400)).0, -32020);
}
