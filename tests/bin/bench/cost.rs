//! What a month costs: 1,000 tasks that are polled every 30 s, by the functions' own libraries in virtual time, started by
//! their schedule as in the cloud. Units are those of the embedded engine's own account, prices are public ones.

mod cloud;
mod prices;

use std::time::Duration;

use crate::row::Row;
use cloud::{Billed, Cloud, Usage};
use prices::Price;

/// How many tasks, and how often each is asked.
pub(crate) const TASKS: u32 = 1_000;
pub(crate) const CADENCE: Duration = Duration::from_secs(30);
/// Until as many pollers overlap as ever do.
const WARM_UP: Duration = Duration::from_secs(240);
const MEASURED: Duration = Duration::from_secs(180);
const MONTH: Duration = Duration::from_secs(30 * 86_400);
/// What an invocation is billed beyond the time in which it works or waits for due times, none of which passes in virtual
/// time: its first look through the index, at a few milliseconds per request, and the runtime's own. An assumption.
const OVERHEAD: Duration = Duration::from_millis(50);
/// What a task stores, rounded up: three rows of at most 1 KB, its index entry, and 100 bytes that each row is billed.
const BYTES_PER_TASK: f64 = 4096.0;

/// Measures and prints each line of the bill, for tasks whose polls fall due one after the other and for tasks that are all due
/// at once.
pub(crate) fn run(out: &mut impl FnMut(Row)) -> anyhow::Result<()> {
    for (tasks, apart) in [("spread", CADENCE / TASKS), ("together", Duration::ZERO)] {
        let usage = measured(apart)?;
        anyhow::ensure!(usage.polls > 0, "nobody was polled");
        let row = |line: &str| Row::of("cost").with("tasks", tasks).with("line", line);
        let (polls, minutes) = (usage.polls as f64, MEASURED.as_secs_f64() / 60.0);
        out(row("what a month is made of")
            .number("seconds_between_polls", f64::from(TASKS) * MEASURED.as_secs_f64() / polls)
            .precise("write_per_poll", usage.write / polls)
            .precise("read_per_poll", usage.read / polls)
            .number("invocations_per_minute", usage.invocations() as f64 / minutes)
            .number("pollers_awake", usage.poller.awake().as_secs_f64() / MEASURED.as_secs_f64()));
        let mut total = 0.0;
        for (line, quantity, price) in bill(&usage) {
            let dollars = quantity * price.dollars / price.per;
            total += dollars;
            out(row(line)
                .number("quantity", quantity)
                .with("price", price.text())
                .with("seen", price.seen)
                .number("dollars", dollars));
        }
        out(row("sum of a month").number("dollars", total));
    }
    let always_on = prices::INSTANCE_HOUR.dollars * MONTH.as_secs_f64() / 3600.0;
    out(Row::of("cost")
        .with("line", "one m7g.large that is always on, without a database")
        .with("price", prices::INSTANCE_HOUR.text())
        .with("seen", prices::INSTANCE_HOUR.seen)
        .number("dollars", always_on));
    Ok(())
}

/// What a while of steady work uses.
fn measured(apart: Duration) -> anyhow::Result<Usage> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build()?;
    runtime.block_on(async {
        let mut cloud = Cloud::open(apart).await?;
        cloud.run(WARM_UP).await?;
        cloud.forget();
        cloud.run(MEASURED).await?;
        Ok(cloud.usage())
    })
}

/// A month of what was measured, line by line.
fn bill(usage: &Usage) -> [(&'static str, f64, Price); 7] {
    let month = MONTH.as_secs_f64() / MEASURED.as_secs_f64();
    let seconds =
        |billed: &Billed| billed.awake().as_secs_f64() + OVERHEAD.as_secs_f64() * billed.invocations as f64;
    let poller = seconds(&usage.poller) * cloud::POLLER_GB;
    let notifier = seconds(&usage.notifier) * cloud::NOTIFIER_GB;
    [
        ("table: write units", usage.write * month, prices::WRITE),
        ("table: read units", usage.read * month, prices::READ),
        ("table: GB stored", f64::from(TASKS) * BYTES_PER_TASK / 1e9, prices::STORAGE),
        ("task-poller: GB-seconds", poller * month, prices::GB_SECOND),
        ("notifier: GB-seconds", notifier * month, prices::GB_SECOND),
        ("functions: requests", usage.invocations() as f64 * month, prices::REQUEST),
        ("schedule: invocations", usage.invocations() as f64 * month, prices::SCHEDULE),
    ]
}
