//! The same between the functions' own binaries: what the gateway sends is what the poller is invoked with.

use acceptance::{ExampleServer, Function, Invocations, Start, first_key};
use pudu::engine::{Endpoint, Engine};
use pudu_dynamo::schema;
use pudu_lambda::clock::SystemClock;
use pudu_lambda::settings;
use serde_json::Value;
use tempfile::TempDir;

use super::*;

const TABLE: &str = "pudu-wake";
const TIMEOUT: Duration = Duration::from_secs(30);

/// A function with everything that the template tells it.
async fn start(folder: &TempDir, table: &Endpoint, service: &Invocations, package: &str) -> Function {
    let mut environment = table.environment().to_vec();
    environment.extend([
        (settings::TABLE, TABLE.to_owned()),
        (settings::SEAL_KEY_FILE, folder.path().join("seal.key").to_str().unwrap().to_owned()),
        (settings::EGRESS_ALLOW, "127.0.0.0/8".to_owned()),
        (settings::POLL_INTERVAL_SECONDS, "1".to_owned()),
        (settings::POLLER_FUNCTION, "the-poller".to_owned()),
        (settings::NOTIFIER_FUNCTION, "the-notifier".to_owned()),
        (settings::AGENT_FUNCTION, "the-agent".to_owned()),
        (settings::BLOB_BUCKET, "nobody-needs-it".to_owned()),
        ("AWS_ENDPOINT_URL_LAMBDA", service.url()),
    ]);
    Start { package, environment, folder: folder.path() }.run().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn functions_wake_each_other_through_the_platform() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::in_memory().unwrap();
    schema::create_table(&engine.client(), TABLE, &SystemClock).await.unwrap();
    let table = engine.serve("127.0.0.1:0".parse().unwrap(), "test-key").await.unwrap();
    let example = ExampleServer::start(folder.path(), Arc::new(SystemClock)).await;
    let service = Invocations::start().await;

    let mut gateway = start(&folder, &table, &service, "pudu-gateway").await;
    gateway.credential = Some(first_key(&engine.client(), TABLE).await.expose().to_owned());
    let toolset = json!({"name": "report", "submit_tool": "submit_report", "status_tool": "get_report_status", "cancel_tool": "cancel_report"});
    let put = json!({"mcp_servers": {"example": {"type": "http", "url": example.url(), "task_toolsets": [toolset]}}});
    assert_eq!(gateway.request("PUT", "/api/mcp/config", Some(&put)).await.0, 200);
    let call = json!({"arguments": {"title": "Deer", "duration_seconds": 0.1}});
    let path = "/api/threads/t1/tools/example_submit_report";
    assert_eq!(gateway.request("POST", path, Some(&call)).await.0, 200);

    let one = |invoked: Vec<(String, Value)>, function: &str| {
        assert_eq!((invoked.len(), invoked[0].0.as_str()), (1, function), "{invoked:?}");
        invoked[0].1.clone()
    };
    let wake = one(service.take(), "the-poller");
    let mut poller = start(&folder, &table, &service, "pudu-task-poller").await;
    let report = poller.invoke(wake.clone(), TIMEOUT).await;
    assert_eq!(report, json!({"worked": 1, "refused": 0, "failed": 0, "scans_failed": 0}));

    let news = one(service.take(), "the-notifier");
    let mut notifier = start(&folder, &table, &service, "pudu-notifier").await;
    let report = notifier.invoke(news.clone(), TIMEOUT).await;
    assert_eq!(report, json!({"worked": 1, "refused": 0, "failed": 0, "scans_failed": 0}));
    let (_, events) = gateway.request("GET", "/api/threads/t1/events", None).await;
    assert_eq!(events[0]["event"]["status"], "completed", "{events}");

    // Each again, as the platform may do: both find that it is over.
    for (function, event) in [(&mut poller, wake), (&mut notifier, news)] {
        let report = function.invoke(event, TIMEOUT).await;
        assert_eq!((&report["worked"], &report["failed"]), (&json!(0), &json!(0)), "{report}");
    }
    assert_eq!(gateway.request("GET", "/api/threads/t1/events", None).await.1, events);
    assert_eq!(service.take(), []);

    // A service that refuses costs the caller nothing.
    service.down(true);
    assert_eq!(gateway.request("POST", path, Some(&call)).await.0, 200);
    assert!(gateway.log().contains("not woken"), "{}", gateway.log());
}
