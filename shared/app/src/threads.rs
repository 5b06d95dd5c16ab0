//! A thread as its callers see it: there, or gone. What a deletion takes is done in the background (`worker::deletion`).

use std::sync::Arc;

use pudu_domain::thread::{Command, Thread, decide};
use pudu_domain::{Policy, ThreadKey};

use crate::ports::{Clock, Committed, McpClient, StoreError, ThreadStore, Wake};
use crate::wakeups::Wakeups;

/// How often a request is decided again because the row changed in between: it changes at most twice.
const DECISIONS: usize = 4;

/// Looks at threads and asks for their deletion.
#[derive(Clone)]
pub struct Threads {
    /// The rows.
    pub store: Arc<dyn ThreadStore>,
    /// What is kept open for threads in this process.
    pub client: Arc<dyn McpClient>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The numbers.
    pub policy: Policy,
    /// How the worker is woken that does it.
    pub wakeups: Wakeups,
}

impl Threads {
    /// Whether the thread is being deleted: to its callers it is not there any more. One without a row is not: it begins with
    /// its first task.
    pub async fn is_going(&self, key: &ThreadKey) -> Result<bool, StoreError> {
        Ok(self.store.load(key).await?.is_some_and(|thread| thread.is_going()))
    }

    /// Sets the tombstone and returns the thread as it is then; a repeat changes nothing. None when there is no such thread.
    /// What this process keeps open for it is closed either way: a thread may have sessions and no task.
    pub async fn delete(&self, key: &ThreadKey) -> Result<Option<Thread>, StoreError> {
        let deleted = self.entomb(key).await;
        self.client.close_thread(key).await;
        deleted
    }

    async fn entomb(&self, key: &ThreadKey) -> Result<Option<Thread>, StoreError> {
        for _ in 0..DECISIONS {
            let Some(thread) = self.store.load(key).await? else { return Ok(None) };
            let Ok(Some(change)) = decide(&thread, Command::RequestDelete, self.clock.now(), &self.policy)
            else {
                return Ok(Some(thread));
            };
            if self.store.commit(&change).await? == Committed::Done {
                tracing::info!(thread = %key.thread, "a thread is being deleted");
                self.wakeups.wake(Wake::of_thread(&change.thread).into_iter().collect()).await;
                return Ok(Some(change.thread));
            }
        }
        let source = "the row changed again and again".into();
        Err(StoreError::Unavailable { operation: "deleting a thread", source })
    }
}
