//! A file becomes the config in the table, with and without a Pudu that runs on the folder.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::cli::{StoreArgs, TableArgs};
use crate::folder::RunFile;
use crate::house::{House, Plan};
use crate::machine::{Machine, listen_anywhere};
use crate::store::Store;

fn args(folder: &TempDir, config: &Value) -> ImportArgs {
    let file = folder.path().join("config.json");
    fs::write(&file, config.to_string()).unwrap();
    let store =
        StoreArgs { data_dir: folder.path().join("data"), dynamodb_endpoint: None, table: "pudu".to_owned() };
    ImportArgs { file, seal_kms_key: None, table: TableArgs { aws: false, store } }
}

/// A running Pudu on the folder, by the table or by a config file.
async fn running(args: &ImportArgs, config_file: Option<PathBuf>) -> (Machine, Store) {
    let store = Store::open(&args.table.store).await.unwrap();
    let plan = Plan::new(store.client.clone(), store.table.clone(), store.folder.seal_key());
    let house = House::new(Plan { config_file, ..plan }).unwrap();
    house.create_table().await.unwrap();
    let machine = Machine::start(Arc::new(house), listen_anywhere().await.unwrap()).unwrap();
    let run = RunFile { pid: 1, address: machine.gateway, key: machine.house.key().expose().to_owned() };
    std::mem::forget(store.folder.announce(&run).unwrap());
    (machine, store)
}

/// The raw config in the table of a folder that nobody holds.
async fn stored(args: &ImportArgs) -> Value {
    let store = Store::open(&args.table.store).await.unwrap();
    let plan = Plan::new(store.client.clone(), store.table.clone(), store.folder.seal_key());
    let house = House::new(plan).unwrap();
    house.create_table().await.unwrap();
    house.stored.current().await.unwrap().document.expose_raw().clone()
}

#[tokio::test]
async fn the_file_of_another_client_becomes_the_first_revision_of_a_new_folder() {
    let folder = tempfile::tempdir().unwrap();
    let config = json!({"mcpServers": {
        "files": {"command": "npx", "args": ["-y", "server-filesystem", "/srv"], "env": {"KEY": "CANARY"}},
        "web": {"url": "https://h/mcp", "headers": {"Authorization": "${TOKEN_OF_NOBODY}"}},
    }});
    let args = args(&folder, &config);
    let lines = imported(&args).await.unwrap();
    let text = lines.join("\n");
    for said in [
        "note: mcpServers.web.type: was not given beside a url; 'http' was added",
        "note: mcpServers.web.headers.Authorization: was a variable in braces",
        "warning: mcpServers.web.headers.Authorization: the variable TOKEN_OF_NOBODY is not set here",
        "config.json is now revision 1 in the table",
        "  added    files, web",
    ] {
        assert!(text.contains(said), "{said} is missing in\n{text}");
    }
    assert!(!text.contains("CANARY"));
    let mut expected = config;
    expected["mcpServers"]["web"]["type"] = json!("http");
    expected["mcpServers"]["web"]["headers"]["Authorization"] = json!("$TOKEN_OF_NOBODY");
    assert_eq!(stored(&args).await, expected);
}

#[tokio::test]
async fn a_second_import_replaces_the_first_and_says_what_that_means() {
    let folder = tempfile::tempdir().unwrap();
    let web = |port: u16| json!({"type": "http", "url": format!("http://127.0.0.1:{port}/mcp")});
    imported(&args(&folder, &json!({"mcpServers": {"a": web(1), "b": web(2), "c": web(3)}, "own": 1})))
        .await
        .unwrap();
    let config = json!({"mcpServers": {"b": web(2), "c": web(4), "d": web(5)}});
    let args = args(&folder, &config);
    let lines = imported(&args).await.unwrap();
    let file = args.file.display();
    assert_eq!(
        lines,
        [
            format!("{file} is now revision 2 in the table"),
            "  added    d".to_owned(),
            "  changed  c".to_owned(),
            "  removed  a".to_owned()
        ]
    );
    assert_eq!(stored(&args).await, config, "the file is the whole config");
}

#[tokio::test]
async fn a_running_pudu_stores_it_and_works_by_it_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let args = args(&folder, &json!({"mcpServers": {"child": {"command": "npx"}}}));
    let (machine, store) = running(&args, None).await;
    assert!(machine.house.wiring.configs.current().await.unwrap().servers.is_empty());
    let lines = imported(&args).await.unwrap();
    assert!(lines.iter().any(|line| line.ends_with("is now revision 1 in the table")), "{lines:?}");
    let current = machine.house.wiring.configs.current().await.unwrap();
    assert!(current.servers.contains_key("child"), "without waiting for the second that a cache may be old");
    machine.stop().await;
    drop(store);
}

#[tokio::test]
async fn a_running_pudu_with_a_config_file_stores_it_and_says_that_the_file_stays_in_force() {
    let folder = tempfile::tempdir().unwrap();
    let args = args(&folder, &json!({"mcpServers": {"child": {"command": "npx"}}}));
    let own = folder.path().join("own.json");
    fs::write(&own, r#"{"mcpServers": {"own": {"command": "c"}}}"#).unwrap();
    let (machine, store) = running(&args, Some(own)).await;
    let lines = imported(&args).await.unwrap();
    assert!(lines.last().unwrap().contains("--config-source table"), "{lines:?}");
    let in_force = machine.house.wiring.configs.current().await.unwrap();
    assert_eq!(in_force.servers.keys().collect::<Vec<_>>(), ["own"]);
    assert!(machine.house.stored.current().await.unwrap().servers.contains_key("child"));
    machine.stop().await;
    drop(store);
}

#[tokio::test]
async fn what_is_not_valid_or_masked_is_refused_whole() {
    let folder = tempfile::tempdir().unwrap();
    for (config, why) in [
        (
            json!({"mcpServers": {"a": {"command": "c", "env": {"K": "***"}}}}),
            "mcpServers.a.env.K: holds the placeholder ***",
        ),
        (json!({"mcpServers": {"a": {"url": "https://***@h/mcp"}}}), "holds the placeholder ***"),
        (json!({"mcpServers": {"a": {"enabled": "maybe"}}}), "mcpServers.a.enabled"),
        (json!({"server": {"a": {}}}), "mcpServers: is missing: there is nothing to import"),
        (json!([1]), "must be an object"),
    ] {
        let args = args(&folder, &config);
        let error = imported(&args).await.unwrap_err().to_string();
        assert!(error.contains("was not imported") && error.contains(why), "{error}");
        assert!(!args.table.store.data_dir.exists(), "nothing was made");
    }
    let missing = ImportArgs { file: folder.path().join("none.json"), ..args(&folder, &json!({})) };
    assert!(imported(&missing).await.unwrap_err().to_string().contains("none.json cannot be read"));
}
