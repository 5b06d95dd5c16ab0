//! Blobs on one machine: files below the data folder, each thread's in a folder of its own, for their owner's eyes only.
//!
//! A file is written beside its place and then moved there, so that whoever finds one finds all of it.

use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use pudu_app::ports::{BlobError, Blobs, is_digest};
use pudu_domain::ThreadKey;
use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

/// The blobs below one folder.
#[derive(Debug, Clone)]
pub struct BlobFolder {
    path: PathBuf,
}

impl BlobFolder {
    /// Blobs below `path`; nothing is made until one is written.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// A thread's folder. Names of users and threads are what somebody else chose: no system gets to read anything into them, or
    /// to take two of them for one.
    fn folder(&self, thread: &ThreadKey) -> PathBuf {
        let name = format!("{}\0{}", thread.user, thread.thread);
        self.path.join(hex::encode(Sha256::digest(name)))
    }

    fn file(&self, thread: &ThreadKey, digest: &str) -> io::Result<PathBuf> {
        if !is_digest(digest) {
            return Err(io::Error::new(ErrorKind::InvalidInput, "a blob's name must be 64 hex digits"));
        }
        Ok(self.folder(thread).join(digest))
    }
}

#[async_trait]
impl Blobs for BlobFolder {
    async fn put(&self, thread: &ThreadKey, digest: &str, bytes: Vec<u8>) -> Result<(), BlobError> {
        let path = self.file(thread, digest);
        blocking("writing a blob", move || write(&path?, &bytes)).await
    }

    async fn get(&self, thread: &ThreadKey, digest: &str) -> Result<Option<Vec<u8>>, BlobError> {
        let path = self.file(thread, digest);
        blocking("reading a blob", move || there(fs::read(path?))).await
    }

    async fn remove_all(&self, thread: &ThreadKey) -> Result<(), BlobError> {
        let path = self.folder(thread);
        blocking("removing blobs", move || there(fs::remove_dir_all(path)).map(drop)).await
    }
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().ok_or(ErrorKind::NotFound)?;
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    // For its owner only, as every file of that kind is made.
    let mut beside = NamedTempFile::new_in(folder)?;
    beside.write_all(bytes)?;
    beside.as_file().sync_data()?;
    beside.persist(path)?;
    Ok(())
}

/// What is not there is none.
fn there<T>(answer: io::Result<T>) -> io::Result<Option<T>> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

async fn blocking<T: Send + 'static>(
    operation: &'static str,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, BlobError> {
    let done = tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(io::Error::other(error)));
    done.map_err(|source| BlobError { operation, source: Box::new(source) })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use pudu_domain::{ThreadId, UserId};

    use super::*;

    #[tokio::test]
    async fn only_their_owner_reads_blobs_and_nothing_is_left_beside_them() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = BlobFolder::new(folder.path().join("blobs"));
        let thread =
            ThreadKey { user: UserId::parse("local:../..").unwrap(), thread: ThreadId::parse("t").unwrap() };
        blobs.put(&thread, &"ab".repeat(32), vec![7; 9]).await.unwrap();
        let place = blobs.folder(&thread);
        assert_eq!(place.parent().unwrap(), folder.path().join("blobs"));
        let names: Vec<_> = fs::read_dir(&place).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["ab".repeat(32).as_str()]);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&place), mode(&place.join("ab".repeat(32)))), (0o700, 0o600));
    }
}
