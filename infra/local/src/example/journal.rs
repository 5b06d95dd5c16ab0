//! The state file: one JSON line per entry after a line with the format, appended and synced.
//!
//! Rewritten whole (temporary file, sync, rename, sync of the folder) when it is opened, when most of its lines are
//! dead, and after a failed write. Rewriting at each submit would be simpler and cost megabytes per submit near the
//! limit. A line torn by a crash was never answered for and is dropped.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use pudu_domain::Timestamp;
use serde::{Deserialize, Serialize};

use super::ledger::{Entry, Ledger};

/// The only format so far.
const FORMAT: u32 = 1;

/// Lines beyond twice the reports (a submit and a cancel each) that are tolerated before a rewrite.
const SLACK: usize = 1_024;

/// Why a state file could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It cannot be read or written.
    #[error("the example server's state file {} cannot be used: check that its folder may be written", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A line before the last is not an entry.
    #[error(
        "the example server's state file {} is damaged at line {line}: restore it, or delete it to start without reports",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// A later version wrote it.
    #[error(
        "the example server's state file {} has format {found}, this version reads {FORMAT}: use the newer version or delete it",
        path.display()
    )]
    Format {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
    },
}

/// The open state file.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: File,
    lines: usize,
    durable: u64,
    /// A write failed, so the end of the file is not known.
    broken: bool,
}

/// What one write brings to the disk: the entries, or in their place everything.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) entries: Vec<Entry>,
    pub(super) snapshot: Option<Vec<Entry>>,
    /// Entries ever added once this batch is on disk.
    pub(super) added: u64,
}

#[derive(Serialize, Deserialize)]
struct Header {
    format: u32,
}

impl Journal {
    /// Reads the file at `path` if there is one, and leaves a whole, compact one in its place.
    pub(super) fn open(path: &Path, limit: usize, now: Timestamp) -> Result<(Self, Ledger), OpenError> {
        let io = |source| OpenError::Io { path: path.to_owned(), source };
        let mut ledger = Ledger::new(limit);
        match std::fs::read(path) {
            Ok(bytes) => read(path, &bytes, &mut ledger)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(io(error)),
        }
        // Forgotten reports are not journalled as such, so a restart finds some of them again.
        ledger.make_room(now);
        let entries = ledger.entries();
        let file = rewrite(path, &entries).map_err(io)?;
        let journal =
            Self { path: path.to_owned(), file, lines: entries.len() + 1, durable: 0, broken: false };
        Ok((journal, ledger))
    }

    /// Entries on disk, counted from the opening.
    pub(super) fn durable(&self) -> u64 {
        self.durable
    }

    pub(super) fn wants_rewrite(&self, ledger: &Ledger) -> bool {
        self.broken || self.lines > 2 * ledger.len() + SLACK
    }

    #[cfg(test)]
    pub(super) fn replace_file(&mut self, file: File) {
        self.file = file;
    }

    /// Returns when the batch is on disk.
    pub(super) fn write(&mut self, batch: Batch) -> io::Result<()> {
        self.broken = true;
        if let Some(entries) = batch.snapshot {
            self.file = rewrite(&self.path, &entries)?;
            self.lines = entries.len() + 1;
        } else {
            self.file.write_all(&encode(&batch.entries)?)?;
            self.file.sync_data()?;
            self.lines += batch.entries.len();
        }
        self.broken = false;
        self.durable = batch.added;
        Ok(())
    }
}

fn read(path: &Path, bytes: &[u8], ledger: &mut Ledger) -> Result<(), OpenError> {
    let damaged = |line, source| OpenError::Damaged { path: path.to_owned(), line, source };
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').and_then(|end| bytes.get(..end));
    // A file without a whole line is not one of ours cut short: those are renamed into place complete.
    let mut lines = whole.unwrap_or(bytes).split(|byte| *byte == b'\n');
    let header = lines.next().unwrap_or_default();
    let Header { format } = serde_json::from_slice(header).map_err(|source| damaged(1, source))?;
    if format != FORMAT {
        return Err(OpenError::Format { path: path.to_owned(), found: format });
    }
    for (index, line) in lines.enumerate() {
        ledger.apply(serde_json::from_slice(line).map_err(|source| damaged(index + 2, source))?);
    }
    Ok(())
}

fn encode(entries: &[Entry]) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for entry in entries {
        serde_json::to_writer(&mut bytes, entry)?;
        bytes.push(b'\n');
    }
    Ok(bytes)
}

/// Puts a new file in the place of the old one, and returns it open at its end.
fn rewrite(path: &Path, entries: &[Entry]) -> io::Result<File> {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let temporary = PathBuf::from(name);
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(&temporary)?;
    serde_json::to_writer(&mut file, &Header { format: FORMAT })?;
    file.write_all(b"\n")?;
    file.write_all(&encode(entries)?)?;
    file.sync_all()?;
    std::fs::rename(&temporary, path)?;
    sync_folder(path)?;
    Ok(file)
}

/// Without it the rename itself may be lost with the power.
fn sync_folder(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        File::open(folder)?.sync_all()?;
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}
