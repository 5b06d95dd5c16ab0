//! The config through the API: how long a change of it takes, and how long reading it takes while the poller is busy.

use std::time::{Duration, Instant};

use acceptance::Pudu;
use anyhow::{Context, ensure};
use http::Method;
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

use super::asked::Asked;
use super::wrk::Wrk;
use crate::row::Row;

const CONFIG: &str = "/api/mcp/config";
/// Servers in a config, and what the reference takes for a PUT and a GET of it, in milliseconds.
const SIZES: [(usize, f64, f64); 2] = [(20, 22.0, 2.0), (200, 38.0, 5.0)];
const CHANGES: usize = 100;
/// Tasks that are asked for every second while the config is read, and for how long it is.
const TASKS: usize = 1_000;
const READING: Duration = Duration::from_secs(10);
/// The 99th percentile of a GET in the reference while it polls 64 tasks at once, in milliseconds.
const REFERENCE_P99: f64 = 1500.0;

/// Measures both.
pub(super) async fn run(wrk: &Wrk, out: &mut impl FnMut(Row)) -> anyhow::Result<()> {
    let pudu = Pudu::start(&[], &[]).await;
    for (size, put_reference, get_reference) in SIZES {
        let (mut puts, mut gets) = (Vec::new(), Vec::new());
        for number in 0..CHANGES {
            puts.push(timed(put(&pudu, &servers(size, number))).await?);
            gets.push(timed(call(&pudu, Method::GET, CONFIG, None)).await?);
        }
        let row = |what: &str, took: &mut Vec<f64>, reference: f64| {
            took.sort_by(f64::total_cmp);
            let at = |part: usize| took.get(took.len() * part / 100).copied().unwrap_or(f64::NAN);
            Row::of("gateway")
                .with("what", what)
                .with("servers", size)
                .number("p50_ms", at(50))
                .number("p99_ms", at(99))
                .number("reference_ms", reference)
        };
        out(row("PUT config", &mut puts, put_reference));
        out(row("GET config", &mut gets, get_reference));
    }
    drop(pudu);
    busy(wrk, out).await
}

/// A config that differs from every other number's.
fn servers(size: usize, number: usize) -> Value {
    let entry = |at: usize| {
        let entry = json!({
            "type": "http",
            "url": format!("https://server-{at}.example/mcp"),
            "headers": {"Authorization": format!("Bearer {number}-{at}")},
            "description": "One of many servers",
        });
        (format!("server-{at}"), entry)
    };
    Value::Object((0..size).map(entry).collect())
}

/// Reads the config while as many tasks are polled as the process can.
async fn busy(wrk: &Wrk, out: &mut impl FnMut(Row)) -> anyhow::Result<()> {
    let limits = [("PUDU_MAX_CONCURRENT_POLLS", "64"), ("PUDU_MAX_CONCURRENT_POLLS_PER_SERVER", "64")];
    let pudu = std::sync::Arc::new(Pudu::start(&[], &limits).await);
    let still = wrk.load(&Asked::get(&pudu, CONFIG), 1, READING).await?;
    let mut submitting = JoinSet::new();
    for number in 0..TASKS {
        if submitting.len() >= 16 {
            submitting.join_next().await.context("one is submitting")???;
        }
        let pudu = std::sync::Arc::clone(&pudu);
        let order =
            json!({"title": format!("report {number}"), "duration_seconds": 86_400, "poll_after_seconds": 1});
        submitting.spawn(async move {
            let path = format!("/api/threads/bench-{number}/tools/example_submit_report");
            call(&pudu, Method::POST, &path, Some(&json!({"arguments": order}))).await.map(|_| ())
        });
    }
    while let Some(submitted) = submitting.join_next().await {
        submitted??;
    }
    let busy = wrk.load(&Asked::get(&pudu, CONFIG), 1, READING).await?;
    for (what, measured) in
        [("GET config, nothing to poll", still), ("GET config, 1,000 tasks polled every second", busy)]
    {
        out(Row::of("gateway")
            .with("what", what)
            .number("per_second", measured.requests / measured.seconds)
            .number("p50_ms", measured.p50_ms)
            .number("p99_ms", measured.p99_ms)
            .number("reference_p99_ms", REFERENCE_P99));
    }
    Ok(())
}

/// Sends a server map.
pub(super) async fn put(pudu: &Pudu, servers: &Value) -> anyhow::Result<Value> {
    call(
        pudu,
        Method::PUT,
        CONFIG,
        Some(&Value::Object(Map::from_iter([("mcp_servers".to_owned(), servers.clone())]))),
    )
    .await
}

async fn call(pudu: &Pudu, method: Method, path: &str, body: Option<&Value>) -> anyhow::Result<Value> {
    let mut request = pudu.http().request(method, pudu.url(path));
    if let Some(key) = pudu.key() {
        request = request.bearer_auth(key);
    }
    if let Some(body) = body {
        request = request.json(body);
    }
    let answer = request.send().await?;
    let (status, text) = (answer.status(), answer.text().await?);
    ensure!(status.is_success(), "{path}: {status} {text}");
    Ok(serde_json::from_str(&text)?)
}

/// Milliseconds.
async fn timed(calling: impl Future<Output = anyhow::Result<Value>>) -> anyhow::Result<f64> {
    let began = Instant::now();
    calling.await?;
    Ok(began.elapsed().as_secs_f64() * 1000.0)
}
