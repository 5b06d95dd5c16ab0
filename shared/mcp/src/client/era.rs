//! Which way of speaking a peer understands: found once, by one caller at a time, and remembered in the process and in
//! the table behind it, so that a cold function does not ask either.
//!
//! What is remembered is a hint. A table that fails is logged and counts as one that knows nothing: the call goes on, and
//! costs one more request.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use pudu_app::ports::{Era, PeerStore, StoreError};
use tokio::sync::OwnedMutexGuard;
use tokio::time::{Instant, timeout};

/// Most peers that a process remembers; past it the memory starts anew.
const MAX_PEERS: usize = 10_000;
/// Most searches that are kept track of before those that have ended are cleared away.
const MAX_TURNS: usize = 1_000;
/// Longest wait for the table: asking the peer takes less than waiting for one that hangs.
const STORE_LIMIT: Duration = Duration::from_secs(2);

/// Eras by key (a digest of scheme, host, port and path).
#[derive(Default)]
pub(crate) struct Eras {
    /// With the time until which it is known. What comes from the table begins anew here, so that an era is asked for again
    /// after at most twice its time.
    near: Mutex<HashMap<String, (Era, Instant)>>,
    far: Option<Arc<dyn PeerStore>>,
    /// Who is finding out just now, by key.
    turns: Mutex<HashMap<String, Weak<Turn>>>,
}

type Turn = tokio::sync::Mutex<()>;

/// What is known of a peer.
pub(crate) enum Recalled<'a> {
    Known(Era),
    /// Nothing: whoever holds this finds out, and the others wait for it.
    Unknown(Search<'a>),
}

/// The search for a peer's era. Dropped without a result, the next one in line searches.
pub(crate) struct Search<'a> {
    eras: &'a Eras,
    key: &'a str,
    turn: OwnedMutexGuard<()>,
}

impl Eras {
    pub(super) fn over(far: Arc<dyn PeerStore>) -> Self {
        Self { far: Some(far), ..Self::default() }
    }

    /// What is known. When several ask about a stranger at once, one gets the search and the others its result.
    pub(crate) async fn recall<'a>(&'a self, key: &'a str) -> Recalled<'a> {
        if let Some(era) = self.near(key) {
            return Recalled::Known(era);
        }
        let turn = self.turn(key).lock_owned().await;
        if let Some(era) = self.near(key) {
            return Recalled::Known(era);
        }
        let stored = match &self.far {
            Some(far) => stored("recalled", far.recall(key)).await.flatten(),
            None => None,
        };
        if let Some(era) = stored {
            self.keep(key, era);
            return Recalled::Known(era);
        }
        Recalled::Unknown(Search { eras: self, key, turn })
    }

    /// The same without finding out: nobody waits for anybody.
    pub(super) async fn known(&self, key: &str) -> Option<Era> {
        if let Some(era) = self.near(key) {
            return Some(era);
        }
        let far = self.far.as_ref()?;
        let era = stored("recalled", far.recall(key)).await.flatten()?;
        self.keep(key, era);
        Some(era)
    }

    /// Forgets what turned out to be wrong.
    pub(crate) async fn forget(&self, key: &str) {
        lock(&self.near).remove(key);
        if let Some(far) = &self.far {
            stored("forgotten", far.forget(key)).await;
        }
    }

    fn near(&self, key: &str) -> Option<Era> {
        let near = lock(&self.near);
        near.get(key).filter(|(_, until)| Instant::now() < *until).map(|(era, _)| *era)
    }

    pub(crate) fn keep(&self, key: &str, era: Era) {
        let mut near = lock(&self.near);
        if near.len() >= MAX_PEERS {
            near.clear();
        }
        near.insert(key.to_owned(), (era, Instant::now() + era.kept()));
    }

    fn turn(&self, key: &str) -> Arc<Turn> {
        let mut turns = lock(&self.turns);
        if let Some(turn) = turns.get(key).and_then(Weak::upgrade) {
            return turn;
        }
        if turns.len() >= MAX_TURNS {
            turns.retain(|_, turn| turn.strong_count() > 0);
        }
        let turn = Arc::default();
        turns.insert(key.to_owned(), Arc::downgrade(&turn));
        turn
    }
}

impl Search<'_> {
    /// Ends with a result.
    pub(crate) async fn found(self, era: Era) {
        let Self { eras, key, turn } = self;
        eras.keep(key, era);
        drop(turn);
        if let Some(far) = &eras.far {
            stored("remembered", far.remember(key, era)).await;
        }
    }
}

/// What the table answered, if it did.
async fn stored<T>(act: &'static str, asked: impl Future<Output = Result<T, StoreError>>) -> Option<T> {
    match timeout(STORE_LIMIT, asked).await {
        Ok(Ok(answer)) => Some(answer),
        Ok(Err(error)) => {
            let error = pudu_app::chain::Chain(&error).to_string();
            tracing::warn!(
                act,
                error,
                "how a server is spoken with could not be {act}; it will be asked again"
            );
            None
        }
        Err(_) => {
            tracing::warn!(act, "how a server is spoken with was not {act} in time; it will be asked again");
            None
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
