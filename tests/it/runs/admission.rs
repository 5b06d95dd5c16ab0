//! Who has a thread's turn, and what repeats a request (agent reference 9.2).

use acceptance::Talk;
use http::Method;
use pudu_domain::run::Outcome;
use serde_json::{Value, json};

use super::said;

fn with(strategy: &str) -> Value {
    let mut body = said("another");
    body["multitask_strategy"] = strategy.into();
    body
}

async fn status(talk: &Talk, run: &str) -> String {
    talk.get(&format!("/api/threads/t/runs/{run}")).await["status"].as_str().unwrap().to_owned()
}

#[tokio::test(start_paused = true)]
async fn vector_13_a_second_run_is_a_conflict() {
    let talk = Talk::new();
    talk.begin(said("hi")).await;
    let detail = talk.post("/api/threads/t/runs", said("again")).await.refused(409);
    assert!(detail.contains("already has an active run"), "{detail}");
}

#[tokio::test(start_paused = true)]
async fn vector_14_an_interrupted_run_gives_its_thread_to_the_second() {
    let talk = Talk::new();
    let first = talk.begin(said("hi")).await;
    talk.take(&first).await;
    let second = talk.begin(with("interrupt")).await;
    assert_eq!(
        (status(&talk, &first).await, status(&talk, &second).await),
        ("interrupted".into(), "pending".into())
    );
    let state = talk.get("/api/threads/t/state").await;
    assert_eq!(state["values"]["messages"][0]["content"], "hi", "what it did stays");
    assert_eq!(
        talk.get("/api/threads/t").await["values"]["title"],
        "hi",
        "an interrupted first run is called something"
    );
}

#[tokio::test(start_paused = true)]
async fn a_title_of_an_interrupted_run_is_one_line() {
    let talk = Talk::new();
    let first = talk.begin(said("how\nmany\r\ndeer?")).await;
    talk.take(&first).await;
    talk.begin(with("interrupt")).await;
    assert_eq!(talk.get("/api/threads/t").await["values"]["title"], "how many deer?");
}

#[tokio::test(start_paused = true)]
async fn vector_15_a_rolled_back_run_leaves_nothing() {
    let talk = Talk::new();
    let first = talk.begin(said("hi")).await;
    talk.take(&first).await;
    let second = talk.begin(with("rollback")).await;
    assert_eq!(
        (status(&talk, &first).await, status(&talk, &second).await),
        ("interrupted".into(), "pending".into())
    );
    assert_eq!(talk.get("/api/threads/t/state").await["values"]["messages"], json!([]));
}

#[tokio::test(start_paused = true)]
async fn vector_19_a_run_that_is_cancelled_before_it_began_never_runs() {
    let talk = Talk::new();
    let run = talk.begin(said("hi")).await;
    let cancel = format!("/api/threads/t/runs/{run}/cancel");
    assert_eq!(talk.call(Method::POST, &cancel, None).await.status, 202);
    assert_eq!(
        talk.call(Method::POST, &format!("{cancel}?wait=1"), None).await.status,
        204,
        "a repeat is the same"
    );
    assert_eq!(status(&talk, &run).await, "interrupted");
    assert!(talk.claim(&run).await.is_none());
    assert_eq!(talk.get("/api/threads/t").await["status"], "interrupted");
    talk.begin(said("again")).await;
}

#[tokio::test(start_paused = true)]
async fn vector_20_a_thread_with_an_active_run_is_not_deleted() {
    let talk = Talk::new();
    let run = talk.begin(said("hi")).await;
    let detail = talk.call(Method::DELETE, "/api/threads/t", None).await.refused(409);
    assert!(detail.contains("active run"), "{detail}");
    talk.take(&run).await;
    talk.end(&run, Outcome::Success, None).await;
    assert_eq!(talk.call(Method::DELETE, "/api/threads/t", None).await.status, 202);
    assert_eq!(talk.call(Method::GET, "/api/threads/t", None).await.refused(404), "there is no such thread");
    let found = talk.post("/api/threads/search", json!({})).await.expect(200);
    assert_eq!(found, json!([]));
}

#[tokio::test(start_paused = true)]
async fn what_is_enqueued_has_its_turn_in_order() {
    let talk = Talk::new();
    let first = talk.begin(said("hi")).await;
    let (second, third) = (talk.begin(with("enqueue")).await, talk.begin(with("enqueue")).await);
    assert!(talk.claim(&second).await.is_none());
    talk.take(&first).await;
    talk.end(&first, Outcome::Success, None).await;
    assert!(talk.claim(&third).await.is_none());
    talk.take(&second).await;
    let listed = talk.get("/api/threads/t/runs").await;
    let ids: Vec<&str> =
        listed.as_array().unwrap().iter().map(|run| run["run_id"].as_str().unwrap()).collect();
    assert_eq!(ids, [third.as_str(), second.as_str(), first.as_str()]);
    let running = talk.get("/api/threads/t/runs?status=running&limit=1").await;
    assert_eq!(running[0]["run_id"], json!(second));
    assert_eq!(talk.get("/api/threads/t/runs?offset=2").await[0]["run_id"], json!(first));
}

async fn keyed(talk: &Talk, path: &str, key: &str, body: &Value) -> acceptance::Answer {
    let mut asking = acceptance::request(Method::POST, path, Some(body));
    asking.headers_mut().insert("idempotency-key", key.parse().unwrap());
    acceptance::send(&talk.gateway, asking).await
}

#[tokio::test(start_paused = true)]
async fn vector_16_the_same_key_is_the_same_run() {
    let talk = Talk::new();
    let first = keyed(&talk, "/api/threads/t/runs", "k", &said("hi")).await;
    let again = keyed(&talk, "/api/threads/t/runs", "k", &said("hi")).await;
    assert_eq!(first.expect(200)["run_id"], again.expect(200)["run_id"]);
    assert!(!first.headers.contains_key("idempotency-replayed"));
    assert_eq!(again.headers["idempotency-replayed"], "true");
    let run = first.json()["run_id"].as_str().unwrap().to_owned();
    assert_eq!(first.headers["content-location"].to_str().unwrap(), format!("/api/threads/t/runs/{run}"));
    talk.take(&run).await;
    talk.end(&run, Outcome::Success, None).await;
    let later = keyed(&talk, "/api/threads/t/runs", "k", &said("hi")).await.expect(200);
    assert_eq!((&later["run_id"], &later["status"]), (&json!(run), &json!("success")));
    assert_eq!(talk.get("/api/threads/t/runs").await.as_array().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn vector_17_a_key_of_another_thread_or_request_is_refused() {
    let talk = Talk::new();
    keyed(&talk, "/api/threads/t/runs", "k", &said("hi")).await.expect(200);
    for (path, body) in [("/api/threads/u/runs", said("hi")), ("/api/threads/t/runs", said("hello"))] {
        let detail = keyed(&talk, path, "k", &body).await.refused(422);
        assert!(detail.contains("Idempotency-Key"), "{detail}");
    }
    assert_eq!(talk.call(Method::GET, "/api/threads/u", None).await.status, 404);
}

#[tokio::test(start_paused = true)]
async fn vector_7_a_thread_id_is_of_a_closed_alphabet() {
    let talk = Talk::new();
    let long = format!("/api/threads/{}/runs", "x".repeat(65));
    for path in ["/api/threads/a.b/runs", &long] {
        talk.post(path, said("hi")).await.refused(422);
    }
    let whole = format!("/api/threads/{}/runs", "x".repeat(64));
    for path in ["/api/threads/A-b_9/runs", &whole] {
        talk.post(path, said("hi")).await.expect(200);
    }
    let stateless = json!({ "config": { "configurable": { "thread_id": "a.b" } } });
    talk.post("/api/runs/wait", stateless).await.refused(422);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_admitted_says_why() {
    let talk = Talk::new();
    let model = json!({ "config": { "configurable": { "model_name": "none" } } });
    let detail = talk.post("/api/threads/t/runs", model).await.refused(400);
    assert!(detail.contains("no model 'none'"), "{detail}");
    talk.post("/api/threads/t/runs", json!({ "inputs": {} })).await.refused(422);
    talk.post("/api/threads/t/runs", json!({ "checkpoint_id": "r:1" })).await.refused(422);
    talk.post("/api/threads/t/runs", json!({ "if_not_exists": "reject" })).await.refused(404);
}

#[tokio::test(start_paused = true)]
async fn secrets_are_sealed_and_gone_when_the_run_has_ended() {
    let talk = Talk::new();
    let mut body = said("hi");
    body["context"] = json!({ "secrets": { "TOKEN": "canary-secret" }, "is_plan_mode": true });
    let run = talk.begin(body).await;
    let key = Talk::key(&run);
    let sealed = talk.runs.store.secrets(&key).await.unwrap().unwrap();
    assert!(!sealed.contains("canary"));
    let opened =
        pudu_app::run_secrets::open(&talk.runs.keys.current().await.unwrap(), &key, &sealed).unwrap();
    assert_eq!(opened.len(), 1);
    let shown = talk.get(&format!("/api/threads/t/runs/{run}")).await;
    assert!(!shown.to_string().contains("canary"), "{shown}");
    assert_eq!(shown["kwargs"]["context"]["is_plan_mode"], true);
    let spec = talk.runs.store.spec(&key).await.unwrap().unwrap();
    assert!(spec.secrets && !format!("{spec:?}").contains("canary"));
    talk.take(&run).await;
    talk.end(&run, Outcome::Success, None).await;
    assert_eq!(talk.runs.store.secrets(&key).await.unwrap(), None);
}
