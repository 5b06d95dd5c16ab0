//! What the harness knows of the callers: what they asked for, and what they were told.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use pudu_app::ports::{Random, Wake};
use pudu_app::tasks::{CancelError, Detailed, InputError};
use pudu_app::tools::{InvokeError, Invoked};
use pudu_domain::{TaskId, TaskKey, ThreadKey, Timestamp};

use crate::lock::lock;
use crate::random::SeededRandom;

/// The argument by which a remote task is found again.
pub(crate) const MARK: &str = "op";

/// One submission as the harness knows it.
#[derive(Debug, Clone)]
pub(crate) struct Submission {
    pub(crate) thread: ThreadKey,
    /// Whether its caller gave a key, so that a repetition is the same submission.
    pub(crate) keyed: bool,
    /// The ids that it drew, one per attempt; whether a row was ever written is the question.
    pub(crate) drawn: Vec<TaskId>,
    /// The task that its caller was told of.
    pub(crate) told: Option<TaskId>,
    /// Whether a caller was told of two different tasks.
    pub(crate) told_another: bool,
    /// Whether somebody was told that the request to cancel it stands.
    pub(crate) cancel_stands: bool,
    /// The task of which somebody was told that his answer is taken.
    pub(crate) answered: Option<TaskKey>,
}

impl Submission {
    /// The addresses that its task may have.
    pub(crate) fn keys(&self) -> impl Iterator<Item = TaskKey> {
        self.drawn.iter().map(|id| TaskKey { thread: self.thread.clone(), id: id.clone() })
    }

    /// The task as its caller would name it.
    pub(crate) fn key(&self) -> Option<TaskKey> {
        let id = self.told.as_ref().or(self.drawn.first())?.clone();
        Some(TaskKey { thread: self.thread.clone(), id })
    }
}

/// Everything that callers asked for. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ops(Arc<Mutex<Asked>>);

#[derive(Debug, Default)]
struct Asked {
    /// Every submission by its number.
    submitted: BTreeMap<u64, Submission>,
    /// Every thread that somebody wanted deleted.
    unwanted: BTreeSet<ThreadKey>,
    /// A wake-up for whom this world does not have.
    stray: Option<String>,
}

impl Ops {
    pub(crate) fn submitted(&self) -> BTreeMap<u64, Submission> {
        lock(&self.0).submitted.clone()
    }

    pub(crate) fn unwanted(&self) -> BTreeSet<ThreadKey> {
        lock(&self.0).unwanted.clone()
    }

    /// A wake-up came for an agent, and there is none.
    pub(crate) fn strayed(&self, items: &[Wake]) {
        lock(&self.0)
            .stray
            .get_or_insert_with(|| format!("an agent was woken, and nobody wants a run: {items:?}"));
    }

    /// The first wake-up for an agent, as an error.
    pub(crate) fn no_stray(&self) -> Result<(), String> {
        lock(&self.0).stray.clone().map_or(Ok(()), Err)
    }

    /// Somebody is about to ask for a thread to be deleted.
    pub(crate) fn unwant(&self, thread: &ThreadKey) {
        lock(&self.0).unwanted.insert(thread.clone());
    }

    fn drew(&self, by: &Remembering, id: &TaskId) {
        let mut asked = lock(&self.0);
        let op = asked.submitted.entry(by.number).or_insert_with(|| Submission {
            thread: by.thread.clone(),
            keyed: by.keyed,
            drawn: Vec::new(),
            told: None,
            told_another: false,
            cancel_stands: false,
            answered: None,
        });
        op.drawn.push(id.clone());
    }

    /// What its caller heard; whether that was an answer.
    pub(crate) fn answered(&self, number: u64, told: &Result<Invoked, InvokeError>) -> bool {
        let mut asked = lock(&self.0);
        let (Some(op), Ok(Invoked::Submitted(submitted))) = (asked.submitted.get_mut(&number), told) else {
            return false;
        };
        let id = TaskId::parse(submitted.task_id.clone()).ok();
        op.told_another |= op.told.is_some() && op.told != id;
        op.told = id;
        true
    }

    /// What somebody heard who asked for it to be cancelled.
    pub(crate) fn cancel_answered(&self, number: u64, told: &Result<Option<Detailed>, CancelError>) {
        if let (Some(op), Ok(Some(task))) = (lock(&self.0).submitted.get_mut(&number), told) {
            op.cancel_stands |= task.listed.task.cancel.is_some();
        }
    }
}

impl Ops {
    /// What somebody heard who answered its question; whether he is done.
    pub(crate) fn answer_answered(&self, number: u64, told: &Result<Option<Detailed>, InputError>) -> bool {
        let mut asked = lock(&self.0);
        let (Some(op), Ok(Some(task))) = (asked.submitted.get_mut(&number), told) else { return false };
        op.answered = Some(task.listed.task.key.clone());
        true
    }
}

/// Randomness that remembers which id a submission drew.
pub(crate) struct Remembering {
    pub(crate) inner: SeededRandom,
    pub(crate) ops: Ops,
    pub(crate) number: u64,
    pub(crate) thread: ThreadKey,
    pub(crate) keyed: bool,
}

impl Random for Remembering {
    fn fill(&self, bytes: &mut [u8]) {
        self.inner.fill(bytes);
    }

    fn task_id(&self, now: Timestamp) -> TaskId {
        let mut random = [0; 10];
        self.inner.fill(&mut random);
        let id = TaskId::new(now, random);
        self.ops.drew(self, &id);
        id
    }
}
