//! The folders of one thread on this machine (reference 2.8).
//!
//! They give each thread a place of its own; they are no sandbox. A server runs as the user that runs Pudu.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use pudu_domain::{ThreadKey, key_part};

/// Where a thread's files are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Folders {
    /// What is called `/mnt/user-data` to whoever reads results.
    pub(super) root: PathBuf,
    /// Where a server of the thread works.
    pub(super) workspace: PathBuf,
    /// For temporary files; none when it could not be prepared.
    pub(super) temporary: Option<PathBuf>,
}

/// A folder could not be prepared.
#[derive(Debug, thiserror::Error)]
#[error(
    "its folder '{what}' cannot be prepared ({kind}); check the space and the rights below Pudu's data folder"
)]
pub(super) struct Unprepared {
    what: &'static str,
    kind: io::ErrorKind,
}

impl Folders {
    /// Makes what is missing. Without `strict` a folder for temporary files that cannot be prepared is left out. Blocks.
    pub(super) fn prepare(base: &Path, thread: &ThreadKey, strict: bool) -> Result<Self, Unprepared> {
        let user = base.join("users").join(name(thread.user.as_str()));
        let root = user.join("threads").join(name(thread.thread.as_str())).join("user-data");
        let unprepared = |what| move |error: io::Error| Unprepared { what, kind: error.kind() };
        for what in ["workspace", "uploads", "outputs"] {
            fs::create_dir_all(root.join(what)).map_err(unprepared(what))?;
        }
        // Whole, because a process is told where its temporary files go and works elsewhere.
        let root = root.canonicalize().map_err(unprepared("user-data"))?;
        let workspace = root.join("workspace");
        let temporary = match temporary(&workspace) {
            Ok(folder) => Some(folder),
            Err(error) if strict => {
                return Err(Unprepared { what: "workspace/.mcp/tmp", kind: error.kind() });
            }
            Err(error) => {
                tracing::warn!(thread = %thread.thread, %error, "a folder for temporary files cannot be prepared");
                None
            }
        };
        Ok(Self { root, workspace, temporary })
    }
}

/// `.mcp/tmp`, for its owner only. A link in its place is an error: whoever works in the workspace could otherwise have
/// us change the rights of a folder elsewhere.
fn temporary(workspace: &Path) -> io::Result<PathBuf> {
    let ours = workspace.join(".mcp");
    let folder = ours.join("tmp");
    for part in [&ours, &folder] {
        match DirBuilder::new().mode(0o700).create(part) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        if !fs::symlink_metadata(part)?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
    }
    fs::set_permissions(&folder, Permissions::from_mode(0o700))?;
    Ok(folder)
}

/// A name as one that a folder may have: encoded as in keys, and never `.` or `..` or hidden.
fn name(name: &str) -> String {
    let part = key_part::encode(name);
    // No encoding of another name begins like that: a literal `%` is itself encoded.
    part.strip_prefix('.').map_or_else(|| part.clone(), |rest| format!("%2E{rest}"))
}

#[cfg(test)]
mod tests;
