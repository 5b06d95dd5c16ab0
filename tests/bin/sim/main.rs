//! `sim --seeds N [--from SEED]`: the simulation, many seeds on all cores; ends with one line `seeds N, violations N`.
//!
//! `sim --runs` is the simulation of agents' runs, and ends with `runs: seeds N, violations N`. `sim --matrix one|every|two` is the crash
//! matrix of tasks and of runs, `sim --model small|large` the exhaustive model of the lease protocol; both end with their size and
//! `violations N`.
//!
//! A seed that breaks a promise is printed with the promise and the evidence; `--from SEED --seeds 1 --trace` shows its calls.
#![expect(clippy::print_stdout, reason = "a command whose output is its result")]

mod crashes;
mod runs;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use acceptance::dynamo_backend::DynamoBackend;
use clap::{Parser, ValueEnum};
use pudu_testkit::FakeTable;
use pudu_testkit::model::{self, Bounds};
use pudu_testkit::sim::{self, FakeBackend, Outcome, Settings};

/// Which table the world runs on.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Table {
    /// The conformance-tested fake.
    Fake,
    /// The real stores on an embedded engine in memory, faults at the HTTP connector.
    Dynamo,
}

/// How deep the crash matrix goes.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Deep {
    /// One mishap per run; a row of index reads is one point.
    One,
    /// One mishap per run, at every single call.
    Every,
    /// And a second crash after each.
    Two,
}

/// How wide the model is.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Wide {
    /// One kind of trouble at a time, as in `cargo test`.
    Small,
    /// All of them together.
    Large,
}

/// Pudu's simulation.
#[derive(Parser)]
struct Arguments {
    /// How many seeds.
    #[arg(long, default_value_t = 1000)]
    seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Which table.
    #[arg(long, value_enum, default_value_t = Table::Fake)]
    table: Table,
    /// Print every call of every seed.
    #[arg(long)]
    trace: bool,
    /// Runs of agents instead of tasks.
    #[arg(long, conflicts_with_all = ["matrix", "model"])]
    runs: bool,
    /// The crash matrix instead of seeds.
    #[arg(long, value_enum)]
    matrix: Option<Deep>,
    /// The model instead of seeds.
    #[arg(long, value_enum, conflicts_with = "matrix")]
    model: Option<Wide>,
}

#[derive(Default)]
struct Totals {
    violations: AtomicU64,
    remote_tasks: AtomicU64,
    events: AtomicU64,
    crashes: AtomicU64,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let Some(deep) = arguments.matrix {
        return crashes::matrix(deep);
    }
    if let Some(wide) = arguments.model {
        return exhaustive(wide);
    }
    if arguments.runs {
        return runs::simulate(&arguments);
    }
    let totals = Totals::default();
    each_seed(&arguments, |seed| report(seed, run(seed, &arguments), &arguments, &totals));
    let get = |number: &AtomicU64| number.load(Ordering::SeqCst);
    println!(
        "{} remote tasks, {} events delivered, {} crashes survived",
        get(&totals.remote_tasks),
        get(&totals.events),
        get(&totals.crashes)
    );
    let violations = get(&totals.violations);
    println!("seeds {}, violations {violations}", arguments.seeds);
    if violations == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Does something with every seed, on all cores.
fn each_seed(arguments: &Arguments, run: impl Fn(u64) + Sync) {
    let next = AtomicU64::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(seed) = take(&next, arguments) {
                    run(seed);
                }
            });
        }
    });
}

fn exhaustive(wide: Wide) -> ExitCode {
    let all: &[Bounds] = match wide {
        Wide::Small => &Bounds::SMALL,
        Wide::Large => &Bounds::LARGE,
    };
    let mut good = true;
    for bounds in all {
        match model::check(bounds, None) {
            Ok(found) => {
                found.broken.iter().for_each(|broken| println!("{broken}"));
                println!("model {found}");
                good &= found.broken.is_empty();
            }
            Err(error) => {
                println!("model of {bounds:?}: {error}");
                good = false;
            }
        }
    }
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn take(next: &AtomicU64, arguments: &Arguments) -> Option<u64> {
    let taken = next.fetch_add(1, Ordering::SeqCst);
    (taken < arguments.seeds).then(|| arguments.from + taken)
}

fn run(seed: u64, arguments: &Arguments) -> Result<Outcome, String> {
    match arguments.table {
        Table::Fake => sim::run(seed, &Settings::default(), arguments.trace, async |clock, random| {
            Ok(FakeBackend {
                table: FakeTable::straggling(Arc::new(*clock), random.fork(), Duration::from_secs(5)),
                mutant: None,
            })
        }),
        Table::Dynamo => sim::run(seed, &Settings::small(), arguments.trace, DynamoBackend::new),
    }
}

fn report(seed: u64, outcome: Result<Outcome, String>, arguments: &Arguments, totals: &Totals) {
    let add = |to: &AtomicU64, number: usize| {
        to.fetch_add(u64::try_from(number).unwrap_or(u64::MAX), Ordering::SeqCst)
    };
    match outcome {
        Ok(outcome) => {
            for line in &outcome.lines {
                println!("{line}");
            }
            for violation in &outcome.violations {
                println!("seed {seed}: {violation}");
            }
            if arguments.trace {
                println!("seed {seed}: trace {:016x}", outcome.hash);
            }
            add(&totals.violations, outcome.violations.len());
            add(&totals.remote_tasks, outcome.remote_tasks);
            add(&totals.events, outcome.events);
            totals.crashes.fetch_add(outcome.crashes, Ordering::SeqCst);
        }
        Err(error) => {
            println!("seed {seed}: the world could not be run: {error}");
            add(&totals.violations, 1);
        }
    }
}
