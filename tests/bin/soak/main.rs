//! `soak --seconds N`: a thousand tasks over fifty servers, with workers in processes of their own that are killed all the
//! time; ends with one line `tasks N, lost N, duplicated N, untracked N`.
//!
//! This process is the table's engine (over HTTP), the gateway, the servers, and whoever submits, cancels and reads. The
//! pollers and notifiers are this program again, in a role; one of them gets a SIGKILL every two seconds, and now and then
//! one is stopped for longer than its leases. One server never answers. After N seconds all of that ends, what is left is
//! worked off, and the table, the servers' ledgers and what was seen meanwhile are held against each other.
//! Everything is on the loopback, on free ports, in a folder that goes with the process.
#![expect(clippy::print_stdout, reason = "a command whose output is its result")]

mod callers;
mod crew;
mod errands;
mod gather;
mod heard;
mod story;
mod worker;

use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use pudu_app::ports::Random;
use pudu_lambda::random::OsRandom;

/// Pudu's soak.
#[derive(Parser)]
struct Arguments {
    /// How long workers are killed and a server hangs, in seconds.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(10..=3600))]
    seconds: u64,
    /// How many tasks.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(50..=10_000))]
    tasks: u64,
    /// Over how many servers; the first one hangs.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u64).range(2..=200))]
    servers: u64,
    /// What the tasks' lives and the victims are drawn from; another one each time if it is not given.
    #[arg(long)]
    seed: Option<u64>,
    /// Is a worker instead.
    #[arg(long, hide = true, requires = "name")]
    role: Option<Role>,
    /// The worker's name.
    #[arg(long, hide = true)]
    name: Option<String>,
}

/// What a worker process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
enum Role {
    /// The task-poller, in a loop.
    Poller,
    /// The notifier, in a loop.
    Notifier,
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    if let (Some(role), Some(name)) = (arguments.role, arguments.name) {
        runtime.block_on(worker::run(role, &name))?;
        return Ok(ExitCode::SUCCESS);
    }
    let settings = story::Settings {
        rough: Duration::from_secs(arguments.seconds),
        tasks: usize::try_from(arguments.tasks)?,
        servers: usize::try_from(arguments.servers)?,
        seed: arguments.seed.unwrap_or_else(any_seed),
    };
    let clean = runtime.block_on(story::tell(&settings))?;
    Ok(if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn any_seed() -> u64 {
    let mut bytes = [0; 4];
    OsRandom.fill(&mut bytes);
    u32::from_be_bytes(bytes).into()
}
