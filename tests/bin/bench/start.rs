//! What a cold function costs: the size of its binary, the time from its start until it asks for its first event, and its
//! resident memory then. Built with the `function` profile, which takes minutes.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::Value;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tokio::process::{Child, Command as AsyncCommand};

use crate::row::Row;

const FUNCTIONS: [&str; 4] = ["pudu-gateway", "pudu-task-poller", "pudu-notifier", "pudu-agent-function"];
/// Starts measured per function; the first ones warm the disk cache and do not count.
const STARTS: usize = 25;
const WARM_UP: usize = 5;
/// A function that has not asked by then never will.
const LIMIT: Duration = Duration::from_secs(10);

/// Measures each function.
pub(crate) async fn run(out: &mut impl FnMut(Row)) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    for name in FUNCTIONS {
        let binary = build(name)?;
        let size = std::fs::metadata(&binary)?.len();
        let (mut millis, mut resident) = (Vec::new(), 0.0_f64);
        for number in 0..STARTS {
            let (took, kilobytes) =
                start(&binary, folder.path()).await.with_context(|| format!("starting {name}"))?;
            if number >= WARM_UP {
                millis.push(took.as_secs_f64() * 1000.0);
                resident = resident.max(kilobytes / 1024.0);
            }
        }
        millis.sort_by(f64::total_cmp);
        let at = |percent: usize| millis.get((millis.len() - 1) * percent / 100).copied().unwrap_or(f64::NAN);
        out(Row::of("start")
            .with("function", name)
            .number("binary_mb", size as f64 / 1_000_000.0)
            .number("ready_ms_p50", at(50))
            .number("ready_ms_p95", at(95))
            .number("resident_mb_max", resident));
    }
    Ok(())
}

/// Builds the binary as it is deployed and says where it is.
fn build(package: &str) -> anyhow::Result<PathBuf> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args(["build", "--profile", "function", "-p", package, "--message-format=json"])
        .stderr(Stdio::inherit())
        .output()?;
    anyhow::ensure!(output.status.success(), "{package} does not build");
    let lines = String::from_utf8(output.stdout)?;
    lines
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message.pointer("/target/name").and_then(Value::as_str) == Some(package))
        .find_map(|message| message.get("executable").and_then(Value::as_str).map(PathBuf::from))
        .with_context(|| format!("cargo named no executable of {package}"))
}

/// Starts the binary against a Runtime API that only listens, and measures until it asks for its first event.
async fn start(binary: &Path, folder: &Path) -> anyhow::Result<(Duration, f64)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let began = Instant::now();
    let mut child = AsyncCommand::new(binary)
        .env_clear()
        .env("AWS_LAMBDA_RUNTIME_API", address.to_string())
        .env("AWS_LAMBDA_FUNCTION_NAME", "bench")
        .env("AWS_LAMBDA_FUNCTION_VERSION", "1")
        .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "512")
        .env("AWS_REGION", "us-east-1")
        .env("AWS_ACCESS_KEY_ID", "bench")
        .env("AWS_SECRET_ACCESS_KEY", "bench")
        .env("PUDU_TABLE", "pudu")
        .env("PUDU_SEAL_KEY_FILE", folder.join("seal.key"))
        .env("PUDU_BLOB_BUCKET", "bench")
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    let asked = tokio::time::timeout(LIMIT, first_request(&listener)).await;
    let took = began.elapsed();
    let memory = resident_kilobytes(&child);
    child.kill().await?;
    asked.context("it never asked for an event")??;
    Ok((took, memory?))
}

/// Waits until a request for the next event is here, whole.
async fn first_request(listener: &TcpListener) -> anyhow::Result<()> {
    let (mut stream, _) = listener.accept().await?;
    let mut head = Vec::new();
    let mut buffer = [0; 2048];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let read = stream.read(&mut buffer).await?;
        anyhow::ensure!(read > 0, "it hung up");
        head.extend_from_slice(buffer.get(..read).unwrap_or_default());
    }
    anyhow::ensure!(
        head.starts_with(b"GET /2018-06-01/runtime/invocation/next"),
        "it asked for something else"
    );
    Ok(())
}

fn resident_kilobytes(child: &Child) -> anyhow::Result<f64> {
    let pid = child.id().context("it has ended")?;
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse()?)
}
