//! Memory of pooled stdio sessions: one echo server per thread, as many threads as the pool holds, and what this process has
//! grown by. The children's own memory is theirs and is shown apart; they are this program again, in the least form of an
//! MCP server ([`serve`]).

use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use pudu_app::ports::{Caller, McpClient, ToolCall};
use pudu_config::{Document, NoSecrets};
use pudu_domain::{ThreadId, ThreadKey, UserId};
use pudu_lambda::env::{Process, Source};
use pudu_mcp::{Client, Egress, Launcher};
use pudu_testkit::fixture::token_ports;
use serde_json::{Map, Value, json};

use crate::row::Row;

const SESSIONS: usize = 256;
const LIMIT: Duration = Duration::from_secs(60);
/// Calls of one thread's session after all are there.
const CALLS: usize = 2_000;

/// Opens the sessions and measures at each step.
pub(super) async fn run(out: &mut impl FnMut(Row)) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let launcher = Launcher::new(folder.path(), |name| Process.get(name), true);
    let client = Client::new(Arc::new(NoSecrets), Egress::machine(), token_ports())?.with_stdio(launcher);
    let program = std::env::current_exe()?;
    let entry = json!({"mcpServers": {"echo": {"command": program, "args": ["serve"]}}});
    let document = Document::parse(entry).map_err(|problems| anyhow::anyhow!("{problems:?}"))?;
    let server = document.server("echo").context("the server is configured")?;
    let call = async |thread: usize| -> anyhow::Result<()> {
        let thread = ThreadKey {
            user: UserId::parse("local:default")?,
            thread: ThreadId::parse(format!("t{thread}"))?,
        };
        let arguments = Map::from_iter([("text".to_owned(), json!("deer"))]);
        let call = ToolCall::plain("echo", arguments);
        let result = client.call_tool(server, &Caller::of(thread), call, LIMIT).await?;
        ensure!(
            result.pointer("/structuredContent/text").and_then(Value::as_str) == Some("deer"),
            "{result}"
        );
        Ok(())
    };
    // The first one brings what all share.
    call(0).await?;
    let before = resident("self")?;
    let began = Instant::now();
    for thread in 1..SESSIONS {
        call(thread).await?;
    }
    let opened = began.elapsed().as_secs_f64() * 1000.0 / (SESSIONS - 1) as f64;
    let after = resident("self")?;
    let children = children()?;
    let theirs: u64 = children.iter().filter_map(|child| resident(child).ok()).sum();
    ensure!(children.len() == SESSIONS, "{} of {SESSIONS} servers live", children.len());
    let began = Instant::now();
    for _ in 0..CALLS {
        call(SESSIONS - 1).await?;
    }
    let pooled = began.elapsed().as_secs_f64() * 1000.0 / CALLS as f64;
    out(Row::of("sessions")
        .with("sessions", children.len())
        .with("resident_kib", after)
        .number("kib_per_session", after.saturating_sub(before) as f64 / (SESSIONS - 1) as f64)
        .with("children_kib", theirs)
        .number("open_and_call_ms", opened)
        .precise("pooled_call_ms", pooled));
    client.close_all().await;
    Ok(())
}

/// Resident memory of a process, in KiB.
fn resident(process: &str) -> anyhow::Result<u64> {
    let status = std::fs::read_to_string(Path::new("/proc").join(process).join("status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("its resident memory")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

/// The processes that this one started and that live.
fn children() -> anyhow::Result<Vec<String>> {
    let mut children = Vec::new();
    for task in std::fs::read_dir("/proc/self/task")? {
        let listed = std::fs::read_to_string(task?.path().join("children"))?;
        children.extend(listed.split_whitespace().map(str::to_owned));
    }
    Ok(children)
}

/// The least MCP server on stdin and stdout: `initialize`, and every call is an echo.
pub(crate) fn serve() -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        let Some(id) = message.get("id") else { continue };
        let result = match message.get("method").and_then(Value::as_str) {
            Some("initialize") => json!({
                "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "echo", "version": "1"},
            }),
            _ => json!({"content": [], "structuredContent": message.pointer("/params/arguments")}),
        };
        writeln!(out, "{}", json!({"jsonrpc": "2.0", "id": id, "result": result}))?;
        out.flush()?;
    }
    Ok(())
}
