use super::*;
use crate::mutant::Mutant;
use crate::table::{FakeTable, Flaw};

/// Seeds in which a mutant must show itself; the search ends with the first. Most need a few, a withdrawal that comes to
/// light needs some hundreds.
const SEARCHED: u64 = 3000;

/// How far the index may be behind.
const LAG: Duration = Duration::from_secs(5);

fn run_with(seed: u64, mutant: Option<Mutant>, flaw: Option<Flaw>) -> Outcome {
    run(seed, &Settings::default(), false, async |clock, random| {
        let table = FakeTable::straggling(Arc::new(*clock), random.fork(), LAG);
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

/// A rule that a world breaks.
#[derive(Debug, Clone, Copy)]
enum Broken {
    Mutant(Mutant),
    Flaw(Flaw),
}

/// Every broken rule, and the promise that it must be seen to break.
const CAUGHT: [(Broken, &str); 24] = [
    (Broken::Mutant(Mutant::IgnoreGeneration), "no write by a holder whose lease ended"),
    (Broken::Mutant(Mutant::IgnoreLeaseEnd), "no write by a holder whose lease ended"),
    (Broken::Mutant(Mutant::DecideSkipsFence), "no write by a holder whose lease ended"),
    (Broken::Mutant(Mutant::IgnoreWake), "no request to cancel is lost"),
    (Broken::Mutant(Mutant::ForgetNote), "no event is lost"),
    (Broken::Mutant(Mutant::DeliverNothing), "no event is lost"),
    (Broken::Mutant(Mutant::AttentionRunsAhead), "the last event tells the end"),
    (Broken::Mutant(Mutant::NoteSkipsDue), "every event is delivered or ended"),
    (Broken::Mutant(Mutant::DecideSkipsDue), "no task is lost"),
    (Broken::Mutant(Mutant::PutsAside), "no row is corrupt"),
    (Broken::Mutant(Mutant::DecideSkipsIntent), "every remote task is tracked or reported"),
    (Broken::Mutant(Mutant::ForgetHandle), "a task that its caller was told of is tracked"),
    (Broken::Mutant(Mutant::ForgetKey), "a key stands for one task"),
    (Broken::Mutant(Mutant::EndsOtherwise), "a task ends as its server says"),
    (Broken::Mutant(Mutant::DecideSkipsWithdrawal), "no event is delivered that was not true"),
    (Broken::Mutant(Mutant::DeliverStale), "no event is delivered that was not true"),
    (Broken::Mutant(Mutant::ListsNothing), "what a deleted thread had at its server is ended there"),
    (
        Broken::Mutant(Mutant::ForgetAnswer),
        "an answer that its giver was told of stands until it is heard of",
    ),
    (Broken::Mutant(Mutant::AnswerBlindly), "an answer is handed over again only after a look"),
    (Broken::Flaw(Flaw::ErasesHalf), "a deleted thread goes whole"),
    (Broken::Flaw(Flaw::ClaimsLeased), "no write by a holder whose lease ended"),
    (Broken::Flaw(Flaw::SharesHandles), "a remote handle belongs to one task"),
    (Broken::Flaw(Flaw::DeliversAgain), "nothing is delivered twice or after a newer version"),
    (Broken::Flaw(Flaw::TearsTransactions), "no event is lost"),
];

/// One table: the promise, what breaks it, and the first seed in which that is seen.
#[test]
fn every_mutant_and_every_flaw_breaks_its_promise() {
    let first = |broken, promise: &str| {
        let (mutant, flaw) = match broken {
            Broken::Mutant(mutant) => (Some(mutant), None),
            Broken::Flaw(flaw) => (None, Some(flaw)),
        };
        (0..SEARCHED)
            .find(|seed| run_with(*seed, mutant, flaw).violations.iter().any(|v| v.promise == promise))
    };
    let mut missed = Vec::new();
    for (broken, promise) in CAUGHT {
        match first(broken, promise) {
            Some(seed) => println!("{promise}: {broken:?}, first seen in seed {seed}"),
            None => missed.push((broken, promise)),
        }
    }
    assert!(missed.is_empty(), "not caught in {SEARCHED} seeds: {missed:?}");
}

#[test]
fn every_promise_has_a_mutant_or_a_flaw_that_breaks_it() {
    for promise in PROMISES {
        assert!(CAUGHT.iter().any(|(_, caught)| *caught == promise), "{promise}");
    }
}

#[test]
fn no_mutant_and_no_flaw_is_left_out() {
    let listed = CAUGHT.map(|(broken, _)| format!("{broken:?}"));
    let mutants = Mutant::ALL.map(|mutant| format!("Mutant({mutant:?})"));
    // One must break nothing, and no task has a token, is told by a run or is thought anything of: these have tests of their own.
    let elsewhere = [Flaw::KeepsEnded, Flaw::IgnoresGenerations, Flaw::OutlivesThreads];
    let mutants = mutants.into_iter().filter(|name| name != "Mutant(LaunchAnew)");
    let flaws =
        Flaw::ALL.into_iter().filter(|flaw| !elsewhere.contains(flaw)).map(|flaw| format!("Flaw({flaw:?})"));
    for name in mutants.into_iter().chain(flaws) {
        assert!(listed.contains(&name), "{name}");
    }
}

/// An index that shows what has ended costs claims that fail, and breaks no promise: its rows are hints.
#[test]
fn a_stale_index_breaks_no_promise() {
    for seed in 0..20 {
        assert_eq!(run_with(seed, None, Some(Flaw::KeepsEnded)).violations, [], "seed {seed}");
    }
}
