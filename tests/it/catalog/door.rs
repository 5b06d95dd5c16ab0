//! The catalogue through the gateway, with the real client and real servers.

use std::collections::BTreeMap;

use acceptance::{Toll, World, request, send};
use http::Method;
use serde_json::{Value, json};

/// The example server behind a door that counts.
async fn counted(world: &World) -> Toll {
    let toll = Toll::before(world.example.url()).await;
    let set = json!({"name": "report", "submit_tool": "submit_report", "status_tool": "get_report_status", "cancel_tool": "cancel_report"});
    let entry = json!({
        "type": "http", "url": toll.url, "task_toolsets": [set],
        "routing": {"mode": "prefer", "priority": 5, "keywords": ["report"]},
        "tools": {"echo": {"routing": {"mode": "off"}}},
    });
    world.put_config(&json!({ "example": entry })).await.expect(200);
    toll
}

/// One POST for a call, and not one more for what the table knows (DESIGN section 5).
#[tokio::test]
async fn a_cold_function_calls_a_tool_without_listing_any() {
    let world = World::new().await;
    let toll = counted(&world).await;
    world.invoke("t", "example_echo", &json!({"text": "a"})).await.expect(200);
    assert_eq!(toll.take(), ["server/discover", "tools/list", "tools/call"]);
    world.invoke("t", "example_echo", &json!({"text": "b"})).await.expect(200);
    assert_eq!(toll.take(), ["tools/call"]);
    let cold = world.second_house().gateway();
    let body = json!({"arguments": {"text": "c"}});
    let call = request(Method::POST, "/api/threads/t/tools/example_echo", Some(&body));
    let result = send(&cold, call).await.expect(200);
    assert_eq!(result["structuredContent"], json!({"text": "c"}));
    assert!(!toll.take().contains(&"tools/list".to_owned()));
}

/// A poller that has just started asks for the task, and for nothing else of its server.
#[tokio::test]
async fn a_poll_lists_no_tools() {
    let world = World::new().await;
    let toll = counted(&world).await;
    world.submit("t", &json!({"title": "Deer", "duration_seconds": 60})).await;
    toll.take();
    world.advance(6);
    let cold = world.second_house();
    assert_eq!(acceptance::world::poll(&cold).await.worked, 1);
    world.advance(3600);
    assert_eq!(acceptance::world::poll(&cold).await.worked, 1);
    let asked = toll.take();
    assert_eq!(asked.iter().filter(|method| *method == "tools/call").count(), 2);
    assert!(!asked.contains(&"tools/list".to_owned()), "{asked:?}");
}

#[tokio::test]
async fn a_list_shows_routing_where_there_is_any_and_what_it_is_of() {
    let world = World::new().await;
    let _toll = counted(&world).await;
    let body = world.get("/api/tools").await;
    let routing: BTreeMap<&str, &Value> = body["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| (tool["name"].as_str().unwrap(), &tool["routing"]))
        .collect();
    assert_eq!(routing["example_echo"], &Value::Null);
    assert_eq!(
        routing["example_submit_report"],
        &json!({"mode": "prefer", "priority": 5, "keywords": ["report"]})
    );
    assert_eq!(body["catalog_hash"].as_str().unwrap().len(), 16);
    assert_eq!(world.get("/api/tools").await["catalog_hash"], body["catalog_hash"]);
}

#[tokio::test]
async fn tools_are_searched_for_by_the_grammar_of_tool_search() {
    let world = World::new().await;
    let found = async |query: &str| -> Vec<String> {
        let body = world.get(&format!("/api/tools/search?query={query}")).await;
        let tools = body["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(found("select:example_echo,gone").await, ["example_echo"]);
    assert_eq!(found("%2Bsubmit").await, ["example_submit_report"]);
    assert_eq!(found("BACKGROUND.TASK").await, ["example_submit_report"], "the description counts");
    assert_eq!(found("").await, Vec::<String>::new());
    let body = world.get("/api/tools/search?query=echo").await;
    let list = world.get("/api/tools").await;
    assert_eq!(body["tools"][0], list["tools"][0], "the whole definition");
    assert_eq!(body["catalog_hash"], list["catalog_hash"]);
    world.call(Method::GET, "/api/tools/search", None).await.refused(422);
}

#[tokio::test]
async fn a_reset_makes_the_next_use_ask_again() {
    let world = World::new().await;
    let toll = counted(&world).await;
    world.get("/api/tools").await;
    toll.take();
    world.get("/api/tools").await;
    assert_eq!(toll.take(), Vec::<String>::new());
    let answer = world.call(Method::POST, "/api/mcp/cache/reset", None).await.expect(200);
    assert_eq!(answer["success"], true);
    assert!(answer["message"].as_str().unwrap().contains("next use"), "{answer}");
    assert!(!world.rows().await.text().contains("catalog#"), "the table has forgotten too");
    world.get("/api/tools").await;
    assert_eq!(toll.take(), ["server/discover", "tools/list"]);
    assert!(world.rows().await.text().contains("catalog#"));
}

#[tokio::test]
async fn a_server_that_takes_too_long_is_a_time_out_and_hides_no_other() {
    let world = World::new().await;
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut servers = world.get("/api/mcp/config").await["mcp_servers"].clone();
    let url = format!("http://{}/mcp", silent.local_addr().unwrap());
    servers["silent"] = json!({"type": "http", "url": url, "session_init_timeout": 0.2});
    world.put_config(&servers).await.expect(200);
    let body = world.get("/api/tools").await;
    assert_eq!(body["servers"]["silent"]["state"], "timeout", "{body}");
    assert!(body["servers"]["silent"]["reason"].is_string());
    assert_eq!(body["servers"]["example"]["state"], "ok");
}

/// Every kind of block, and one that nobody knows (reference 2.9): as the server sent it, byte for byte.
#[tokio::test]
async fn results_pass_unchanged_whatever_is_in_them() {
    let result = json!({
        "content": [
            {"type": "text", "text": "größer\n", "annotations": {"audience": ["user"], "priority": 0.5}},
            {"type": "image", "data": "aGk=", "mimeType": "image/png"},
            {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
            {"type": "resource_link", "uri": "file:///r", "name": "r", "size": 3, "x-own": [1]},
            {"type": "resource", "resource": {"uri": "file:///t", "mimeType": "text/plain", "text": "t"}},
            {"type": "resource", "resource": {"uri": "file:///b", "blob": "aGk="}},
            {"type": "hologram", "depth": 1e300},
        ],
        "structuredContent": {"z": 1, "a": [null, {"": u64::MAX}]},
        "_meta": {"example.com/x": true},
        "x-own": "kept",
    });
    let failed = json!({"isError": true, "content": [{"type": "text", "text": "no"}, {"type": "hologram"}]});
    let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
    let tools = [(tool("good"), result), (tool("bad"), failed)];
    let world = World::without_servers().await;
    for stateless in [true, false] {
        let peer = Toll::answering(&tools, stateless).await;
        world.put_config(&json!({"peer": {"type": "http", "url": peer.url}})).await.expect(200);
        for (tool, result) in &tools {
            let name = format!("peer_{}", tool["name"].as_str().unwrap());
            let answer = world.invoke("t", &name, &json!({})).await.expect(200);
            assert_eq!(answer.to_string(), result.to_string(), "stateless: {stateless}");
        }
    }
}

/// Through the whole gateway: a result that breaks its own schema is the server's failure, not the caller's.
#[tokio::test]
async fn a_result_that_breaks_its_schema_is_502_without_the_value() {
    let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
    let tool = json!({"name": "t", "inputSchema": {"type": "object"}, "outputSchema": schema});
    let result = json!({"content": [], "structuredContent": {"text": 170_017}});
    let peer = Toll::answering(&[(tool, result)], true).await;
    let world = World::without_servers().await;
    world.put_config(&json!({"peer": {"type": "http", "url": peer.url}})).await.expect(200);
    let detail = world.invoke("t", "peer_t", &json!({})).await.refused(502);
    assert!(detail.contains("structuredContent/text") && !detail.contains("170017"), "{detail}");
}

/// As the design wants it: the timeout of an entry applies on every transport, and the call is the one that ends.
#[tokio::test]
async fn vector_25_a_call_ends_with_the_timeout_of_its_server() {
    let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
    let tools = [(tool("mute"), Value::Null), (tool("quick"), json!({"content": []}))];
    let world = World::without_servers().await;
    for stateless in [true, false] {
        let peer = Toll::answering(&tools, stateless).await;
        let entry = json!({"type": "http", "url": peer.url, "tool_call_timeout": 0.3});
        world.put_config(&json!({ "peer": entry })).await.expect(200);
        world.invoke("t", "peer_mute", &json!({})).await.refused(504);
        world.invoke("t", "peer_quick", &json!({})).await.expect(200);
    }
}
