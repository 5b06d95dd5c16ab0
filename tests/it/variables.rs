//! What `$VAR` in the config stands for: what is read ahead, when, and what happens to servers when it cannot be.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use acceptance::ports::wired_with;
use pudu_app::catalog::ServerState;
use pudu_app::configs::By;
use pudu_app::ports::Clock;
use pudu_app::wiring::Wiring;
use pudu_config::Secrets;
use pudu_testkit::server::Plan;
use pudu_testkit::{FakeServer, FakeTable, FakeVault, Gate, VirtualClock};
use serde_json::{Value, json};

fn process(table: &FakeTable, clock: VirtualClock, vault: &FakeVault) -> Wiring {
    let server = FakeServer::new(Arc::new(clock), |_| Plan::completes_after(Duration::from_secs(60)));
    wired_with(clock, table, &server, &Gate::open(), Arc::new(vault.clone()))
}

fn servers(headers: &Value) -> Value {
    json!({"mcp_servers": {"a": {"type": "http", "url": "http://127.0.0.1:9/mcp", "headers": headers}}})
}

fn names<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
    names.into_iter().map(str::to_owned).collect()
}

#[tokio::test(start_paused = true)]
async fn exactly_the_names_of_the_config_in_force_are_read_ahead() {
    let (table, clock, vault) = (FakeTable::new(), VirtualClock::start(), FakeVault::default());
    vault.set("ONE", "1");
    vault.set("TWO", "2");
    let wiring = process(&table, clock, &vault);
    wiring
        .configs
        .put(&servers(&json!({"X-A": "$ONE", "X-B": "$$NOT", "X-C": "literal"})), By::default())
        .await
        .unwrap();
    wiring.configs.current().await.unwrap();
    assert_eq!(vault.asked().last(), Some(&names(["ONE"])));
    assert!(vault.get("ONE").is_some() && !vault.is_known("TWO"));

    // A change takes effect at once in the process that made it, its variables too.
    wiring.configs.put(&servers(&json!({"X-A": "$TWO"})), By::default()).await.unwrap();
    wiring.configs.current().await.unwrap();
    assert_eq!(vault.asked().last(), Some(&names(["TWO"])));
    assert!(vault.get("TWO").is_some() && !vault.is_known("ONE"));
}

#[tokio::test(start_paused = true)]
async fn a_config_that_nobody_changes_is_asked_about_again() {
    let (table, clock, vault) = (FakeTable::new(), VirtualClock::start(), FakeVault::default());
    let wiring = process(&table, clock, &vault);
    wiring.configs.put(&servers(&json!({"X-A": "$ONE"})), By::default()).await.unwrap();
    wiring.configs.current().await.unwrap();
    vault.asked();
    // When it is fresh enough the vault decides; asked it must be, or a rotated value would never come.
    clock.sleep(Duration::from_secs(60)).await;
    wiring.configs.current().await.unwrap();
    assert_eq!(vault.asked(), [names(["ONE"])]);
}

#[tokio::test(start_paused = true)]
async fn a_source_that_is_down_hides_neither_the_config_nor_other_servers() {
    let (table, clock, vault) = (FakeTable::new(), VirtualClock::start(), FakeVault::default());
    vault.down(true);
    let wiring = process(&table, clock, &vault);
    let put = wiring.configs.put(&servers(&json!({"X-A": "$ONE"})), By::default()).await.unwrap();
    assert_eq!(put.response["mcp_servers"]["a"]["headers"]["X-A"], "$ONE");
    let catalogue = wiring.catalog.now(Duration::from_secs(10)).await.unwrap();
    assert_eq!(catalogue.servers.get("a").map(|part| part.state.clone()), Some(ServerState::Ok));
}
