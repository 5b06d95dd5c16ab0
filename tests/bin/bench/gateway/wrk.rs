//! The load tool, as a process: `wrk` (Debian), which sends the same bytes on so many connections as fast as answers come.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, ensure};
use pudu_lambda::env::{Process, Source};
use tokio::process::Command;

use super::asked::Asked;

/// Where it is.
pub(super) struct Wrk(PathBuf);

/// What one turn brought.
pub(super) struct Measured {
    pub(super) requests: f64,
    pub(super) seconds: f64,
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
    /// Requests that reached the echo servers meanwhile.
    pub(super) upstream: u64,
}

impl Wrk {
    pub(super) fn find() -> anyhow::Result<Self> {
        let path = Process.get("PATH").unwrap_or_default();
        let found = std::env::split_paths(&path).map(|folder| folder.join("wrk")).find(|file| file.is_file());
        found.map(Self).context("wrk is not installed: run scripts/bench-gateway")
    }

    /// Asks for `time`. An answer that is no success ends the bench: errors are fast.
    pub(super) async fn load(
        &self,
        asked: &Asked,
        connections: usize,
        time: Duration,
    ) -> anyhow::Result<Measured> {
        let folder = tempfile::tempdir()?;
        let script = folder.path().join("load.lua");
        std::fs::write(&script, script_of(asked))?;
        let (connections, time) = (connections.to_string(), format!("{}s", time.as_secs()));
        let output = Command::new(&self.0)
            .args(["--threads", "1", "--connections", &connections, "--duration", &time, "--timeout", "60s"])
            .arg("--script")
            .arg(&script)
            .arg(&asked.url)
            .output()
            .await?;
        let text = String::from_utf8_lossy(&output.stdout);
        ensure!(output.status.success(), "wrk: {text}{}", String::from_utf8_lossy(&output.stderr));
        let line =
            text.lines().find_map(|line| line.strip_prefix("measured ")).context("wrk said nothing")?;
        let numbers: Vec<f64> = line.split(' ').map(str::parse).collect::<Result<_, _>>()?;
        let &[requests, micros, p50, p99, errors] = numbers.as_slice() else {
            anyhow::bail!("wrk said {line}")
        };
        ensure!(errors == 0.0, "{errors} of {requests} requests to {} failed", asked.url);
        Ok(Measured {
            requests,
            seconds: micros / 1_000_000.0,
            p50_ms: p50 / 1000.0,
            p99_ms: p99 / 1000.0,
            upstream: 0,
        })
    }
}

fn script_of(asked: &Asked) -> String {
    let mut lines = vec![format!("wrk.method = {}", quoted(&asked.method))];
    lines.extend(asked.body.as_ref().map(|body| format!("wrk.body = {}", quoted(body))));
    let header =
        |(name, value): &(String, String)| format!("wrk.headers[{}] = {}", quoted(name), quoted(value));
    lines.extend(asked.headers.iter().map(header));
    lines.join("\n")
        + r#"
done = function(summary, latency, requests)
  local e = summary.errors
  local errors = e.connect + e.read + e.write + e.status + e.timeout
  io.write(string.format("measured %d %d %d %d %d\n", summary.requests, summary.duration, latency:percentile(50),
    latency:percentile(99), errors))
end
"#
}

/// A text of Lua: what is not plain is written as its bytes' numbers.
fn quoted(text: &str) -> String {
    let plain = |byte: u8| (b' '..=b'~').contains(&byte) && byte != b'"' && byte != b'\\';
    let inside: String = text
        .bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("\\{byte:03}") })
        .collect();
    format!("\"{inside}\"")
}
