use super::*;
use crate::mutant::Mutant;
use crate::table::{FakeTable, Flaw};

/// Seeds in which a mutant must show itself.
const SEARCHED: u64 = 400;

fn run_with(seed: u64, mutant: Option<Mutant>, flaw: Option<Flaw>) -> Outcome {
    run(seed, &Settings::default(), false, async |clock, random| {
        let table = FakeTable::lagging(Arc::new(*clock), random.millis(0..2_000));
        let table = match flaw {
            Some(flaw) => table.with_flaw(flaw),
            None => table,
        };
        Ok(FakeBackend { table, mutant })
    })
    .unwrap()
}

#[test]
fn the_promises_hold() {
    let mut seen = (0, 0, 0);
    for seed in 0..60 {
        let outcome = run_with(seed, None, None);
        assert!(outcome.violations.is_empty(), "seed {seed}: {:#?}", outcome.violations);
        seen.0 += outcome.remote_tasks;
        seen.1 += outcome.events;
        seen.2 += outcome.crashes;
    }
    // A world in which nothing happens keeps every promise.
    assert!(seen.0 > 100 && seen.1 > 100 && seen.2 > 100, "{seen:?}");
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    for seed in 0..5 {
        assert_eq!(run_with(seed, None, None).hash, run_with(seed, None, None).hash, "seed {seed}");
    }
    assert_ne!(run_with(1, None, None).hash, run_with(2, None, None).hash);
}

/// Every broken rule is caught by some seed.
#[test]
fn every_mutant_and_every_flaw_is_caught() {
    let mut missed = Vec::new();
    for mutant in Mutant::ALL {
        if !(0..SEARCHED).any(|seed| !run_with(seed, Some(mutant), None).violations.is_empty()) {
            missed.push(format!("{mutant:?}"));
        }
    }
    for flaw in Flaw::ALL.into_iter().filter(|flaw| *flaw != Flaw::KeepsEnded) {
        if !(0..SEARCHED).any(|seed| !run_with(seed, None, Some(flaw)).violations.is_empty()) {
            missed.push(format!("{flaw:?}"));
        }
    }
    assert!(missed.is_empty(), "not caught in {SEARCHED} seeds: {missed:?}");
}

/// An index that shows what has ended costs claims that fail, and breaks no promise: its rows are hints.
#[test]
fn a_stale_index_breaks_no_promise() {
    for seed in 0..20 {
        assert_eq!(run_with(seed, None, Some(Flaw::KeepsEnded)).violations, [], "seed {seed}");
    }
}
