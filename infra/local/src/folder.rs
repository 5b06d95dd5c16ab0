//! The data folder: which file in it is what, and the run file by which commands find a running Pudu.
//!
//! The folder is made with mode 0700 by whoever takes its lock; the files here that hold a key are 0600.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use pudu_domain::ApiKey;
use serde::{Deserialize, Serialize};

const RUN_FILE: &str = "pudu.json";
const ADMIN_KEY: &str = "admin.key";
const PORT_FILE: &str = "example-port";

/// A data folder, locked or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataFolder {
    path: PathBuf,
}

/// Where a running Pudu listens and what it wants to be shown.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFile {
    /// The process, for a person who looks.
    pub pid: u32,
    /// The gateway.
    pub address: SocketAddr,
    /// The key that opens this process and no other on the same port; new at every start.
    pub key: String,
}

/// The run file of this process; dropping it removes the file.
#[derive(Debug)]
pub struct Announced {
    path: PathBuf,
}

/// A file of the folder could not be used.
#[derive(Debug, thiserror::Error)]
#[error("{} cannot be {act}: check that the data folder may be written", path.display())]
pub struct FolderError {
    /// What was tried.
    act: &'static str,
    /// The file.
    path: PathBuf,
    /// What the system said.
    #[source]
    source: io::Error,
}

impl DataFolder {
    /// The folder at `path`; nothing is made yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The sealing key.
    pub fn seal_key(&self) -> PathBuf {
        self.path.join("seal.key")
    }

    /// The example server's reports.
    pub fn example(&self) -> PathBuf {
        self.path.join("example.jsonl")
    }

    /// The key of the user of this machine.
    pub fn admin_key_file(&self) -> PathBuf {
        self.path.join(ADMIN_KEY)
    }

    /// What is in [`DataFolder::admin_key_file`]; none where there is no such file.
    pub fn admin_key(&self) -> Result<Option<ApiKey>, FolderError> {
        let path = self.admin_key_file();
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(FolderError { act: "read", path, source }),
            Ok(text) => text,
        };
        let no_key = || io::Error::other("it is no API key; without it the next start makes a new one");
        let key = ApiKey::parse(text.trim());
        key.map(Some).ok_or_else(|| FolderError { act: "used", path, source: no_key() })
    }

    /// Puts a key there, for its owner's eyes only.
    pub fn keep_admin_key(&self, key: &ApiKey) -> Result<(), FolderError> {
        let path = self.admin_key_file();
        write_private(&path, format!("{}\n", key.expose()).as_bytes()).map_err(|source| FolderError {
            act: "written",
            path,
            source,
        })
    }

    /// Says where this process listens, until the answer is dropped. Only who holds the folder may.
    pub fn announce(&self, run: &RunFile) -> Result<Announced, FolderError> {
        let path = self.path.join(RUN_FILE);
        let failed = |source| FolderError { act: "written", path: path.clone(), source };
        let text = serde_json::to_vec(run).map_err(|error| failed(error.into()))?;
        write_private(&path, &text).map_err(failed)?;
        Ok(Announced { path })
    }

    /// Removes what a process said that was killed. Only who holds the folder may: nobody is at that address any more, or somebody else.
    pub fn forget_announced(&self) {
        match fs::remove_file(self.path.join(RUN_FILE)) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                tracing::warn!(%error, "an old run file could not be removed; the next start replaces it");
            }
            _ => {}
        }
    }

    /// What the last process said; none when it stopped properly, or the file is not readable as one of ours. Whether
    /// that process still runs is for the folder's lock to say.
    pub fn announced(&self) -> Option<RunFile> {
        serde_json::from_slice(&fs::read(self.path.join(RUN_FILE)).ok()?).ok()
    }

    /// The port of the example server at the last start.
    pub fn example_port(&self) -> Option<u16> {
        fs::read_to_string(self.path.join(PORT_FILE)).ok()?.trim().parse().ok().filter(|port| *port != 0)
    }

    /// Remembers the port of the example server.
    pub fn remember_example_port(&self, port: u16) -> Result<(), FolderError> {
        let path = self.path.join(PORT_FILE);
        write_private(&path, format!("{port}\n").as_bytes()).map_err(|source| FolderError {
            act: "written",
            path: path.clone(),
            source,
        })
    }
}

impl std::fmt::Debug for RunFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunFile")
            .field("pid", &self.pid)
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Drop for Announced {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.path)
            && error.kind() != ErrorKind::NotFound
        {
            tracing::warn!(%error, "the run file could not be removed; the next start replaces it");
        }
    }
}

/// A whole new file in the place of the old one, so that nobody reads half of it, and nobody else reads it at all.
fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("new");
    // A leftover of a crash could have another mode.
    match fs::remove_file(&beside) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(&beside)?.write_all(bytes)?;
    fs::rename(&beside, path)
}

#[cfg(test)]
mod tests;
