//! Checkpoints with bodies of any size: what is too large for a row is a blob under its digest, and is read back when the
//! state is.

use std::collections::BTreeMap;
use std::sync::Arc;

use pudu_domain::conversation::Head;
use pudu_domain::run::{Body, Checkpoint};
use pudu_domain::state::{State, Write, WriteError};
use pudu_domain::{RunKey, ThreadKey};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::ports::{BlobError, Blobs, RunStore, StoreError};

/// Largest body that stands in a row, in bytes of JSON.
pub const ROW_BYTES: usize = 100 * 1024;

/// A state that could not be read or kept.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The table failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The blob store failed.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// There is no such checkpoint, or a part of it has gone.
    #[error("checkpoint {number} of run {run} is not there whole")]
    Missing {
        /// Which run.
        run: String,
        /// Which of its checkpoints.
        number: u32,
    },
    /// A blob is no checkpoint's body.
    #[error("the blob {digest} is no checkpoint")]
    Broken {
        /// Which blob.
        digest: String,
        /// Why not.
        #[source]
        source: serde_json::Error,
    },
    /// A write that was stored does not apply.
    #[error("a stored checkpoint does not apply")]
    Write(#[from] WriteError),
}

/// Reads states and keeps bodies. Without blobs everything stands in rows, as far as it fits.
#[derive(Clone)]
pub struct Checkpoints {
    /// The rows.
    pub store: Arc<dyn RunStore>,
    /// What is too large for them.
    pub blobs: Option<Arc<dyn Blobs>>,
}

/// What a blob holds; [`Body`] itself could be a blob again.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Stored {
    Snapshot(Box<State>),
    Delta(Vec<Write>),
}

impl Checkpoints {
    /// The state as of a checkpoint. Before every other there is nothing.
    pub async fn state(&self, run: &RunKey, number: u32) -> Result<State, CheckpointError> {
        if (Head { run: run.id.clone(), number }).is_beginning() {
            return Ok(State::default());
        }
        let missing = || CheckpointError::Missing { run: run.id.to_string(), number };
        let chain = self.store.checkpoints(run, number).await?;
        if chain.last().is_none_or(|last| last.number != number) {
            return Err(missing());
        }
        let mut state = None;
        for Checkpoint { body, .. } in chain {
            match self.resolved(&run.thread, body).await?.ok_or_else(missing)? {
                Stored::Snapshot(whole) => state = Some(*whole),
                Stored::Delta(writes) => state.as_mut().ok_or_else(missing)?.apply_all(writes)?,
            }
        }
        state.ok_or_else(missing)
    }

    /// The states from checkpoint `oldest` to `newest` of a run, by number; those that are not there whole are left out. Only the
    /// one that is `spoken` has its messages: a hundred times all of them would be too much at once.
    pub async fn states(
        &self,
        run: &RunKey,
        oldest: u32,
        newest: u32,
        spoken: Option<u32>,
    ) -> Result<BTreeMap<u32, State>, CheckpointError> {
        let (mut states, mut last) = (BTreeMap::new(), Some(newest));
        while let Some(number) = last.filter(|number| *number >= oldest) {
            let chain = self.store.checkpoints(run, number).await?;
            last = chain.first().and_then(|first| first.number.min(number).checked_sub(1));
            let mut state: Option<State> = None;
            for Checkpoint { number, body, .. } in chain {
                match (self.resolved(&run.thread, body).await?, &mut state) {
                    (Some(Stored::Snapshot(whole)), _) => state = Some(*whole),
                    (Some(Stored::Delta(writes)), Some(state)) => state.apply_all(writes)?,
                    _ => break,
                }
                if let Some(state) = state.as_mut().filter(|_| number >= oldest) {
                    let messages = std::mem::take(&mut state.messages);
                    let mut shown = state.clone();
                    state.messages = messages;
                    if spoken == Some(number) {
                        shown.messages.clone_from(&state.messages);
                    }
                    states.insert(number, shown);
                }
            }
        }
        Ok(states)
    }

    /// The body as a commit takes it: one that is too large for a row was put into the blob store. Doing it twice is doing it
    /// once, so a commit may be decided again with what this returned.
    pub async fn stored(&self, thread: &ThreadKey, body: Body) -> Result<Body, CheckpointError> {
        let Some(blobs) = &self.blobs else { return Ok(body) };
        let (bytes, snapshot) = match &body {
            Body::Blob { .. } => return Ok(body),
            // What reads from JSON also writes as JSON.
            Body::Snapshot(_) => (serde_json::to_vec(&body).unwrap_or_default(), true),
            Body::Delta(_) => (serde_json::to_vec(&body).unwrap_or_default(), false),
        };
        if bytes.len() <= ROW_BYTES {
            return Ok(body);
        }
        let digest = put(blobs.as_ref(), thread, bytes).await?;
        Ok(Body::Blob { digest, snapshot })
    }

    /// What a body holds; none if its blob has gone.
    async fn resolved(&self, thread: &ThreadKey, body: Body) -> Result<Option<Stored>, CheckpointError> {
        let digest = match body {
            Body::Snapshot(state) => return Ok(Some(Stored::Snapshot(state))),
            Body::Delta(writes) => return Ok(Some(Stored::Delta(writes))),
            Body::Blob { digest, .. } => digest,
        };
        let Some(blobs) = &self.blobs else { return Ok(None) };
        let Some(bytes) = blobs.get(thread, &digest).await? else { return Ok(None) };
        let stored = serde_json::from_slice(&bytes);
        stored.map(Some).map_err(|source| CheckpointError::Broken { digest, source })
    }
}

/// Puts bytes into the blob store, under their digest.
pub(super) async fn put(blobs: &dyn Blobs, thread: &ThreadKey, bytes: Vec<u8>) -> Result<String, BlobError> {
    let digest = hex::encode(Sha256::digest(&bytes));
    blobs.put(thread, &digest, bytes).await?;
    Ok(digest)
}
