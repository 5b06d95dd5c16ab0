//! What callers and operators do: submit, submit again, hang up, answer, ask to cancel, ask again, change the config.

use std::sync::Arc;
use std::time::Duration;

use pudu_app::ports::{Caller, Clock, Random};
use pudu_app::tools::Terms;
use pudu_app::wiring::Wiring;
use pudu_domain::{IdempotencyKey, ThreadKey};
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

use super::backend::Backend;
use super::ops::{MARK, Remembering, Submission};
use super::{Drift, World};
use crate::fixture::{SERVER, SUBMIT_TOOL, principal};
use crate::gate::{Gate, Open};
use crate::random::SeededRandom;

/// How long a caller waits who does not hang up.
const PATIENCE: Duration = Duration::from_mins(2);

/// Lets the callers act at their times, and returns when the last has.
pub(super) async fn play<B: Backend>(world: &Arc<World<B>>, random: &SeededRandom) {
    let mut calls = JoinSet::new();
    let submissions = 1 + random.below(world.settings.submissions);
    let last = u64::try_from(world.settings.rough.as_millis()).unwrap_or(u64::MAX) * 2 / 3;
    for number in 0..submissions {
        calls.spawn(caller(Arc::clone(world), number, random.millis(0..last), random.fork()));
    }
    if random.chance(40) {
        calls.spawn(operator(Arc::clone(world), last, random.fork()));
    }
    if random.chance(20) {
        calls.spawn(deleter(Arc::clone(world), random.millis(0..last), random.fork()));
    }
    while calls.join_next().await.is_some() {}
}

/// Somebody has a thread deleted, and asks twice now and then.
async fn deleter<B: Backend>(world: Arc<World<B>>, after: Duration, random: SeededRandom) {
    world.wait(after).await;
    let Some(thread) = random.pick(&world.threads) else { return };
    for _ in 0..if random.chance(30) { 2 } else { 1 } {
        world.ops.unwant(thread);
        let process = Process::new(&world, "deleter", &random, Arc::new(random.fork()));
        let delete = async |wiring: Wiring| {
            // Whoever is not told that it goes sees it, and may ask again.
            let _ = wiring.threads().delete(thread).await;
        };
        process.run(delete, PATIENCE).await;
        world.wait(random.millis(0..60_000)).await;
    }
}

/// One caller: submits, may hang up or repeat the submission, and may ask to cancel later, perhaps twice.
async fn caller<B: Backend>(world: Arc<World<B>>, number: u64, at: Duration, random: SeededRandom) {
    world.wait(at).await;
    let index = usize::try_from(number).unwrap_or(0) % world.threads.len().max(1);
    let Some(thread) = world.threads.get(index).cloned() else { return };
    // Somebody else who looks into the thread may ask to cancel what he sees there, while its submitter still waits.
    let early = random.chance(15).then(|| canceller(&world, number, random.millis(0..3_000), &random));
    let submit = submissions(&world, number, &thread, &random);
    match early {
        Some(early) => drop(tokio::join!(submit, early)),
        None => submit.await,
    }
    if random.chance(50) {
        Box::pin(answerer(&world, number, &random)).await;
    }
    if !random.chance(45) {
        return;
    }
    for _ in 0..if random.chance(30) { 2 } else { 1 } {
        canceller(&world, number, random.millis(0..60_000), &random).await;
    }
}

/// Attempts to submit, until the caller hears; one without a key tries once.
async fn submissions<B: Backend>(world: &World<B>, number: u64, thread: &ThreadKey, random: &SeededRandom) {
    let keyed = random.chance(30);
    let repetitions = if keyed { random.below(3) } else { 0 };
    for _ in 0..=repetitions {
        // A caller with a key asks again until it hears; now and then, it asks again all the same.
        let heard = submission(world, number, thread, keyed, random).await;
        if heard && !random.chance(30) {
            break;
        }
        world.wait(random.millis(0..20_000)).await;
    }
}

/// Somebody asks for the task to be cancelled, after a while.
async fn canceller<B: Backend>(world: &World<B>, number: u64, after: Duration, random: &SeededRandom) {
    world.wait(after).await;
    let Some(key) = world.ops.submitted().get(&number).and_then(Submission::key) else { return };
    let process = Process::new(world, "canceller", random, Arc::new(random.fork()));
    let cancel = async |wiring: Wiring| {
        world.ops.cancel_answered(number, &wiring.tasks().cancel(&key).await);
    };
    process.run(cancel, PATIENCE).await;
}

/// Somebody watches the thread for a while, and answers what the task asks; now and then two at once.
async fn answerer<B: Backend>(world: &World<B>, number: u64, random: &SeededRandom) {
    for _ in 0..8 {
        world.wait(random.millis(1_000..20_000)).await;
        let answers = async |input: &str| answered(world, number, &json!(input), random).await;
        let done = if random.chance(20) {
            let (one, other) = tokio::join!(answers("2026"), answers("2027"));
            one || other
        } else {
            answers("2026").await
        };
        if done && random.chance(70) {
            return;
        }
    }
}

/// One attempt to answer; whether its giver heard that it is taken.
async fn answered<B: Backend>(world: &World<B>, number: u64, input: &Value, random: &SeededRandom) -> bool {
    let Some(key) = world.ops.submitted().get(&number).and_then(Submission::key) else { return false };
    let process = Process::new(world, "answerer", random, Arc::new(random.fork()));
    let mut heard = false;
    let answer = async |wiring: Wiring| {
        heard = world.ops.answer_answered(number, &wiring.tasks().answer(&key, input, None).await);
    };
    process.run(answer, PATIENCE).await;
    heard
}

/// One attempt to submit; whether its caller heard that the task is tracked.
async fn submission<B: Backend>(
    world: &World<B>,
    number: u64,
    thread: &ThreadKey,
    keyed: bool,
    random: &SeededRandom,
) -> bool {
    let key = keyed.then(|| IdempotencyKey::parse(format!("key-{number}")).ok()).flatten();
    let terms = Terms { key, ..Terms::default() };
    let (gone, hangs_up) = (terms.gone.clone(), random.chance(15).then(|| random.millis(1..3_000)));
    let ops = world.ops.clone();
    let ids = Remembering { inner: random.fork(), ops, number, thread: thread.clone(), keyed };
    let gateway = Process::new(world, "gateway", random, Arc::new(ids));
    let mut heard = false;
    let submit = async |wiring: Wiring| {
        let arguments = Map::from_iter([(MARK.to_owned(), json!(number))]);
        let name = format!("{SERVER}_{SUBMIT_TOOL}");
        let told =
            wiring.tools().invoke(&principal(), Caller::of(thread.clone()), &name, arguments, terms).await;
        heard = !gone.is_cancelled() && world.ops.answered(number, &told);
    };
    match hangs_up {
        None => gateway.run(submit, PATIENCE).await,
        // A gateway is told that its caller has gone; one that is frozen or ended with it is not.
        Some(after) if random.chance(50) => gateway.run(submit, after).await,
        Some(after) => {
            let hang_up = async {
                world.wait(after).await;
                gone.cancel();
            };
            tokio::join!(gateway.run(submit, PATIENCE), hang_up);
        }
    }
    heard
}

/// An operator: changes the config once or twice, and changes it back.
async fn operator<B: Backend>(world: Arc<World<B>>, last: u64, random: SeededRandom) {
    for _ in 0..=random.below(2) {
        world.wait(random.millis(0..last / 2)).await;
        let away = random.pick(&Drift::AWAY).copied().unwrap_or(Drift::Original);
        for (drift, stays) in [(away, random.millis(1_000..60_000)), (Drift::Original, Duration::ZERO)] {
            let Ok(document) = drift.document() else { return };
            let process = Process::new(&world, "operator", &random, Arc::new(random.fork()));
            let change = async |wiring: Wiring| {
                // An operator whose change fails sees it; here somebody changes it back at the end anyway.
                let _ = wiring.configs.import(document, None).await;
            };
            process.run(change, PATIENCE).await;
            world.wait(stays).await;
        }
    }
}

/// Makes the config a certain one, when everything is calm.
pub(super) async fn configure<B: Backend>(
    world: &World<B>,
    drift: Drift,
    random: &SeededRandom,
) -> Result<(), String> {
    let gate = Gate::new("operator", Arc::new(world.clock), world.trace.clone(), Open);
    let wiring = world.wiring("operator", world.clock, &gate, Arc::new(random.fork()));
    let made = wiring.configs.import(drift.document()?, None).await;
    made.map(drop).map_err(|error| error.to_string())
}

/// One call's process, with a clock of its own; it may die, and whoever called may go away.
struct Process {
    clock: crate::VirtualClock,
    gate: Gate,
    wiring: Wiring,
}

impl Process {
    fn new<B: Backend>(world: &World<B>, name: &str, random: &SeededRandom, ids: Arc<dyn Random>) -> Self {
        let clock = world.skewed(random);
        let gate = world.gate(name, clock, random);
        let wiring = world.wiring(name, clock, &gate, ids);
        Self { clock, gate, wiring }
    }

    async fn run(self, call: impl AsyncFnOnce(Wiring), patience: Duration) {
        let over = self.clock.sleep(patience);
        tokio::select! {
            biased;
            () = self.gate.crashed() => {}
            () = call(self.wiring) => {}
            () = over => {}
        }
    }
}
