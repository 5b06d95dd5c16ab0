//! MCP servers that nobody here wrote the wire of, as child processes (`tests/peers`).

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use pudu_lambda::env::{Process, Source};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Set to 1 where `.ci/setup-peers` has installed them.
const WANTED: &str = "PUDU_TEST_PEERS";

/// Longer than any peer that ends by itself takes.
const LONGEST: Duration = Duration::from_secs(120);

/// A running peer. It ends with this value: by its closed stdin, and by a signal.
pub struct Peer {
    url: String,
    said: watch::Receiver<Vec<String>>,
    _reading: JoinSet<()>,
    _stdin: ChildStdin,
    _child: Child,
}

impl Peer {
    /// Whether peers are asked for.
    pub fn wanted() -> bool {
        Process.get(WANTED).is_some_and(|wanted| wanted == "1")
    }

    /// The program that runs every peer, for a server entry that starts one over stdio.
    pub fn program() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/run")
    }

    /// Starts `tests/peers/run` with these arguments and waits until it accepts calls.
    pub async fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(Self::program())
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let stdin = child.stdin.take().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let Some(url) = lines.next_line().await.unwrap() else {
            let status = child.wait().await.unwrap();
            panic!(
                "the peer {arguments:?} did not start ({status}); exit status 3 means: run .ci/setup-peers"
            );
        };
        let (saying, said) = watch::channel(Vec::new());
        let mut reading = JoinSet::new();
        reading.spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                saying.send_modify(|said: &mut Vec<String>| said.push(line));
            }
        });
        Self { url, said, _reading: reading, _stdin: stdin, _child: child }
    }

    /// Runs one that ends by itself, with a home of its own, and returns what it printed last, which must be JSON.
    pub async fn ran(arguments: &[&str]) -> Value {
        let home = tempfile::tempdir().unwrap();
        let running = Command::new(Self::program())
            .args(arguments)
            .env("HOME", home.path())
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output();
        let output = timeout(LONGEST, running).await.expect("it ends").unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {}\n{text}\n{error}", output.status);
        let json = text.lines().rev().find_map(|line| serde_json::from_str(line).ok());
        json.or_else(|| serde_json::from_str(&text).ok())
            .unwrap_or_else(|| panic!("{arguments:?} printed no JSON:\n{text}\n{error}"))
    }

    /// What it said after its URL, once that are at least `count` lines.
    pub async fn said(&self, count: usize) -> Vec<String> {
        let mut said = self.said.clone();
        said.wait_for(|lines| lines.len() >= count).await.expect("the peer runs").clone()
    }

    /// Its endpoint.
    pub fn url(&self) -> &str {
        &self.url
    }
}
