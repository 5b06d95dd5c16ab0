//! The simulation of runs, by seed: agents, pollers and notifiers that die at any call and take up what others left, wake-ups that come
//! late, twice or never, answers of the table that are lost, models that hang or fail, servers with durable tasks, callers who
//! replace, queue, repeat and cancel runs and delete threads. Then calm, and the question whether every promise was kept.
//!
//! It is here and not in testkit because the real runner works in it (`pudu-agent`), which testkit may not know. Of testkit are the
//! table, the gates, the weather, the wake-ups, the server and the matrix; promises are computed from the table, never from
//! what workers report. What needs no chance, every mishap at every call of a flow, is in [`matrix`].

mod asked;
mod callers;
pub mod matrix;
mod mutants;
mod process;
mod promises;
mod speech;
mod tools;
mod witness;
mod workers;

use std::sync::Arc;
use std::time::Duration;

use pudu_app::ports::Clock;
use pudu_config::Document;
use pudu_domain::ThreadKey;
use pudu_testkit::server::Plan;
use pudu_testkit::sim::{Backend, Settings, Violation, Wakes, Weather};
use pudu_testkit::{
    FakeBlobs, FakeModels, FakeServer, Gate, SeededRandom, Speech, Trace, VirtualClock, fixture,
};
use serde_json::json;
use tokio::task::JoinSet;

pub use mutants::Fault;
pub use promises::PROMISES;

use asked::Asked;
use speech::Talk;
use witness::{Noted, Witness};

/// What a seed showed.
#[derive(Debug)]
pub struct Outcome {
    /// Promises that were broken.
    pub violations: Vec<Violation>,
    /// The hash of every port call; 0 if they were not recorded.
    pub hash: u64,
    /// Every port call, if they were kept.
    pub lines: Vec<String>,
    /// What happened.
    pub counts: Counts,
}

/// How much happened: a world in which nothing does keeps every promise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Runs, children too.
    pub runs: u64,
    /// Of those, runs that another run delegated to.
    pub children: u64,
    /// Runs that are still there and ended well.
    pub well: u64,
    /// Times that a run waited with nobody at work on it.
    pub parked: u64,
    /// Times that an invocation without time left a run to another.
    pub handed_over: u64,
    /// Workers that died.
    pub deaths: u64,
    /// Events that runs told.
    pub told: u64,
    /// Calls of models.
    pub calls: u64,
}

/// One world: everything that its processes share.
pub(crate) struct World<B> {
    settings: Settings,
    clock: VirtualClock,
    server: FakeServer,
    models: FakeModels,
    backend: B,
    blobs: FakeBlobs,
    trace: Trace,
    weather: Weather,
    wakes: Wakes,
    witness: Witness,
    asked: Asked,
    talk: Talk,
    fault: Option<Fault>,
    threads: Vec<ThreadKey>,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.runs += other.runs;
        self.children += other.children;
        self.well += other.well;
        self.parked += other.parked;
        self.handed_over += other.handed_over;
        self.deaths += other.deaths;
        self.told += other.told;
        self.calls += other.calls;
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { runs, children, well, parked, handed_over, deaths, told, calls } = self;
        write!(
            f,
            "{runs} runs, {children} of them children, {well} ended well, {calls} model calls, parked {parked} times, \
             handed over {handed_over} times, {told} events told by runs, {deaths} deaths survived"
        )
    }
}

/// How rough a world of runs is.
pub fn settings() -> Settings {
    Settings {
        submissions: 5,
        rough: Duration::from_secs(240),
        calm: Duration::from_hours(3),
        crash: 8,
        fail: 20,
        slow: 20,
        spells: 2,
        skew_ms: 2000,
    }
}

/// A smaller one, for a table that takes real time to answer.
pub fn small() -> Settings {
    Settings { submissions: 2, rough: Duration::from_secs(90), ..settings() }
}

/// Lives one seed through in a runtime of its own, on this thread, in virtual time. Calls are recorded in `trace`.
///
/// The error is a runtime that could not be built, or a backend that could not be set up.
pub fn run<B: Backend>(
    seed: u64,
    settings: &Settings,
    trace: Trace,
    fault: Option<Fault>,
    backend: impl AsyncFnOnce(&VirtualClock, &SeededRandom) -> Result<B, String>,
) -> Result<Outcome, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let random = SeededRandom::new(seed);
        let clock = VirtualClock::start();
        let (plans, longest) = (random.fork(), settings.rough);
        let server = FakeServer::new(Arc::new(clock), move |_| Plan::drawn(&plans, longest));
        let talk = Talk::new(random.fork(), server.clone());
        let backend = backend(&clock, &random).await?;
        let world = World::new(settings.clone(), clock, server, backend, trace, talk, fault);
        let world = Arc::new(world);
        world.live(&random).await?;
        world.outcome().await
    })
}

impl<B: Backend> World<B> {
    /// A world in which nothing has happened yet.
    fn new(
        settings: Settings,
        clock: VirtualClock,
        server: FakeServer,
        backend: B,
        trace: Trace,
        talk: Talk,
        fault: Option<Fault>,
    ) -> Self {
        let blobs = FakeBlobs::default();
        let witness = Witness::new(backend.stores(Arc::new(clock), &Gate::open()).runs, blobs.clone());
        let speaks = talk.clone();
        Self {
            settings,
            clock,
            server,
            models: FakeModels::new(Arc::new(clock), move |call| -> Speech { speaks.speech(call) }),
            backend,
            blobs,
            trace,
            weather: Weather::rough(clock),
            wakes: Wakes::default(),
            witness,
            asked: Asked::default(),
            talk,
            fault,
            threads: ["a", "b"].map(fixture::thread).to_vec(),
        }
    }

    /// The rough time, then the calm one, until nothing is left to do.
    async fn live(self: &Arc<Self>, random: &SeededRandom) -> Result<(), String> {
        self.prepare(random).await?;
        self.weather.draw(&self.settings, random);
        let background: JoinSet<()> = workers::start(self, random);
        callers::play(self, random).await;
        self.wait(self.settings.rough.saturating_sub(self.clock.elapsed())).await;
        self.weather.calm();
        let over = self.clock.elapsed() + self.settings.calm;
        while self.clock.elapsed() < over && !self.seen().await?.is_quiet() {
            self.wait(Duration::from_secs(15)).await;
        }
        drop(background);
        Ok(())
    }

    /// Stores the config, before anything can go wrong; and that somebody works, or the first cancels would be refused.
    async fn prepare(&self, random: &SeededRandom) -> Result<(), String> {
        let gate = self.open_gate();
        let wiring = self.wiring("setup", self.clock, &gate, Arc::new(random.fork()));
        let mut config = fixture::config();
        config["models"] = json!([{
            "name": "fake", "use": "langchain_openai:ChatOpenAI", "model": "fake", "stream_chunk_timeout": 20, "request_timeout": 90,
        }]);
        let document = Document::parse(config).map_err(|problems| format!("{problems:?}"))?;
        wiring.configs.seed(document).await.map_err(|error| error.to_string())?;
        let beacons = self.backend.stores(Arc::new(self.clock), &gate).beacons;
        let was_here = fixture::a_poller_was_here(&*beacons, pudu_app::ports::Clock::now(&self.clock)).await;
        was_here.map_err(|error| error.to_string())
    }

    async fn outcome(&self) -> Result<Outcome, String> {
        let seen = self.seen().await?;
        let Noted { runs, children, parked, handed_over } = self.witness.noted();
        let deaths = self.weather.crashes();
        let calls = u64::try_from(self.models.heard().len()).unwrap_or(u64::MAX);
        let (told, well) = (seen.told_by_runs(), seen.ended_well());
        Ok(Outcome {
            violations: self.violations(&seen).await?,
            hash: self.trace.hash(),
            lines: self.trace.lines(),
            counts: Counts { runs, children, well, parked, handed_over, deaths, told, calls },
        })
    }

    async fn wait(&self, duration: Duration) {
        self.clock.sleep(duration).await;
    }
}
