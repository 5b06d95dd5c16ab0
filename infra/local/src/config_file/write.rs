//! Writes a file whole or not at all (reference 10.1), under a lock that all writers take (10.2).

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// How many links are followed from one to the next.
const LINKS: usize = 32;

/// The two steps that cannot be made to fail by what a test does to a folder.
#[derive(Clone, Copy)]
pub(super) struct Steps {
    /// Brings a file's content to the disk.
    pub(super) sync: fn(&File) -> io::Result<()>,
    /// Puts a file in the place of another.
    pub(super) rename: fn(&Path, &Path) -> io::Result<()>,
}

impl Default for Steps {
    fn default() -> Self {
        Self { sync: File::sync_all, rename: |from, to| fs::rename(from, to) }
    }
}

/// The file that `path` leads to, which need not be there; a link is never replaced by a file.
pub(super) fn target(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        match fs::read_link(&path) {
            Ok(to) => path = folder(&path).join(to),
            // No link, or nothing at all.
            Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::NotFound) => {
                return Ok(path);
            }
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("it is a link that leads to no end"))
}

/// Takes the lock of `target` and holds it until the answer is dropped. The lock file stays: removing it would let a third
/// writer lock a file that a second one still waits for.
pub(super) fn lock(target: &Path) -> io::Result<File> {
    fs::create_dir_all(folder(target))?;
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(folder(target).join(named(".", target, ".lock")?))?;
    file.lock()?;
    Ok(file)
}

/// Makes `bytes` the content of `target`, with the mode it had, or 0600 if it is new; what it is then. On an error the old
/// bytes are there and nothing beside them.
pub(super) fn replace(target: &Path, bytes: &[u8], steps: Steps) -> io::Result<Metadata> {
    let mode = match fs::metadata(target) {
        Ok(old) => Some(old.permissions()),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    // In the same folder, because only there a rename is one step. It is removed when it is dropped.
    let mut beside = tempfile::Builder::new()
        .prefix(&named(".", target, ".")?)
        .suffix(".tmp")
        .tempfile_in(folder(target))?;
    beside.write_all(bytes)?;
    if let Some(mode) = mode {
        beside.as_file().set_permissions(mode)?;
    }
    (steps.sync)(beside.as_file())?;
    let written = beside.as_file().metadata()?;
    match (steps.rename)(beside.path(), target) {
        Ok(()) => {}
        // A file that is mounted by itself into a container has no place of its own that another one could take.
        Err(error) if error.kind() == ErrorKind::ResourceBusy => return in_place(target, bytes, steps),
        Err(error) => return Err(error),
    }
    if let Ok(folder) = File::open(folder(target)) {
        // The rename itself survives a power failure by this. Some systems cannot; the content is safe either way.
        let _ = (steps.sync)(&folder);
    }
    Ok(written)
}

fn in_place(target: &Path, bytes: &[u8], steps: Steps) -> io::Result<Metadata> {
    tracing::warn!(
        config.file = %target.display(),
        "the config file cannot be replaced in one step, it is written in place: a crash now would leave half of it"
    );
    let mut file = OpenOptions::new().write(true).truncate(true).open(target)?;
    file.write_all(bytes)?;
    (steps.sync)(&file)?;
    file.metadata()
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn named(before: &str, target: &Path, after: &str) -> io::Result<OsString> {
    let name = target.file_name().ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, "it has no name"))?;
    let mut whole = OsString::from(before);
    whole.push(name);
    whole.push(after);
    Ok(whole)
}
