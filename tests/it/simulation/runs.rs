//! The simulation of agents' runs: a few dozen seeds on the fake table and a few on the real stores; `.ci/run` lives thousands
//! through. Every promise has a runner or a store that is seen to break it.

use std::sync::Arc;
use std::time::Duration;

use acceptance::agents::{self, Counts, Fault, Outcome, PROMISES};
use acceptance::dynamo_backend::DynamoBackend;
use pudu_testkit::mutant::{Mutant, RunMutant};
use pudu_testkit::sim::FakeBackend;
use pudu_testkit::table::Flaw;
use pudu_testkit::{FakeTable, Trace};

/// Seeds in which a broken rule must show itself; the search ends with the first.
const SEARCHED: u64 = 300;

/// A rule that a world breaks.
#[derive(Debug, Clone, Copy)]
enum Broken {
    /// A runner's, or a store's of runs.
    Run(Fault),
    /// A store's of notifications.
    Note(Mutant),
    /// The table's own.
    Table(Flaw),
}

/// Every broken rule, and the promise that it must be seen to break.
const CAUGHT: [(Broken, &str); 25] = [
    (Broken::Run(Fault::ParksForEver), "every run ends"),
    (Broken::Run(Fault::Store(RunMutant::ForgetsOthers)), "no thread waits for a run that does not come"),
    (Broken::Run(Fault::Store(RunMutant::KeepsSecrets)), "the secrets of a run go with its end"),
    (Broken::Run(Fault::EndsStayDue), "what has ended is wanted by nobody"),
    (
        Broken::Run(Fault::Store(RunMutant::ForgetsRecords)),
        "what a run tells is numbered without gap and double",
    ),
    (
        Broken::Run(Fault::Store(RunMutant::IgnoresWake)),
        "what a run tells is numbered without gap and double",
    ),
    (
        Broken::Run(Fault::Store(RunMutant::IgnoresOthers)),
        "what a run tells is numbered without gap and double",
    ),
    (Broken::Run(Fault::ShowsTwice), "what a run tells is numbered without gap and double"),
    (Broken::Run(Fault::AnswersTwice), "nothing stands twice in a conversation"),
    (Broken::Run(Fault::BeginsTwice), "nothing stands twice in a conversation"),
    (Broken::Run(Fault::Store(RunMutant::IgnoresRevisions)), "a thread has one active run"),
    (Broken::Table(Flaw::ClaimsLeased), "nothing is done again whose result stands"),
    (Broken::Run(Fault::SpeaksTwice), "what was streamed is what stands"),
    (Broken::Run(Fault::EndsTwice), "a stream ends once, as its run ended"),
    (Broken::Run(Fault::Store(RunMutant::ForgetsFrames)), "a stream ends once, as its run ended"),
    (Broken::Run(Fault::Store(RunMutant::ForgetsCheckpoints)), "every state is there whole"),
    (Broken::Run(Fault::ForgetsHeads), "every state is there whole"),
    (Broken::Run(Fault::Store(RunMutant::IgnoresClaims)), "no write by a holder whose lease ended"),
    (Broken::Run(Fault::BelievesTooEarly), "an event is told only by a run that has ended well, once"),
    (Broken::Note(Mutant::NoteSkipsDue), "every event is delivered or ended"),
    (Broken::Run(Fault::Store(RunMutant::ForgetsKeys)), "a key stands for one run"),
    (Broken::Run(Fault::Overstays), "whoever works ends before his deadline"),
    (Broken::Run(Fault::CancelsNothing), "an end that somebody was told of stands"),
    (Broken::Run(Fault::AdmitsNothing), "a run that its caller was told of is there"),
    (Broken::Table(Flaw::ErasesHalf), "a deleted thread goes whole"),
];

fn lived(seed: u64, broken: Option<Broken>, trace: Trace) -> Outcome {
    let (fault, mutant, flaw) = match broken {
        None => (None, None, None),
        Some(Broken::Run(fault)) => (Some(fault), None, None),
        Some(Broken::Note(mutant)) => (None, Some(mutant), None),
        Some(Broken::Table(flaw)) => (None, None, Some(flaw)),
    };
    agents::run(seed, &agents::settings(), trace, fault, async |clock, random| {
        let table = FakeTable::straggling(Arc::new(*clock), random.fork(), Duration::from_secs(5));
        let table = match flaw {
            Some(flaw) => table.with_flaw(flaw),
            None => table,
        };
        Ok(FakeBackend { table, mutant })
    })
    .unwrap()
}

#[test]
fn the_promises_about_runs_hold() {
    let mut counts = Counts::default();
    for seed in 0..60 {
        let outcome = lived(seed, None, Trace::off());
        assert_eq!(outcome.violations, [], "seed {seed}");
        counts += outcome.counts;
    }
    // A world in which nothing happens keeps every promise.
    let Counts { runs, children, well, parked, handed_over, deaths, told, calls } = counts;
    assert!(runs > 200 && children > 50 && calls > 500 && deaths > 300, "{counts}");
    assert!(parked > 40 && handed_over > 8 && told > 30, "{counts}");
    // Models refuse and callers end runs; a worker's death is no reason to fail.
    assert!(well * 2 > runs, "{counts}");
}

#[test]
fn the_promises_about_runs_hold_on_the_real_stores() {
    let mut counts = Counts::default();
    for seed in 0..4 {
        let outcome = agents::run(seed, &agents::small(), Trace::off(), None, DynamoBackend::new).unwrap();
        assert_eq!(outcome.violations, [], "seed {seed}");
        counts += outcome.counts;
    }
    assert!(counts.runs > 3 && counts.deaths > 3, "{counts}");
}

#[test]
fn the_same_seed_gives_the_same_runs() {
    let hash = |seed| lived(seed, None, Trace::hashed()).hash;
    for seed in 0..3 {
        assert_eq!(hash(seed), hash(seed), "seed {seed}");
    }
    assert_ne!(hash(1), hash(2));
}

/// One table: the promise, what breaks it, and the first seed in which that is seen.
#[test]
fn every_broken_rule_of_runs_breaks_its_promise() {
    let mut missed = Vec::new();
    for (broken, promise) in CAUGHT {
        let breaks = |seed: &u64| {
            let outcome = lived(*seed, Some(broken), Trace::off());
            outcome.violations.iter().any(|violation| violation.promise == promise)
        };
        match (0..SEARCHED).find(breaks) {
            Some(seed) => println!("{promise}: {broken:?}, first seen in seed {seed}"),
            None => missed.push((broken, promise)),
        }
    }
    assert!(missed.is_empty(), "not caught in {SEARCHED} seeds: {missed:?}");
}

#[test]
fn every_promise_about_runs_has_something_that_breaks_it() {
    for promise in PROMISES {
        assert!(CAUGHT.iter().any(|(_, caught)| *caught == promise), "{promise}");
    }
}
