//! One run of a flow: its acts, each by a process of its own, and then the rest by fresh ones.

use std::sync::Arc;
use std::time::Duration;

use pudu_app::dead_letters::DeadLetters;
use pudu_app::deadline::Deadline;
use pudu_app::ports::{Caller, Clock, NoteKey, RunStatus};
use pudu_app::tools::Terms;
use pudu_app::wiring::Wiring;
use pudu_app::worker::Work;
use pudu_domain::IdempotencyKey;
use pudu_domain::task::Delivery;
use serde_json::{Map, json};

use super::flows::{Act, Flow};
use super::points::Points;
use super::{Mishap, Played, Scene, rest};
use crate::clock::VirtualClock;
use crate::fixture::{SERVER, SUBMIT_TOOL, principal};
use crate::gate::{Call, Fate, Gate, Open, Script};
use crate::mutant::Mutant;
use crate::random::SeededRandom;
use crate::server::{FakeServer, Plan};
use crate::sim::ops::{MARK, Remembering};
use crate::sim::{Drift, FakeBackend, Settings, Violation, World};
use crate::table::FakeTable;
use crate::trace::Trace;

/// How long an invocation of a background function may take.
const INVOCATION: Duration = Duration::from_secs(90);
/// Rounds of fresh processes after which a world that is not at rest never will be.
const ROUNDS: usize = 400;

/// A flow of tasks, with or without a mutant.
pub(super) struct Staged<'a> {
    pub(super) flow: &'a Flow,
    pub(super) mutant: Option<Mutant>,
}

impl Scene for Staged<'_> {
    fn name(&self) -> &'static str {
        self.flow.name
    }

    fn has_a_caller(&self) -> bool {
        self.flow.has_a_caller()
    }

    /// In a runtime of its own, in virtual time.
    fn play(&self, mishaps: &[(usize, Mishap)]) -> Result<Played, String> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .map_err(|error| error.to_string())?;
        runtime.block_on(async {
            let clock = VirtualClock::start();
            let plans = self.flow.plans.clone();
            let server = FakeServer::new(Arc::new(clock), move |number| {
                let plan = plans.get(number).or(plans.last()).cloned();
                plan.unwrap_or_else(|| Plan::completes_after(Duration::from_secs(20)))
            });
            let backend = FakeBackend { table: FakeTable::new(), mutant: self.mutant };
            let world = World::new(Settings::default(), clock, server, backend, Trace::off());
            let stage = Stage { world, random: SeededRandom::new(1), points: Points::with(mishaps) };
            stage.play(self.flow).await
        })
    }
}

struct Stage {
    world: World<FakeBackend>,
    random: SeededRandom,
    points: Points,
}

impl Stage {
    async fn play(&self, flow: &Flow) -> Result<Played, String> {
        self.world.prepare(&self.random).await?;
        for act in &flow.before {
            match act {
                Act::SubmitLost => self.act(act, dies_in_the_submit).await?,
                _ => self.act(act, Open).await?,
            };
        }
        let mut alive = true;
        for act in &flow.acts {
            alive = alive && self.act(act, self.points.script()).await?;
        }
        let during = self.points.ops().len();
        self.world.server.set_down(false);
        self.world.runs.refuse(None);
        self.act(&Act::Configure(Drift::Original), Open).await?;
        let unheard = self.world.ops.submitted().values().all(|op| op.told.is_none());
        for act in flow.unheard.iter().filter(|_| unheard || !alive) {
            self.act(act, Open).await?;
        }
        let rests = self.rest().await?;
        let mut violations = self.world.violations(&self.world.seen().await?);
        if !rests {
            let evidence = format!("it is not at rest after {ROUNDS} rounds");
            violations.push(Violation { promise: "everything comes to rest", evidence });
        }
        Ok(Played { ops: self.points.ops(), during, violations })
    }

    /// Fresh processes, until nothing is left to do; whether that was reached.
    async fn rest(&self) -> Result<bool, String> {
        for _ in 0..ROUNDS {
            self.act(&Act::Poll, self.points.script()).await?;
            self.act(&Act::Notify, self.points.script()).await?;
            self.act(&Act::EndRuns, Open).await?;
            self.act(&Act::Replay, Open).await?;
            let seen = self.world.seen().await?;
            let Some(next) = rest(seen.durables(), self.world.clock.now()) else { return Ok(true) };
            self.world.wait(next).await;
        }
        Ok(false)
    }

    /// One act by a process of its own; whether that process lived to its end.
    async fn act(&self, act: &Act, script: impl Script + 'static) -> Result<bool, String> {
        let gate = Gate::new(act.name(), Arc::new(self.world.clock), self.world.trace.clone(), script);
        let life = self.live(act, &gate);
        tokio::select! {
            biased;
            () = gate.crashed() => Ok(false),
            // Boxed: a use case's future is large, and there is one in every act.
            lived = Box::pin(life) => lived.map(|()| true),
        }
    }

    async fn live(&self, act: &Act, gate: &Gate) -> Result<(), String> {
        let world = &self.world;
        match *act {
            Act::Wait(seconds) => world.wait(Duration::from_secs(seconds)).await,
            Act::Down(down) => world.server.set_down(down),
            Act::Configure(drift) => {
                // An operator whose change fails may try again; here nobody does.
                let _ = self.wiring(act, gate).configs.import(drift.document()?, None).await;
            }
            Act::Delete => {
                let thread = world.threads.first().cloned().ok_or("a world without threads")?;
                world.ops.unwant(&thread);
                // Whoever was not told that it goes may ask again; here nobody does.
                let _ = self.wiring(act, gate).threads().delete(&thread).await;
            }
            Act::Refuse(refuses) => world.runs.refuse(refuses.then_some("nobody begins runs")),
            Act::EndRuns => {
                for run in world.runs.runs().into_iter().filter(|run| run.status == RunStatus::Running) {
                    world.runs.end(&run.id, &RunStatus::Succeeded);
                }
            }
            Act::Replay => self.replay(self.wiring(act, gate).dead_letters()).await,
            Act::Submit | Act::SubmitLost | Act::SubmitKeyed | Act::SubmitAgain | Act::SubmitByAgent => {
                self.submit(act, gate).await?;
            }
            Act::Cancel => {
                let Some((number, op)) = world.ops.submitted().pop_first() else { return Ok(()) };
                let Some(key) = op.key() else { return Ok(()) };
                let told = self.wiring(act, gate).tasks().cancel(&key).await;
                world.ops.cancel_answered(number, &told);
            }
            Act::Answer => {
                let Some((number, op)) = world.ops.submitted().pop_first() else { return Ok(()) };
                let Some(key) = op.key() else { return Ok(()) };
                let told = self.wiring(act, gate).tasks().answer(&key, &json!("2026"), None).await;
                world.ops.answer_answered(number, &told);
            }
            Act::Poll => {
                let wiring = self.wiring(act, gate);
                self.tick(&wiring, Arc::new(wiring.poller())).await;
            }
            Act::Notify => {
                let wiring = self.wiring(act, gate);
                self.tick(&wiring, Arc::new(wiring.notifier())).await;
            }
        }
        Ok(())
    }

    async fn replay(&self, letters: DeadLetters) {
        // An operator who is not told that a letter is tried again looks once more; in the end somebody does.
        for note in letters.list(10).await.unwrap_or_default() {
            let _ = letters.replay(&NoteKey { task: note.task, version: note.version }).await;
        }
    }

    async fn submit(&self, act: &Act, gate: &Gate) -> Result<(), String> {
        let world = &self.world;
        let number = match act {
            Act::SubmitAgain => 0,
            _ => u64::try_from(world.ops.submitted().len()).unwrap_or(0),
        };
        let keyed = matches!(act, Act::SubmitKeyed | Act::SubmitAgain);
        let key = keyed.then(|| IdempotencyKey::parse(format!("key-{number}"))).transpose();
        let terms = match key.map_err(|error| error.to_string())? {
            None => self.points.terms(),
            // Whoever has a key may hang up as well: then the task is kept.
            key => Terms { key, ..self.points.terms() },
        };
        let delivery = if *act == Act::SubmitByAgent { Delivery::Run } else { Delivery::Event };
        let terms = Terms { delivery, ..terms };
        let thread = world.threads.first().cloned().ok_or("a world without threads")?;
        let (inner, ops) = (self.random.fork(), world.ops.clone());
        let ids = Remembering { inner, ops, number, thread: thread.clone(), keyed };
        let arguments = Map::from_iter([(MARK.to_owned(), json!(number))]);
        let tools = world.wiring(act.name(), world.clock, gate, Arc::new(ids)).tools();
        let name = format!("{SERVER}_{SUBMIT_TOOL}");
        let told = tools.invoke(&principal(), Caller::of(thread), &name, arguments, terms).await;
        world.ops.answered(number, &told);
        Ok(())
    }

    fn wiring(&self, act: &Act, gate: &Gate) -> Wiring {
        self.world.wiring(act.name(), self.world.clock, gate, Arc::new(self.random.fork()))
    }

    async fn tick(&self, wiring: &Wiring, work: Arc<dyn Work>) {
        wiring.drain().run(work, Deadline::at(self.world.clock.now() + INVOCATION)).await;
    }
}

/// A submitter that the server hears, and nobody else ever does.
fn dies_in_the_submit(call: Call<'_>) -> Fate {
    if call.op == "driver.submit" { Fate::CrashAfter } else { Fate::Pass }
}
