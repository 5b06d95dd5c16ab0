//! MCP servers that nobody here wrote the wire of, as child processes (`tests/peers`).

use std::path::Path;
use std::process::Stdio;

use pudu_lambda::env::{Process, Source};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};

/// Set to 1 where `.ci/setup-peers` has installed them.
const WANTED: &str = "PUDU_TEST_PEERS";

/// A running peer. It ends with this value: by its closed stdin, and by a signal.
pub struct Peer {
    url: String,
    _stdin: ChildStdin,
    _child: Child,
}

impl Peer {
    /// Whether peers are asked for.
    pub fn wanted() -> bool {
        Process.get(WANTED).is_some_and(|wanted| wanted == "1")
    }

    /// Starts `tests/peers/run` with these arguments and waits until it accepts calls.
    pub async fn start(arguments: &[&str]) -> Self {
        let run = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/run");
        let mut child = Command::new(run)
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
        Self { url, _stdin: stdin, _child: child }
    }

    /// Its endpoint.
    pub fn url(&self) -> &str {
        &self.url
    }
}
