//! The crash matrix of runs: for every flow, at every call that it makes, every mishap; then fresh processes until nothing is left to
//! do, and the promises. The points are counted and not written by hand, by testkit's own sweep.
//!
//! Whoever hangs up while a run is admitted drops the call where it is, which is what a crash of his gateway does: that mishap
//! has no column of its own here.

mod flows;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pudu_app::deadline::Deadline;
use pudu_app::ports::{Background, Blobs, Clock};
use pudu_app::runs::Action;
use pudu_app::worker::{Call, Work};
use pudu_domain::RunKey;
use pudu_domain::run::Strategy;
use pudu_testkit::gate::{Call as Made, Fate, Open};
use pudu_testkit::matrix::{self, Depth, Mishap, Played, Points, Report, Scene};
use pudu_testkit::sim::{FakeBackend, Violation};
use pudu_testkit::{FakeServer, FakeTable, Gate, Script, SeededRandom, Trace, VirtualClock};

pub use super::speech::Plot;
pub use flows::{Act, Flow, flows};

use super::callers::wanted;
use super::mutants::Fault;
use super::promises::is_well;
use super::speech::Talk;
use super::{Counts, World, settings};

/// How long an invocation may take.
const INVOCATION: Duration = Duration::from_secs(180);
/// The same of one that is nearly over when it begins.
const BRIEF: Duration = Duration::from_secs(30);
/// Rounds of fresh processes after which a world that is not at rest never will be.
const ROUNDS: usize = 400;

/// Runs one flow's part of the matrix. The error is a world that could not be run, or a flow that makes no call.
pub fn run(flow: &Flow, depth: Depth, fault: Option<Fault>) -> Result<Report, String> {
    matrix::sweep(&Staged { flow, fault }, depth)
}

/// What happens in a flow without mishaps.
pub fn played(flow: &Flow) -> Result<Counts, String> {
    Staged { flow, fault: None }.staged(&[], async |stage| {
        stage.play(flow).await?;
        Ok(stage.world.outcome().await?.counts)
    })
}

struct Staged<'a> {
    flow: &'a Flow,
    fault: Option<Fault>,
}

impl Scene for Staged<'_> {
    fn name(&self) -> &'static str {
        self.flow.name
    }

    fn has_a_caller(&self) -> bool {
        false
    }

    fn play(&self, mishaps: &[(usize, Mishap)]) -> Result<Played, String> {
        self.staged(mishaps, async |stage| stage.play(self.flow).await)
    }
}

impl Staged<'_> {
    /// Does something on a stage of its own, in a runtime of its own, in virtual time.
    fn staged<T>(
        &self,
        mishaps: &[(usize, Mishap)],
        play: impl AsyncFnOnce(Stage) -> Result<T, String>,
    ) -> Result<T, String> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .map_err(|error| error.to_string())?;
        runtime.block_on(async {
            let (clock, plan) = (VirtualClock::start(), self.flow.plan.clone());
            let server = FakeServer::new(Arc::new(clock), move |_| plan.clone());
            let backend = FakeBackend { table: FakeTable::new(), mutant: None };
            let talk = Talk::planned(self.flow.plot);
            let world = World::new(settings(), clock, server, backend, Trace::off(), talk, self.fault);
            play(Stage {
                world,
                random: SeededRandom::new(1),
                points: Points::with(mishaps),
                numbers: AtomicU64::new(0),
                first: Mutex::default(),
                keyed: Mutex::default(),
            })
            .await
        })
    }
}

struct Stage {
    world: World<FakeBackend>,
    random: SeededRandom,
    points: Points,
    /// Admissions so far.
    numbers: AtomicU64,
    /// The first run.
    first: Mutex<Option<RunKey>>,
    /// The last admission with a key.
    keyed: Mutex<Option<(u64, Strategy)>>,
}

impl Stage {
    async fn play(&self, flow: &Flow) -> Result<Played, String> {
        self.world.prepare(&self.random).await?;
        for act in &flow.before {
            match act {
                Act::Lose(number) => self.act(*act, dies_at(*number)).await,
                _ => self.act(*act, Open).await,
            };
        }
        let mut alive = true;
        for act in &flow.acts {
            // What models do changes also where a process died.
            if alive || matches!(act, Act::Talk(_)) {
                alive &= self.act(*act, self.points.script()).await;
            }
        }
        let during = self.points.ops().len();
        let keyed = *self.keyed.lock().unwrap();
        let heard = keyed.is_none_or(|(number, _)| self.world.asked.state().admitted.contains_key(&number));
        if !heard {
            self.act(Act::AdmitAgain, Open).await;
        }
        let rests = self.rest().await?;
        let seen = self.world.seen().await?;
        let mut violations = self.world.violations(&seen).await?;
        for run in seen.runs.iter().filter(|run| flow.ends_well() && !is_well(run)) {
            let evidence = format!("{} stands at {:?}", run.key.id, run.phase);
            violations.push(Violation { promise: "a death is no reason to fail", evidence });
        }
        if !rests {
            let evidence = format!("it is not at rest after {ROUNDS} rounds");
            violations.push(Violation { promise: "everything comes to rest", evidence });
        }
        Ok(Played { ops: self.points.ops(), during, violations })
    }

    /// Fresh processes, until nothing is left to do; whether that was reached. Wake-ups are lost: the schedule is enough.
    async fn rest(&self) -> Result<bool, String> {
        for _ in 0..ROUNDS {
            for act in [Act::Poll, Act::Notify, Act::Work] {
                self.act(act, self.points.script()).await;
            }
            let (seen, now) = (self.world.seen().await?, self.world.clock.now());
            let Some(next) = matrix::rest(seen.durables(), now) else { return Ok(true) };
            self.world.wait(next).await;
        }
        Ok(false)
    }

    /// One act by a process of its own; whether that process lived to its end.
    async fn act(&self, act: Act, script: impl Script + 'static) -> bool {
        let clock: Arc<dyn Clock> = Arc::new(self.world.clock);
        let gate = Gate::new(act.name(), clock, self.world.trace.clone(), script);
        tokio::select! {
            biased;
            () = gate.crashed() => false,
            // Boxed: a use case's future is large, and there is one in every act.
            () = Box::pin(self.live(act, &gate)) => true,
        }
    }

    async fn live(&self, act: Act, gate: &Gate) {
        let world = &self.world;
        match act {
            Act::Wait(seconds) => world.wait(Duration::from_secs(seconds)).await,
            Act::Talk(plot) => world.talk.change(plot),
            Act::Admit(strategy) => {
                self.admit(self.number(), strategy, false, gate).await;
            }
            Act::AdmitKeyed(strategy) => {
                let number = self.number();
                *self.keyed.lock().unwrap() = Some((number, strategy));
                self.admit(number, strategy, true, gate).await;
            }
            Act::AdmitAgain => {
                let keyed = *self.keyed.lock().unwrap();
                if let Some((number, strategy)) = keyed {
                    self.admit(number, strategy, true, gate).await;
                }
            }
            Act::Cancel(action) => self.cancel(action, gate).await,
            Act::Delete => {
                let thread = &world.threads[0];
                // What is large: nothing that models say here is.
                world.blobs.put(thread, &"0".repeat(64), b"{}".to_vec()).await.unwrap();
                world.asked.unwant(thread);
                // Whoever was not told that it goes may ask again; here nobody does.
                let _ = self.wiring("deleter", gate).threads().delete(thread).await;
            }
            Act::Poll => {
                let wiring = self.wiring(act.name(), gate);
                let poller = Arc::new(wiring.poller());
                wiring.drain().run(poller, self.deadline(INVOCATION)).await;
            }
            Act::Notify => {
                let wiring = self.wiring(act.name(), gate);
                let notifier = Arc::new(wiring.notifier());
                wiring.drain().run(notifier, self.deadline(INVOCATION)).await;
            }
            Act::Work | Act::Lose(_) => self.work(Call::Tick, INVOCATION, gate).await,
            Act::Brief => self.work(Call::Tick, BRIEF, gate).await,
            Act::Twice => {
                let (one, other) =
                    (self.work(Call::Tick, INVOCATION, gate), self.work(Call::Tick, INVOCATION, gate));
                tokio::join!(one, other);
            }
            Act::Woken => {
                let woken = world.wakes.take().into_iter().filter(|(whom, _)| *whom == Background::Agent);
                for (_, items) in woken {
                    let call = Call::Wake(items);
                    let twice = (
                        self.work(call.clone(), INVOCATION, gate),
                        self.work(call.clone(), INVOCATION, gate),
                    );
                    tokio::join!(twice.0, twice.1);
                }
            }
        }
    }

    fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::SeqCst)
    }

    fn wiring(&self, name: &str, gate: &Gate) -> pudu_app::wiring::Wiring {
        self.world.wiring(name, self.world.clock, gate, Arc::new(self.random.fork()))
    }

    fn deadline(&self, time: Duration) -> Deadline {
        Deadline::at(self.world.clock.now() + time)
    }

    async fn admit(&self, number: u64, strategy: Strategy, keyed: bool, gate: &Gate) {
        let wanted = wanted(&self.world.threads[0], number, strategy, keyed, keyed);
        let runs = self.wiring("caller", gate).runs();
        if let Ok(admitted) = runs.admit(wanted).await {
            let key = admitted.run.key;
            self.world.asked.admitted(number, &key);
            self.first.lock().unwrap().get_or_insert(key);
        }
    }

    async fn cancel(&self, action: Action, gate: &Gate) {
        let first = self.first.lock().unwrap().clone();
        let Some(key) = first else { return };
        if let Ok(Some(run)) = self.wiring("canceller", gate).runs().cancel(&key, action).await {
            self.world.heard(&run);
        }
    }

    async fn work(&self, call: Call, time: Duration, gate: &Gate) {
        let wiring = self.wiring("agent", gate);
        let (agent, deadline): (Arc<dyn Work>, _) =
            (self.world.agent("agent", &wiring, gate), self.world.clock.now() + time);
        wiring.drain().answer(agent, call, Deadline::at(deadline)).await;
        if self.world.clock.now() > deadline {
            self.world.asked.late("agent");
        }
    }
}

/// An agent that dies when a model is asked for that time.
fn dies_at(number: u32) -> impl Script + 'static {
    let mut asked = 0;
    move |call: Made<'_>| {
        asked += u32::from(call.op == "models.call");
        if call.op == "models.call" && asked == number { Fate::CrashBefore } else { Fate::Pass }
    }
}
