//! What callers do: ask for runs, ask again, replace and queue them, end them, and delete threads.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pudu_app::runs::{Action, AdmitError, Wanted};
use pudu_app::wiring::Wiring;
use pudu_domain::run::{Operation, Strategy};
use pudu_domain::{IdempotencyKey, Run, RunKey, Scope, ThreadKey};
use pudu_testkit::SeededRandom;
use pudu_testkit::sim::Backend;
use secrecy::SecretString;
use serde_json::{Map, Value};
use tokio::task::JoinSet;

use super::World;
use super::speech::said;

/// How long a caller waits for an answer.
const PATIENCE: Duration = Duration::from_mins(2);

/// Lets the callers act at their times, and returns when the last has.
pub(super) async fn play<B: Backend>(world: &Arc<World<B>>, random: &SeededRandom) {
    let mut calls = JoinSet::new();
    let last = u64::try_from(world.settings.rough.as_millis()).unwrap_or(u64::MAX) * 2 / 3;
    for number in 0..=random.below(world.settings.submissions) {
        calls.spawn(caller(Arc::clone(world), number, random.millis(0..last), random.fork()));
    }
    if random.chance(10) {
        calls.spawn(deleter(Arc::clone(world), random.millis(0..last), random.fork()));
    }
    while calls.join_next().await.is_some() {}
}

/// A run that somebody wants in a thread.
pub(super) fn wanted(
    thread: &ThreadKey,
    number: u64,
    strategy: Strategy,
    secret: bool,
    keyed: bool,
) -> Wanted {
    let secrets = secret.then(|| ("KEY".to_owned(), SecretString::from("canary-of-a-run")));
    Wanted {
        operation: Operation::default(),
        thread: thread.clone(),
        must_exist: false,
        assistant: "lead_agent".to_owned(),
        input: vec![said(format!("question {number}"))],
        options: Map::from_iter([("subagent_enabled".to_owned(), Value::Bool(true))]),
        metadata: Map::new(),
        kwargs: Map::new(),
        strategy,
        scope: Scope::All,
        base: None,
        secrets: secrets.into_iter().collect::<BTreeMap<_, _>>(),
        key: keyed.then(|| IdempotencyKey::parse(format!("key-{number}")).unwrap()),
    }
}

/// One caller: asks for a run, again while he hears nothing, and may end it later.
async fn caller<B: Backend>(world: Arc<World<B>>, number: u64, at: Duration, random: SeededRandom) {
    world.wait(at).await;
    let index = usize::try_from(random.below(3)).unwrap_or(0) / 2;
    let Some(thread) = world.threads.get(index) else { return };
    let strategies = [Strategy::Reject, Strategy::Enqueue, Strategy::Interrupt, Strategy::Rollback];
    let strategy = random.pick(&strategies).copied().unwrap_or_default();
    let wanted = wanted(thread, number, strategy, random.chance(50), true);
    let mut admitted = None;
    for _ in 0..4 {
        let admit = async |wiring: Wiring| wiring.runs().admit(wanted.clone()).await;
        match once(&world, "caller", &random, admit).await {
            Some(Ok(answer)) => {
                world.asked.admitted(number, &answer.run.key);
                admitted = Some(answer.run.key);
                if !random.chance(30) {
                    break;
                }
            }
            Some(Err(AdmitError::Refused(_))) => break,
            Some(Err(_)) | None => world.wait(random.millis(0..10_000)).await,
        }
    }
    let Some(key) = admitted.filter(|_| random.chance(30)) else { return };
    world.wait(random.millis(0..90_000)).await;
    let action = if random.chance(50) { Action::Interrupt } else { Action::Rollback };
    cancel(&world, &key, action, &random).await;
}

/// Somebody ends a run.
async fn cancel<B: Backend>(world: &World<B>, key: &RunKey, action: Action, random: &SeededRandom) {
    let cancel = async |wiring: Wiring| wiring.runs().cancel(key, action).await;
    if let Some(Ok(Some(run))) = once(world, "canceller", random, cancel).await {
        world.heard(&run);
    }
}

/// Somebody has a thread deleted.
async fn deleter<B: Backend>(world: Arc<World<B>>, at: Duration, random: SeededRandom) {
    world.wait(at).await;
    let Some(thread) = random.pick(&world.threads) else { return };
    world.asked.unwant(thread);
    // Whoever is not told that it goes sees it, and may ask again.
    let delete = async |wiring: Wiring| drop(wiring.threads().delete(thread).await);
    once(&world, "deleter", &random, delete).await;
}

/// One call, by a gateway of its own that may die, for a caller who may lose patience.
async fn once<B: Backend, T>(
    world: &World<B>,
    name: &str,
    random: &SeededRandom,
    call: impl AsyncFnOnce(Wiring) -> T,
) -> Option<T> {
    let clock = world.skewed(random);
    let gate = world.gate(name, clock, random);
    let wiring = world.wiring(name, clock, &gate, Arc::new(random.fork()));
    // A caller without patience, or with a shaky connection, is gone before he hears anything.
    let patience = if random.chance(10) { random.millis(1..2_000) } else { PATIENCE };
    tokio::select! {
        biased;
        () = gate.crashed() => None,
        told = call(wiring) => Some(told),
        () = world.wait(patience) => None,
    }
}

impl<B: Backend> World<B> {
    /// Somebody was shown a run.
    pub(super) fn heard(&self, run: &Run) {
        if let Some(end) = run.end() {
            self.asked.ended(&run.key, end.outcome);
        }
    }
}
