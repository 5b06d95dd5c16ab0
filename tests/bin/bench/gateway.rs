//! `tools/call` through the gateway against the same call without it: requests per second and added time, through `/mcp` and
//! through `/api/…/tools`, to upstream servers of both eras; and the same through FastMCP's proxy. Every server is a process
//! of its own, and so is the load tool (`wrk`); nothing is pinned to a core. All ways take turns in one run, because what a
//! machine gives changes from minute to minute.

mod asked;
mod config;
mod echo;
mod wrk;

use std::collections::BTreeMap;
use std::time::Duration;

use acceptance::{Peer, Pudu};
use anyhow::{Context, ensure};
use serde_json::json;

use crate::call::{Raw, Speaks};
use crate::row::Row;
use asked::Asked;
use echo::Echo;
pub(crate) use echo::serve;
use wrk::{Measured, Wrk};

/// How often each way has its turn, and for how long; a proxy that answers some calls in a second takes longer to be seen.
const ROUNDS: usize = 5;
const TURN: Duration = Duration::from_secs(2);
const LONG_TURN: Duration = Duration::from_secs(6);
const CONNECTIONS: [usize; 3] = [1, 16, 32];
const FASTMCP: &str = "fastmcp";
const ERAS: [Speaks; 2] = [Speaks::Newest, Speaks::Sessions];

/// One way to the echo of one era.
struct Lane {
    era: Speaks,
    way: &'static str,
    asked: Asked,
}

/// Measures calls, then the config.
pub(crate) async fn run(out: &mut impl FnMut(Row)) -> anyhow::Result<()> {
    let wrk = Wrk::find()?;
    out(Row::of("gateway").with("what", "load before").with("average", load()?));
    let (newest, sessions) = (Echo::start(Speaks::Newest).await?, Echo::start(Speaks::Sessions).await?);
    let echoes = [&newest, &sessions];
    let pudu = Pudu::start(&[], &[]).await;
    config::put(&pudu, &json!({"newest": entry(&newest), "sessions": entry(&sessions)})).await?;
    let proxies = proxies(&echoes).await;
    let mut lanes = Vec::new();
    for (number, (era, echo)) in ERAS.into_iter().zip(echoes).enumerate() {
        let direct = Asked::of(&Raw::connect(&echo.url, era).await?);
        let tool = format!("{}_echo", if era == Speaks::Newest { "newest" } else { "sessions" });
        let lane = |way, asked| Lane { era, way, asked };
        lanes.push(lane("direct", direct));
        lanes.push(lane("/mcp", Asked::mcp(&pudu.url("/mcp"), &tool, pudu.key())));
        lanes.push(lane("/api", Asked::api(&pudu, &tool)));
        if let Some(proxy) = proxies.get(number) {
            lanes.push(lane(FASTMCP, Asked::mcp(proxy.url(), "echo", None)));
        }
    }
    for lane in &lanes {
        lane.asked.echoes().await.with_context(|| format!("{} to {}", lane.way, lane.era.name()))?;
    }
    let idle = pudu.resident();
    for connections in CONNECTIONS {
        for row in measured(&wrk, &lanes, &echoes, connections).await? {
            out(row);
        }
    }
    out(Row::of("gateway")
        .with("what", "resident memory of pudu")
        .number("idle_mb", idle as f64 / 1024.0)
        .number("after_load_mb", pudu.resident() as f64 / 1024.0)
        .number("most_mb", pudu.most_resident() as f64 / 1024.0));
    drop((pudu, proxies));
    config::run(&wrk, out).await?;
    out(Row::of("gateway").with("what", "load after").with("average", load()?));
    Ok(())
}

fn entry(echo: &Echo) -> serde_json::Value {
    json!({"type": "http", "url": echo.url})
}

/// FastMCP's proxies in front of each, if it is installed.
async fn proxies(echoes: &[&Echo]) -> Vec<Peer> {
    let mut proxies = Vec::new();
    if Peer::wanted() {
        for echo in echoes {
            proxies.push(Peer::start(&["fastmcp-proxy", &echo.url]).await);
        }
    } else {
        acceptance::skipped("FastMCP's proxy", "run scripts/bench-gateway, which installs it");
    }
    proxies
}

/// Every lane in turn, and again.
async fn measured(
    wrk: &Wrk,
    lanes: &[Lane],
    echoes: &[&Echo],
    connections: usize,
) -> anyhow::Result<Vec<Row>> {
    let mut all: BTreeMap<usize, Vec<Measured>> = BTreeMap::new();
    let mut order: Vec<usize> = (0..lanes.len()).collect();
    for _ in 0..ROUNDS {
        for number in &order {
            let lane = lanes.get(*number).context("a lane")?;
            let before = requests(echoes).await?;
            let time = if lane.way == FASTMCP { LONG_TURN } else { TURN };
            let mut turn = wrk.load(&lane.asked, connections, time).await?;
            // What was asked when the turn ended was still asked.
            turn.upstream = requests(echoes).await?.saturating_sub(before);
            all.entry(*number).or_default().push(turn);
        }
        // Nobody is always the one after another.
        order.rotate_left(1);
    }
    let direct = |era: Speaks| {
        let number = lanes.iter().position(|lane| lane.era == era && lane.way == "direct");
        number.and_then(|number| all.get(&number)).context("the direct way was measured")
    };
    lanes
        .iter()
        .enumerate()
        .map(|(number, lane)| {
            let (own, bare) = (all.get(&number).context("measured")?, direct(lane.era)?);
            let [calls, p50, p99] = [calls, p50, p99].map(|of| middle(own, of));
            let done: f64 = own.iter().map(|turn| turn.requests).sum();
            let upstream: u64 = own.iter().map(|turn| turn.upstream).sum();
            ensure!(done > 0.0, "{} answered nothing", lane.way);
            Ok(Row::of("gateway")
                .with("upstream", lane.era.name())
                .with("connections", connections)
                .with("way", lane.way)
                .number("calls_per_second", calls)
                .precise("p50_ms", p50)
                .precise("p99_ms", p99)
                .precise("added_p50_ms", p50 - middle(bare, self::p50))
                .precise("added_p99_ms", p99 - middle(bare, self::p99))
                .number("times_direct", calls / middle(bare, self::calls))
                .number("requests_per_call", upstream as f64 / done))
        })
        .collect()
}

async fn requests(echoes: &[&Echo]) -> anyhow::Result<u64> {
    let mut sum = 0;
    for echo in echoes {
        sum += echo.requests().await?;
    }
    Ok(sum)
}

fn calls(turn: &Measured) -> f64 {
    turn.requests / turn.seconds
}

fn p50(turn: &Measured) -> f64 {
    turn.p50_ms
}

fn p99(turn: &Measured) -> f64 {
    turn.p99_ms
}

/// The median of the rounds: one that something else disturbed does not count.
fn middle(turns: &[Measured], of: fn(&Measured) -> f64) -> f64 {
    let mut values: Vec<f64> = turns.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// How busy the machine was: what else ran is in every figure.
fn load() -> anyhow::Result<String> {
    let text = std::fs::read_to_string("/proc/loadavg")?;
    Ok(text.split(' ').next().unwrap_or_default().to_owned())
}
