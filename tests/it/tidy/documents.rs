//! What the documents say is what is done.

use super::{none, read};

#[test]
fn ai_18_ci_runs_the_readmes_test_command() {
    let ci = read(".ci/run");
    let command = ci.lines().find_map(|line| {
        let (_, command) = line.trim().split_once("bounded 30 test ")?;
        Some(command.split(" || ").next().unwrap_or(command).to_owned())
    });
    let command = command.expect("step_test of .ci/run runs a command");
    assert!(command.starts_with("cargo test"), "{command}");
    let readme = read("README.md");
    let named = readme
        .lines()
        .any(|line| line.trim().trim_start_matches("$ ").split('#').next().unwrap_or("").trim() == command)
        || readme.contains(&format!("`{command}`"));
    assert!(named, "README.md does not name `{command}`");
}

#[test]
fn ai_19_the_architecture_page_has_every_invariant() {
    let architecture = one_line(&read("ARCHITECTURE.md"));
    let invariants = invariants();
    assert!(invariants.len() >= 19, "only {} invariants were read", invariants.len());
    let missing = invariants.iter().filter(|sentence| !architecture.contains(sentence.as_str()));
    none(&missing.map(|sentence| format!("ARCHITECTURE.md does not have: {sentence}")).collect::<Vec<_>>());
}

#[test]
fn every_invariant_has_a_test() {
    let tests: String = super::sources()
        .into_iter()
        .filter(|s| s.path.starts_with("tests/it/tidy/"))
        .map(|s| s.text)
        .collect();
    let untested = invariants().into_iter().filter(|sentence| {
        let number = sentence
            .strip_prefix("AI-")
            .and_then(|rest| rest.split_once(':'))
            .map_or("", |(number, _)| number);
        !tests.contains(&format!("fn ai_{number}_"))
    });
    none(&untested.collect::<Vec<_>>());
}

/// The sentences of `tidy.rs`, each in one line.
fn invariants() -> Vec<String> {
    let page = read("tests/it/tidy.rs");
    let docs: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("//!")).collect();
    let docs = docs.join("\n");
    docs.split("\n - ").skip(1).map(one_line).collect()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
