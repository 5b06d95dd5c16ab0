//! What a file is, as far as it can be told (reference 1.12): its time, its size and a hash of all of it. Two are the same
//! or not; an older time does not make a file older.

use std::fs::{self, Metadata};
use std::io;
use std::path::Path;
use std::time::SystemTime;

use sha2::{Digest, Sha256};

/// How often a file is read again that changes while it is read.
const TRIES: usize = 5;

/// The signature of one state of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Signature {
    modified: Option<SystemTime>,
    length: u64,
    sha256: String,
}

impl Signature {
    /// The signature of a file with these contents.
    pub(super) fn of(bytes: &[u8], metadata: &Metadata) -> Self {
        let sha256 = hex::encode(Sha256::digest(bytes));
        Self { modified: metadata.modified().ok(), length: metadata.len(), sha256 }
    }

    /// A text that is another one for every other signature.
    pub(super) fn mark(&self) -> String {
        format!("{} {} {:?}", self.sha256, self.length, self.modified)
    }
}

/// A file and its signature.
pub(super) fn read(path: &Path) -> io::Result<(Signature, Vec<u8>)> {
    read_with(path, |path| fs::read(path))
}

/// The same by another reader. What changed between the beginning and the end of a reading is thrown away and read again:
/// half of an old file and half of a new one is no config.
pub(super) fn read_with(
    path: &Path,
    mut read: impl FnMut(&Path) -> io::Result<Vec<u8>>,
) -> io::Result<(Signature, Vec<u8>)> {
    for _ in 0..TRIES {
        let before = fs::metadata(path)?;
        if !before.is_file() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is no file"));
        }
        let bytes = read(path)?;
        let after = fs::metadata(path)?;
        if same(&before, &after) && after.len() == bytes.len() as u64 {
            return Ok((Signature::of(&bytes, &after), bytes));
        }
    }
    Err(io::Error::other("it changes while it is read, again and again"))
}

fn same(before: &Metadata, after: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        if (before.dev(), before.ino()) != (after.dev(), after.ino()) {
            return false;
        }
    }
    before.len() == after.len() && before.modified().ok() == after.modified().ok()
}
