//! The crash matrix of tasks, and that of runs.

use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

use acceptance::agents::matrix as agents;
use pudu_testkit::matrix::{self, Depth, Report, Size};

use crate::Deep;

/// Every flow on its own, on all cores.
pub(crate) fn matrix(deep: Deep) -> ExitCode {
    let depth = match deep {
        Deep::One => Depth::One,
        Deep::Every => Depth::EveryCall,
        Deep::Two => Depth::Two,
    };
    let (tasks, runs) = (matrix::flows(), agents::flows());
    let mut flows: Vec<Flow> = Vec::new();
    flows.extend(
        tasks.iter().map(|flow| (flow.name, Box::new(move || matrix::run(flow, depth, None)) as Sweep)),
    );
    flows.extend(
        runs.iter().map(|flow| (flow.name, Box::new(move || agents::run(flow, depth, None)) as Sweep)),
    );
    let (mut size, mut violations) = (Size::default(), 0);
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let one_by_one = || {
        let next = || flows.get(next.fetch_add(1, Ordering::SeqCst));
        std::iter::from_fn(next).map(|(name, sweep)| (*name, sweep())).collect::<Vec<_>>()
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

/// A flow's name, and its part of the matrix.
type Flow<'a> = (&'static str, Sweep<'a>);
type Sweep<'a> = Box<dyn Fn() -> Result<Report, String> + Sync + 'a>;
