//! Who is asked: the one that holds the folder, or this process; never what listens on a dead process's port.

use std::sync::Arc;

use anyhow::Result;
use http::StatusCode;
use tempfile::TempDir;

use super::{Answer, Question};
use crate::cli::{SourceArgs, StoreArgs};
use crate::folder::{DataFolder, RunFile};
use crate::house::{House, Plan};
use crate::machine::{Machine, listen_anywhere};
use crate::store::Store;

const CONFIG: &str = "/api/mcp/config";

async fn ask(args: &StoreArgs, path: &str) -> Result<Answer> {
    super::ask(args, &SourceArgs::table(), &Question::get(path)).await
}

fn args(folder: &TempDir) -> StoreArgs {
    StoreArgs { data_dir: folder.path().join("data"), dynamodb_endpoint: None, table: "pudu".to_owned() }
}

/// A gateway over a table that nobody has written, announced in the folder with its own key or another one.
async fn running(folder: &DataFolder, store: &Store, other: Option<&str>) -> Result<Machine> {
    let plan = Plan::new(store.client.clone(), store.table.clone(), folder.seal_key());
    let house = House::new(plan)?;
    house.create_table().await?;
    let machine = Machine::start(Arc::new(house), listen_anywhere().await?)?;
    let run = RunFile {
        pid: 1,
        address: machine.gateway,
        key: other.unwrap_or(machine.house.key().expose()).to_owned(),
    };
    std::mem::forget(folder.announce(&run)?);
    Ok(machine)
}

fn empty(answer: &Answer) -> bool {
    answer.status == StatusCode::OK && answer.body == serde_json::json!({ "mcp_servers": {} })
}

#[tokio::test]
async fn without_a_folder_nothing_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let error = ask(&args(&folder), CONFIG).await.unwrap_err().to_string();
    assert!(error.contains("--data-dir") && !folder.path().join("data").exists(), "{error}");
}

#[tokio::test]
async fn a_folder_that_nobody_holds_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("data")).unwrap();
    assert!(empty(&ask(&args(&folder), CONFIG).await.unwrap()));
    let missing = ask(&args(&folder), "/api/threads/a%20b/events").await.unwrap();
    assert_eq!(missing.status, StatusCode::UNPROCESSABLE_ENTITY);
}

#[tokio::test]
async fn the_one_that_holds_the_folder_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let args = args(&folder);
    let store = Store::open(&args).await.unwrap();
    let machine = running(&store.folder, &store, None).await.unwrap();
    assert!(empty(&ask(&args, CONFIG).await.unwrap()));
    machine.stop().await;
}

#[tokio::test]
async fn a_run_file_of_a_killed_process_is_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let args = args(&folder);
    // Another Pudu, with a folder of its own, got the port of the dead one; it would even accept the key.
    let other = tempfile::tempdir().unwrap();
    let elsewhere = Store::open(&self::args(&other)).await.unwrap();
    std::fs::create_dir(&args.data_dir).unwrap();
    let machine = running(&DataFolder::new(&args.data_dir), &elsewhere, None).await.unwrap();
    machine.house.seed("http://127.0.0.1:1/mcp").await.unwrap();
    assert!(empty(&ask(&args, CONFIG).await.unwrap()), "the other's config was shown");
    machine.stop().await;
}

#[tokio::test]
async fn a_holder_that_does_not_answer_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let args = args(&folder);
    let store = Store::open(&args).await.unwrap();
    let machine = running(&store.folder, &store, Some("another key")).await.unwrap();
    let error = format!("{:#}", ask(&args, CONFIG).await.unwrap_err());
    assert!(error.contains("does not answer: another Pudu listens on"), "{error}");
    machine.stop().await;
}
