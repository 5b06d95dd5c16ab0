//! `sim --seeds N [--from SEED]`: the simulation, many seeds on all cores; ends with one line `seeds N, violations N`.
//!
//! `sim --matrix one|every|two` is the crash matrix, `sim --model small|large` the exhaustive model of the lease protocol; both end
//! with their size and `violations N`.
//!
//! A seed that breaks a promise is printed with the promise and the evidence; `--from SEED --seeds 1 --trace` shows its calls.
#![expect(clippy::print_stdout, reason = "a command whose output is its result")]

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use acceptance::dynamo_backend::DynamoBackend;
use clap::{Parser, ValueEnum};
use pudu_testkit::FakeTable;
use pudu_testkit::matrix::{self, Depth, Size};
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
        return crash_matrix(deep);
    }
    if let Some(wide) = arguments.model {
        return exhaustive(wide);
    }
    let (next, totals) = (AtomicU64::new(0), Totals::default());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(seed) = take(&next, &arguments) {
                    report(seed, run(seed, &arguments), &arguments, &totals);
                }
            });
        }
    });
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

/// Every flow on its own, on all cores.
fn crash_matrix(deep: Deep) -> ExitCode {
    let depth = match deep {
        Deep::One => Depth::One,
        Deep::Every => Depth::EveryCall,
        Deep::Two => Depth::Two,
    };
    let (flows, next) = (matrix::flows(), AtomicUsize::new(0));
    let (mut size, mut violations) = (Size::default(), 0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let one_by_one = || {
        let next = || flows.get(next.fetch_add(1, Ordering::SeqCst));
        let done = std::iter::from_fn(next).map(|flow| (flow.name, matrix::run(flow, depth, None)));
        done.collect::<Vec<_>>()
    };
    let reports: Vec<_> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(one_by_one)).collect();
        running.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
    });
    // A thread that panicked has printed why, and its flows are missing here.
    let missing = flows.len().saturating_sub(reports.len());
    for (name, report) in reports {
        match report {
            Ok(report) => {
                println!("{name}: {}", report.size);
                report.broken.iter().for_each(|broken| println!("{broken}"));
                size += report.size;
                violations += report.broken.len();
            }
            Err(error) => {
                println!("{name}: {error}");
                violations += 1;
            }
        }
    }
    println!("matrix {size}, violations {}", violations + missing);
    if violations + missing == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
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
