//! The kept inputs of every fuzz target, replayed on the stable compiler: what was found once stays found.

use std::collections::BTreeSet;
use std::path::PathBuf;

use pudu_mcp::paths;
use pudu_testkit::fuzz;

/// Every target; a macro, so that each is a test of its own.
macro_rules! targets {
    ($($name:ident: $run:expr;)+) => {
        const TARGETS: &[&str] = &[$(stringify!($name)),+];

        $(#[test]
        fn $name() {
            replay(stringify!($name), $run);
        })+
    };
}

// The two that need an adapter are put together in the same way in `fuzz/targets`.
targets! {
    config: fuzz::config;
    frames: |data| fuzz::frames(data, |chunks| {
        let event = |event: pudu_mcp::Event| [event.name, event.data, event.id];
        pudu_mcp::read_events(chunks).into_iter().map(|read| read.map(event)).collect()
    });
    headers: fuzz::headers;
    names: fuzz::names;
    paths: |data| fuzz::paths(data, paths::tokens, |text, lookup| paths::with_paths(text, lookup));
    variables: fuzz::variables;
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fuzz")
}

fn replay(target: &str, run: impl Fn(&[u8])) {
    let corpus = folder().join("corpus").join(target);
    let inputs: Vec<PathBuf> =
        std::fs::read_dir(&corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(inputs.len() >= 5, "{} has only {} inputs", corpus.display(), inputs.len());
    for input in inputs {
        let data = std::fs::read(&input).unwrap();
        let held = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(&data)));
        assert!(held.is_ok(), "a property of {target} does not hold for {}", input.display());
    }
}

#[test]
fn every_target_is_replayed_and_has_a_corpus() {
    let names = |path: &str| -> BTreeSet<String> {
        let entries = std::fs::read_dir(folder().join(path)).unwrap();
        entries.map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned()).collect()
    };
    let replayed: BTreeSet<String> = TARGETS.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!((names("targets"), names("corpus")), (replayed.clone(), replayed));
}
