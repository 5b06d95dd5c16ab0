//! How late polls come: a thousand tasks at a 5 s cadence over fifty servers of which one hangs, on one machine as `pudu` runs
//! it. Measured at the servers: from the answer before, plus the cadence, to the next call's arrival.

use std::sync::Arc;
use std::time::Duration;

use acceptance::{Fleet, StatusCall};
use anyhow::Context;
use axum::Router;
use http::Method;
use pudu::engine::Engine;
use pudu::house::{House, Plan};
use pudu::machine::{Machine, listen_anywhere};
use pudu_app::ports::Clock;
use pudu_lambda::clock::SystemClock;
use serde_json::json;
use tokio::task::JoinSet;

use crate::row::Row;

const TASKS: usize = 1_000;
const SERVERS: usize = 50;
/// The pause that the policy makes when a server gives no hint.
const CADENCE: Duration = Duration::from_secs(5);
/// How long it runs before it is measured: the server that hangs has its permits by then.
const WARM_UP: Duration = Duration::from_secs(15);
const MEASURED: Duration = Duration::from_secs(60);
/// Submissions at once.
const SUBMITTING: usize = 16;

/// Submits, waits, measures.
pub(crate) async fn run(out: &mut impl FnMut(Row)) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let fleet = Fleet::start(SERVERS, folder.path()).await?;
    let engine = Engine::open(&folder.path().join("table"))?;
    let plan = Plan::new(engine.client(), "pudu".to_owned(), folder.path().join("seal.key"));
    let house = Arc::new(House::new(Plan { no_auth: true, ..plan })?);
    house.create_table().await?;
    house.wiring.configs.seed(fleet.config()?).await?;
    submit(&house.gateway()).await?;
    fleet.hang(true);
    fleet.watch();
    let mut machine = Machine::start(house, listen_anywhere().await?)?;
    machine.poll();
    SystemClock.sleep(WARM_UP).await;
    let from = tokio::time::Instant::now();
    SystemClock.sleep(MEASURED).await;
    let calls = fleet.status_calls();
    machine.stop().await;

    let mut late: Vec<f64> = Vec::new();
    for calls in calls.values() {
        let pairs = calls.iter().zip(calls.iter().skip(1));
        late.extend(pairs.filter(|(_, (began, _))| *began >= from).map(lateness));
    }
    late.sort_by(f64::total_cmp);
    let quantile = |part: usize| late.get(late.len() * part / 1000).copied().unwrap_or(f64::NAN);
    anyhow::ensure!(calls.len() == TASKS - TASKS / SERVERS, "{} tasks were polled", calls.len());
    out(Row::of("lateness")
        .with("tasks_polled", calls.len())
        .with("polls", late.len())
        .number("polls_per_second", late.len() as f64 / MEASURED.as_secs_f64())
        .precise("late_s_p50", quantile(500))
        .precise("late_s_p99", quantile(990))
        .precise("late_s_max", late.last().copied().unwrap_or(f64::NAN)));
    Ok(())
}

/// Seconds after the moment that was due; a little too many, since the due time counts from when the answer had come back.
fn lateness(((_, answered), (began, _)): (&StatusCall, &StatusCall)) -> f64 {
    began.saturating_duration_since(*answered + CADENCE).as_secs_f64()
}

async fn submit(gateway: &Router) -> anyhow::Result<()> {
    let mut submitting: JoinSet<anyhow::Result<()>> = JoinSet::new();
    for number in 0..TASKS {
        if submitting.len() >= SUBMITTING {
            submitting.join_next().await.context("one is being submitted")???;
        }
        let gateway = gateway.clone();
        submitting.spawn(async move {
            let path =
                format!("/api/threads/late-{}/tools/{}", number / 10, Fleet::submit_tool(number % SERVERS));
            let arguments = json!({ "title": "late", "duration_seconds": 86_400 });
            let request = acceptance::request(Method::POST, &path, Some(&json!({ "arguments": arguments })));
            let answer = acceptance::send(&gateway, request).await;
            anyhow::ensure!(answer.status == 200, "a submission was answered with {}", answer.status);
            Ok(())
        });
    }
    while let Some(submitted) = submitting.join_next().await {
        submitted??;
    }
    Ok(())
}
