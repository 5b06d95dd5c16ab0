//! Keys are made, listed and revoked with a Pudu that runs on the folder, without one, and in a table elsewhere.

use clap::Parser;
use tempfile::TempDir;

use super::*;
use crate::cli::{Cli, Command, StoreArgs};
use crate::engine::Engine;
use crate::folder::RunFile;
use crate::house::{House, Plan};
use crate::machine::{Machine, listen_anywhere};

fn command(line: &str, more: &[&str]) -> KeysCommand {
    let words = ["pudu", "keys"].into_iter().chain(line.split(' ')).chain(more.iter().copied());
    match Cli::try_parse_from(words).unwrap().command {
        Some(Command::Keys(command)) => command,
        other => panic!("{other:?}"),
    }
}

/// Makes, lists and revokes a key where `at` says.
async fn whole_life(at: &[&str]) -> (Kept, String) {
    let create = "create --name ci --user ann --role admin --servers crm,erp";
    let Reply::Created { key, text } = replied(&command(create, at)).await.unwrap() else { panic!("no key") };
    assert!(text.starts_with(&format!("pudu_{}_", key.id)), "{text}");
    assert_eq!((key.name.as_str(), key.user.as_str(), key.role), ("ci", "key:ann", Role::Admin));
    assert_eq!(key.servers.as_ref().unwrap().len(), 2);
    let Reply::Created { key: own, .. } = replied(&command("create --name x", at)).await.unwrap() else {
        panic!()
    };
    assert_eq!((own.user.as_str(), own.role, own.servers), (&*format!("key:{}", own.id), Role::User, None));

    let Reply::Listed(all) = replied(&command("list", at)).await.unwrap() else { panic!() };
    assert!(all.contains(&key), "{all:?}");
    assert!(!serde_json::to_string(&all).unwrap().contains(&text[18..]));
    let revoke = format!("revoke {}", key.id);
    let Reply::Revoked(Some(revoked)) = replied(&command(&revoke, at)).await.unwrap() else { panic!() };
    assert!(revoked.revoked_at.is_some());
    assert_eq!(replied(&command(&revoke, at)).await.unwrap(), Reply::Revoked(Some(revoked.clone())));
    assert_eq!(replied(&command("revoke aaaaaaaaaaaa", at)).await.unwrap(), Reply::Revoked(None));
    (revoked, text)
}

#[tokio::test]
async fn without_a_running_pudu_the_folder_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let at = ["--data-dir", data.to_str().unwrap()];
    let error = replied(&command("list", &at)).await.unwrap_err().to_string();
    assert!(error.contains("--data-dir") && !data.exists(), "a look makes no folder: {error}");
    whole_life(&at).await;
}

#[tokio::test]
async fn a_running_pudu_is_asked_and_the_key_opens_it_until_it_is_revoked() {
    let folder = tempfile::tempdir().unwrap();
    let args =
        StoreArgs { data_dir: folder.path().join("data"), dynamodb_endpoint: None, table: "pudu".to_owned() };
    let store = Store::open(&args).await.unwrap();
    let house =
        House::new(Plan::new(store.client.clone(), store.table.clone(), store.folder.seal_key())).unwrap();
    house.create_table().await.unwrap();
    let machine = Machine::start(Arc::new(house), listen_anywhere().await.unwrap()).unwrap();
    let key = machine.house.key().expose().to_owned();
    let _announced = store.folder.announce(&RunFile { pid: 1, address: machine.gateway, key }).unwrap();
    let at = ["--data-dir", args.data_dir.to_str().unwrap()];

    let Reply::Created { key, text } =
        replied(&command("create --name me --user local:default", &at)).await.unwrap()
    else {
        panic!()
    };
    assert_eq!(key.user.as_str(), "local:default", "the operator may name anybody");
    let callers = machine.house.wiring.callers();
    assert_eq!(callers.authenticate(&text).await.unwrap().user, key.user);
    let (revoked, text) = whole_life(&at).await;
    assert!(machine.house.wiring.callers().authenticate(&text).await.is_err());
    let records = machine.house.wiring.audit().log.list(10, None).await.unwrap();
    assert!(records.iter().any(|r| r.action == "keys.revoke" && r.target.contains(revoked.id.as_str())));
    assert!(records.iter().all(|record| record.tag.as_str() == "operator"));
    machine.stop().await;
}

#[tokio::test]
async fn a_table_elsewhere_needs_no_folder() {
    let folder: TempDir = tempfile::tempdir().unwrap();
    let engine = Engine::in_memory().unwrap();
    let endpoint = engine.serve(([127, 0, 0, 1], 0).into(), "local".to_owned()).await.unwrap();
    let (url, data) = (endpoint.url(), folder.path().join("data"));
    let at = ["--dynamodb-endpoint", &url, "--table", "elsewhere", "--data-dir", data.to_str().unwrap()];
    assert!(replied(&command("list", &at)).await.is_err(), "a look makes no table");
    whole_life(&at).await;
    assert!(!data.exists());
    endpoint.stop().await;
}

#[tokio::test]
async fn what_is_no_name_no_user_and_no_id_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let at = ["--data-dir", data.to_str().unwrap()];
    for line in ["create --name \u{7}", "create --name x --user ü", "create --name x --user :", "revoke x"] {
        assert!(replied(&command(line, &at)).await.is_err(), "{line}");
    }
}

#[test]
fn a_line_of_a_list_has_everything_but_the_text() {
    let key = Kept {
        id: KeyId::parse("a0a0a0a0a0a0").unwrap(),
        name: KeyName::parse("Ann's laptop").unwrap(),
        user: UserId::parse("key:ann").unwrap(),
        role: Role::User,
        servers: Some(["crm".to_owned(), "erp".to_owned()].into()),
        created_at: Timestamp::from_millis(1_793_491_200_000),
        revoked_at: None,
    };
    assert_eq!(
        line(&key),
        "a0a0a0a0a0a0  user   2026-11-01T00:00:00Z  valid  key:ann  servers: crm,erp  Ann's laptop"
    );
    let revoked = Kept { revoked_at: Some(key.created_at), servers: None, ..key };
    assert!(line(&revoked).contains("revoked 2026-11-01T00:00:00Z  key:ann  servers: all"));
}
