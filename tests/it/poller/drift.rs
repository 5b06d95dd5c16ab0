//! What a task sees of its server's entry while it runs, and of other tasks: vectors 79 to 81, the last two with the values that
//! the design has instead of the reference's (no restart; that server alone shows the reason).

use super::*;
use pudu_app::configs::By;
use pudu_app::tools::Terms;

/// Every status call that reached the server since, by handle.
fn polled(bench: &Bench) -> std::collections::BTreeMap<String, usize> {
    let mut polled = std::collections::BTreeMap::new();
    for asked in bench.server.log().into_iter().filter(|asked| asked.what == Request::Status) {
        *polled.entry(asked.handle).or_insert(0) += 1;
    }
    polled
}

/// Submits one more task, at a time of its own.
async fn submit(bench: &Bench) {
    bench.clock.sleep(Duration::from_secs(1)).await;
    let open = wired(bench.clock, &bench.table, &bench.server, &bench.gate(Open));
    let name = format!("{}_{}", fixture::SERVER, fixture::SUBMIT_TOOL);
    open.tools()
        .invoke(&fixture::principal(), Caller::of(fixture::thread("t")), &name, Map::new(), Terms::default())
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn vector_79_a_hung_status_call_holds_up_no_other_task_and_no_end() {
    let bench = Bench::new().await;
    submit(&bench).await;
    submit(&bench).await;
    let mut hangs = true;
    let script = move |call: Call<'_>| match call.op {
        "driver.status" if std::mem::take(&mut hangs) => Fate::Delay(Duration::from_secs(3600)),
        _ => Fate::Pass,
    };
    bench.tick(40, script).await;
    let polls: Vec<usize> = polled(&bench).into_values().collect();
    assert_eq!(polls.len(), 2, "the hung call reached nobody: {polls:?}");
    assert!(polls.iter().all(|count| *count >= 5), "every five seconds, the hung one or not: {polls:?}");

    // The end of the process waits for no call: what was claimed is free when its lease ends.
    bench.clock.sleep(Duration::from_secs(60)).await;
    let (began, hang) = (bench.clock.elapsed(), |call: Call<'_>| match call.op {
        "driver.status" => Fate::Delay(Duration::from_secs(3600)),
        _ => Fate::Pass,
    });
    let stopped = tokio::time::timeout(Duration::from_secs(1), bench.tick(900, hang)).await;
    assert!(stopped.is_err(), "it was still at work");
    assert_eq!(bench.clock.elapsed().saturating_sub(began), Duration::from_secs(1));
}

/// An entry that cannot be used is refused whole before it is stored; one that stops being usable shows its reason on its own
/// tasks and nowhere else.
#[tokio::test(start_paused = true)]
async fn vector_80_a_server_that_cannot_be_used_for_tasks_alone_shows_why() {
    let bench = Bench::new().await;
    let open = wired(bench.clock, &bench.table, &bench.server, &bench.gate(Open));
    let mut without = fixture::config()["mcpServers"].clone();
    without[fixture::SERVER]["url"] = json!(null);
    let refused =
        open.configs.put(&json!({ "mcp_servers": without }), By::default()).await.unwrap_err().to_string();
    assert!(refused.contains(fixture::SERVER) && refused.contains("url"), "{refused}");
    bench.tick(20, |_: Call<'_>| Fate::Pass).await;
    assert_eq!(bench.row().task.tracking.errors, 0, "what was in force stays in force");

    let mut config = fixture::config();
    config["mcpServers"][fixture::SERVER]["enabled"] = json!(false);
    config["mcpServers"]["plain"] = json!({"type": "http", "url": "http://127.0.0.1:7/mcp"});
    bench.configure(config).await;
    bench.clock.sleep(Duration::from_secs(10)).await;
    bench.tick(20, |_: Call<'_>| Fate::Pass).await;
    let task = bench.row().task;
    assert!(task.tracking.last_error.unwrap().as_str().contains("disabled"));
    let open = wired(bench.clock, &bench.table, &bench.server, &bench.gate(Open));
    let tools = open.catalog.now(Duration::from_secs(5)).await.unwrap();
    assert!(tools.tools.keys().all(|name| name.starts_with("plain_")) && !tools.tools.is_empty());
}

#[tokio::test(start_paused = true)]
async fn vector_81_changes_of_the_config_need_no_restart() {
    let bench = Bench::new().await;
    let entry = |change: fn(&mut Value)| {
        let mut config = fixture::config();
        change(&mut config["mcpServers"]);
        config
    };
    let changes: [(&str, Value); 5] = [
        ("a header", entry(|servers| servers[fixture::SERVER]["headers"] = json!({"x-tenant": "two"}))),
        ("a time limit", entry(|servers| servers[fixture::SERVER]["tool_call_timeout"] = json!(7))),
        ("a description", entry(|servers| servers[fixture::SERVER]["description"] = json!("other words"))),
        (
            "a plain server",
            entry(|servers| servers["plain"] = json!({"type": "http", "url": "http://127.0.0.1:7/mcp"})),
        ),
        ("routing", entry(|servers| servers[fixture::SERVER]["routing"] = json!({"mode": "prefer"}))),
    ];
    for (what, config) in changes {
        bench.configure(config).await;
        let before = bench.polls();
        bench.clock.sleep(Duration::from_secs(10)).await;
        bench.tick(20, |_: Call<'_>| Fate::Pass).await;
        let task = bench.row().task;
        assert_eq!((task.tracking.errors, bench.polls() > before), (0, true), "{what}");
    }
}
