//! Other people's clients at `/mcp` of a real Pudu, with an API key: each lists the tools, calls one, and follows a durable task of
//! an ordinary toolset to its end.

use std::time::Duration;

use acceptance::{Peer, Pudu};
use serde_json::{Value, json};
use tokio::time::timeout;

/// Longer than any task here takes.
const LONGEST: Duration = Duration::from_secs(60);

/// Runs a client of `tests/peers` and returns what it saw.
async fn saw(client: &str, more: &[&str]) -> Value {
    let pudu = Pudu::start(&[], &[]).await;
    let url = pudu.url("/mcp");
    let mut arguments = vec![client, url.as_str(), pudu.key().unwrap()];
    arguments.extend(more);
    Peer::ran(&arguments).await
}

/// That the list has the example's tools, and none that only the poller calls.
fn lists(saw: &Value) {
    let tools: Vec<&str> =
        saw["tools"].as_array().unwrap().iter().map(|tool| tool.as_str().unwrap()).collect();
    assert!(tools.contains(&"example_echo") && tools.contains(&"example_submit_report"), "{saw}");
    assert!(!tools.iter().any(|tool| tool.ends_with("get_report_status")), "{saw}");
    assert_eq!(saw["echo"], json!({"text": "größer"}), "{saw}");
}

/// That the task was followed to its end.
fn ends_completed(saw: &Value) {
    assert_eq!(saw["statuses"].as_array().unwrap().last().unwrap(), "completed", "{saw}");
}

/// The MCP Inspector with this method and these arguments, in an era.
async fn inspected(pudu: &Pudu, era: &str, method: &str, arguments: &[&str]) -> Value {
    let (url, key) = (pudu.url("/mcp"), format!("Authorization: Bearer {}", pudu.key().unwrap()));
    let mut all = vec!["inspector", &url, "--transport", "http", "--header", &key, "--protocol-era", era];
    all.extend(["--format", "json", "--method", method]);
    all.extend(arguments);
    Peer::ran(&all).await["result"].take()
}

async fn the_inspector_follows_a_task(era: &str) {
    let pudu = Pudu::start(&[], &[]).await;
    let listed = inspected(&pudu, era, "tools/list", &[]).await;
    let tools = listed["tools"].as_array().unwrap();
    assert!(tools.iter().any(|tool| tool["name"] == "example_submit_report"), "{listed}");
    let call = async |tool: &str, pairs: &[&str]| {
        let mut arguments = vec!["--tool-name", tool];
        arguments.extend(pairs.iter().flat_map(|pair| ["--tool-arg", *pair]));
        inspected(&pudu, era, "tools/call", &arguments).await
    };
    assert_eq!(call("example_echo", &["text=größer"]).await["structuredContent"], json!({"text": "größer"}));
    let called = call("example_submit_report", &["title=Deer", "duration_seconds=0.3"]).await;
    if era == "modern" {
        // It takes the task in the place of the result, and shows the result when it is there.
        assert_eq!(called["structuredContent"]["title"], "Deer", "{called}");
        return;
    }
    let id = called["structuredContent"]["task_id"].as_str().unwrap_or_else(|| panic!("{called}"));
    let id = format!("task_id={id}");
    let following = async {
        loop {
            let told = call("pudu_tasks_get", &[&id]).await["structuredContent"].take();
            match told["status"].as_str() {
                Some("completed") => return told,
                Some("working") => {}
                _ => panic!("{told}"),
            }
        }
    };
    let told = timeout(LONGEST, following).await.expect("the task ends");
    assert_eq!(told["result"]["structuredContent"]["title"], "Deer", "{told}");
}

peers! {
    fastmcps_client_follows_a_task: "FastMCP's client" => async {
        let saw = saw("client-fastmcp", &[]).await;
        lists(&saw);
        assert_eq!(saw["awaited"]["title"], "Deer", "{saw}");
        assert_eq!(saw["followed"]["title"], "Deer", "{saw}");
        assert_eq!((&saw["last"], &saw["cancelled"]), (&json!("completed"), &json!("cancelled")), "{saw}");
        assert!(saw["task_id"].as_str().unwrap().starts_with("mcp-"), "{saw}");
    };
    the_python_client_follows_a_task: "the Python SDK's client" => async {
        let saw = saw("client-python", &[]).await;
        lists(&saw);
        assert_eq!(saw["revision"], "2026-07-28", "{saw}");
        assert_eq!(saw["report"]["title"], "Deer", "{saw}");
        ends_completed(&saw);
    };
    the_python_client_of_the_older_era_follows_a_task_by_tools: "the Python SDK's client, older era" => async {
        let saw = saw("client-python", &["legacy"]).await;
        lists(&saw);
        assert_eq!(saw["revision"], "2025-11-25", "{saw}");
        assert_eq!(saw["report"]["title"], "Deer", "{saw}");
        ends_completed(&saw);
    };
    the_typescript_client_follows_a_task: "the TypeScript SDK's client" => async {
        let saw = saw("client-typescript", &[]).await;
        lists(&saw);
        assert_eq!((&saw["era"], &saw["asked"]), (&json!("modern"), &json!(true)), "{saw}");
        assert_eq!(saw["report"]["title"], "Deer", "{saw}");
    };
    the_typescript_client_of_the_older_era_follows_a_task_by_tools: "the TypeScript SDK's client, version 1" => async {
        let saw = saw("client-typescript-v1", &[]).await;
        lists(&saw);
        assert_eq!(saw["report"]["title"], "Deer", "{saw}");
        ends_completed(&saw);
    };
    the_inspector_follows_a_task_in_the_newest_era: "the MCP Inspector" => the_inspector_follows_a_task("modern");
    the_inspector_follows_a_task_in_the_older_era: "the MCP Inspector, older era" => the_inspector_follows_a_task("legacy");
}
