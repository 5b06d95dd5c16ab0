//! The simulation: a gateway, two pollers, two notifiers and a remote server in one thread of virtual time, with crashes,
//! lost answers, slow calls, duplicated ticks, and wake-ups that come late, twice or never, by chance; then calm, and the question
//! whether every promise was kept.
//!
//! A seed decides everything: the same seed gives the same trace. Invariants are computed from the remote's own ledger and
//! the table, never from what workers report.

mod backend;
mod drift;
pub(crate) mod invariants;
pub(crate) mod ops;
mod script;
mod story;
mod wakes;
mod workers;

use std::sync::Arc;
use std::time::Duration;

use pudu_domain::{TaskKey, ThreadKey};

pub use backend::{Backend, FakeBackend, Seen, Stores};
pub use drift::Drift;
pub use invariants::{PROMISES, Violation, only_owners_write};
pub use script::Weather;
pub use wakes::Wakes;

use crate::blobs::FakeBlobs;
use crate::clock::VirtualClock;
use crate::random::SeededRandom;
use crate::runs::FakeRuns;
use crate::server::{FakeServer, Plan};
use crate::trace::Trace;

/// How large a world is, and how rough.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Submissions, at most.
    pub submissions: u64,
    /// How long things go wrong.
    pub rough: Duration,
    /// How long everything then has to come to its end.
    pub calm: Duration,
    /// Crashes, failed and slow calls, each in so many of 1,000.
    pub crash: u64,
    /// See `crash`.
    pub fail: u64,
    /// See `crash`.
    pub slow: u64,
    /// Spells in which the server or the table fails everybody, at most.
    pub spells: u64,
    /// How far a worker's clock may be off, in milliseconds, either way.
    pub skew_ms: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            submissions: 6,
            rough: Duration::from_secs(240),
            calm: Duration::from_secs(3600),
            crash: 3,
            fail: 15,
            slow: 15,
            spells: 3,
            skew_ms: 2000,
        }
    }
}

impl Settings {
    /// A smaller world, for a table that takes real time to answer.
    pub fn small() -> Self {
        Self { submissions: 3, rough: Duration::from_secs(60), ..Self::default() }
    }
}

/// What a run showed.
#[derive(Debug)]
pub struct Outcome {
    /// Promises that were broken.
    pub violations: Vec<Violation>,
    /// The hash of every port call.
    pub hash: u64,
    /// Every port call, if they were kept.
    pub lines: Vec<String>,
    /// Remote tasks that were started.
    pub remote_tasks: usize,
    /// Events that were delivered.
    pub events: usize,
    /// Workers that died.
    pub crashes: u64,
}

/// One world: everything that its parts share.
pub(crate) struct World<B> {
    pub(crate) settings: Settings,
    pub(crate) clock: VirtualClock,
    pub(crate) server: FakeServer,
    pub(crate) backend: B,
    pub(crate) trace: Trace,
    pub(crate) threads: Vec<ThreadKey>,
    pub(crate) ops: ops::Ops,
    pub(crate) weather: Weather,
    pub(crate) wakes: Wakes,
    pub(crate) blobs: FakeBlobs,
    /// Who tells events by runs, where a flow has some.
    pub(crate) runs: FakeRuns,
}

/// Runs one seed in a runtime of its own, on this thread, in virtual time.
///
/// The error is a runtime that could not be built, or a backend that could not be set up.
pub fn run<B: Backend>(
    seed: u64,
    settings: &Settings,
    keep_trace: bool,
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
        let trace = if keep_trace { Trace::kept() } else { Trace::hashed() };
        let plans = random.fork();
        let longest = settings.rough * 2;
        let server = FakeServer::new(Arc::new(clock), move |number| plan(&plans, number, longest));
        let backend = backend(&clock, &random).await?;
        let world = Arc::new(World::new(settings.clone(), clock, server, backend, trace));
        world.live(&random).await?;
        world.judge().await
    })
}

/// A remote task's life; now and then it has a handle that another one has, or one that is too long to track.
fn plan(random: &SeededRandom, number: usize, longest: Duration) -> Plan {
    let mut plan = Plan::drawn(random, longest);
    plan.handle = match random.below(40) {
        0 => Some("r".repeat(256)),
        1 if number > 0 => Some(format!("remote-{}", number - 1)),
        _ => None,
    };
    plan
}

impl<B: Backend> World<B> {
    /// A world in which nothing has happened yet.
    pub(crate) fn new(
        settings: Settings,
        clock: VirtualClock,
        server: FakeServer,
        backend: B,
        trace: Trace,
    ) -> Self {
        let threads = ["a", "b"].map(crate::fixture::thread).to_vec();
        let (ops, weather) = (ops::Ops::default(), Weather::rough(clock));
        let wakes = Wakes::default();
        let (blobs, runs) = (FakeBlobs::default(), FakeRuns::default());
        Self { settings, clock, server, backend, trace, threads, ops, weather, wakes, blobs, runs }
    }

    /// The rough time, then the calm one, until nothing is left to do.
    async fn live(self: &Arc<Self>, random: &SeededRandom) -> Result<(), String> {
        self.prepare(random).await?;
        self.weather.draw(&self.settings, random);
        let background = workers::start(self, random);
        story::play(self, random).await;
        let rest = self.settings.rough.saturating_sub(self.clock.elapsed());
        self.wait(rest).await;
        self.weather.calm();
        // What was submitted to the server that had this one's name for a while goes on when that one is back.
        for drift in [Drift::Original, Drift::Moved] {
            story::configure(self, drift, random).await?;
            let over = self.clock.elapsed() + self.settings.calm;
            while self.clock.elapsed() < over && !self.is_quiet().await? {
                self.wait(Duration::from_secs(10)).await;
            }
            if self.is_quiet().await? {
                break;
            }
        }
        drop(background);
        Ok(())
    }

    async fn is_quiet(&self) -> Result<bool, String> {
        Ok(self.seen().await?.is_quiet())
    }

    async fn judge(&self) -> Result<Outcome, String> {
        let seen = self.seen().await?;
        let remote = self.server.tasks();
        self.ops.no_stray()?;
        Ok(Outcome {
            violations: self.violations(&seen),
            hash: self.trace.hash(),
            lines: self.trace.lines(),
            remote_tasks: remote.len(),
            events: seen.delivered.values().map(Vec::len).sum(),
            crashes: self.weather.crashes(),
        })
    }

    /// Every promise that is broken by what is seen.
    pub(crate) fn violations(&self, seen: &Seen) -> Vec<Violation> {
        invariants::check(seen, &self.server.tasks(), &self.server.log(), &self.ops)
    }

    /// Everything that is in the table.
    pub(crate) async fn seen(&self) -> Result<Seen, String> {
        let tasks: Vec<TaskKey> = self.ops.submitted().values().flat_map(ops::Submission::keys).collect();
        self.backend.seen(&tasks, &self.threads).await
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the harness waits in virtual time; it is no worker with a clock"
    )]
    pub(crate) async fn wait(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

#[cfg(test)]
mod tests;
