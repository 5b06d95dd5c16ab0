//! What is generated, kept and told in the README is the same, and says what a caller must know.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use super::{Operation, contract, operations};

const KEPT: &str = "functions/gateway/openapi.json";

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)).unwrap_or_default()
}

#[test]
fn the_kept_contract_is_the_one_that_the_routes_make() {
    // Not assert_eq: both are long, and git shows the difference.
    assert!(
        read(KEPT) == pudu_gateway::contract(),
        "{KEPT} is not what the routes make: run `cargo run -- openapi > {KEPT}` and look at the difference"
    );
}

/// A row is `| `METHOD /path` | role | what |`.
#[test]
fn the_readme_has_every_operation_and_who_may() {
    let contract = contract();
    let rows: BTreeMap<String, String> = read("README.md")
        .lines()
        .filter_map(|line| {
            let mut cells = line.strip_prefix("| `")?.split(" | ");
            let (place, role) = (cells.next()?.strip_suffix('`')?, cells.next()?);
            let (method, path) = place.split_once(' ')?;
            (path.starts_with('/') && method.bytes().all(|b| b.is_ascii_uppercase()))
                .then(|| (place.to_owned(), role.to_owned()))
        })
        .collect();
    let made: BTreeMap<String, String> = operations(&contract)
        .iter()
        .map(|operation| (operation.place.clone(), operation.role(&contract)))
        .collect();
    assert_eq!(rows, made, "left: the table in README.md; right: the contract");
}

impl Operation {
    /// Who may: `anybody` without a credential, `user`, or `admin`.
    fn role(&self, contract: &Value) -> String {
        let needs = self.described.get("security").unwrap_or(&contract["security"]).as_array().unwrap();
        let roles: BTreeSet<String> = needs
            .iter()
            .map(|need| match need.get("bearer") {
                Some(roles) => roles[0].as_str().unwrap_or("user").to_owned(),
                None => "anybody".to_owned(),
            })
            .collect();
        assert_eq!(roles.len(), 1, "{} is for {roles:?}", self.place);
        roles.into_iter().next().unwrap()
    }
}
