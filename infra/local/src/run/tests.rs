//! What a start refuses, and what it prints: lines that can be pasted.

use std::collections::BTreeMap;

use clap::Parser;
use serde_json::json;

use super::*;
use crate::cli::Cli;
use crate::house::testing::house;

fn args(line: &str) -> RunArgs {
    Cli::try_parse_from(std::iter::once("pudu").chain(line.split_whitespace())).unwrap().run
}

/// The lines of a start in a new folder, or with a config of its own.
async fn lines(line: &str, servers: Option<serde_json::Value>) -> Vec<String> {
    let (_folder, house) = house();
    house.create_table().await.unwrap();
    let example = "http://127.0.0.1:8081/mcp";
    match servers {
        None => assert!(house.seed(example).await.unwrap()),
        Some(servers) => {
            let document = pudu_config::Document::parse(json!({ "mcpServers": servers })).unwrap();
            assert!(house.wiring.configs.seed(document).await.unwrap());
        }
    }
    let current = house.wiring.configs.current().await.unwrap();
    greeting(&args(line), None, ([127, 0, 0, 1], 8080).into(), example, &current)
}

#[tokio::test]
async fn everybody_is_let_in_on_loopback_only() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    for bind in ["0.0.0.0", "::", "10.0.0.1"] {
        let args = args(&format!("--no-auth --bind {bind} --data-dir {}", data.display()));
        let error = start(&args).await.err().unwrap().to_string();
        assert!(error.contains("--no-auth") && error.contains(bind), "{error}");
        assert!(!data.exists(), "nothing was begun");
    }
}

#[tokio::test]
async fn the_page_that_introduces_pudu_shows_what_a_start_prints() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = std::fs::read_to_string(readme).unwrap();
    let printed = lines("", None).await.join("\n");
    assert!(readme.contains(&printed), "README.md does not show:\n{printed}");
    assert_eq!(printed.matches("-H \"Authorization: Bearer $(cat '.pudu/admin.key')\"").count(), 3);
}

#[tokio::test]
async fn the_lines_that_are_pasted_show_a_key_where_one_is_asked_for() {
    for servers in [None, Some(json!({}))] {
        let open = lines("--no-auth", servers.clone()).await.join("\n");
        assert!(!open.contains("Authorization") && open.contains("without a key"), "{open}");
        let folder = "--data-dir /srv/my-pudu";
        for line in lines(folder, servers).await.iter().filter(|line| line.contains("curl")) {
            assert!(line.contains("$(cat '/srv/my-pudu/admin.key')"), "{line}");
        }
    }
}

#[test]
fn what_listens_everywhere_is_found_on_this_machine() {
    for (address, found) in
        [("0.0.0.0:1", "127.0.0.1:1"), ("[::]:2", "[::1]:2"), ("10.0.0.1:3", "10.0.0.1:3")]
    {
        assert_eq!(reachable(address.parse().unwrap()), found.parse().unwrap());
    }
}

#[test]
fn commands_come_from_our_variable_before_that_of_existing_installs() {
    let takes = |pairs: &[(&'static str, &'static str)], command: &str| {
        let env: BTreeMap<_, _> = pairs.iter().copied().collect();
        launch_policy(&env).unwrap().judge(Some(command), &["run"], &[]).is_ok()
    };
    let [ours, theirs] = COMMAND_VARIABLES;
    assert!(!takes(&[], "docker"));
    assert!(takes(&[(theirs, "docker")], "docker"));
    assert!(takes(&[(ours, "podman"), (theirs, "docker")], "podman"));
    assert!(!takes(&[(ours, "podman"), (theirs, "docker")], "docker"));
    let wrong = launch_policy(&BTreeMap::from([(theirs, "/bin/sh")])).unwrap_err();
    assert_eq!(wrong.name, theirs);
}
