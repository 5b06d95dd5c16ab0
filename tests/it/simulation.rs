//! The simulations: of tasks on the real stores, of which the fake's own seeds are in testkit, and of agents' runs, in `runs` and
//! `crashes`. A few seeds of each are here, thousands in `sim`, by `.ci/run`.

mod crashes;
mod runs;

use acceptance::dynamo_backend::DynamoBackend;
use pudu_testkit::sim::{Outcome, Settings, run};

fn simulated(seed: u64) -> Outcome {
    run(seed, &Settings::small(), false, DynamoBackend::new).unwrap()
}

#[test]
fn the_promises_hold_on_the_real_stores() {
    let mut seen = (0, 0, 0);
    for seed in 0..16 {
        let outcome = simulated(seed);
        assert_eq!(outcome.violations, [], "seed {seed}");
        seen = (seen.0 + outcome.remote_tasks, seen.1 + outcome.events, seen.2 + outcome.crashes);
    }
    // A world in which nothing happens keeps every promise.
    assert!(seen.0 > 5 && seen.1 > 5 && seen.2 > 5, "{seen:?}");
}

#[test]
fn the_same_seed_gives_the_same_trace_on_the_real_stores() {
    assert_eq!(simulated(3).hash, simulated(3).hash);
    assert_ne!(simulated(3).hash, simulated(4).hash);
}
