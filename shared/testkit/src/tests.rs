//! The testkit's own tests: the fake passes the suites, each broken store fails one, and runs repeat themselves.

mod follow;
mod gates;
mod remote;
mod runs;

use crate::conformance::{SUITES, World, fake_world};
use crate::mutant::{Mutant, RunMutant};
use crate::table::Flaw;

async fn failures(fresh: impl Fn() -> World) -> Vec<String> {
    let mut all = Vec::new();
    for suite in SUITES {
        all.extend(suite.failures(async || fresh()).await);
    }
    all
}

fn mutated(mutant: Mutant) -> World {
    let world = fake_world(None);
    World { tasks: mutant.tasks(world.tasks), notes: mutant.notes(world.notes), ..world }
}

#[tokio::test(start_paused = true)]
async fn the_fake_passes_every_suite() {
    crate::conformance::run_all(async || fake_world(None)).await;
}

#[tokio::test(start_paused = true)]
async fn every_flaw_of_a_table_fails_a_case() {
    for flaw in Flaw::ALL {
        let failures = failures(|| fake_world(Some(flaw))).await;
        assert!(!failures.is_empty(), "{flaw:?} passes every case");
    }
}

/// A mutant that alters a decision writes a row that conformance compares with the decision; so it is noticed here too.
#[tokio::test(start_paused = true)]
async fn every_mutant_fails_a_case() {
    for mutant in Mutant::ALL {
        let failures = failures(|| mutated(mutant)).await;
        assert!(!failures.is_empty(), "{mutant:?} passes every case");
    }
}

#[tokio::test(start_paused = true)]
async fn every_mutant_of_runs_fails_a_case() {
    let suite = SUITES.into_iter().find(|suite| suite.port == "run_store").unwrap();
    for mutant in RunMutant::ALL {
        let mutated = || {
            let world = fake_world(None);
            World { runs: mutant.runs(world.runs), ..world }
        };
        let failures = suite.failures(async || mutated()).await;
        assert!(!failures.is_empty(), "{mutant:?} passes every case");
    }
}

#[tokio::test(start_paused = true)]
async fn a_table_without_fence_fails_by_name() {
    let failures = failures(|| mutated(Mutant::IgnoreGeneration)).await;
    let named = |case: &str| failures.iter().any(|failure| failure.contains(case));
    assert!(
        named("a_fenced_holder_cannot_commit") && named("a_replaced_holder_cannot_commit"),
        "{failures:#?}"
    );
}
