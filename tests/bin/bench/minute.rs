//! What a minute of a poller at work costs, in virtual time: a lone task at the default cadence, and a thousand at a slow one.

use std::sync::Arc;
use std::time::Duration;

use acceptance::MeteredTable;
use pudu::engine::Mode;
use pudu_app::deadline::Deadline;
use pudu_app::limits::Limits;
use pudu_app::ports::{Clock, Random};
use pudu_config::Document;
use pudu_domain::{TaskId, TaskKey};
use pudu_lambda::random::OsRandom;
use pudu_testkit::{VirtualClock, fixture};

use crate::life::Life;
use crate::row::Row;
use crate::still::Still;

/// Time in which a shift begins work, when it ends by its deadline: the last 10 s are for what runs.
const SHIFT: Duration = Duration::from_secs(70);

/// Prints each minute.
pub(crate) fn run(out: &mut impl FnMut(Row)) -> anyhow::Result<()> {
    for (tasks, cadence) in [(1, Duration::from_secs(5)), (1_000, Duration::from_secs(30))] {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build()?;
        out(runtime.block_on(minute(tasks, cadence))?);
    }
    Ok(())
}

/// A minute of `tasks` tasks that are each asked every `cadence`, one after the other.
async fn minute(tasks: u32, cadence: Duration) -> anyhow::Result<Row> {
    let clock = VirtualClock::start();
    let metered = MeteredTable::answering(Arc::new(clock), Mode::Inline).await;
    let mut life = Life::new(metered, Arc::new(clock));
    let still = Still { poll_after: cadence, asked: Arc::default() };
    let wiring = life.wiring(still, Limits::default())?;
    let config = Document::parse(fixture::config()).map_err(|wrong| anyhow::anyhow!("{wrong:?}"))?;
    wiring.configs.seed(config).await?;
    life.identity = wiring.configs.identity(&fixture::server())?;
    let began = clock.now();
    for number in 0..tasks {
        let mut tail = [0; 10];
        OsRandom.fill(&mut tail);
        let key = TaskKey { thread: fixture::thread("t"), id: TaskId::new(began, tail) };
        life.submit(&key, began, Some(cadence / tasks * (number + 1))).await?;
    }
    life.forget();
    let deadline = Deadline::at(clock.now() + SHIFT);
    let report = wiring.drain().run(Arc::new(wiring.poller()), deadline).await.clean()?;
    let (calls, cost) = (life.metered.calls.take(), life.metered.costs.take());
    let queries = calls.iter().filter(|call| *call == "Query").count();
    Ok(Row::of("units")
        .with("step", format!("a minute of {tasks} tasks, each asked every {} s", cadence.as_secs()))
        .number("write", cost.write)
        .number("read", cost.read)
        .with("polls", report.worked)
        .with("queries", queries)
        .with("requests", calls.len()))
}
