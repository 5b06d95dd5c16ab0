//! The command line: what can be asked of `pudu`, and how its errors are shown.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, Parser, Subcommand, ValueEnum};
use pudu_lambda::env::{Process, Source};
use pudu_lambda::settings::LOG;
use pudu_lambda::telemetry::{self, Format};
use tracing::Level;

use crate::config_file;
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
    /// Address on which the gateway listens. Beyond this machine it has no TLS of its own: put a proxy in front that has.
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    pub bind: IpAddr,
    /// Port of the gateway; 0 picks a free one.
    #[arg(long, value_name = "PORT", default_value_t = 8080)]
    pub port: u16,
    /// Port of the example MCP server on 127.0.0.1. Default: the one of the last start, at first 8081.
    #[arg(long, value_name = "PORT")]
    pub example_port: Option<u16>,
    /// Ask no caller for a key: everybody on this machine is its admin. Only where the gateway listens on loopback.
    #[arg(long)]
    pub no_auth: bool,
    /// The config.
    #[command(flatten)]
    pub source: SourceArgs,
    /// The table.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Where the config is.
#[derive(Debug, Clone, Default, Args)]
pub struct SourceArgs {
    /// The config file. Default: the one that `PUDU_EXTENSIONS_CONFIG_PATH` names, or `extensions_config.json` or
    /// `mcp_config.json` in the current folder; if there is none, the config is in the table.
    #[arg(long, value_name = "PATH", conflicts_with = "config_source")]
    pub config_file: Option<PathBuf>,
    /// Whether config files are looked for.
    #[arg(long, value_name = "SOURCE", value_enum, default_value_t)]
    pub config_source: SourceChoice,
}

/// Which source of the config is used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum SourceChoice {
    /// A config file if one is found, else the table.
    #[default]
    Auto,
    /// The table, whatever files are found.
    Table,
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
    /// Show the config with secrets masked, or check or import a file.
    Config(ConfigArgs),
    /// List the tools of every server.
    Tools(ShowArgs),
    /// List a thread's tasks.
    Tasks(ThreadArgs),
    /// List what a thread was told.
    Events(ThreadArgs),
    /// Print what the gateway takes and answers, as OpenAPI 3.1.
    Openapi,
    /// Make, list and revoke the API keys by which callers come in.
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Connect MCP clients to this Pudu.
    #[command(subcommand)]
    Mcp(McpCommand),
    /// Tell the whole story of one task, beside a running Pudu, and end; fails if a step was not seen in the table.
    Demo(DemoArgs),
    /// The poller of `demo --crash`, told by its environment where the table is.
    #[command(hide = true)]
    DemoPoller {
        /// The name under which it claims.
        #[arg(long)]
        worker: String,
    },
    /// The agent of `demo --crash`, the same way.
    #[command(hide = true)]
    DemoAgent {
        /// The name under which it claims.
        #[arg(long)]
        worker: String,
    },
}

/// What can be done with API keys. It works beside a running Pudu and without one: who holds the data folder, or may write
/// the table, is the operator.
#[derive(Debug, Clone, Subcommand)]
pub enum KeysCommand {
    /// Make a key and print it, this once.
    Create(CreateKeyArgs),
    /// List all keys, the revoked ones too.
    List(TableArgs),
    /// Revoke a key: within five seconds it opens nothing any more.
    Revoke {
        /// Its id, as `list` shows it.
        id: String,
        /// The table.
        #[command(flatten)]
        table: TableArgs,
    },
}

/// What key is made.
#[derive(Debug, Clone, Args)]
pub struct CreateKeyArgs {
    /// What it is called, for lists and records.
    #[arg(long)]
    pub name: String,
    /// Whose threads and tasks it opens, so that a user can have several keys; `local:default` is the user of this machine.
    /// Default: a user of its own.
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// What may be done with it.
    #[arg(long, value_enum, default_value_t)]
    pub role: RoleChoice,
    /// The servers that it reaches. Default: each.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub servers: Option<Vec<String>>,
    /// The table.
    #[command(flatten)]
    pub table: TableArgs,
}

/// What a key may do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum RoleChoice {
    /// Everything.
    Admin,
    /// Call tools, and see the own threads and tasks.
    #[default]
    User,
}

/// In which table: one of this machine, or one of a stack.
#[derive(Debug, Clone, Args)]
pub struct TableArgs {
    /// The table in AWS that `--table` names, with the region and the credentials of the environment.
    #[arg(long, conflicts_with_all = ["data_dir", "dynamodb_endpoint"])]
    pub aws: bool,
    /// The table.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Whose config or tools are shown.
#[derive(Debug, Clone, Args)]
pub struct ShowArgs {
    /// The config, when no Pudu runs that has chosen one.
    #[command(flatten)]
    pub source: SourceArgs,
    /// The table.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// What is done with configs.
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ConfigArgs {
    /// Without one, the config is shown.
    #[command(subcommand)]
    pub command: Option<ConfigCommand>,
    /// For showing it.
    #[command(flatten)]
    pub show: ShowArgs,
}

/// What can be done with a config file.
#[derive(Debug, Clone, Subcommand)]
pub enum ConfigCommand {
    /// Validate a file and print each problem and warning with its place; exit status 1 if it is not valid.
    Check {
        /// The file.
        file: PathBuf,
    },
    /// Make a file the config in the table, instead of all servers that are there; also one of another MCP client.
    Import(ImportArgs),
}

/// What is imported, and where.
#[derive(Debug, Clone, Args)]
pub struct ImportArgs {
    /// The file.
    pub file: PathBuf,
    /// The KMS key by which the functions of a stack seal secrets, an output of the stack.
    #[arg(long, value_name = "ARN", requires = "aws", required_if_eq("aws", "true"))]
    pub seal_kms_key: Option<String>,
    /// The table.
    #[command(flatten)]
    pub table: TableArgs,
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

/// What can be done for MCP clients.
#[derive(Debug, Clone, Subcommand)]
pub enum McpCommand {
    /// Print the configuration of a client: a command, or what goes into its file.
    Add(ConnectArgs),
}

/// Which client is connected, and to what.
#[derive(Debug, Clone, Args)]
pub struct ConnectArgs {
    /// The client.
    #[arg(value_enum)]
    pub client: Client,
    /// Address of the Pudu. Default: the one that runs on the data folder, else `http://127.0.0.1:8080`.
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Print the API key of this machine's user instead of a reference to it.
    #[arg(long)]
    pub show_key: bool,
    /// The data folder.
    #[arg(long, value_name = "DIR", default_value = ".pudu")]
    pub data_dir: PathBuf,
}

/// An MCP client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Client {
    /// Claude Code: prints its command.
    Claude,
    /// Cursor: prints its `mcp.json`.
    Cursor,
    /// VS Code: prints its `mcp.json`.
    Vscode,
}

/// How the demo runs.
#[derive(Debug, Clone, Args)]
pub struct DemoArgs {
    /// Keep the table in this folder. Default: a temporary one that is removed.
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Kill the poller in the middle of a status call and an agent in the middle of a run, and show how others take over.
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
        Some(Command::Config(args)) => match args.command {
            None => commands::config(&args.show).await,
            Some(ConfigCommand::Check { file }) => commands::check(&file),
            Some(ConfigCommand::Import(args)) => commands::import(&args).await,
        },
        Some(Command::Tools(args)) => commands::tools(&args).await,
        Some(Command::Tasks(args)) => commands::tasks(&args).await,
        Some(Command::Events(args)) => commands::events(&args).await,
        Some(Command::Openapi) => commands::openapi(),
        Some(Command::Keys(command)) => commands::keys(&command).await,
        Some(Command::Mcp(McpCommand::Add(args))) => commands::connect(&args),
        Some(Command::Demo(args)) => demo::run(args).await,
        Some(Command::DemoPoller { worker }) => Box::pin(demo::poller(worker)).await,
        Some(Command::DemoAgent { worker }) => Box::pin(demo::agent(worker)).await,
    }
}

impl SourceArgs {
    /// The table and nothing else.
    pub fn table() -> Self {
        Self { config_file: None, config_source: SourceChoice::Table }
    }

    /// The config file to be used, if it is not the table.
    pub fn find(&self) -> anyhow::Result<Option<PathBuf>> {
        if self.config_source == SourceChoice::Table {
            return Ok(None);
        }
        let here = std::env::current_dir().context("the current folder is gone")?;
        Ok(config_file::find(self.config_file.as_deref(), &Process, &here)?)
    }
}

/// Shows the error with its causes in one line, and gives the exit status.
pub fn failed(error: &anyhow::Error) -> ExitCode {
    say::error(&format!("error: {error:#}"));
    ExitCode::FAILURE
}

#[cfg(test)]
mod tests;
