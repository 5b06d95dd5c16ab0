//! Secrets of every tier and over every transport, against servers that say everything they were given back as an error: in
//! no answer, no row and no log line. (`it::http::canary` plants them at every place of a config; the log of every test is
//! searched by the harness.)

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use acceptance::{Answer, CANARY, Logs, World, leaks, request, send};
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use http::{HeaderMap, Method, StatusCode, Uri};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// A child that tells its environment to its log and in every error.
const CHILD: &str = r#"
echo "my key is $API_KEY" >&2
while IFS= read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}
  case "$line" in
    *'"method":"initialize"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}}\n' "$id";;
    *'"method":"tools/list"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"tell","inputSchema":{"type":"object"}}]}}\n' "$id";;
    *'"method":"tools/call"'*)
      printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"%s is wrong"}}\n' "$id" "$API_KEY"; exit 3;;
  esac
done
"#;

/// A token server and an MCP server in one, that repeat what they are given.
struct Gossip {
    at: String,
    tokens: Arc<AtomicU64>,
    _serving: JoinSet<()>,
}

impl Gossip {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap().to_string();
        let tokens = Arc::new(AtomicU64::new(0));
        let app = Router::new()
            .route("/token", post(token))
            .route("/sse", axum::routing::get(stream).post(echo))
            .fallback(echo)
            .with_state(Arc::clone(&tokens));
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { at, tokens, _serving: serving }
    }
}

/// A new token each time; the third request is refused for good, with everything that it brought.
async fn token(State(given): State<Arc<AtomicU64>>, body: String) -> Response {
    let number = given.fetch_add(1, Ordering::Relaxed);
    if number >= 2 {
        let said = json!({"error": "invalid_grant", "error_description": body});
        return (StatusCode::BAD_REQUEST, Json(said)).into_response();
    }
    Json(json!({
        "access_token": format!("canary-access-{number}"), "refresh_token": format!("canary-rotated-{number}"),
        "token_type": "Bearer", "expires_in": 60,
    }))
    .into_response()
}

/// The older transport, whose endpoint carries a session that is nobody else's business.
async fn stream() -> Response {
    let events = Body::from("event: endpoint\ndata: /sse?session_token=canary-session\n\n");
    ([("content-type", "text/event-stream")], events).into_response()
}

/// Lists one tool, and answers a call with an error that holds its headers and its URL.
async fn echo(headers: HeaderMap, uri: Uri, Json(message): Json<Value>) -> Response {
    let result = match message["method"].as_str().unwrap_or_default() {
        "server/discover" => {
            json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {}, "ttlMs": 0, "cacheScope": "private"})
        }
        "tools/list" => json!({"tools": [{"name": "tell", "inputSchema": {"type": "object"}}]}),
        _ => {
            let text = format!(
                "{uri} {:?}",
                headers.values().map(|value| value.to_str().unwrap_or("")).collect::<Vec<_>>()
            );
            let error = json!({"code": -32603, "message": text});
            return Json(json!({"jsonrpc": "2.0", "id": message["id"], "error": error})).into_response();
        }
    };
    Json(json!({"jsonrpc": "2.0", "id": message["id"], "result": result})).into_response()
}

fn servers(at: &str) -> Value {
    let oauth = json!({
        "token_url": format!("http://{at}/token?api_key=canary-token-url"), "grant_type": "refresh_token",
        "client_id": "me", "client_secret": "canary-client-secret", "refresh_token": "canary-first-refresh",
        "extra_token_params": {"assertion": "canary-assertion"}, "refresh_skew_seconds": 0,
    });
    let url = |path: &str| format!("http://someone:canary-password@{at}/{path}?api_key=canary-parameter");
    json!({
        "child": {"type": "stdio", "command": "/bin/sh", "args": ["-c", CHILD], "env": {"API_KEY": "canary-env"}},
        "old": {"type": "sse", "url": url("sse"), "headers": {"X-Key": "canary-sse-header"}, "session_init_timeout": 2},
        "fixed": {"type": "http", "url": url("mcp"), "headers": {"X-Key": "canary-header"}},
        "tokens": {"type": "http", "url": format!("http://{at}/mcp"), "oauth": oauth},
        "people": {
            "type": "http", "url": format!("http://{at}/mcp"),
            "user_auth": {"users": {"local:default": "Bearer canary-user"}},
            "headers_from_context": {"X-Tenant": "TENANT"},
        },
    })
}

#[tokio::test]
async fn no_secret_of_any_tier_or_transport_is_ever_seen_again() {
    let logs = Logs::capture();
    let world = World::without_servers().await;
    let gossip = Gossip::start().await;
    world.import_config(&servers(&gossip.at)).await;

    let mut answers: Vec<Answer> = Vec::new();
    for path in ["/api/mcp/config", "/api/tools"] {
        answers.push(world.call(Method::GET, path, None).await);
    }
    let body = json!({"arguments": {}, "context": {"secrets": {"TENANT": "canary-tenant", "OTHER": "canary-other"}}});
    for round in 0..4 {
        for server in ["child", "old", "fixed", "tokens", "people"] {
            let path = format!("/api/threads/t{round}/tools/{server}_tell");
            let answer = send(&world.gateway, request(Method::POST, &path, Some(&body))).await;
            assert!(
                answer.status.is_client_error() || answer.status.is_server_error(),
                "{server}: {}",
                answer.text
            );
            answers.push(answer);
        }
        // Past the end of every token.
        world.advance(120);
    }
    answers.push(world.call(Method::GET, "/api/tools", None).await);

    for answer in &answers {
        let text = format!("{:?} {}", answer.headers, answer.text);
        assert!(!leaks(text.as_bytes()), "a secret is in an answer: {text}");
    }
    let rows = world.rows().await;
    assert!(rows.text().contains("token#server#tokens"), "the table has the token: {}", rows.text());
    assert!(!leaks(rows.text().as_bytes()), "a secret is in the table: {}", rows.text());
    assert!(!leaks(logs.text().as_bytes()));
    // And yet they were all in use: what came back was hidden, and the tokens were given out and refused.
    let told = |part: &str| answers.iter().filter(|answer| answer.text.contains(part)).count();
    assert!(told("***") >= 8, "{answers:#?}");
    assert!(gossip.tokens.load(Ordering::Relaxed) >= 3 && told("invalid_grant") >= 1, "{answers:#?}");
}

#[test]
fn a_secret_is_found_in_every_form_that_a_log_gives_it() {
    let bytes: Vec<String> = CANARY.bytes().map(|byte| byte.to_string()).collect();
    for text in [
        "x canary-y",
        "Basic Y2FuYXJ5LXg=",
        "Basic YWNhbmFyeS14",
        "Basic YWJjYW5hcnkteA==",
        &format!("[{}, 1]", bytes.join(", ")),
    ] {
        assert!(leaks(text.as_bytes()), "{text}");
    }
    assert!(!leaks(b"a bird, but no secret"));
}
