//! `bench NAME [--json]`: every measurement of the project, one row per line (BENCHMARKS.md keeps the results).
//!
//! Speeds are measured on this machine and compared only within one run; units and sizes are the same everywhere.
#![expect(clippy::print_stdout, reason = "a command whose output is its result")]
#![expect(
    clippy::disallowed_methods,
    reason = "a composition root: it measures real time and starts processes"
)]
#![expect(clippy::cast_precision_loss, reason = "figures for people, far below 2^52")]

mod call;
mod drain;
mod row;
mod start;
mod units;

use clap::{Parser, ValueEnum};

/// What to measure.
#[derive(Clone, Copy, ValueEnum)]
enum Name {
    /// Write and read units, and calls, of each step of a task's life.
    Units,
    /// Polls per second for many due tasks against a real HTTP status server.
    Drain,
    /// One `tools/call` through the client, on a bare session of the SDK, and as a raw POST, in both eras; and the memory
    /// of 256 pooled stdio sessions.
    Call,
    /// Is the stdio server of those sessions.
    #[value(hide = true)]
    Serve,
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
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    if matches!(arguments.name, Name::Serve) {
        return call::serve();
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut out = |row: row::Row| println!("{}", if arguments.json { row.json() } else { row.text() });
        match arguments.name {
            Name::Units => units::run(&mut out).await,
            Name::Drain => drain::run(&mut out).await,
            Name::Call => call::run(&mut out).await,
            Name::Serve => Ok(()),
            Name::Start => start::run(&mut out).await,
        }
    })
}
