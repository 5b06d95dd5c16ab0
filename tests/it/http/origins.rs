//! Pages of other origins (CORS): none may call that was not named, and a named one before anybody is authenticated.

use acceptance::{Answer, World, request, send};
use http::{HeaderMap, Method};
use pudu_domain::bucket::Rate;
use pudu_lambda::settings::Admission;
use serde_json::json;

const APP: &str = "https://app.example.com";
const OTHER: &str = "https://evil.example.com";
const TOOLS: &str = "/api/tools";

async fn open_to_the_app() -> World {
    let rate = Rate::new(1, 1);
    World::holding(Admission { tokens: None, rate, origins: vec![APP.to_owned()] }).await
}

async fn call(world: &World, method: Method, path: &str, headers: &[(&'static str, &str)]) -> Answer {
    let mut request = request(method, path, None);
    for (name, value) in headers {
        request.headers_mut().insert(*name, value.parse().unwrap());
    }
    send(&world.gateway, request).await
}

/// What a browser asks before a call that is not simple.
async fn preflight(world: &World, origin: &str) -> Answer {
    let asks = [
        ("origin", origin),
        ("access-control-request-method", "PUT"),
        ("access-control-request-headers", "authorization,content-type,if-match"),
    ];
    call(world, Method::OPTIONS, "/api/mcp/config", &asks).await
}

/// The entries of a list in a header.
fn list(headers: &HeaderMap, name: &str) -> Vec<String> {
    let lines = headers.get_all(name).iter().map(|value| value.to_str().unwrap().to_ascii_lowercase());
    lines.flat_map(|line| line.split(',').map(|entry| entry.trim().to_owned()).collect::<Vec<_>>()).collect()
}

fn tells_pages(answer: &Answer) -> Vec<&str> {
    answer
        .headers
        .keys()
        .map(http::HeaderName::as_str)
        .filter(|name| name.starts_with("access-control-"))
        .collect()
}

#[tokio::test]
async fn no_page_may_call_when_nothing_is_said() {
    let world = World::new().await;
    let asked = preflight(&world, APP).await;
    assert!(!asked.status.is_success() && tells_pages(&asked).is_empty(), "{asked:?}");
    let called = call(&world, Method::GET, TOOLS, &[("origin", APP)]).await;
    called.refused(403);
    assert!(tells_pages(&called).is_empty());
}

#[tokio::test]
async fn a_named_page_is_told_what_it_may_do_before_it_shows_who_it_is() {
    let world = open_to_the_app().await;
    for _ in 0..3 {
        let asked = preflight(&world, APP).await;
        assert_eq!(asked.status, 200, "it is counted for nobody");
        assert_eq!(asked.headers["access-control-allow-origin"], APP);
        assert_eq!(
            list(&asked.headers, "access-control-allow-methods"),
            ["get", "post", "put", "patch", "delete"]
        );
        let sent = list(&asked.headers, "access-control-allow-headers");
        for name in ["authorization", "content-type", "if-match", "idempotency-key", "mcp-session-id"] {
            assert!(sent.iter().any(|sent| sent == name), "{name}: {sent:?}");
        }
        assert!(!sent.iter().any(|sent| sent == "*" || sent == "cookie"));
        assert!(!asked.headers.contains_key("access-control-allow-credentials"));
        assert!(list(&asked.headers, "vary").contains(&"origin".to_owned()));
        assert_eq!(asked.headers["access-control-max-age"], "600");
    }
}

#[tokio::test]
async fn another_page_is_told_nothing() {
    let world = open_to_the_app().await;
    for origin in [OTHER, "null", "https://app.example.com.evil.example", "http://app.example.com"] {
        let asked = preflight(&world, origin).await;
        assert!(!asked.headers.contains_key("access-control-allow-origin"), "{origin}");
        let called = call(&world, Method::GET, TOOLS, &[("origin", origin)]).await;
        called.refused(403);
        assert!(!called.headers.contains_key("access-control-allow-origin"), "{origin}");
        assert!(list(&called.headers, "vary").contains(&"origin".to_owned()));
    }
}

#[tokio::test]
async fn a_named_page_reads_answers_and_refusals_with_their_headers() {
    let world = open_to_the_app().await;
    let called = call(&world, Method::GET, "/api/mcp/config", &[("origin", APP)]).await;
    assert!(called.expect(200).is_object() && called.headers.contains_key("etag"));
    let refused = call(&world, Method::GET, TOOLS, &[("origin", APP)]).await;
    refused.refused(429);
    assert!(refused.headers.contains_key("retry-after"));
    for answer in [called, refused] {
        assert_eq!(answer.headers["access-control-allow-origin"], APP);
        assert!(list(&answer.headers, "vary").contains(&"origin".to_owned()));
        let shown = list(&answer.headers, "access-control-expose-headers");
        for name in ["etag", "retry-after", "mcp-session-id", "mcp-protocol-version"] {
            assert!(shown.iter().any(|shown| shown == name), "{name}: {shown:?}");
        }
    }
}

#[tokio::test]
async fn who_is_no_page_is_served_as_ever() {
    let world = open_to_the_app().await;
    let answer = call(&world, Method::GET, TOOLS, &[]).await;
    assert_eq!(answer.status, 200);
    assert!(!answer.headers.contains_key("access-control-allow-origin"));
    // A question that is none: nothing but its method is one of a browser.
    let bare = world.call(Method::OPTIONS, TOOLS, Some(&json!({}))).await;
    assert!(!bare.headers.contains_key("access-control-allow-origin") && bare.text.is_empty());
}
