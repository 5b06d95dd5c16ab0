//! Whose thread it is: to everybody else it is not there, in the same words and for the same reads of the table.

use acceptance::{Answer, Town, request, send};
use http::{HeaderValue, Method, header};
use pudu_domain::Scope;
use serde_json::{Value, json};

const THREAD: &str = "t1";

/// Two users, one of them with two keys.
struct Neighbours {
    town: Town,
    ann: String,
    anns_phone: String,
    bob: String,
}

impl Neighbours {
    async fn new() -> Self {
        let town = Town::new().await;
        let key = async |user: &str| town.key(user, Scope::All).await;
        let (ann, anns_phone, bob) = (key("ann").await, key("ann").await, key("bob").await);
        Self { town, ann, anns_phone, bob }
    }

    async fn ask(&self, key: &str, method: Method, path: &str, body: Option<&Value>) -> Answer {
        let mut request = request(method, path, body);
        let value = HeaderValue::from_str(&format!("Bearer {key}")).unwrap();
        request.headers_mut().insert(header::AUTHORIZATION, value);
        send(&self.town.gateway, request).await
    }

    /// The answer, and what was asked of the table for it. The caller is known and the config is read already.
    async fn cost(
        &self,
        key: &str,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> (Answer, Vec<String>) {
        self.ask(key, Method::GET, "/api/tools", None).await;
        self.town.calls.take();
        let answer = self.ask(key, method, path, body).await;
        (answer, self.town.calls.take())
    }
}

#[tokio::test]
async fn a_thread_of_another_user_is_not_there_in_the_same_words_and_for_the_same_reads() {
    let town = Neighbours::new().await;
    let path = format!("/api/threads/{THREAD}/tools/example_submit_report");
    let body = json!({"arguments": {"title": "Deer", "duration_seconds": 30}});
    let task = town.ask(&town.ann, Method::POST, &path, Some(&body)).await.expect(200)["task_id"].clone();
    let task = task.as_str().unwrap();
    let nothing = "mcp-task-00000000000000000000000000000001";

    let input = json!({"input": "x"});
    for (method, path, body) in [
        (Method::GET, "/api/threads/{thread}/mcp-tasks/{id}", None),
        (Method::POST, "/api/threads/{thread}/mcp-tasks/{id}/cancel", None),
        (Method::POST, "/api/threads/{thread}/mcp-tasks/{id}/input", Some(&input)),
        (Method::GET, "/api/threads/{thread}/mcp-tasks", None),
        (Method::GET, "/api/threads/{thread}/events", None),
        (Method::DELETE, "/api/threads/{thread}", None),
    ] {
        let of = |thread: &str, id: &str| path.replace("{thread}", thread).replace("{id}", id);
        let (anns, anns_reads) = town.cost(&town.bob, method.clone(), &of(THREAD, task), body).await;
        let (none, none_reads) = town.cost(&town.bob, method.clone(), &of("t2", nothing), body).await;
        assert_eq!((anns.status, &anns.text), (none.status, &none.text), "{method} {path}");
        assert_eq!(anns_reads, none_reads, "{method} {path}");
        let lists = path.ends_with("mcp-tasks") || path.ends_with("events");
        assert_eq!(anns.status.as_u16(), if lists { 200 } else { 404 }, "{method} {path}: {}", anns.text);
        assert!(!anns.text.contains(task), "{method} {path}: {}", anns.text);
    }
    // Nothing of it has touched the task.
    let seen =
        town.ask(&town.ann, Method::GET, &format!("/api/threads/{THREAD}/mcp-tasks/{task}"), None).await;
    let seen = seen.expect(200);
    assert_eq!((&seen["status"], &seen["cancel_requested"]), (&json!("submitted"), &json!(false)));
}

#[tokio::test]
async fn two_users_have_threads_of_one_name_and_two_keys_of_one_user_share_them() {
    let town = Neighbours::new().await;
    let path = format!("/api/threads/{THREAD}/tools/example_submit_report");
    let submit = async |key: &str| {
        let body = json!({"arguments": {"title": "Deer", "duration_seconds": 30}});
        town.ask(key, Method::POST, &path, Some(&body)).await.expect(200)["task_id"].clone()
    };
    let (anns, bobs) = (submit(&town.ann).await, submit(&town.bob).await);
    for (key, own) in [(&town.ann, &anns), (&town.anns_phone, &anns), (&town.bob, &bobs)] {
        let path = format!("/api/threads/{THREAD}/mcp-tasks");
        let listed = town.ask(key, Method::GET, &path, None).await.expect(200);
        let text = listed.to_string();
        assert_eq!(text.matches("mcp-task-").count(), 1, "{text}");
        assert!(text.contains(own.as_str().unwrap()), "{text}");
    }
}
