//! `pudu`: everything on one machine.

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use pudu::cli::{self, Cli};

/// How long the runtime waits for what blocks (a write to the disk) before the process ends without it.
const GRACE: Duration = Duration::from_millis(200);

fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            return cli::failed(&anyhow::Error::new(error).context("the runtime cannot be started"));
        }
    };
    let ended = runtime.block_on(cli::run(cli));
    // Not by dropping it: that waits for blocking work without limit.
    runtime.shutdown_timeout(GRACE);
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => cli::failed(&error),
    }
}
