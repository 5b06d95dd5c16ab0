//! `bench NAME [--json]`: every measurement of the project, one row per line (BENCHMARKS.md keeps the results).
//!
//! Speeds are measured on this machine and compared only within one run; units and sizes are the same everywhere.
#![expect(clippy::print_stdout, reason = "a command whose output is its result")]
#![expect(
    clippy::disallowed_methods,
    reason = "a composition root: it measures real time and starts processes"
)]
#![expect(clippy::cast_precision_loss, reason = "figures for people, far below 2^52")]

mod agent;
mod call;
mod cost;
mod drain;
mod gateway;
mod growth;
mod lateness;
mod life;
mod minute;
mod row;
mod start;
mod still;
mod units;

use clap::{Parser, ValueEnum};

/// What to measure.
#[derive(Clone, Copy, ValueEnum)]
enum Name {
    /// Write and read units, and calls, of each step of a task's life.
    Units,
    /// Polls per second for many due tasks, against a real HTTP status server and with a stub driver.
    Drain,
    /// How late polls come: 1,000 tasks at a 5 s cadence over 50 servers, one of which hangs. Takes 80 s.
    Lateness,
    /// An unchanged poll, its claim, and a look through the lanes, with up to a million rows that are not due. Takes minutes
    /// and 3 GB.
    Growth,
    /// What a month of 1,000 tasks costs that are polled every 30 s.
    Cost,
    /// One `tools/call` through the client, on a bare session of the SDK, and as a raw POST, in both eras; and the memory
    /// of 256 pooled stdio sessions.
    Call,
    /// What a step of an agent's run adds to its model, one stream of it, an hour of waiting, and the memory of runs side by side.
    Agent,
    /// Is the stdio server of those sessions.
    #[value(hide = true)]
    Serve,
    /// `tools/call` through `/mcp` and `/api/…/tools` beside the direct call and FastMCP's proxy, to servers of both eras, on
    /// 1, 16 and 32 connections; memory under load; the config through the API. Needs what `scripts/bench-gateway` installs.
    Gateway,
    /// Is an upstream server of that.
    #[value(hide = true)]
    Echo,
    /// Size, start-to-ready time and memory of each function, built with the `function` profile.
    Start,
}

/// Pudu's measurements.
#[derive(Parser)]
struct Arguments {
    /// Which one.
    name: Name,
    /// One JSON object per row instead of a table.
    #[arg(long)]
    json: bool,
    /// The revision of the echo server.
    #[arg(long, hide = true, default_value = "2026-07-28")]
    speaks: String,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    if matches!(arguments.name, Name::Serve) {
        return call::serve();
    }
    let mut out = |row: row::Row| println!("{}", if arguments.json { row.json() } else { row.text() });
    if matches!(arguments.name, Name::Cost) {
        // It has a runtime of its own, whose time is virtual.
        return cost::run(&mut out);
    }
    if matches!(arguments.name, Name::Units) {
        minute::run(&mut out)?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        match arguments.name {
            Name::Units => units::run(&mut out).await,
            Name::Drain => drain::run(&mut out).await,
            Name::Lateness => lateness::run(&mut out).await,
            Name::Growth => growth::run(&mut out).await,
            Name::Call => call::run(&mut out).await,
            Name::Agent => agent::run(&mut out).await,
            Name::Gateway => gateway::run(&mut out).await,
            Name::Echo => gateway::serve(&arguments.speaks, |url| println!("{url}")).await,
            Name::Serve | Name::Cost => Ok(()),
            Name::Start => start::run(&mut out).await,
        }
    })
}
