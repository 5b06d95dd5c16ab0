//! What callers do: submit, hang up, ask to cancel, ask again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pudu_app::ports::{Caller, Clock, Random};
use pudu_app::tasks::{CancelError, Detailed};
use pudu_app::tools::{InvokeError, Invoked, Terms};
use pudu_domain::{TaskId, TaskKey, ThreadKey, Timestamp};
use serde_json::{Map, json};
use tokio::task::JoinSet;

use super::World;
use super::backend::Backend;
use crate::fixture::{SERVER, SUBMIT_TOOL};
use crate::lock::lock;
use crate::random::SeededRandom;

/// The argument by which a remote task is found again.
pub(crate) const MARK: &str = "op";

/// One submission as the harness knows it.
#[derive(Debug, Clone)]
pub(crate) struct Submission {
    pub(crate) thread: ThreadKey,
    /// The id that it drew; whether a row was ever written is the question.
    pub(crate) task: TaskId,
    /// Whether its caller was told that it is tracked.
    pub(crate) taken: bool,
    /// Whether somebody was told that the request to cancel it stands.
    pub(crate) cancel_stands: bool,
}

impl Submission {
    /// The address of its task.
    pub(crate) fn key(&self) -> TaskKey {
        TaskKey { thread: self.thread.clone(), id: self.task.clone() }
    }
}

/// Every submission by its number.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ops(Arc<Mutex<BTreeMap<u64, Submission>>>);

impl Ops {
    pub(crate) fn submitted(&self) -> BTreeMap<u64, Submission> {
        lock(&self.0).clone()
    }

    fn drew(&self, number: u64, thread: &ThreadKey, task: &TaskId) {
        let (thread, task) = (thread.clone(), task.clone());
        lock(&self.0).insert(number, Submission { thread, task, taken: false, cancel_stands: false });
    }

    /// What its caller heard.
    pub(crate) fn answered(&self, number: u64, told: &Result<Invoked, InvokeError>) {
        if let (Some(op), Ok(Invoked::Submitted(_))) = (lock(&self.0).get_mut(&number), told) {
            op.taken = true;
        }
    }

    /// What somebody heard who asked for it to be cancelled.
    pub(crate) fn cancel_answered(&self, number: u64, told: &Result<Option<Detailed>, CancelError>) {
        if let (Some(op), Ok(Some(task))) = (lock(&self.0).get_mut(&number), told) {
            op.cancel_stands |= task.listed.task.cancel.is_some();
        }
    }
}

/// Randomness that remembers which id a submission drew.
pub(crate) struct Remembering {
    pub(crate) inner: SeededRandom,
    pub(crate) ops: Ops,
    pub(crate) number: u64,
    pub(crate) thread: ThreadKey,
}

impl Random for Remembering {
    fn fill(&self, bytes: &mut [u8]) {
        self.inner.fill(bytes);
    }

    fn task_id(&self, now: Timestamp) -> TaskId {
        let mut random = [0; 10];
        self.inner.fill(&mut random);
        let id = TaskId::new(now, random);
        self.ops.drew(self.number, &self.thread, &id);
        id
    }
}

/// Lets the callers act at their times, and returns when the last has.
pub(super) async fn play<B: Backend>(world: &Arc<World<B>>, random: &SeededRandom) {
    let mut calls = JoinSet::new();
    let submissions = 1 + random.below(world.settings.submissions);
    let last = u64::try_from(world.settings.rough.as_millis()).unwrap_or(u64::MAX) * 2 / 3;
    for number in 0..submissions {
        calls.spawn(caller(Arc::clone(world), number, random.millis(0..last), random.fork()));
    }
    while calls.join_next().await.is_some() {}
}

/// One caller: submits, may hang up in the middle, and may ask to cancel later, perhaps twice.
async fn caller<B: Backend>(world: Arc<World<B>>, number: u64, at: Duration, random: SeededRandom) {
    world.wait(at).await;
    let index = usize::try_from(number).unwrap_or(0) % world.threads.len().max(1);
    let Some(thread) = world.threads.get(index).cloned() else { return };
    let patience = if random.chance(15) { random.millis(1..3_000) } else { Duration::from_secs(120) };
    attempt(
        &world,
        "gateway",
        &random,
        patience,
        async |wiring| {
            let arguments = Map::from_iter([(MARK.to_owned(), json!(number))]);
            let name = format!("{SERVER}_{SUBMIT_TOOL}");
            let call = (Caller::of(thread.clone()), Terms::default());
            let told = wiring.tools().invoke(call.0, &name, arguments, call.1).await;
            world.ops.answered(number, &told);
        },
        Some((number, thread.clone())),
    )
    .await;
    if !random.chance(45) {
        return;
    }
    let asks = if random.chance(30) { 2 } else { 1 };
    for _ in 0..asks {
        world.wait(random.millis(0..60_000)).await;
        let Some(op) = world.ops.submitted().remove(&number) else { return };
        let key = op.key();
        attempt(
            &world,
            "canceller",
            &random,
            Duration::from_secs(120),
            async |wiring| {
                world.ops.cancel_answered(number, &wiring.tasks().cancel(&key).await);
            },
            None,
        )
        .await;
    }
}

/// One call in a gateway process of its own, which may die, and whose caller may hang up.
async fn attempt<B: Backend>(
    world: &World<B>,
    name: &str,
    random: &SeededRandom,
    patience: Duration,
    call: impl AsyncFnOnce(pudu_app::wiring::Wiring),
    submission: Option<(u64, ThreadKey)>,
) {
    let clock = world.skewed(random);
    let gate = world.gate(name, clock, random);
    let ids: Arc<dyn Random> = match submission {
        Some((number, thread)) => {
            Arc::new(Remembering { inner: random.fork(), ops: world.ops.clone(), number, thread })
        }
        None => Arc::new(random.fork()),
    };
    let wiring = world.wiring(name, clock, &gate, ids);
    let over = clock.sleep(patience);
    tokio::select! {
        biased;
        () = gate.crashed() => {}
        () = call(wiring) => {}
        () = over => {}
    }
}
