//! The simulation of runs, many seeds on all cores.

use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use acceptance::agents::{self, Counts, Outcome};
use acceptance::dynamo_backend::DynamoBackend;
use pudu_testkit::sim::FakeBackend;
use pudu_testkit::{FakeTable, Trace};

use crate::{Arguments, Table, each_seed};

/// What all seeds showed.
#[derive(Default)]
struct Totals {
    counts: Counts,
    violations: usize,
}

/// Simulates, and says what happened.
pub(crate) fn simulate(arguments: &Arguments) -> ExitCode {
    let totals = Mutex::new(Totals::default());
    each_seed(arguments, |seed| report(seed, run(seed, arguments), arguments, &totals));
    let Totals { counts, violations } = totals.into_inner().unwrap_or_else(PoisonError::into_inner);
    println!("{counts}");
    println!("runs: seeds {}, violations {violations}", arguments.seeds);
    if violations == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run(seed: u64, arguments: &Arguments) -> Result<Outcome, String> {
    // To format every call is most of what a seed costs.
    let trace = if arguments.trace { Trace::kept() } else { Trace::off() };
    match arguments.table {
        Table::Fake => agents::run(seed, &agents::settings(), trace, None, async |clock, random| {
            let table = FakeTable::straggling(Arc::new(*clock), random.fork(), Duration::from_secs(5));
            Ok(FakeBackend { table, mutant: None })
        }),
        Table::Dynamo => agents::run(seed, &agents::small(), trace, None, DynamoBackend::new),
    }
}

fn report(seed: u64, outcome: Result<Outcome, String>, arguments: &Arguments, totals: &Mutex<Totals>) {
    let mut totals = totals.lock().unwrap_or_else(PoisonError::into_inner);
    match outcome {
        Ok(outcome) => {
            outcome.lines.iter().for_each(|line| println!("{line}"));
            outcome.violations.iter().for_each(|violation| println!("seed {seed}: {violation}"));
            if arguments.trace {
                println!("seed {seed}: trace {:016x}", outcome.hash);
            }
            totals.counts += outcome.counts;
            totals.violations += outcome.violations.len();
        }
        Err(error) => {
            println!("seed {seed}: the world could not be run: {error}");
            totals.violations += 1;
        }
    }
}
