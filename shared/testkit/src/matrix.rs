//! The crash matrix: for every flow, at every call that it makes, every mishap; then fresh processes, until nothing is left
//! to do, and the question whether every promise was kept (DESIGN section 9, last row).
//!
//! Nothing about the points is written by hand: a flow is run once without mishaps and its calls are counted at the gate.
//! A scan asks its shards side by side, and an index is only read; so a row of such calls is one point, if not asked otherwise.

mod flows;
mod points;
mod stage;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::AddAssign;
use std::time::Duration;

use pudu_domain::{Durable, Timestamp};

pub use flows::{Act, Flow, flows};
pub use points::Points;

use crate::gate::Fate;
use crate::mutant::Mutant;
use crate::sim::Violation;
use stage::Staged;

/// What can happen at one call of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mishap {
    /// To the call, or to the process in it.
    Call(Fate),
    /// The process's caller hangs up.
    HangUp,
}

/// What is tried at every call.
pub const MISHAPS: [Mishap; 5] = [
    Mishap::Call(Fate::CrashBefore),
    Mishap::Call(Fate::CrashAfter),
    Mishap::Call(Fate::FailBefore),
    Mishap::Call(Fate::LoseAnswer),
    Mishap::HangUp,
];
/// What is tried a second time, in the fresh processes.
const AGAIN: [Mishap; 2] = [Mishap::Call(Fate::CrashBefore), Mishap::Call(Fate::CrashAfter)];

/// How much of the matrix is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// One mishap per run; a row of index reads is one point.
    One,
    /// One mishap per run, at every single call.
    EveryCall,
    /// And after each crash a second one, at each point of what the fresh processes do.
    Two,
}

/// How large the matrix was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Size {
    /// Flows.
    pub flows: usize,
    /// Calls that the flows make without mishaps.
    pub calls: usize,
    /// Calls of those at which mishaps happened.
    pub points: usize,
    /// Runs.
    pub runs: usize,
}

/// A run that broke a promise.
#[derive(Debug)]
pub struct Broken {
    /// In which flow.
    pub flow: &'static str,
    /// What befell whom: the number of the call, the call, the mishap.
    pub mishaps: Vec<(usize, &'static str, Mishap)>,
    /// What was broken.
    pub violations: Vec<Violation>,
}

/// One flow, in a world of any kind.
pub trait Scene {
    /// Its name.
    fn name(&self) -> &'static str;

    /// Whether somebody waits who may hang up.
    fn has_a_caller(&self) -> bool;

    /// Plays it in a world of its own: its acts with these mishaps at these calls, then fresh processes until nothing is left
    /// to do. The error is a world that could not be run.
    fn play(&self, mishaps: &[(usize, Mishap)]) -> Result<Played, String>;
}

/// What one play of a flow showed.
#[derive(Debug, Clone)]
pub struct Played {
    /// Every call that was counted, also those of the fresh processes.
    pub ops: Vec<&'static str>,
    /// How many of them the flow itself made.
    pub during: usize,
    /// Promises that were broken.
    pub violations: Vec<Violation>,
}

/// What a matrix showed.
#[derive(Debug, Default)]
pub struct Report {
    /// How large it was.
    pub size: Size,
    /// The same per flow.
    pub of_flows: BTreeMap<&'static str, Size>,
    /// Every run that broke a promise.
    pub broken: Vec<Broken>,
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { flows, calls, points, runs } = self;
        write!(f, "flows {flows}, calls {calls}, points {points}, runs {runs}")
    }
}

impl AddAssign for Size {
    fn add_assign(&mut self, other: Self) {
        self.flows += other.flows;
        self.calls += other.calls;
        self.points += other.points;
        self.runs += other.runs;
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.flow)?;
        for (number, op, mishap) in &self.mishaps {
            write!(f, ", {mishap:?} at call {number} {op}")?;
        }
        for violation in &self.violations {
            write!(f, "\n  {violation}")?;
        }
        Ok(())
    }
}

/// Runs one flow's part of the matrix. The error is a world that could not be run, or a flow that is none: without calls.
pub fn run(flow: &Flow, depth: Depth, mutant: Option<Mutant>) -> Result<Report, String> {
    sweep(&Staged { flow, mutant }, depth)
}

/// The same of any flow.
pub fn sweep(scene: &impl Scene, depth: Depth) -> Result<Report, String> {
    let mut report = Report::default();
    let (flow, clean) = (scene.name(), scene.play(&[])?);
    let calls = clean.during;
    if calls == 0 {
        return Err(format!("the flow '{flow}' makes no call"));
    }
    let mut size = Size { flows: 1, calls, points: 0, runs: 1 };
    note(&mut report, flow, &[], clean.clone());
    for at in points(&clean, 0..calls, depth) {
        size.points += 1;
        for mishap in MISHAPS.into_iter().filter(|mishap| *mishap != Mishap::HangUp || scene.has_a_caller()) {
            let played = scene.play(&[(at, mishap)])?;
            size.runs += 1;
            note(&mut report, flow, &[(at, mishap)], played.clone());
            if depth == Depth::Two && AGAIN.contains(&mishap) {
                for second in points(&played, at + 1..played.ops.len(), Depth::One) {
                    for again in AGAIN {
                        let mishaps = [(at, mishap), (second, again)];
                        size.runs += 1;
                        note(&mut report, flow, &mishaps, scene.play(&mishaps)?);
                    }
                }
            }
        }
    }
    report.of_flows.insert(flow, size);
    report.size = size;
    Ok(report)
}

/// Runs every flow.
pub fn run_all(depth: Depth, mutant: Option<Mutant>) -> Result<Report, String> {
    let mut all = Report::default();
    for flow in flows() {
        let mut one = run(&flow, depth, mutant)?;
        all.size += one.size;
        all.of_flows.append(&mut one.of_flows);
        all.broken.append(&mut one.broken);
    }
    Ok(all)
}

/// How long nothing can happen to these rows any more; none when nothing ever will.
pub fn rest<'a>(rows: impl Iterator<Item = &'a Durable>, now: Timestamp) -> Option<Duration> {
    let wanted = rows.filter(|row| row.is_live()).map(|row| {
        let due = row.due.map_or(now, |due| due.at);
        let free = row.lease.as_ref().map_or(now, |lease| lease.until + Duration::from_millis(1));
        due.max(free).since(now)
    });
    // What is due may still be left to somebody who died with his beacon up: that is waited for in steps.
    wanted.min().map(|wait| wait.max(Duration::from_millis(250)))
}

/// The calls at which something happens.
fn points(played: &Played, range: std::ops::Range<usize>, depth: Depth) -> Vec<usize> {
    const SCAN: &str = "due.due";
    let is_scan = |at: usize| played.ops.get(at).is_some_and(|op| *op == SCAN);
    let first = range.start;
    let of_a_row = |at: &usize| *at > first && is_scan(*at) && is_scan(*at - 1);
    range.filter(|at| depth == Depth::EveryCall || !of_a_row(at)).collect()
}

fn note(report: &mut Report, flow: &'static str, mishaps: &[(usize, Mishap)], played: Played) {
    if played.violations.is_empty() {
        return;
    }
    let op = |at: usize| played.ops.get(at).copied().unwrap_or("never made");
    let mishaps = mishaps.iter().map(|(at, mishap)| (*at, op(*at), *mishap)).collect();
    report.broken.push(Broken { flow, mishaps, violations: played.violations });
}

#[cfg(test)]
mod tests;
