//! Runs of agents without their models: what a step adds to a model's own time and costs at the table, how fast a stream tells what is
//! stored, what an hour of waiting costs, and how much memory the function takes while subagents work.

mod memory;
mod talk;

use std::sync::Arc;
use std::time::{Duration, Instant};

use acceptance::{HandClock, MeteredTable};
use anyhow::Context;
use http::Request;
use http_body_util::BodyExt;
use pudu::engine::Engine;
use pudu::house::{House, Plan};
use pudu_app::deadline::Deadline;
use pudu_app::limits::Limits;
use pudu_app::ports::{Clock, ItemKey, Models, RunStore};
use pudu_app::runs::Wanted;
use pudu_app::wiring::Wiring;
use pudu_app::worker::{Call, Work};
use pudu_compose::{Base, Egress, ports, runner};
use pudu_config::NoSecrets;
use pudu_domain::run::Phase;
use pudu_domain::{Lane, Policy, Run, RunKey, ThreadKey};
use pudu_lambda::clock::SystemClock;
use pudu_lambda::random::OsRandom;
use pudu_testkit::{FakeBlobs, FixedKeys, fixture};
use tower::ServiceExt;

use crate::row::Row;
use talk::{Talker, wanted};

/// Runs whose steps are measured.
const RUNS: usize = 20;
/// Rounds of a model's answer and a tool's in each.
const ROUNDS: usize = 12;
/// Rounds of the run that is streamed: as many as a tool may be called in one.
const STREAMED: usize = 45;
/// How often it is streamed, one stream after the other.
const STREAMS: usize = 20;

/// Everything of a process over a table in memory.
struct Bench {
    metered: MeteredTable,
    wiring: Wiring,
}

impl Bench {
    async fn new(clock: Arc<dyn Clock>) -> anyhow::Result<Self> {
        let metered = MeteredTable::new(Arc::clone(&clock)).await;
        let base = Base {
            table: metered.table.clone(),
            blobs: Arc::new(FakeBlobs::default()),
            config: None,
            keys: Arc::new(FixedKeys),
            secrets: Arc::new(NoSecrets),
            egress: Egress::machine(),
            waker: None,
            tokens: None,
            stdio: None,
            clock,
            random: Arc::new(OsRandom),
        };
        // Nobody waits for what may come.
        let limits = Limits { linger: Duration::ZERO, ..Limits::default() };
        let wiring = Wiring::new(ports(base)?, Policy::default(), limits, "bench".to_owned());
        Ok(Self { metered, wiring })
    }

    async fn admit(&self, wanted: Wanted) -> anyhow::Result<RunKey> {
        Ok(self.wiring.runs().admit(wanted).await?.run.key)
    }

    async fn load(&self, key: &RunKey) -> anyhow::Result<Run> {
        RunStore::load(&*self.metered.table, key).await?.context("the run is there")
    }

    /// Works on a run until it ends or waits.
    async fn work(&self, models: &Arc<dyn Models>, key: &RunKey) {
        let runner = runner(&self.wiring, Arc::clone(models), "bench");
        let deadline = Deadline::at(self.wiring.runs().clock.now() + Duration::from_mins(15));
        runner.run(Lane::Run, &ItemKey::Run(key.clone()), deadline).await;
    }
}

/// Prints each figure.
pub(crate) async fn run(out: &mut impl FnMut(Row)) -> anyhow::Result<()> {
    steps(out).await?;
    stream(out).await?;
    parked(out).await?;
    memory::run(out).await
}

/// From a model's answer to its next call are two steps: the answer is stored, its tool is called, and that is stored.
async fn steps(out: &mut impl FnMut(Row)) -> anyhow::Result<()> {
    let bench = Bench::new(Arc::new(SystemClock)).await?;
    let (mut millis, mut stored, mut cost) = (Vec::new(), 0, 0.0);
    for number in 0..RUNS {
        let talker = Talker::with_tools(ROUNDS);
        let models: Arc<dyn Models> = Arc::new(talker.clone());
        let key = bench.admit(wanted(&fixture::thread(&format!("steps-{number}")), "plan")?).await?;
        bench.metered.costs.take();
        bench.work(&models, &key).await;
        cost += bench.metered.costs.take().write;
        let run = bench.load(&key).await?;
        anyhow::ensure!(run.end().is_some(), "the run has not ended: {:?}", run.phase);
        stored += run.checkpoints;
        millis.extend(talker.pauses().into_iter().map(|pause| pause.as_secs_f64() * 500.0));
    }
    millis.sort_by(f64::total_cmp);
    let at = |percent: usize| millis.get((millis.len() - 1) * percent / 100).copied().unwrap_or(f64::NAN);
    out(Row::of("agent")
        .with("what", "a step without the model")
        .with("steps", stored)
        .precise("ms_p50", at(50))
        .precise("ms_p99", at(99))
        .number("write_units_per_step", cost / f64::from(stored)));
    Ok(())
}

/// A stream that tells a run that has ended, from its beginning, through the gateway's router: in every mode but those that show whole
/// states, and in the one that shows nothing else.
async fn stream(out: &mut impl FnMut(Row)) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let engine = Engine::in_memory()?;
    let plan = Plan {
        no_auth: true,
        ..Plan::new(engine.client(), "pudu".to_owned(), folder.path().join("seal.key"))
    };
    let house = House::new(plan)?;
    house.create_table().await?;
    let thread = ThreadKey { user: house.user.clone(), thread: fixture::thread("stream").thread };
    let key = house.wiring.runs().admit(wanted(&thread, "plan")?).await?.run.key;
    let models: Arc<dyn Models> = Arc::new(Talker::with_tools(STREAMED));
    let deadline = Deadline::at(SystemClock.now() + Duration::from_mins(15));
    let work = runner(&house.wiring, models, "bench");
    work.run(Lane::Run, &ItemKey::Run(key.clone()), deadline).await;
    let gateway = house.gateway();
    for modes in [vec!["messages-tuple", "custom", "updates"], vec!["values"]] {
        let named: Vec<String> = modes.iter().map(|mode| format!("stream_mode={mode}")).collect();
        let uri = format!("/api/threads/{}/runs/{}/join?{}", thread.thread, key.id, named.join("&"));
        let (mut events, mut bytes) = (0, 0);
        let began = Instant::now();
        for _ in 0..STREAMS {
            let request = Request::get(&uri)
                .header("host", "127.0.0.1")
                .header("accept", "text/event-stream")
                .body(axum::body::Body::empty())?;
            let answer = gateway.clone().oneshot(request).await?;
            anyhow::ensure!(answer.status().is_success(), "the stream was refused: {}", answer.status());
            let body = answer.into_body().collect().await?.to_bytes();
            events += std::str::from_utf8(&body)?.matches("event: ").count();
            bytes += body.len();
        }
        let took = began.elapsed().as_secs_f64();
        out(Row::of("agent")
            .with("what", "one stream of a run that has ended")
            .with("modes", modes.join("+"))
            .with("events", events / STREAMS)
            .with("bytes", bytes / STREAMS)
            .number("events_per_second", events as f64 / took));
    }
    Ok(())
}

/// An hour of ticks, with a run that waits for its subagent and without.
async fn parked(out: &mut impl FnMut(Row)) -> anyhow::Result<()> {
    let clock = Arc::new(HandClock::default());
    let bench = Bench::new(clock.clone()).await?;
    let models: Arc<dyn Models> = Arc::new(Talker::delegating());
    let mut hours = Vec::new();
    for with_run in [false, true] {
        if with_run {
            let key = bench.admit(wanted(&fixture::thread("parked"), "delegate")?).await?;
            bench.work(&models, &key).await;
            let run = bench.load(&key).await?;
            // Its subagent is somebody else's: it is taken, and works as long as it takes.
            let Phase::Parked { open } = &run.phase else { anyhow::bail!("{:?}", run.phase) };
            for child in open {
                let lease = fixture::lease("somebody", clock.now() + Duration::from_hours(2));
                let taken = RunStore::claim(&*bench.metered.table, &key.beside(child.clone()), lease).await?;
                taken.context("the subagent is free")?;
            }
        }
        bench.metered.costs.take();
        for _ in 0..60 {
            clock.advance(Duration::from_secs(10));
            let work = Arc::new(runner(&bench.wiring, Arc::clone(&models), "bench"));
            let deadline = Deadline::at(clock.now() + Duration::from_mins(15));
            bench.wiring.drain().answer(work, Call::Tick, deadline).await.clean()?;
        }
        hours.push(bench.metered.costs.take());
    }
    let [idle, waiting] = hours[..] else { anyhow::bail!("two were measured") };
    out(Row::of("agent")
        .with("what", "60 ticks with a run that waits, beyond 60 without")
        .number("write_units", waiting.write - idle.write)
        .number("read_units", waiting.read - idle.read));
    Ok(())
}
