//! Random bytes and random JSON to every route: whatever comes, it is never a 500, and every refusal says why.

use acceptance::{World, send};
use axum::body::Body;
use http::{Method, Request, header};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

const CASES: u32 = 1000;

/// Words that lead deeper into the code than noise does.
const WORDS: [&str; 30] = [
    "mcp_servers",
    "mcpServers",
    "arguments",
    "example",
    "type",
    "transport",
    "http",
    "url",
    "http://127.0.0.1:1/mcp",
    "headers",
    "env",
    "oauth",
    "client_secret",
    "user_auth",
    "users",
    "task_toolsets",
    "name",
    "submit_tool",
    "status_tool",
    "cancel_tool",
    "enabled",
    "***",
    "$VAR",
    "$AWS_X",
    "sealed:v1:AAAA",
    "title",
    "text",
    "duration_seconds",
    "tool_name_prefix",
    "timeout",
];

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => proptest::sample::select(&WORDS[..]).prop_map(str::to_owned),
        1 => any::<String>().prop_filter("no host is looked up", |text| !text.contains("http")),
    ]
}

fn document() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 48, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::Array),
            vec((word(), inner), 0..6).prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    let json = document().prop_map(|document| document.to_string().into_bytes());
    let config = vec((word(), document()), 0..3).prop_map(|entries| {
        let servers: Value = Value::Object(entries.into_iter().collect());
        json!({ "mcp_servers": servers }).to_string().into_bytes()
    });
    let call = document().prop_map(|arguments| json!({ "arguments": arguments }).to_string().into_bytes());
    let cut = (json, any::<proptest::sample::Index>()).prop_map(|(mut bytes, at)| {
        bytes.truncate(at.index(bytes.len() + 1));
        bytes
    });
    prop_oneof![2 => document().prop_map(|d| d.to_string().into_bytes()), 3 => config, 2 => call, 1 => cut, 1 => vec(any::<u8>(), 0..200)]
}

/// A path segment: sensible, or any bytes, percent-encoded so that it is a URI at all.
fn segment(sensible: &'static str) -> impl Strategy<Value = String> {
    let encoded = vec(any::<u8>(), 0..12).prop_map(|bytes| {
        percent_encoding::percent_encode(&bytes, percent_encoding::NON_ALPHANUMERIC).to_string()
    });
    prop_oneof![4 => Just(sensible.to_owned()), 1 => encoded, 1 => "[a-zA-Z0-9_~.-]{0,70}"]
}

/// A method and a path, mostly of a route that exists.
fn place() -> impl Strategy<Value = (Method, String)> {
    let thread = || segment("t1");
    let id = || segment("mcp-task-00000000000000000000000000000001");
    let query = || prop_oneof![2 => Just(String::new()), 1 => "[?](limit|x)=[0-9a-z%-]{0,6}"];
    let tool = |name| {
        (thread(), segment(name))
            .prop_map(|(t, name)| (Method::POST, format!("/api/threads/{t}/tools/{name}")))
    };
    let route = prop_oneof![
        1 => Just((Method::GET, "/healthz".to_owned())),
        1 => Just((Method::GET, "/api/tools".to_owned())),
        1 => Just((Method::GET, "/api/mcp/config".to_owned())),
        8 => Just((Method::PUT, "/api/mcp/config".to_owned())),
        5 => tool("example_echo"),
        4 => tool("example_submit_report"),
        2 => (thread(), query()).prop_map(|(t, query)| (Method::GET, format!("/api/threads/{t}/mcp-tasks{query}"))),
        2 => (thread(), query()).prop_map(|(t, query)| (Method::GET, format!("/api/threads/{t}/events{query}"))),
        2 => (thread(), id()).prop_map(|(t, id)| (Method::GET, format!("/api/threads/{t}/mcp-tasks/{id}"))),
        2 => (thread(), id()).prop_map(|(t, id)| (Method::POST, format!("/api/threads/{t}/mcp-tasks/{id}/cancel"))),
        2 => query().prop_map(|query| (Method::GET, format!("/api/mcp/dead-letters{query}"))),
        2 => query().prop_map(|query| (Method::GET, format!("/api/mcp/corrupt-rows{query}"))),
        3 => Just((Method::POST, "/api/mcp/dead-letters/replay".to_owned())),
        1 => segment("api").prop_map(|any| (Method::GET, format!("/{any}"))),
    ];
    let any = proptest::sample::select(vec![
        Method::GET,
        Method::PUT,
        Method::POST,
        Method::DELETE,
        Method::OPTIONS,
    ]);
    (route, proptest::option::weighted(0.1, any))
        .prop_map(|((method, path), other)| (other.unwrap_or(method), path))
}

fn kind() -> impl Strategy<Value = String> {
    prop_oneof![8 => Just("application/json".to_owned()), 1 => "[ -~]{0,20}"]
}

#[test]
fn no_input_gives_a_500() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let world = runtime.block_on(World::new());
    let mut runner = TestRunner::new(Config { cases: CASES, failure_persistence: None, ..Config::default() });
    let tested = runner.run(&(place(), kind(), body()), |((method, path), kind, body)| {
        let Ok(request) = Request::builder()
            .method(method)
            .uri(&path)
            .header(header::HOST, "localhost")
            .header(header::CONTENT_TYPE, kind)
            .header(header::CONTENT_LENGTH, body.len())
            .body(Body::from(body))
        else {
            return Ok(());
        };
        let answer = runtime.block_on(send(&world.gateway, request));
        prop_assert!(answer.status != 500, "{}", answer.text);
        prop_assert!(answer.status != 503, "the table is there: {}", answer.text);
        if !answer.status.is_success() {
            let body: Value = serde_json::from_str(&answer.text)
                .map_err(|e| TestCaseError::fail(format!("{e}: {}", answer.text)))?;
            prop_assert!(body["detail"].is_string(), "{}", answer.text);
        }
        Ok(())
    });
    tested.unwrap();
    runtime.block_on(async {
        // Whatever was stored meanwhile can be read, and a good config is taken.
        world.get("/api/mcp/config").await;
        world.put_config(&json!({"example": {"type": "http", "url": world.example.url()}})).await.expect(200);
        world.advance(120);
        world.invoke("t1", "example_echo", &json!({"text": "still here"})).await.expect(200);
    });
}
