//! Who is let in where: without a credential, with a wrong one, as a user, as an administrator.

use std::collections::BTreeSet;

use acceptance::{Answer, Logs, World, request, send};
use axum::Router;
use axum::body::Body;
use http::{HeaderValue, Method, Request, header};
use pudu::house::{House, Plan};
use pudu_domain::ApiKey;
use regex::Regex;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::dead_url;

/// What any caller may ask; whatever is not here takes an administrator.
const OF_USERS: [&str; 8] = [
    "/mcp",
    "/api/features",
    "/api/tools",
    "/api/threads",
    "/api/runs",
    "/api/assistants",
    "/api/models",
    "/api/memory",
];

/// What answers whoever asks.
const OF_ANYBODY: [(&str, &str); 3] = [("GET", "/healthz"), ("GET", "/openapi.json"), ("GET", "/docs")];

/// The words for everybody who is not known.
const UNKNOWN: &str = "show an API key or a token: Authorization: Bearer …";

fn with(request: Request<Body>, authorization: &str) -> Request<Body> {
    let (mut parts, body) = request.into_parts();
    parts.headers.append(header::AUTHORIZATION, HeaderValue::from_str(authorization).unwrap());
    Request::from_parts(parts, body)
}

async fn call(router: &Router, key: &str, method: Method, path: &str, body: Option<&Value>) -> Answer {
    send(router, with(request(method, path, body), &format!("Bearer {key}"))).await
}

/// A new key, made over the API by the operator.
async fn made(world: &World, wanted: &Value) -> (String, Value) {
    let operator = world.house.key().expose();
    let made = call(&world.gateway, operator, Method::POST, "/api/keys", Some(wanted)).await;
    assert_eq!(made.headers[header::CACHE_CONTROL], "no-store");
    let made = made.expect(201);
    (made["text"].as_str().unwrap().to_owned(), made["key"].clone())
}

/// Every route: those that the contract describes, and those that the router has beside it.
async fn routes(world: &World) -> BTreeSet<(String, String)> {
    let operator = world.house.key().expose();
    let contract = call(&world.gateway, operator, Method::GET, "/openapi.json", None).await.expect(200);
    let mut routes = BTreeSet::new();
    for (path, methods) in contract["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            routes.insert((method.to_uppercase(), path.clone()));
        }
    }
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../functions/gateway/src/routes.rs");
    let source = std::fs::read_to_string(source).unwrap();
    let route = Regex::new(r#"\.route\("([^"]+)",([^\n]+)\)\n"#).unwrap();
    let verb = Regex::new(r"\b(get|post|put|patch|delete|any)\(").unwrap();
    for found in route.captures_iter(&source) {
        for method in verb.captures_iter(&found[2]) {
            routes.insert((method[1].to_uppercase(), found[1].to_owned()));
        }
    }
    assert!(routes.len() > 15, "{routes:?}");
    routes
}

/// Whether a route is at `place` or below it.
fn is_within(path: &str, place: &str) -> bool {
    path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Only the status: some answers never end.
async fn status(router: &Router, method: &str, path: &str, key: Option<&str>) -> u16 {
    let path = Regex::new(r"\{[^}]+\}").unwrap().replace_all(path, "x1");
    let path = if path.ends_with("/search") { format!("{path}?query=x") } else { path.into_owned() };
    let request = request(method.parse().unwrap(), &path, None);
    let request = match key {
        None => request,
        Some(key) => with(request, &format!("Bearer {key}")),
    };
    router.clone().oneshot(request).await.unwrap().status().as_u16()
}

#[tokio::test]
async fn every_route_takes_a_credential_and_every_one_that_is_not_a_users_takes_an_administrator() {
    let world = World::with_callers().await;
    let (user, _) = made(&world, &json!({"name": "a user"})).await;
    let (admin, _) = made(&world, &json!({"name": "an admin", "role": "admin"})).await;
    let routes = routes(&world).await;
    for (method, path) in OF_ANYBODY {
        assert!(routes.contains(&(method.to_owned(), path.to_owned())), "there is no {method} {path}");
    }
    for users in OF_USERS {
        assert!(routes.iter().any(|(_, path)| is_within(path, users)), "there is nothing at {users}");
    }
    for (method, path) in &routes {
        let what = format!("{method} {path}");
        let without = status(&world.gateway, method, path, None).await;
        let of_anybody = OF_ANYBODY.contains(&(method.as_str(), path.as_str()));
        assert_eq!(without != 401, of_anybody, "{what} without a credential: {without}");
        let with_a_users = status(&world.gateway, method, path, Some(&user)).await;
        let of_users = OF_USERS.iter().any(|users| is_within(path, users));
        assert_eq!(with_a_users != 403, of_users || of_anybody, "{what} by a user: {with_a_users}");
        assert_ne!(with_a_users, 401, "{what}");
    }
    // Last, because it does what is asked.
    for (method, path) in &routes {
        let with_an_admins = status(&world.gateway, method, path, Some(&admin)).await;
        assert!(![401, 403].contains(&with_an_admins), "{method} {path} by an administrator");
    }
}

#[tokio::test]
async fn what_is_refused_says_nothing_of_what_was_shown() {
    let world = World::with_callers().await;
    let (key, _) = made(&world, &json!({"name": "a user"})).await;
    let mut wrong = key.clone();
    wrong.replace_range(wrong.len() - 1.., if key.ends_with('A') { "B" } else { "A" });
    let revoked = {
        let (text, key) = made(&world, &json!({"name": "gone"})).await;
        let path = format!("/api/keys/{}", key["id"].as_str().unwrap());
        let operator = world.house.key().expose();
        call(&world.gateway, operator, Method::DELETE, &path, None).await.expect(200);
        text
    };
    let unknown = ApiKey::new([1; 40]);
    for shown in [
        vec![],
        vec![String::new()],
        vec!["Bearer".to_owned()],
        vec![format!("Basic {key}")],
        vec![key.clone()],
        vec![format!("Bearer {wrong}")],
        vec![format!("Bearer {revoked}")],
        vec![format!("Bearer {}", unknown.expose())],
        vec![format!("Bearer {key}x")],
        vec!["Bearer eyJhbGciOiJub25lIn0.e30.".to_owned()],
        vec![format!("Bearer {}", "x".repeat(60_000))],
        vec![format!("Bearer pudu_{}", "x".repeat(60_000))],
        vec![format!("Bearer {key}"), format!("Bearer {key}")],
        vec![format!("Bearer {key}"), "Basic x".to_owned()],
    ] {
        let mut request = request(Method::GET, "/api/tools", None);
        for value in &shown {
            request = with(request, value);
        }
        let answer = send(&world.gateway, request).await;
        assert_eq!(answer.headers[header::WWW_AUTHENTICATE], "Bearer", "{shown:?}");
        assert_eq!(answer.refused(401), UNKNOWN, "{shown:?}");
    }
    for scheme in ["Bearer", "bearer", "BEARER"] {
        let request = with(request(Method::GET, "/api/tools", None), &format!("{scheme} {key}"));
        send(&world.gateway, request).await.expect(200);
    }
}

#[tokio::test]
async fn nobody_is_read_from_before_he_is_let_in() {
    let world = World::with_callers().await;
    let never =
        Body::from_stream(futures_util::stream::pending::<Result<axum::body::Bytes, std::io::Error>>());
    let request = Request::builder().method(Method::PUT).uri("/api/mcp/config");
    let request = request.header(header::HOST, "localhost").header(header::CONTENT_TYPE, "application/json");
    let answer = send(&world.gateway, request.body(never).unwrap()).await;
    assert_eq!(answer.refused(401), UNKNOWN);
}

#[tokio::test]
async fn a_page_of_another_origin_is_refused_even_with_a_key() {
    let world = World::with_callers().await;
    let (key, _) = made(&world, &json!({"name": "a user"})).await;
    let mut request = with(request(Method::GET, "/api/tools", None), &format!("Bearer {key}"));
    request.headers_mut().insert(header::ORIGIN, HeaderValue::from_static("https://evil.example"));
    send(&world.gateway, request).await.refused(403);
}

#[tokio::test]
async fn a_table_that_cannot_be_reached_lets_nobody_in_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(aws_sdk_dynamodb::config::BehaviorVersion::latest())
        .region(aws_sdk_dynamodb::config::Region::new("local"))
        .endpoint_url(dead_url().await)
        .credentials_provider(aws_sdk_dynamodb::config::Credentials::new("a", "b", None, None, "test"));
    let client = aws_sdk_dynamodb::Client::from_conf(config.build());
    let plan = Plan::new(client, "pudu".to_owned(), folder.path().join("seal.key"));
    let clock = std::sync::Arc::new(pudu_testkit::ManualClock::start());
    let house = House::new(Plan { clock, ..plan }).unwrap();
    let gateway = house.gateway();
    let key = ApiKey::new([1; 40]);
    let detail = call(&gateway, key.expose(), Method::GET, "/api/tools", None).await.refused(503);
    assert!(detail.contains("try again") && !detail.contains("pudu_"), "{detail}");
    assert_eq!(call(&gateway, "garbage", Method::GET, "/api/tools", None).await.refused(401), UNKNOWN);
    send(&gateway, request(Method::GET, "/healthz", None)).await.refused(503);
}

#[tokio::test]
async fn keys_are_made_listed_and_revoked_over_the_api_and_each_change_is_on_record() {
    let world = World::with_callers().await;
    let operator = world.house.key().expose();
    let wanted =
        json!({"name": "Ann's laptop", "user": "ann@example.com", "role": "admin", "servers": ["example"]});
    let (text, key) = made(&world, &wanted).await;
    assert_eq!(
        (&key["name"], &key["user"], &key["role"], &key["servers"], &key["revoked_at"]),
        (
            &json!("Ann's laptop"),
            &json!("key:ann@example.com"),
            &json!("admin"),
            &json!(["example"]),
            &Value::Null
        )
    );
    let (_, other) = made(&world, &json!({"name": "ci"})).await;
    assert_eq!((&other["role"], &other["servers"]), (&json!("user"), &Value::Null));
    assert_eq!(other["user"], format!("key:{}", other["id"].as_str().unwrap()));

    call(&world.gateway, &text, Method::GET, "/api/keys", None).await.refused(403);
    let listed = call(&world.gateway, operator, Method::GET, "/api/keys", None).await.expect(200);
    let mut ids: Vec<&str> =
        listed["keys"].as_array().unwrap().iter().map(|key| key["id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    let mut made = [key["id"].as_str().unwrap(), other["id"].as_str().unwrap()];
    made.sort_unstable();
    assert_eq!(ids, made);
    let path = format!("/api/keys/{}", key["id"].as_str().unwrap());
    let revoked = call(&world.gateway, operator, Method::DELETE, &path, None).await.expect(200);
    assert_eq!(revoked["revoked_at"], "2026-11-01T00:00:00Z");
    assert_eq!(call(&world.gateway, operator, Method::DELETE, &path, None).await.expect(200), revoked);
    // This process believes what it read for a second.
    world.advance(1);
    assert_eq!(call(&world.gateway, &text, Method::GET, "/api/keys", None).await.refused(401), UNKNOWN);
    for nobody in ["aaaaaaaaaaaa", "x", "%20", "AAAAAAAAAAAA"] {
        let path = format!("/api/keys/{nobody}");
        let detail = call(&world.gateway, operator, Method::DELETE, &path, None).await.refused(404);
        assert_eq!(detail, "there is no such key");
    }

    let audit = call(&world.gateway, operator, Method::GET, "/api/mcp/audit", None).await.expect(200);
    let told: Vec<(&str, &str, &str)> = audit["records"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| (r["action"].as_str().unwrap(), r["outcome"].as_str().unwrap(), r["user"].as_str().unwrap()))
        .collect();
    let by_the_operator = |action| (action, "done", "local:default");
    assert_eq!(told.len(), 3, "{audit}");
    assert!(
        told.iter()
            .all(|record| [by_the_operator("keys.create"), by_the_operator("keys.revoke")].contains(record))
    );
    assert_eq!((&audit["records"][0]["credential"], &audit["next"]), (&json!("operator"), &Value::Null));
}

#[tokio::test]
async fn records_come_in_pages() {
    let world = World::with_callers().await;
    let operator = world.house.key().expose();
    for name in ["a", "b", "c", "d", "e"] {
        made(&world, &json!({"name": name})).await;
        world.advance(1);
    }
    let (mut names, mut path) = (Vec::new(), "/api/mcp/audit?limit=2".to_owned());
    loop {
        let page = call(&world.gateway, operator, Method::GET, &path, None).await.expect(200);
        let records = page["records"].as_array().unwrap();
        assert!((1..=2).contains(&records.len()));
        names.extend(records.iter().map(|record| record["target"].as_str().unwrap().chars().last().unwrap()));
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/api/mcp/audit?limit=2&before={next}");
    }
    assert_eq!(names, ['e', 'd', 'c', 'b', 'a']);
    for bad in ["limit=0", "limit=101", "limit=x", "before=", "before=xyz", "before=%00"] {
        call(&world.gateway, operator, Method::GET, &format!("/api/mcp/audit?{bad}"), None)
            .await
            .refused(422);
    }
}

#[tokio::test]
async fn a_key_that_is_not_described_rightly_is_not_made() {
    let world = World::with_callers().await;
    let operator = world.house.key().expose();
    for bad in [
        json!({}),
        json!({"name": ""}),
        json!({"name": "x".repeat(65)}),
        json!({"name": "a\nb"}),
        json!({"name": "x", "role": "root"}),
        json!({"name": "x", "user": "local:default"}),
        json!({"name": "x", "user": ""}),
        json!({"name": "x", "servers": "all"}),
        json!({"name": "x", "more": 1}),
        json!([]),
    ] {
        call(&world.gateway, operator, Method::POST, "/api/keys", Some(&bad)).await.refused(422);
    }
    let listed = call(&world.gateway, operator, Method::GET, "/api/keys", None).await.expect(200);
    assert_eq!(listed["keys"], json!([]));
}

#[tokio::test]
async fn without_callers_everybody_on_this_machine_is_its_administrator() {
    let world = World::new().await;
    world.get("/api/mcp/config").await;
    // Whatever is shown: a client may have a key from another day.
    let request = with(request(Method::GET, "/api/mcp/config", None), "Bearer of-another-day");
    send(&world.gateway, request).await.expect(200);
}

#[tokio::test]
async fn no_key_is_ever_seen_again() {
    let logs = Logs::capture();
    let world = World::with_callers().await;
    let (key, shown) = made(&world, &json!({"name": "a user"})).await;
    let mut answers = Vec::new();
    for text in [key.as_str(), &key[..key.len() - 1], &format!("{key}x"), &key.to_uppercase()] {
        answers.push(call(&world.gateway, text, Method::GET, "/api/tools", None).await);
        answers.push(call(&world.gateway, text, Method::GET, "/api/mcp/config", None).await);
        answers
            .push(call(&world.gateway, text, Method::POST, "/api/keys", Some(&json!({"name": text}))).await);
    }
    let operator = world.house.key().expose();
    for path in ["/api/keys", "/api/mcp/audit", "/api/mcp/config", "/openapi.json"] {
        answers.push(call(&world.gateway, operator, Method::GET, path, None).await);
    }
    let path = format!("/api/keys/{}", shown["id"].as_str().unwrap());
    answers.push(call(&world.gateway, operator, Method::DELETE, &path, None).await);
    world.advance(1);
    answers.push(call(&world.gateway, &key, Method::GET, "/api/tools", None).await);

    let secrets = [&key[18..], &operator[18..]].map(|secret| {
        // Enough of it that nobody meets it by chance, and found also where the rest was cut.
        secret.get(..20).unwrap().to_lowercase()
    });
    for secret in &secrets {
        for answer in &answers {
            let text = format!("{:?} {}", answer.headers, answer.text).to_lowercase();
            assert!(!text.contains(secret), "a key is in an answer: {text}");
        }
        assert!(!logs.text().to_lowercase().contains(secret), "a key is in the log");
        assert!(!world.rows().await.text().to_lowercase().contains(secret), "a key is in the table");
    }
    assert!(world.rows().await.text().contains("key#"), "the scan sees the keys");
}
