//! Both eras of the protocol, through the SDK's client and by hand.

use rmcp::ServiceExt;
use rmcp::model::{CallToolRequestParams, ClientConfig, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::{RoleClient, model::JsonObject};
use serde_json::{Value, json};

use super::World;

/// The whole of what a 2026-07-28 server needs in one POST without any handshake.
pub(super) fn one_post(
    http: &reqwest::Client,
    url: &str,
    tool: &str,
    arguments: &Value,
) -> reqwest::RequestBuilder {
    http.post(url)
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", tool)
        .json(&call_body(tool, arguments))
}

fn call_body(tool: &str, arguments: &Value) -> Value {
    json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {
            "name": tool,
            "arguments": arguments,
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        },
    })
}

fn arguments(value: Value) -> JsonObject {
    let Value::Object(object) = value else { panic!("{value}") };
    object
}

async fn tells_its_story(client: &RunningService<RoleClient, ClientConfig>, world: &World) {
    let tools = client.list_all_tools().await.unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_ref()).collect();
    assert_eq!(names, ["echo", "submit_report", "get_report_status", "cancel_report", "answer_report"]);
    assert!(tools.iter().all(|tool| tool.output_schema.is_some() && tool.description.is_some()));

    let call = |name: &'static str, value: Value| {
        client.call_tool(CallToolRequestParams::new(name).with_arguments(arguments(value)))
    };
    let echo = call("echo", json!({ "text": "hi" })).await.unwrap();
    assert_eq!(echo.structured_content, Some(json!({ "text": "hi" })));
    let submitted = call("submit_report", json!({ "title": "t", "duration_seconds": 2 })).await.unwrap();
    let id = submitted.structured_content.unwrap()["task_id"].clone();
    world.advance(2.0);
    let status = call("get_report_status", json!({ "task_id": id })).await.unwrap();
    assert_eq!(status.structured_content.unwrap()["status"], "completed");
    call("no_such_tool", json!({})).await.unwrap_err();
}

#[tokio::test]
async fn a_client_that_finds_out_the_era_gets_the_new_one() {
    let world = World::new().await;
    let mode = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::V_2025_11_25),
    };
    let transport = StreamableHttpClientTransport::from_uri(world.url.as_str());
    let client = ClientConfig::default().serve_with_lifecycle(transport, mode).await.unwrap();
    let peer = client.peer_info().unwrap();
    assert_eq!(peer.protocol_version, ProtocolVersion::V_2026_07_28);
    assert_eq!(peer.server_info.as_ref().unwrap().name, "pudu-example");
    tells_its_story(&client, &world).await;
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn a_client_of_the_old_era_initializes() {
    let world = World::new().await;
    let transport = StreamableHttpClientTransport::from_uri(world.url.as_str());
    let client = ClientConfig::default().serve(transport).await.unwrap();
    assert_eq!(client.peer_info().unwrap().protocol_version, ProtocolVersion::V_2025_11_25);
    tells_its_story(&client, &world).await;
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn each_old_revision_is_agreed_to() {
    let world = World::new().await;
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let body = json!({
            "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": {
                "protocolVersion": revision, "capabilities": {}, "clientInfo": { "name": "t", "version": "0" },
            },
        });
        let request = world.http.post(&world.url).header("accept", "application/json, text/event-stream");
        let answer: Value = request.json(&body).send().await.unwrap().json().await.unwrap();
        assert_eq!(answer["result"]["protocolVersion"], revision, "{answer}");
        assert_eq!(answer["result"]["serverInfo"]["name"], "pudu-example");
    }
}

#[tokio::test]
async fn one_post_without_a_handshake_is_a_whole_call() {
    let world = World::new().await;
    let response = one_post(&world.http, &world.url, "echo", &json!({ "text": "hi" })).send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "application/json");
    assert!(!response.headers().contains_key("mcp-session-id"));
    let answer: Value = response.json().await.unwrap();
    assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(1)));
    assert_eq!(answer["result"]["resultType"], "complete");
    assert_eq!(answer["result"]["structuredContent"], json!({ "text": "hi" }));
}

/// What the MCP client must send, one omission at a time: status and JSON-RPC code of the refusal.
#[tokio::test]
async fn nothing_of_the_one_post_call_can_be_left_out() {
    let world = World::new().await;
    let headers = [
        ("accept", "application/json, text/event-stream"),
        ("content-type", "application/json"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "echo"),
    ];
    let send = |left_out: &'static str, body: Value| {
        let request = headers
            .iter()
            .filter(|(name, _)| *name != left_out)
            .fold(world.http.post(&world.url), |request, (name, value)| request.header(*name, *value));
        async move {
            let response = request.body(body.to_string()).send().await.unwrap();
            let status = response.status().as_u16();
            let code =
                response.json::<Value>().await.ok().and_then(|answer| answer["error"]["code"].as_i64());
            (status, code)
        }
    };
    let body = call_body("echo", &json!({ "text": "hi" }));
    assert_eq!(send("nothing", body.clone()).await, (200, None));
    for (header, refusal) in [
        ("accept", (406, None)),
        ("content-type", (415, None)),
        ("mcp-protocol-version", (400, Some(-32020))),
        ("mcp-method", (400, Some(-32020))),
        ("mcp-name", (400, Some(-32020))),
    ] {
        assert_eq!(send(header, body.clone()).await, refusal, "without {header}");
    }
    for key in ["protocolVersion", "clientCapabilities"] {
        let mut body = body.clone();
        let meta = body["params"]["_meta"].as_object_mut().unwrap();
        meta.remove(&format!("io.modelcontextprotocol/{key}")).unwrap();
        assert_eq!(send("nothing", body).await, (400, Some(-32602)), "without {key}");
    }
}

#[tokio::test]
async fn an_unknown_tool_is_invalid_params_and_an_unknown_method_is_not_found() {
    let world = World::new().await;
    let answer = world.post("no_such_tool", json!({})).await;
    assert_eq!(answer["error"]["code"], -32602);
    assert!(answer["error"]["message"].as_str().unwrap().contains("no_such_tool"));
}

#[tokio::test]
async fn a_page_from_elsewhere_and_a_rebound_name_are_refused() {
    let world = World::new().await;
    for (header, value, status) in [
        ("origin", "https://evil.example", 403),
        ("origin", "null", 403),
        ("origin", "http://localhost:3000", 200),
        ("host", "evil.example", 403),
        ("host", "localhost", 200),
    ] {
        let request = one_post(&world.http, &world.url, "echo", &json!({ "text": "hi" }));
        assert_eq!(request.header(header, value).send().await.unwrap().status(), status, "{header}: {value}");
    }
}
