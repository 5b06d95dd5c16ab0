//! The open streams of this process: how many a user may have, how long one lasts, and who hears at once that something was
//! changed here.
//!
//! Counted per process. In the cloud each stream has a process of its own, whose number the account bounds.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::{Stream, stream};
use http::HeaderName;
use pudu_domain::ThreadKey;
use tokio::sync::{Notify, mpsc};

/// How long a stream lasts where nothing else bounds it.
const LIFETIME: Duration = Duration::from_secs(15 * 60);
/// Streams of one user at once.
const PER_USER: usize = 16;

/// How long a client may leave what is sent to it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// Between two signs of life on a stream that says nothing.
pub(crate) const ALIVE: Duration = Duration::from_secs(15);
/// Looks in a row that the table failed after which a stream ends.
pub(crate) const FRUITLESS: u32 = 3;
/// Events on their way to one client.
pub(crate) const ON_THE_WAY: usize = 64;
/// Tells a proxy not to gather what it passes on: that would hold events up.
pub(crate) const UNBUFFERED: HeaderName = HeaderName::from_static("x-accel-buffering");

/// The streams of a process.
#[derive(Clone)]
pub struct Streams {
    lifetime: Duration,
    open: Arc<Mutex<Registry>>,
}

#[derive(Default)]
struct Registry {
    streams: BTreeMap<u64, (ThreadKey, Arc<Notify>)>,
    next: u64,
}

/// Whether everything was sent that a stream has to tell: not until it is marked so.
#[derive(Debug, Clone, Default)]
pub(crate) struct Whole(Arc<AtomicBool>);

/// One open stream. It is closed when this is dropped.
pub(crate) struct Open {
    number: u64,
    changed: Arc<Notify>,
    among: Arc<Mutex<Registry>>,
}

impl Default for Streams {
    fn default() -> Self {
        Self::lasting(LIFETIME)
    }
}

impl Streams {
    /// Streams that last so long; their clients come again.
    pub fn lasting(lifetime: Duration) -> Self {
        Self { lifetime, open: Arc::default() }
    }

    /// Streams that tell how things stand and end, for where an answer is sent only when it is whole.
    pub fn that_end_at_once() -> Self {
        Self::lasting(Duration::ZERO)
    }

    /// How long one lasts.
    pub(crate) const fn lifetime(&self) -> Duration {
        self.lifetime
    }

    /// Opens one on that thread; none if its user has too many.
    pub(crate) fn open(&self, thread: &ThreadKey) -> Option<Open> {
        let mut registry = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let mine = registry.streams.values().filter(|(other, _)| other.user == thread.user);
        if mine.count() >= PER_USER {
            return None;
        }
        let (number, changed) = (registry.next, Arc::<Notify>::default());
        registry.next += 1;
        registry.streams.insert(number, (thread.clone(), Arc::clone(&changed)));
        Some(Open { number, changed, among: Arc::clone(&self.open) })
    }

    /// Tells whoever streams that thread here that something was changed in it.
    pub(crate) fn changed(&self, thread: &ThreadKey) {
        let registry = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, changed) in registry.streams.values().filter(|(other, _)| other == thread) {
            changed.notify_one();
        }
    }
}

impl Whole {
    /// Nothing is missing.
    pub(crate) fn mark(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// What is sent, as the body of an answer. It ends when its sender does: well if it is whole, and else it breaks off, because a
    /// client takes an answer that ends well for the end and only comes back to one that broke.
    pub(crate) fn sent<T>(self, sent: mpsc::Receiver<T>) -> impl Stream<Item = io::Result<T>> {
        stream::unfold(Some((sent, self)), |left| async {
            let (mut sent, whole) = left?;
            match sent.recv().await {
                Some(item) => Some((Ok(item), Some((sent, whole)))),
                None if whole.0.load(Ordering::Acquire) => None,
                None => Some((Err(io::Error::other("the stream was broken off; come back to it")), None)),
            }
        })
    }
}

impl Open {
    /// Waits until something is changed in the thread by this process. What was changed since the last time counts.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let mut registry = self.among.lock().unwrap_or_else(PoisonError::into_inner);
        registry.streams.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use pudu_domain::{ThreadId, UserId};

    use super::*;

    fn thread(user: &str, thread: &str) -> ThreadKey {
        ThreadKey { user: UserId::parse(user).unwrap(), thread: ThreadId::parse(thread).unwrap() }
    }

    #[test]
    fn a_user_has_so_many_streams_and_a_closed_one_makes_room() {
        let streams = Streams::default();
        let threads = ["a", "b", "c"].map(|name| thread("key:u", name));
        let mut open: Vec<Open> = threads.iter().cycle().map_while(|thread| streams.open(thread)).collect();
        assert_eq!(open.len(), PER_USER);
        assert!(streams.open(&thread("key:v", "a")).is_some(), "another user has streams of its own");
        open.pop();
        let again = streams.clone().open(&threads[0]);
        assert!(again.is_some() && streams.open(&threads[0]).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_streams_a_thread_hears_of_its_changes_and_of_no_other_threads() {
        let streams = Streams::default();
        let (a, b) =
            (streams.open(&thread("key:u", "a")).unwrap(), streams.open(&thread("key:u", "b")).unwrap());
        streams.changed(&thread("key:u", "a"));
        a.changed().await;
        let moment = Duration::from_millis(1);
        assert!(tokio::time::timeout(moment, b.changed()).await.is_err());
        assert!(tokio::time::timeout(moment, a.changed()).await.is_err(), "each is heard of once");
    }
}
