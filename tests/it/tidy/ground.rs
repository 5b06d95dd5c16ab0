//! Exceptions with reasons, and nothing taken from the air.

use super::{Source, none, read, sources};

/// What `clippy.toml` must ban; each ban says what to use instead.
const BANNED: [&str; 11] = [
    "std::time::SystemTime::now",
    "std::time::Instant::now",
    "std::env::var",
    "std::env::var_os",
    "std::env::vars",
    "std::env::vars_os",
    "std::thread::sleep",
    "std::thread::spawn",
    "tokio::time::sleep",
    "tokio::time::sleep_until",
    "tokio::spawn",
];

/// Where a ban may be lifted outside of tests: the compositions, and the adapters that are the clock and the environment.
const LIFTED: [&str; 3] = ["infra/local/", "shared/lambda/src/clock.rs", "shared/lambda/src/env.rs"];

/// What is left over, with why it is not left; written apart, so that this file is clean too.
const LEFT_OVER: [(&str, &str); 5] = [
    (concat!("#[", "allow("), "silences a lint for ever; `expect` it with a reason"),
    (concat!("#![", "allow("), "silences a lint for ever; `expect` it with a reason"),
    (concat!("todo", "!("), "is not done"),
    (concat!("unimplemented", "!("), "is not done"),
    (concat!("#[", "ignore]"), "skips a test without a reason"),
];

#[test]
fn ai_10_every_exception_has_a_reason() {
    let mut findings = Vec::new();
    for source in sources() {
        for (found, why) in LEFT_OVER {
            let lines = source.text.lines().enumerate().filter(|(_, line)| line.contains(found));
            findings.extend(lines.map(|(at, _)| format!("{}:{}: {why}", source.path, at + 1)));
        }
        findings.extend(without_reason(&source));
    }
    none(&findings);
}

/// Expectations without a reason. The attribute ends at its `)]`.
fn without_reason(source: &Source) -> Vec<String> {
    let mut findings = Vec::new();
    for begin in [concat!("#[", "expect("), concat!("#![", "expect(")] {
        for (at, _) in source.text.match_indices(begin) {
            let attribute = source.text[at..].split_once(")]").map_or("", |(attribute, _)| attribute);
            if !attribute.contains("reason = \"") {
                let line = source.text[..at].lines().count() + 1;
                findings.push(format!("{}:{line}: an expectation without a reason", source.path));
            }
        }
    }
    findings
}

#[test]
fn a_missing_reason_is_seen() {
    let source = |text: String| Source { path: "a.rs".to_owned(), text };
    let begin = concat!("#[", "expect(");
    assert_eq!(without_reason(&source(format!("\n{begin}lint)]\nfn f() {{}}"))).len(), 1);
    assert_eq!(without_reason(&source(format!("{begin}\n    lint,\n    reason = \"so\"\n)]"))).len(), 0);
}

#[test]
fn ai_11_nothing_is_taken_from_the_air() {
    let clippy = read("clippy.toml");
    let missing = BANNED.into_iter().filter(|path| {
        let ban = clippy.lines().find(|line| line.contains(&format!("path = \"{path}\"")));
        !ban.is_some_and(|line| line.contains("reason = \""))
    });
    none(
        &missing
            .map(|path| format!("clippy.toml does not ban {path}, or not with a reason"))
            .collect::<Vec<_>>(),
    );

    let lifted: Vec<String> = sources()
        .into_iter()
        .filter(|source| !source.is_test() && source.text.contains("clippy::disallowed_methods"))
        .filter(|source| !LIFTED.iter().any(|place| source.path.starts_with(place)) && !is_main(&source.path))
        .map(|source| format!("{} lifts a ban of clippy.toml", source.path))
        .collect();
    none(&lifted);
}

fn is_main(path: &str) -> bool {
    path.starts_with("functions/") && path.ends_with("/src/main.rs")
}

#[test]
fn ai_20_no_cloud_function_takes_its_environment_for_secrets() {
    let deployed = sources().into_iter().filter(|s| !s.is_test() && !s.path.starts_with("infra/local/"));
    let secrets: Vec<Source> = deployed
        .filter(|s| ["impl Secrets for ", "impl Vault for "].iter().any(|begin| s.text.contains(begin)))
        .collect();
    assert!(
        secrets.iter().any(|s| s.path == "shared/lambda/src/parameters.rs"),
        "the source of the cloud is one"
    );
    let reading = ["env::", "::env", "Process", "Source"];
    let both = secrets.iter().filter(|s| reading.iter().any(|word| s.text.contains(word)));
    none(
        &both
            .map(|s| format!("{} is a source of secrets and reads the environment", s.path))
            .collect::<Vec<_>>(),
    );
    // The one that does both is out of their reach: `ai_4` has no arrow from a function to one machine.
    let local = read("infra/local/src/secrets.rs");
    assert!(local.contains("impl Secrets for EnvSecrets") && local.contains("Process"));
}

#[test]
fn ai_15_every_store_port_has_an_adapter_of_its_name() {
    let all = sources();
    let has = |path: &str| all.iter().any(|source| source.path == path);
    let ports = all.iter().filter_map(|source| source.path.strip_prefix("shared/app/src/ports/"));
    let of_table =
        ["allowances.rs", "audit_log.rs", "beacon.rs", "due_index.rs", "event_log.rs", "wrapped_keys.rs"];
    let stores = ports.filter(|name| name.ends_with("_store.rs") || of_table.contains(name));
    let stores: Vec<&str> = stores.collect();
    assert!(stores.len() >= 6, "{stores:?}");
    let missing = stores.into_iter().filter(|name| !has(&format!("shared/dynamo/src/{name}")));
    none(&missing.map(|name| format!("shared/dynamo/src/{name} is missing")).collect::<Vec<_>>());
}
