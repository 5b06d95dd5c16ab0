//! `pudu`: everything in one process, until a signal.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use pudu_app::configs::Current;
use pudu_app::ports::ConfigStore;
use pudu_compose::Launcher;
use pudu_config::LaunchPolicy;
use pudu_gateway::Door;
use pudu_lambda::clock::SystemClock;
use pudu_lambda::env::{Process, Source};
use pudu_lambda::random::OsRandom;
use pudu_lambda::settings::{self, Admission, CLOUD_RATE, Numbers, STDIO_COMMANDS, SettingError};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::cli::RunArgs;
use crate::example::{Example, PATH};
use crate::folder::{Announced, DataFolder, RunFile};
use crate::house::{House, LEASE, Plan, limits};
use crate::machine::{Machine, listen};
use crate::store::Store;
use crate::{admin_key, say, seed};

/// The example server's port when none was ever chosen.
const EXAMPLE_PORT: u16 = 8081;

/// What the printed lines call the thread.
const THREAD: &str = "hello";

/// What names more commands for stdio servers: ours, then that of existing installs.
const COMMAND_VARIABLES: [&str; 2] = [STDIO_COMMANDS, "DEER_FLOW_MCP_STDIO_COMMAND_ALLOWLIST"];

/// Ctrl-C and SIGTERM.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

/// A started Pudu, and what it holds while it runs.
struct Started {
    machine: Machine,
    announced: Announced,
    _store: Store,
}

/// Starts everything and runs until Ctrl-C, SIGTERM, or the end of a part.
pub async fn run(args: RunArgs) -> anyhow::Result<()> {
    // Before anything is begun, so that an early Ctrl-C stops it like a late one.
    let mut signals = Signals::watch()?;
    let mut started = tokio::select! {
        () = signals.next() => return Ok(()),
        started = start(&args) => started?,
    };
    let ended = tokio::select! {
        () = signals.next() => Ok(()),
        broken = started.machine.broken() => Err(broken),
    };
    // The run file first: a command that comes now waits for the folder instead of asking a server that goes away.
    drop(started.announced);
    started.machine.stop().await;
    if ended.is_ok() {
        say::line("Stopped. The next start goes on with what is left.");
    }
    ended
}

async fn start(args: &RunArgs) -> anyhow::Result<Started> {
    if args.no_auth && !args.bind.is_loopback() {
        bail!("--no-auth works on loopback only: leave out --bind {} or --no-auth", args.bind);
    }
    // Whoever can call one machine can also stop it: there a limit only slows its own user down.
    let per_second = if args.bind.is_loopback() { 0 } else { CLOUD_RATE };
    let admission = Admission::read(&Process, per_second)?;
    if args.no_auth
        && let Some(origin) = admission.origins.first()
    {
        bail!(
            "--no-auth would make every page of {origin} this machine's administrator: leave out one of them"
        );
    }
    // The folder first: who starts a second Pudu on it should read that, and not that its port is taken.
    let store = Store::open(&args.store).await?;
    let config_file = args.source.find()?;
    let folder = &store.folder;
    let gateway = listen((args.bind, args.port), "the gateway", "--port").await?;
    let example_port = args.example_port.or_else(|| folder.example_port()).unwrap_or(EXAMPLE_PORT);
    let example_listener =
        listen((Ipv4Addr::LOCALHOST.into(), example_port), "the example server", "--example-port").await?;

    let numbers = Numbers::read(&Process, &limits(LEASE))?;
    numbers.warn();
    let mut plan = Plan {
        policy: numbers.policy,
        limits: numbers.limits,
        no_auth: args.no_auth,
        admission,
        // From elsewhere it is called by other names than this machine's.
        door: if args.bind.is_loopback() { Door::Loopback } else { Door::Anywhere },
        ..Plan::new(store.client.clone(), store.table.clone(), folder.seal_key())
    };
    // A table of its own has no other poller; one elsewhere may have any number.
    let alone = store.engine.is_some();
    plan.stdio = Some(Launcher::new(folder.path(), |name| Process.get(name), alone));
    plan.launch = launch_policy(&Process)?;
    plan.config_file.clone_from(&config_file);
    let house = Arc::new(House::new(plan)?);
    house.create_table().await?;
    if alone {
        house.table.lower_beacons().await?;
    }

    let example = Example::open(&folder.example(), Arc::new(SystemClock), Arc::new(OsRandom))?;
    let example_at = example_listener.local_addr()?;
    folder.remember_example_port(example_at.port())?;
    keeps_its_key(&house, &folder.seal_key()).await?;
    // Before the gateway answers anybody, so that nobody sees a table without its config.
    house.seed(&format!("http://{example_at}{PATH}")).await?;
    if !args.no_auth {
        admin_key::ensure(&house, folder).await?;
    }
    // Read before anything starts: of a file that never was good nothing could stay in force.
    let current = house.wiring.configs.current().await?;
    let mut machine = Machine::start(Arc::clone(&house), gateway)?;
    let url = machine.example(example, example_listener)?;
    machine.poll();
    machine.notify();
    machine.act();
    if let Some(engine) = &store.engine {
        machine.sweep(engine.clone());
    }
    let address = reachable(machine.gateway);
    let run = RunFile { pid: std::process::id(), address, key: house.key().expose().to_owned() };
    let announced = folder.announce(&run)?;
    for line in greeting(args, config_file.as_deref(), address, &url, &current) {
        say::line(&line);
    }
    Ok(Started { machine, announced, _store: store })
}

fn launch_policy(env: &dyn Source) -> Result<LaunchPolicy, SettingError> {
    let set = COMMAND_VARIABLES.into_iter().find(|name| env.get(name).is_some());
    settings::launch(env, set.unwrap_or(STDIO_COMMANDS))
}

/// A key that is missing is not made anew while the table holds what it sealed: the old one may still be restored.
pub(crate) async fn keeps_its_key(house: &House, path: &Path) -> anyhow::Result<()> {
    if !path.exists() && house.table.pointer().await?.is_some() {
        bail!(
            "the sealing key {} is missing: restore it, the stored config opens with no other",
            path.display()
        );
    }
    Ok(())
}

/// Where a client on this machine finds what listens on `address`, which may be every address there is.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// Who answers for agents.
fn model(current: &Current) -> String {
    match current.document.models().first() {
        Some(model) => format!("'{}' of the config", model.name),
        None => "none is configured: a built-in script answers for agents, and says so each time".to_owned(),
    }
}

/// What a start prints.
fn greeting(
    args: &RunArgs,
    file: Option<&Path>,
    gateway: SocketAddr,
    example: &str,
    current: &Current,
) -> Vec<String> {
    let config =
        file.map_or_else(|| "in the table".to_owned(), |file| format!("the file {}", file.display()));
    let table = match &args.store.dynamodb_endpoint {
        Some(_) => format!("{} at the given DynamoDB endpoint", args.store.table),
        None => format!("embedded engine in {}", args.store.data_dir.display()),
    };
    let admin_key = DataFolder::new(&args.store.data_dir).admin_key_file();
    let (callers, shown) = if args.no_auth {
        ("everybody on this machine, without a key".to_owned(), String::new())
    } else {
        // Read when the line is pasted, so that no terminal and no history has the key.
        let shown = format!(" -H \"Authorization: Bearer $(cat '{}')\"", admin_key.display());
        (format!("by keys; the admin's is in {}", admin_key.display()), shown)
    };
    let mut lines = vec![
        format!("Pudu {} runs.", env!("CARGO_PKG_VERSION")),
        format!("  gateway         http://{gateway}/docs"),
        format!("  example server  {example}"),
        format!("  table           {table}"),
        format!("  config          {config}"),
        format!("  callers         {callers}"),
        format!("  model           {}", model(current)),
    ];
    if let Some(note) = seed::moved(current, example) {
        // In the place of the line that submits: it would only find that the server cannot be reached.
        lines.push(note);
    } else if current.document.server(seed::SERVER).is_some() {
        lines.push("Submit a report that takes ten seconds:".to_owned());
        lines.push(format!(
            "  curl -s{shown} -H 'Content-Type: application/json' -d '{{\"arguments\":{{\"title\":\"tides\",\"duration_seconds\":10}}}}' http://{gateway}/api/threads/{THREAD}/tools/{}_submit_report",
            seed::SERVER
        ));
    } else {
        lines.push("The config has no server 'example'. See what can be called:".to_owned());
        lines.push(format!("  curl -s{shown} http://{gateway}/api/tools"));
    }
    lines.push("See what its thread was told:".to_owned());
    lines.push(format!("  curl -s{shown} http://{gateway}/api/threads/{THREAD}/events"));
    lines.push("Talk with the thread's agent, and watch it work:".to_owned());
    lines.push(format!(
        "  curl -sN{shown} -H 'Content-Type: application/json' -d '{{\"input\":{{\"messages\":[{{\"role\":\"user\",\"content\":\"Which tools have you?\"}}]}},\"stream_mode\":[\"messages-tuple\",\"custom\"]}}' http://{gateway}/api/threads/{THREAD}/runs/stream"
    ));
    lines.push("Ctrl-C stops it; the next start goes on with what it left.".to_owned());
    lines
}

impl Signals {
    /// From now on, these signals do not end the process by themselves.
    pub(crate) fn watch() -> anyhow::Result<Self> {
        let watch = |kind| signal(kind).context("signals cannot be watched");
        Ok(Self { interrupt: watch(SignalKind::interrupt())?, terminate: watch(SignalKind::terminate())? })
    }

    /// Returns when one comes.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(test)]
mod tests;
