//! The sealing key in a file: 64 hex digits, readable by its owner only, made when it is first needed.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use pudu_app::ports::{Random, SealKeyError, SealKeys};
use pudu_config::SealKey;
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::OnceCell;

/// Reads the key from a file.
pub struct FileKeys {
    path: PathBuf,
    random: Arc<dyn Random>,
    key: OnceCell<SealKey>,
}

impl FileKeys {
    /// The key in `path`; if there is no such file, it is made.
    pub fn new(path: PathBuf, random: Arc<dyn Random>) -> Self {
        Self { path, random, key: OnceCell::new() }
    }

    fn load(&self) -> Result<SealKey, SealKeyError> {
        if let Some(key) = self.read()? {
            return Ok(key);
        }
        let (mut bytes, mut nonce) = ([0; 32], [0; 8]);
        self.random.fill(&mut bytes);
        self.random.fill(&mut nonce);
        match create(&self.path, &bytes, nonce) {
            Ok(()) => Ok(SealKey::new(bytes)),
            // Another process was faster: its key is the key.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.read()?.ok_or_else(|| self.problem("is a link to nowhere; remove it"))
            }
            Err(error) => Err(self.failed("cannot be made; check the folder and its rights", error)),
        }
    }

    /// The key in the file; none if there is no file. One that others may read is refused.
    fn read(&self) -> Result<Option<SealKey>, SealKeyError> {
        let found = fs::metadata(&self.path).and_then(|about| {
            let text = fs::read_to_string(&self.path).map(SecretString::from)?;
            Ok((about.permissions().mode() & 0o777, text))
        });
        match found {
            Ok((mode, _)) if mode & 0o077 != 0 => {
                Err(self.problem(&format!("others may read it (mode {mode:o}); chmod 600 it")))
            }
            Ok((_, text)) => parse(&text).map(Some).ok_or_else(|| {
                self.problem("does not hold 64 hex digits; restore it, or remove it to lose what it sealed")
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.failed("cannot be read; check its rights", error)),
        }
    }

    fn problem(&self, what: &str) -> SealKeyError {
        SealKeyError::new(format!("{}: {what}", self.path.display()))
    }

    fn failed(&self, what: &str, error: io::Error) -> SealKeyError {
        SealKeyError::caused(format!("{}: {what}", self.path.display()), error)
    }
}

#[async_trait]
impl SealKeys for FileKeys {
    async fn current(&self) -> Result<SealKey, SealKeyError> {
        self.key.get_or_try_init(|| async { self.load() }).await.cloned()
    }
}

fn parse(text: &SecretString) -> Option<SealKey> {
    let text = text.expose_secret().trim();
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    let mut bytes = [0; 32];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(SealKey::new(bytes))
}

/// Writes a whole new file beside and links it into place, so that nobody ever reads half a key. Its name is by chance: process
/// ids are not different where two containers share a folder.
fn create(path: &Path, bytes: &[u8; 32], nonce: [u8; 8]) -> io::Result<()> {
    let text = bytes.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
    let beside = path.with_extension(format!("{:016x}.new", u64::from_be_bytes(nonce)));
    let written =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside).and_then(
            |mut file| {
                file.write_all(text.as_bytes())?;
                file.sync_all()
            },
        );
    let linked = written.and_then(|()| fs::hard_link(&beside, path));
    let _ = fs::remove_file(&beside);
    linked
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::OsRandom;

    fn keys(path: &Path) -> FileKeys {
        FileKeys::new(path.to_owned(), Arc::new(OsRandom))
    }

    #[tokio::test]
    async fn the_key_is_made_once_and_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seal.key");
        let sealed = keys(&path).current().await.unwrap().seal("here", "text", [1; 24]).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let again = keys(&path).current().await.unwrap();
        assert_eq!(again.open("here", &sealed).unwrap().expose_secret(), "text");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn all_who_make_the_key_at_once_have_the_same_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seal.key");
        let mut makers = tokio::task::JoinSet::new();
        for _ in 0..8 {
            let keys = keys(&path);
            makers.spawn(async move { keys.current().await.unwrap().seal("here", "text", [1; 24]).unwrap() });
        }
        let mut sealed = makers.join_all().await;
        sealed.dedup();
        assert_eq!(sealed.len(), 1);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    /// What the system said is the source; the text says where and what to do.
    #[tokio::test]
    async fn a_key_that_cannot_be_made_keeps_its_cause_apart() {
        let path = Path::new("/nowhere/at/all/seal.key");
        let error = keys(path).current().await.unwrap_err();
        let text = error.to_string();
        assert!(text.contains("/nowhere/at/all/seal.key") && text.contains("check the folder"), "{text}");
        let source = std::error::Error::source(&error).unwrap().to_string();
        assert!(!text.contains(&source), "{text} repeats {source}");
    }

    #[tokio::test]
    async fn a_link_to_nowhere_is_no_key_and_no_endless_try() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seal.key");
        std::os::unix::fs::symlink(folder.path().join("gone"), &path).unwrap();
        assert!(keys(&path).current().await.unwrap_err().to_string().contains("link to nowhere"));
    }

    #[tokio::test]
    async fn a_key_that_others_may_read_or_that_is_damaged_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seal.key");
        fs::write(&path, "5".repeat(64)).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(keys(&path).current().await.unwrap_err().to_string().contains("chmod 600"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        keys(&path).current().await.unwrap();
        fs::write(&path, "zz").unwrap();
        let error = keys(&path).current().await.unwrap_err().to_string();
        assert!(error.contains("64 hex digits") && !error.contains("zz"), "{error}");
    }
}
