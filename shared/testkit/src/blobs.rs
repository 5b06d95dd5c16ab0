//! A blob store in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use pudu_app::ports::{BlobError, Blobs, is_digest};
use pudu_domain::ThreadKey;

use crate::lock::lock;

/// By thread and digest.
type Kept = BTreeMap<(ThreadKey, String), Vec<u8>>;

/// Blobs by thread and digest. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct FakeBlobs(Arc<Mutex<Kept>>);

impl FakeBlobs {
    /// The digests of a thread's blobs.
    pub fn digests(&self, thread: &ThreadKey) -> Vec<String> {
        lock(&self.0).keys().filter(|(of, _)| of == thread).map(|(_, digest)| digest.clone()).collect()
    }
}

#[async_trait]
impl Blobs for FakeBlobs {
    async fn put(&self, thread: &ThreadKey, digest: &str, bytes: Vec<u8>) -> Result<(), BlobError> {
        if !is_digest(digest) {
            return Err(BlobError { operation: "writing a blob", source: "no digest".into() });
        }
        lock(&self.0).insert((thread.clone(), digest.to_owned()), bytes);
        Ok(())
    }

    async fn get(&self, thread: &ThreadKey, digest: &str) -> Result<Option<Vec<u8>>, BlobError> {
        Ok(lock(&self.0).get(&(thread.clone(), digest.to_owned())).cloned())
    }

    async fn remove_all(&self, thread: &ThreadKey) -> Result<(), BlobError> {
        lock(&self.0).retain(|(of, _), _| of != thread);
        Ok(())
    }
}
