//! A run by its id alone, among its caller's, and what a run has changed in a workspace.

use std::time::Duration;

use acceptance::{Talk, request, send};
use http::Method;
use pudu_app::ports::Clock;
use pudu_domain::{Principal, UserId};
use pudu_testkit::fixture;
use serde_json::json;

use super::said;

#[tokio::test(start_paused = true)]
async fn a_run_is_found_by_its_id_among_its_callers_threads() {
    let talk = Talk::new();
    let old = talk.lived(said("one"), "1").await;
    for number in 0..20 {
        talk.clock.sleep(Duration::from_secs(600)).await;
        talk.post("/api/threads", json!({ "thread_id": format!("other-{number}") })).await.expect(200);
    }
    let new = talk.lived(said("two"), "2").await;
    for run in [&old, &new] {
        let alone = talk.get(&format!("/api/runs/{run}/messages")).await;
        assert_eq!(alone, talk.get(&format!("/api/threads/t/runs/{run}/messages")).await);
        assert_eq!(alone["data"][0]["run_id"], json!(run));
        assert_eq!(
            talk.get(&format!("/api/runs/{run}/messages?after_seq=9999999999")).await["data"],
            json!([])
        );
    }
    talk.call(Method::GET, &format!("/api/runs/{new}/messages?limit=201"), None).await.refused(422);
    for none in ["x", "00000000-0000-7000-8000-000000000000"] {
        talk.call(Method::GET, &format!("/api/runs/{none}/messages"), None).await.refused(404);
    }
    let stranger = Principal { user: UserId::parse("key:stranger").unwrap(), ..fixture::principal() };
    let asking = request(Method::GET, &format!("/api/runs/{new}/messages"), None);
    send(&talk.seen_by(stranger), asking).await.refused(404);
    talk.call(Method::DELETE, "/api/threads/t", None).await.expect(202);
    talk.call(Method::GET, &format!("/api/runs/{new}/messages"), None).await.refused(404);
}

#[tokio::test(start_paused = true)]
async fn a_run_behind_many_newer_threads_is_found_by_its_thread_only() {
    let talk = Talk::new();
    let early = talk.lived(said("one"), "1").await;
    talk.clock.sleep(Duration::from_secs(600)).await;
    for number in 0..200 {
        talk.post("/api/threads", json!({ "thread_id": format!("other-{number}") })).await.expect(200);
    }
    talk.clock.sleep(Duration::from_secs(600)).await;
    let late = talk.lived(said("two"), "2").await;
    talk.get(&format!("/api/runs/{early}/messages")).await;
    talk.call(Method::GET, &format!("/api/runs/{late}/messages"), None).await.refused(404);
    talk.get(&format!("/api/threads/t/runs/{late}/messages")).await;
}

#[tokio::test(start_paused = true)]
async fn without_a_sandbox_no_run_changes_a_workspace() {
    let talk = Talk::new();
    let run = talk.lived(said("one"), "1").await;
    let changes = talk.get(&format!("/api/threads/t/runs/{run}/workspace-changes")).await;
    assert_eq!((&changes["available"], &changes["files"]), (&json!(false), &json!([])));
    assert_eq!(changes["summary"]["modified"], 0);
    assert!(changes["reason"].as_str().unwrap().contains("no sandbox"), "{changes}");
    talk.call(Method::GET, "/api/threads/t/runs/none/workspace-changes", None).await.refused(404);
}
