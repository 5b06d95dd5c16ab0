//! Which calls of one thread run at the same time: what changes in the thread's folder meanwhile is nobody's alone.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pudu_domain::ThreadKey;

/// The calls that run now.
#[derive(Default)]
pub(super) struct Together(Mutex<HashMap<ThreadKey, Running>>);

#[derive(Default)]
struct Running {
    now: usize,
    begun: u64,
}

/// One call, until it is dropped.
pub(super) struct Turn<'a> {
    all: &'a Together,
    thread: &'a ThreadKey,
    began_alone: bool,
    begun: u64,
}

impl Together {
    /// A call of `thread` begins.
    pub(super) fn begin<'a>(&'a self, thread: &'a ThreadKey) -> Turn<'a> {
        let mut all = self.lock();
        let running = all.entry(thread.clone()).or_default();
        running.begun += 1;
        running.now += 1;
        let (began_alone, begun) = (running.now == 1, running.begun);
        Turn { all: self, thread, began_alone, begun }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ThreadKey, Running>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn<'_> {
    /// Whether no other call of the thread ran at any moment since this one began.
    pub(super) fn is_alone(&self) -> bool {
        let all = self.all.lock();
        self.began_alone && all.get(self.thread).is_some_and(|running| running.begun == self.begun)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut all = self.all.lock();
        if let Some(running) = all.get_mut(self.thread) {
            running.now -= 1;
            if running.now == 0 {
                all.remove(self.thread);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use pudu_domain::{ThreadId, UserId};

    use super::*;

    fn thread(name: &str) -> ThreadKey {
        ThreadKey {
            user: UserId::parse("local:u").expect("a user"),
            thread: ThreadId::parse(name).expect("a thread"),
        }
    }

    #[test]
    fn a_call_is_alone_only_if_no_other_of_its_thread_ran_meanwhile() {
        let (all, a, b) = (Together::default(), thread("a"), thread("b"));
        let first = all.begin(&a);
        let elsewhere = all.begin(&b);
        assert!(first.is_alone() && elsewhere.is_alone());
        let second = all.begin(&a);
        drop(second);
        assert!(!first.is_alone(), "another one ran and has ended");
        let third = all.begin(&a);
        drop(first);
        assert!(!third.is_alone(), "another one ran when it began");
        drop(third);
        assert!(all.begin(&a).is_alone());
    }
}
