//! Our own programs, built when they are first asked for, in the profile of whoever asks.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;
use tokio::process::Command;
use tokio::sync::OnceCell;

type Programs = BTreeMap<String, PathBuf>;

/// Each function's program has its package's name.
const FUNCTIONS: [&str; 8] =
    ["-p", "pudu-gateway", "-p", "pudu-task-poller", "-p", "pudu-notifier", "-p", "pudu-agent-function"];
/// Without a package, as `cargo run` builds it: another choice of packages would build everything below it once more.
const MACHINE: [&str; 2] = ["--bin", "pudu"];

/// Where the program of a function is, by its package.
pub(crate) async fn function(package: &str) -> &'static Path {
    static BUILT: OnceCell<Programs> = OnceCell::const_new();
    &BUILT.get_or_init(|| build(&FUNCTIONS)).await[package]
}

/// Where `pudu` is.
pub async fn machine() -> &'static Path {
    static BUILT: OnceCell<Programs> = OnceCell::const_new();
    &BUILT.get_or_init(|| build(&MACHINE)).await["pudu"]
}

async fn build(chosen: &[&str]) -> Programs {
    let mut command = Command::new(env!("CARGO"));
    command.args(["build", "--message-format=json-render-diagnostics"]).args(chosen);
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let output = command.current_dir(root).stderr(Stdio::inherit()).output().await.unwrap();
    assert!(output.status.success(), "{chosen:?} does not build");
    let messages = String::from_utf8(output.stdout).unwrap();
    let artifacts = messages.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    artifacts
        .filter_map(|artifact| {
            let program = artifact["executable"].as_str()?;
            Some((artifact["target"]["name"].as_str()?.to_owned(), PathBuf::from(program)))
        })
        .collect()
}
