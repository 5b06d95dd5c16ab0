//! The example server is stored in an empty table, and nowhere else.

use pudu_app::configs::{By, Configs};
use pudu_app::ports::ConfigStore;
use serde_json::json;

use super::{SERVER, moved, seed, servers};
use crate::house::House;
use crate::house::testing::house;

const URL: &str = "http://127.0.0.1:8081/mcp";

async fn stored(house: &House) -> Option<u64> {
    house.table.pointer().await.unwrap()
}

#[tokio::test]
async fn an_empty_table_gets_the_example_server_as_revision_1_and_only_once() {
    let (_folder, house) = house();
    house.create_table().await.unwrap();
    assert_eq!(house.wiring.configs.current().await.unwrap().version.number, 0);
    assert!(house.seed(URL).await.unwrap());
    assert_eq!(stored(&house).await, Some(1));
    assert!(!house.seed("http://127.0.0.1:9/mcp").await.unwrap());
    assert_eq!(stored(&house).await, Some(1));
}

#[tokio::test]
async fn the_seed_is_there_at_once_for_who_first_looks_after_it() {
    let (_folder, house) = house();
    house.create_table().await.unwrap();
    house.seed(URL).await.unwrap();
    let current = house.wiring.configs.current().await.unwrap();
    assert_eq!((current.version.number, current.servers.contains_key(SERVER)), (1, true));
}

#[tokio::test]
async fn a_config_of_a_user_is_never_touched_not_even_an_empty_one() {
    let (_folder, house) = house();
    house.create_table().await.unwrap();
    let configs: &Configs = &house.wiring.configs;
    configs.put(&json!({ "mcpServers": {} }), By::default()).await.unwrap();
    assert!(!seed(configs, URL).await.unwrap());
    assert_eq!(stored(&house).await, Some(1));
    assert!(configs.current().await.unwrap().servers.is_empty());
}

#[tokio::test]
async fn a_port_that_the_config_does_not_know_is_told_and_a_foreign_server_is_not() {
    let (_folder, house) = house();
    house.create_table().await.unwrap();
    let configs = &house.wiring.configs;
    let current = configs.put(&servers(SERVER, URL), By::default()).await.unwrap();
    assert_eq!(moved(&current, URL), None);
    let note = moved(&current, "http://127.0.0.1:9001/mcp").unwrap();
    assert!(note.contains("--example-port 8081") && note.contains("9001") && !note.contains('\n'), "{note}");
    for foreign in ["http://example.test/mcp", "http://127.0.0.1:8081/other"] {
        let current = configs.put(&servers(SERVER, foreign), By::default()).await.unwrap();
        assert_eq!(moved(&current, "http://127.0.0.1:9001/mcp"), None, "{foreign}");
    }
}
