//! Who may depend on whom, read from the manifests by `cargo metadata`.

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};

use super::{none, root};

/// The crates that do no I/O and know no time.
const PURE: [&str; 2] = ["pudu-domain", "pudu-config"];
const ADAPTERS: [&str; 5] = ["pudu-dynamo", "pudu-mcp", "pudu-agent", "pudu-models", "pudu-lambda"];
const FUNCTIONS: [&str; 4] = ["pudu-gateway", "pudu-task-poller", "pudu-notifier", "pudu-agent-function"];
/// What puts adapters together for the functions and for one machine.
const COMPOSE: &str = "pudu-compose";
/// The composition of everything on one machine.
const LOCAL: &str = "pudu";
const TESTKIT: &str = "pudu-testkit";
const ACCEPTANCE: &str = "acceptance";

/// What a crate that cannot do I/O does not have: beginnings of crate names.
const IO: [&str; 17] = [
    "async-std",
    "async-trait",
    "aws-",
    "axum",
    "futures",
    "getrandom",
    "http",
    "hyper",
    "lambda_",
    "mio",
    "reqwest",
    "rmcp",
    "rusqlite",
    "smol",
    "tokio",
    "tower",
    "tracing",
];

fn metadata() -> Metadata {
    let mut command = MetadataCommand::new();
    // Without the dependencies nothing is resolved, so nothing is fetched: the manifests are all that is asked.
    command.manifest_path(root().join("Cargo.toml")).no_deps().exec().unwrap()
}

/// The crates of ours that a crate is built with, tests apart.
fn arrows() -> BTreeMap<String, BTreeSet<String>> {
    let metadata = metadata();
    let ours: BTreeSet<&str> = metadata.packages.iter().map(|package| package.name.as_str()).collect();
    let known: BTreeSet<&str> =
        [&PURE[..], &ADAPTERS, &FUNCTIONS, &["pudu-app", COMPOSE, LOCAL, TESTKIT, ACCEPTANCE]]
            .concat()
            .into_iter()
            .collect();
    assert_eq!(ours, known, "a crate was added or renamed: say here what it may depend on");
    metadata
        .packages
        .iter()
        .map(|package| {
            let targets = built_with(package).filter(|name| ours.contains(name)).map(str::to_owned).collect();
            (package.name.to_string(), targets)
        })
        .collect()
}

fn built_with(package: &Package) -> impl Iterator<Item = &str> {
    package
        .dependencies
        .iter()
        .filter(|dep| dep.kind != DependencyKind::Development)
        .map(|dep| dep.name.as_str())
}

/// Arrows from `from` to anything but `allowed`, as sentences.
fn beyond(from: &[&str], allowed: &[&str]) -> Vec<String> {
    let arrows = arrows();
    let of = |name: &&str| arrows[*name].iter().map(|to| (name.to_string(), to.clone())).collect::<Vec<_>>();
    let all = from.iter().flat_map(of);
    all.filter(|(_, to)| !allowed.contains(&to.as_str()))
        .map(|(from, to)| format!("{from} depends on {to}"))
        .collect()
}

#[test]
fn ai_1_the_pure_crates_depend_on_none_of_ours() {
    none(&beyond(&PURE, &[]));
}

#[test]
fn ai_2_app_depends_on_the_pure_crates_only() {
    none(&beyond(&["pudu-app"], &PURE));
}

#[test]
fn ai_3_no_adapter_depends_on_another() {
    none(&beyond(&ADAPTERS, &["pudu-domain", "pudu-config", "pudu-app"]));
}

#[test]
fn ai_4_functions_are_composed_by_nobody_but_one_machine_and_tests() {
    let below = [&PURE[..], &ADAPTERS, &["pudu-app"]].concat();
    none(&beyond(&[COMPOSE], &below));
    let below = [&below[..], &[COMPOSE]].concat();
    none(&beyond(&FUNCTIONS, &below));
    let composed = [&below[..], &FUNCTIONS].concat();
    none(&beyond(&[LOCAL], &composed));
}

/// The notifier starts runs and does none of their steps: what calls models and servers would make it larger and slower to start.
#[test]
fn the_notifier_is_built_of_the_table_alone() {
    none(&beyond(
        &["pudu-notifier"],
        &["pudu-domain", "pudu-config", "pudu-app", "pudu-dynamo", "pudu-lambda"],
    ));
}

#[test]
fn ai_5_nothing_deployed_knows_a_fake() {
    let users: Vec<String> = arrows()
        .into_iter()
        .filter(|(name, targets)| targets.contains(TESTKIT) && name != ACCEPTANCE)
        .map(|(name, _)| format!("{name} depends on {TESTKIT}"))
        .collect();
    none(&users);
    none(&beyond(&[TESTKIT], &["pudu-domain", "pudu-config", "pudu-app"]));
    let features: Vec<String> = metadata()
        .packages
        .iter()
        .filter(|package| !package.features.is_empty())
        .map(|package| format!("{} has features {:?}", package.name, package.features.keys()))
        .collect();
    none(&features);
}

#[test]
fn ai_6_the_pure_crates_cannot_do_io() {
    let metadata = metadata();
    let pure = metadata.packages.iter().filter(|package| PURE.contains(&package.name.as_str()));
    let findings: Vec<String> = pure
        .flat_map(|package| {
            let io = built_with(package).filter(|name| IO.iter().any(|begin| name.starts_with(begin)));
            io.map(|name| format!("{} depends on {name}", package.name)).collect::<Vec<_>>()
        })
        .collect();
    none(&findings);
}

#[test]
fn ai_16_no_library_has_anyhow() {
    let metadata = metadata();
    let libraries =
        metadata.packages.iter().filter(|package| ![LOCAL, ACCEPTANCE].contains(&package.name.as_str()));
    let users = libraries.filter(|package| built_with(package).any(|name| name == "anyhow"));
    none(&users.map(|package| format!("{} depends on anyhow", package.name)).collect::<Vec<_>>());
}

#[test]
fn ai_17_every_crate_takes_the_workspaces_lints() {
    let metadata = metadata();
    let without = metadata.packages.iter().filter(|package| {
        let manifest = std::fs::read_to_string(&package.manifest_path).unwrap();
        !manifest.contains("[lints]\nworkspace = true")
    });
    none(&without.map(|package| package.name.to_string()).collect::<Vec<_>>());
}
