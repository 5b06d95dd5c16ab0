//! Runs in rough times, by seed: three workers that die at any call and take up what others left, duplicate invocations, lost answers
//! of the table, models that hang or fail, callers who replace, queue and cancel runs. When it is calm everything ends, and then the
//! promises are checked.

mod promises;
mod watching;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pudu_app::ports::{Clock, ModelCall, ModelFault};
use pudu_app::runs::{Action, AdmitError, Wanted};
use pudu_domain::chat::{Message, Speaker};
use pudu_domain::run::{Operation, Strategy};
use pudu_domain::{IdempotencyKey, Lane, RunKey, Scope};
use pudu_testkit::fixture::thread;
use pudu_testkit::gate::{Call, Fate};
use pudu_testkit::{Gate, SeededRandom, Speech};
use secrecy::SecretString;
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

use super::stage::{COUNT, Stage, call};
use crate::subagents::TASK;
use watching::Watching;

/// How long it is rough.
const ROUGH: Duration = Duration::from_mins(5);
/// How long what is left then may take: several leases, and a model that never answers.
const CALM: Duration = Duration::from_hours(3);
/// Runs that are asked for, at most.
const ASKED: u64 = 5;

/// One seed's world.
struct Rough {
    stage: Stage,
    watching: Watching,
}

/// What a model does: it calls tools, delegates, hangs and fails, and is done after a few calls.
fn speech(random: &SeededRandom, model: &ModelCall) -> Speech {
    let lead = model.tools.iter().any(|tool| tool.name == TASK);
    let rounds = model.messages.iter().filter(|message| message.speaker == Speaker::Ai).count();
    if rounds > 6 || model.tools.is_empty() {
        return Speech::text("done");
    }
    let id = |number: u64| format!("{}-{number}", model.id);
    match random.below(100) {
        0..40 => Speech::calls("", (0..=random.below(2)).map(|n| call(&id(n), COUNT, json!({})))),
        40..55 if lead => {
            let args = json!({"description": "look", "prompt": "look", "subagent_type": "general-purpose"});
            Speech::calls("", (0..=random.below(3)).map(|n| call(&id(n), TASK, args.clone())))
        }
        55..65 => Speech::slowly("one two three four", random.millis(0..9_000)),
        65..70 => Speech::fails(ModelFault::Transient),
        70..73 => Speech::Hangs,
        73..75 => Speech::fails(ModelFault::Other),
        _ => Speech::text("that is all"),
    }
}

/// What happens to a worker's calls while it is rough.
fn weather(stage: &Stage, random: &SeededRandom) -> impl FnMut(Call<'_>) -> Fate + Send + 'static {
    let (clock, random) = (stage.clock, random.fork());
    move |_| {
        if clock.elapsed() > ROUGH {
            return Fate::Pass;
        }
        match random.below(1000) {
            0..10 => Fate::CrashBefore,
            10..20 => Fate::CrashAfter,
            20..40 => Fate::FailBefore,
            40..60 => Fate::LoseAnswer,
            60..160 => Fate::Delay(random.millis(0..3_000)),
            160..180 => Fate::Late(random.millis(0..60_000)),
            _ => Fate::Pass,
        }
    }
}

/// One worker after another: each takes up what may be claimed, often what another one has, until it dies.
async fn worker(world: Arc<Rough>, random: SeededRandom) {
    let stage = &world.stage;
    loop {
        let gate = stage.gate(weather(stage, &random));
        let runner = stage.runner(&gate);
        let life = async {
            loop {
                world.watching.look(stage);
                let due = |run: &pudu_domain::Run| run.durable.claimable(Lane::Run, stage.clock.now());
                let runs = stage.table.runs();
                let wanted: Vec<&RunKey> = runs.iter().filter(|run| due(run)).map(|run| &run.key).collect();
                match random.pick(&wanted) {
                    Some(key) => {
                        let time = random.millis(20_000..200_000);
                        let twice = random.chance(20);
                        if twice {
                            tokio::join!(stage.work(&runner, key, time), stage.work(&runner, key, time));
                        } else {
                            stage.work(&runner, key, time).await;
                        }
                    }
                    None => stage.clock.sleep(random.millis(500..5_000)).await,
                }
            }
        };
        tokio::select! {
            biased;
            () = gate.crashed() => {}
            () = life => {}
        }
        stage.clock.sleep(random.millis(0..20_000)).await;
    }
}

/// Somebody asks for a run, now and then twice by the same key, and ends it later, perhaps.
async fn caller(world: Arc<Rough>, number: u64, random: SeededRandom) {
    let stage = &world.stage;
    stage.clock.sleep(random.millis(0..180_000)).await;
    let secrets = random.chance(50).then(|| ("KEY".to_owned(), SecretString::from("canary")));
    let strategies = [Strategy::Reject, Strategy::Enqueue, Strategy::Interrupt, Strategy::Rollback];
    let wanted = Wanted {
        operation: Operation::Run,
        thread: thread("t"),
        must_exist: false,
        assistant: "lead_agent".to_owned(),
        input: vec![Message::new(Speaker::Human, "", format!("question {number}"))],
        options: Map::from_iter([("subagent_enabled".to_owned(), Value::Bool(true))]),
        metadata: Map::new(),
        kwargs: Map::new(),
        strategy: random.pick(&strategies).copied().unwrap_or_default(),
        scope: Scope::All,
        base: None,
        secrets: secrets.into_iter().collect::<BTreeMap<_, _>>(),
        key: Some(IdempotencyKey::parse(format!("key-{number}")).unwrap()),
    };
    // A caller that hears nothing asks again.
    let runs = stage.wiring(&stage.gate(weather(stage, &random))).runs();
    let mut key = None;
    for _ in 0..4 {
        match tokio::time::timeout(Duration::from_mins(2), runs.admit(wanted.clone())).await {
            Ok(Ok(admitted)) => {
                let twin = key.get_or_insert_with(|| admitted.run.key.clone());
                assert_eq!(*twin, admitted.run.key, "one key, two runs");
                if !random.chance(30) {
                    break;
                }
            }
            Ok(Err(AdmitError::Refused(_))) => return,
            _ => stage.clock.sleep(random.millis(0..10_000)).await,
        }
    }
    let Some(key) = key.filter(|_| random.chance(30)) else { return };
    stage.clock.sleep(random.millis(0..90_000)).await;
    let runs = stage.wiring(&Gate::open()).runs();
    let action = if random.chance(50) { Action::Interrupt } else { Action::Rollback };
    let _ = runs.cancel(&key, action).await;
}

/// Lives one seed through; how many runs there were, children too.
async fn live(seed: u64) -> usize {
    let random = SeededRandom::new(seed);
    let (watching, plans) = (Watching::default(), random.fork());
    let hears = watching.clone();
    let mut stage = Stage::new(move |model| {
        hears.model(model);
        speech(&plans, model)
    })
    .await;
    stage.is_whole = true;
    stage.chain = vec![Arc::new(watching.clone())];
    let world = Arc::new(Rough { stage, watching });
    let mut workers = JoinSet::new();
    for _ in 0..3 {
        workers.spawn(worker(Arc::clone(&world), random.fork()));
    }
    let mut callers = JoinSet::new();
    for number in 0..=random.below(ASKED) {
        callers.spawn(caller(Arc::clone(&world), number, random.fork()));
    }
    while let Some(called) = callers.join_next().await {
        called.unwrap();
    }
    let stage = &world.stage;
    let over = stage.clock.elapsed().max(ROUGH) + CALM;
    while stage.table.runs().iter().any(|run| run.end().is_none()) && stage.clock.elapsed() < over {
        stage.clock.sleep(Duration::from_secs(20)).await;
    }
    drop(workers);
    let broken = promises::broken(&world).await;
    assert!(broken.is_empty(), "seed {seed}:\n{}", broken.join("\n"));
    stage.table.runs().len()
}

#[tokio::test(start_paused = true)]
async fn the_promises_hold_whatever_happens_to_workers_models_and_callers() {
    let mut runs = 0;
    for seed in 0..40 {
        runs += live(seed).await;
    }
    // A world in which nothing happens keeps every promise.
    assert!(runs > 100, "only {runs} runs");
}
