//! A thread is its owner's: to anybody else it is not there, in the same words as one that never was.

use acceptance::{Talk, request, send};
use http::Method;
use pudu_domain::{Principal, Role};
use pudu_testkit::fixture;
use serde_json::json;

use super::said;

#[tokio::test(start_paused = true)]
async fn another_users_thread_is_answered_like_none() {
    let talk = Talk::new();
    let run = talk.lived(said("hi"), "hello").await;
    let other = fixture::thread_of("key:other", "t").user;
    let stranger = talk.seen_by(Principal { user: other, role: Role::User, ..fixture::principal() });
    let paths = [
        (Method::GET, "/api/threads/t".to_owned(), None),
        (Method::PATCH, "/api/threads/t".to_owned(), Some(json!({ "metadata": {} }))),
        (Method::DELETE, "/api/threads/t".to_owned(), None),
        (Method::GET, "/api/threads/t/state".to_owned(), None),
        (Method::GET, format!("/api/threads/t/state/{run}:0"), None),
        (Method::POST, "/api/threads/t/state".to_owned(), Some(json!({ "values": {} }))),
        (Method::POST, "/api/threads/t/history".to_owned(), Some(json!({}))),
        (Method::POST, "/api/threads/t/branches".to_owned(), Some(json!({ "message_id": "m" }))),
        (Method::GET, "/api/threads/t/goal".to_owned(), None),
        (Method::PUT, "/api/threads/t/goal".to_owned(), Some(json!({ "objective": "x" }))),
        (Method::DELETE, "/api/threads/t/goal".to_owned(), None),
        (Method::POST, "/api/threads/t/compact".to_owned(), Some(json!({}))),
        (Method::GET, "/api/threads/t/messages".to_owned(), None),
        (Method::GET, "/api/threads/t/messages/page".to_owned(), None),
        (Method::GET, "/api/threads/t/token-usage".to_owned(), None),
        (Method::GET, "/api/threads/t/runs".to_owned(), None),
        (Method::GET, format!("/api/threads/t/runs/{run}"), None),
        (Method::POST, format!("/api/threads/t/runs/{run}/cancel"), None),
        (Method::GET, format!("/api/threads/t/runs/{run}/join"), None),
        (Method::GET, format!("/api/threads/t/runs/{run}/stream"), None),
        (Method::GET, format!("/api/threads/t/runs/{run}/messages"), None),
        (Method::GET, format!("/api/threads/t/runs/{run}/events"), None),
        (Method::GET, format!("/api/threads/t/runs/{run}/workspace-changes"), None),
        (Method::GET, format!("/api/threads/t/runs/{run}/feedback"), None),
        (Method::GET, format!("/api/threads/t/runs/{run}/feedback/stats"), None),
        (Method::PUT, format!("/api/threads/t/runs/{run}/feedback"), Some(json!({ "rating": 1 }))),
        (Method::POST, format!("/api/threads/t/runs/{run}/feedback"), Some(json!({ "rating": 1 }))),
        (Method::DELETE, format!("/api/threads/t/runs/{run}/feedback"), None),
        (Method::DELETE, format!("/api/threads/t/runs/{run}/feedback/{run}"), None),
        (
            Method::POST,
            "/api/threads/t/runs/regenerate/prepare".to_owned(),
            Some(json!({ "message_id": "m" })),
        ),
        (
            Method::POST,
            "/api/threads/t/runs/edit-regenerate/prepare".to_owned(),
            Some(json!({ "human_message_id": "m", "replacement_text": "x" })),
        ),
    ];
    for (method, path, body) in paths {
        let theirs = send(&stranger, request(method.clone(), &path, body.as_ref())).await;
        let never = send(
            &stranger,
            request(method.clone(), &path.replace("threads/t", "threads/never"), body.as_ref()),
        )
        .await;
        assert_eq!(theirs.status, 404, "{method} {path}: {}", theirs.text);
        assert_eq!((theirs.status, theirs.text), (never.status, never.text), "{method} {path}");
    }
    let found = send(&stranger, request(Method::POST, "/api/threads/search", Some(&json!({})))).await;
    assert_eq!(found.expect(200), json!([]));
}
