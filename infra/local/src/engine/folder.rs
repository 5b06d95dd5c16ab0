//! The exclusive hold on a data folder: an operating system lock on the file `lock` in it.
//!
//! The system drops the lock when its process ends, however it ends, so there is no stale lock to repair. The pid
//! in the file is a hint for the message to the second comer and decides nothing.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// Name of the lock file.
const LOCK_FILE: &str = "lock";

/// A held data folder; dropping it lets the next opener in.
#[derive(Debug)]
pub struct FolderLock {
    _file: File,
}

/// Why a data folder could not be held.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Somebody else holds it.
    #[error(
        "the data folder {} is in use{}: stop that process, or choose another folder with --data-dir",
        folder.display(),
        pid.map(|pid| format!(" by process {pid}")).unwrap_or_default()
    )]
    Held {
        /// The folder.
        folder: PathBuf,
        /// The holder, if its pid could be read.
        pid: Option<u32>,
    },
    /// The folder or its lock file could not be made or written.
    #[error(
        "the data folder {} cannot be used: check that it may be written, or choose another with --data-dir",
        folder.display()
    )]
    Io {
        /// The folder.
        folder: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl FolderLock {
    /// Holds `folder`, making it (mode 0700: it keeps keys and task results) if there is none.
    pub fn acquire(folder: &Path) -> Result<Self, LockError> {
        let io = |source| LockError::Io { folder: folder.to_owned(), source };
        make_private(folder).map_err(io)?;
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            // Not before the lock is ours: the pid in it is the holder's.
            .truncate(false)
            .open(folder.join(LOCK_FILE))
            .map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(LockError::Held { folder: folder.to_owned(), pid: read_pid(&mut file) });
            }
            Err(TryLockError::Error(source)) => return Err(io(source)),
        }
        write_pid(&mut file).map_err(io)?;
        Ok(Self { _file: file })
    }
}

fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Makes `file` readable by its owner only, if there is none: a folder that somebody else made may be open to all, and
/// `SQLite` gives its other files the mode of this one.
pub(super) fn touch_private(file: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file).map(drop)
}

/// `None` if the holder has not written it yet, or the system forbids the read while it is locked.
fn read_pid(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

fn write_pid(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}
