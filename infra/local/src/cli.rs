//! The command line: what can be asked of `pudu`, and how its errors are shown.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use pudu_lambda::env::{Process, Source};
use pudu_lambda::settings::LOG;
use pudu_lambda::telemetry::{self, Format};
use tracing::Level;

use crate::{commands, demo, run, say};

/// Pudu on one machine: gateway, task-poller, notifier, an embedded DynamoDB-compatible table and an example MCP server.
#[derive(Debug, Parser)]
#[command(name = "pudu", version, args_conflicts_with_subcommands = true)]
pub struct Cli {
    /// Without one, everything is started.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// For the start.
    #[command(flatten)]
    pub run: RunArgs,
}

/// Where everything listens and keeps its data.
#[derive(Debug, Clone, Args)]
pub struct RunArgs {
    /// Port of the gateway on 127.0.0.1; 0 picks a free one.
    #[arg(long, value_name = "PORT", default_value_t = 8080)]
    pub port: u16,
    /// Port of the example MCP server on 127.0.0.1. Default: the one of the last start, at first 8081.
    #[arg(long, value_name = "PORT")]
    pub example_port: Option<u16>,
    /// The table.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Where the table is.
#[derive(Debug, Clone, Args)]
pub struct StoreArgs {
    /// Folder for the table, the sealing key and the example server's reports; one process at a time holds it.
    #[arg(long, value_name = "DIR", default_value = ".pudu")]
    pub data_dir: PathBuf,
    /// Use the table behind this DynamoDB endpoint instead of the embedded engine. Credentials come from the
    /// environment, or are made up.
    #[arg(long, value_name = "URL")]
    pub dynamodb_endpoint: Option<String>,
    /// Name of the table; it is made if it is missing.
    #[arg(long, value_name = "NAME", default_value = "pudu")]
    pub table: String,
}

/// What else can be asked.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show the config, with secrets masked.
    Config(StoreArgs),
    /// List the tools of every server.
    Tools(StoreArgs),
    /// List a thread's tasks.
    Tasks(ThreadArgs),
    /// List what a thread was told.
    Events(ThreadArgs),
    /// Tell the whole story of one task, beside a running Pudu, and end; fails if a step was not seen in the table.
    Demo(DemoArgs),
    /// The poller of `demo --crash`, told by its environment where the table is.
    #[command(hide = true)]
    DemoPoller {
        /// The name under which it claims.
        #[arg(long)]
        worker: String,
    },
}

/// A thread, and where it is.
#[derive(Debug, Clone, Args)]
pub struct ThreadArgs {
    /// The thread.
    pub thread: String,
    /// The table.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// How the demo runs.
#[derive(Debug, Clone, Args)]
pub struct DemoArgs {
    /// Keep the table in this folder. Default: a temporary one that is removed.
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Kill the poller in the middle of a status call, and show how another one takes over.
    #[arg(long)]
    pub crash: bool,
}

/// Does what was asked.
pub async fn run(cli: Cli) -> anyhow::Result<()> {
    // Quiet unless asked: what a person should see is printed, and a log between the lines would hide it.
    let level = Process.get(LOG).and_then(|level| level.parse().ok()).unwrap_or(Level::WARN);
    telemetry::init(level, Format::Text);
    match cli.command {
        None => run::run(cli.run).await,
        Some(Command::Config(store)) => commands::config(&store).await,
        Some(Command::Tools(store)) => commands::tools(&store).await,
        Some(Command::Tasks(args)) => commands::tasks(&args).await,
        Some(Command::Events(args)) => commands::events(&args).await,
        Some(Command::Demo(args)) => demo::run(args).await,
        Some(Command::DemoPoller { worker }) => demo::poller(worker).await,
    }
}

/// Shows the error with its causes in one line, and gives the exit status.
pub fn failed(error: &anyhow::Error) -> ExitCode {
    say::error(&format!("error: {error:#}"));
    ExitCode::FAILURE
}

#[cfg(test)]
mod tests;
