//! A real `pudu`, as a process of its own: what is measured of it, and done to it, is not this process's.

use std::net::SocketAddr;
use std::process::Stdio;

use pudu::folder::DataFolder;
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;

use crate::binaries;

/// A running Pudu on free ports, with its data in a folder of its own. It ends with this value.
pub struct Pudu {
    /// Where its gateway listens.
    pub address: SocketAddr,
    http: reqwest::Client,
    key: Option<String>,
    operator: String,
    child: Child,
    _reading: JoinSet<()>,
    _folder: TempDir,
}

impl Pudu {
    /// Starts it with these arguments, and of the environment only this and what it needs, and waits until it serves.
    pub async fn start(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let source: &[&str] =
            if arguments.contains(&"--config-file") { &[] } else { &["--config-source", "table"] };
        let mut child = Command::new(binaries::machine().await)
            .args(["--port", "0", "--example-port", "0"])
            .args(source)
            .arg("--data-dir")
            .arg(&data)
            .args(arguments)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .envs(environment.iter().copied())
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // The first line is printed when everything is there.
        let started = lines.next_line().await.unwrap();
        assert!(started.is_some(), "pudu {arguments:?} did not start");
        let data = DataFolder::new(&data);
        let run = data.announced().expect("it says where it listens");
        let key = data.admin_key().unwrap().map(|key| key.expose().to_owned());
        let mut reading = JoinSet::new();
        reading.spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { address: run.address, http, key, operator: run.key, child, _reading: reading, _folder: folder }
    }

    /// The URL of a path of its gateway.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// A client for it.
    pub const fn http(&self) -> &reqwest::Client {
        &self.http
    }

    /// The key of an administrator, if it asks for one.
    pub fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// Imports a config, as its operator does.
    pub async fn import(&self, config: &Value) {
        let put = self.http.put(self.url("/operator/config")).bearer_auth(&self.operator).json(config);
        put.send().await.unwrap().error_for_status().unwrap();
    }

    /// Its resident memory now, in KiB.
    pub fn resident(&self) -> u64 {
        self.status("VmRSS:")
    }

    /// The most that its resident memory ever was, in KiB.
    pub fn most_resident(&self) -> u64 {
        self.status("VmHWM:")
    }

    fn status(&self, field: &str) -> u64 {
        status_of(self.child.id().expect("it runs"), field).unwrap()
    }
}

/// What the system says of a process under that name, in KiB; none of one that is gone.
pub(crate) fn status_of(process: u32, field: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}
