//! What is remembered of peers: in the process, and in the table behind it.

use std::collections::HashMap;
use std::sync::Mutex;

use async_trait::async_trait;
use futures_util::future::join_all;
use pudu_app::ports::{PeerStore, StoreError};
use rmcp::model::ProtocolVersion as V;

use super::host::{Host, refused, result};
use super::sdk_peer::SdkPeer;
use super::*;

/// A table of peers that counts what it is asked, and may fail.
#[derive(Default)]
struct Table {
    eras: Mutex<HashMap<String, Era>>,
    asked: Mutex<Vec<&'static str>>,
    broken: bool,
}

impl Table {
    fn asked(
        &self,
        what: &'static str,
    ) -> Result<std::sync::MutexGuard<'_, HashMap<String, Era>>, StoreError> {
        self.asked.lock().unwrap().push(what);
        if self.broken {
            return Err(StoreError::Unavailable { operation: what, source: "gone".into() });
        }
        Ok(self.eras.lock().unwrap())
    }
}

#[async_trait]
impl PeerStore for Table {
    async fn recall(&self, key: &str) -> Result<Option<Era>, StoreError> {
        Ok(self.asked("recall")?.get(key).copied())
    }

    async fn remember(&self, key: &str, era: Era) -> Result<(), StoreError> {
        self.asked("remember")?.insert(key.to_owned(), era);
        Ok(())
    }

    async fn forget(&self, key: &str) -> Result<(), StoreError> {
        self.asked("forget")?.remove(key);
        Ok(())
    }
}

fn cold(table: &Arc<Table>) -> Client {
    client().with_peers(table.clone())
}

async fn newest() -> Host {
    SdkPeer { versions: vec![V::V_2026_07_28], sessions: false, json: true }.start().await
}

#[tokio::test]
async fn a_cold_function_with_a_known_peer_makes_exactly_one_request() {
    let (host, table) = (newest().await, Arc::<Table>::default());
    let server = http(&host.url);
    call(&cold(&table), &server, LONG).await.expect("a first call anywhere");
    let before = host.asked().len();
    call(&cold(&table), &server, LONG).await.expect("a cold call");
    assert_eq!(host.asked().get(before..), Some(["tools/call".to_owned()].as_slice()));
    assert_eq!(*table.asked.lock().unwrap(), ["recall", "remember", "recall"]);
}

#[tokio::test]
async fn the_table_is_asked_once_and_then_the_process_knows() {
    let (host, table) = (newest().await, Arc::<Table>::default());
    let (client, server) = (cold(&table), http(&host.url));
    for _ in 0..3 {
        call(&client, &server, LONG).await.expect("a result");
    }
    assert_eq!(*table.asked.lock().unwrap(), ["recall", "remember"]);
    let eras: Vec<_> = table.eras.lock().unwrap().clone().into_iter().collect();
    assert!(matches!(eras.as_slice(), [(key, Era::Stateless)] if key.len() == 64), "{eras:?}");
}

#[tokio::test]
async fn concurrent_first_calls_find_the_era_once() {
    for era in [Era::Stateless, Era::Session] {
        let host = Host::of_era(era, |seen| async move { result(&seen.message, json!({})) }).await;
        let table = Arc::<Table>::default();
        let (client, server) = (cold(&table), http(&host.url));
        for answer in join_all((0..16).map(|_| call(&client, &server, LONG))).await {
            answer.expect("a result");
        }
        assert_eq!((host.count("server/discover"), host.count("tools/call")), (1, 16), "{era:?}");
        assert_eq!(*table.asked.lock().unwrap(), ["recall", "remember"], "{era:?}");
    }
}

/// Whoever searches may give up; the next in line searches, and nobody waits for nothing.
#[tokio::test]
async fn a_search_that_ends_without_a_result_is_taken_up_by_the_next() {
    let host = Host::scripted(|_| std::future::pending::<axum::response::Response>()).await;
    let (client, server) = (client(), http(&host.url));
    let limit = Duration::from_millis(300);
    let (one, two) = tokio::join!(call(&client, &server, limit), call(&client, &server, limit * 2));
    assert!(one.is_err() && two.is_err());
    assert_eq!(host.count("server/discover"), 2);
}

#[tokio::test]
async fn a_table_that_fails_counts_as_one_that_knows_nothing() {
    let (host, table) = (newest().await, Arc::new(Table { broken: true, ..Table::default() }));
    let server = http(&host.url);
    for _ in 0..2 {
        call(&cold(&table), &server, LONG).await.expect("a result");
    }
    assert_eq!((host.count("server/discover"), host.count("tools/call")), (2, 2));
}

#[tokio::test]
async fn a_memory_that_turned_out_wrong_is_forgotten_in_the_table_too() {
    for (believed, real) in
        [(Era::Stateless, Era::Session), (Era::Session, Era::Stateless), (Era::Events, Era::Stateless)]
    {
        let host = Host::of_era(real, move |seen| async move {
            let spoken = seen.headers.contains_key("mcp-method") == (real == Era::Stateless);
            match seen.what().as_str() {
                "tools/call" if spoken => result(&seen.message, json!({})),
                _ => refused(&seen.message, -32601, "not in this era"),
            }
        })
        .await;
        let (table, server) = (Arc::<Table>::default(), http(&host.url));
        let key = crate::target::Target::of(&server, &NoSecrets).expect("a target").era_key();
        table.remember(&key, believed).await.expect("a table");
        call(&cold(&table), &server, LONG).await.expect_err("the wrong era");
        assert_eq!(table.eras.lock().unwrap().get(&key), None, "{believed:?}");
        call(&cold(&table), &server, LONG).await.expect("the right era");
        assert_eq!(table.eras.lock().unwrap().get(&key), Some(&real));
    }
}

#[tokio::test]
async fn peers_are_told_apart_by_where_they_are_and_not_by_credentials() {
    let key = |url: &str| crate::target::Target::of(&http(url), &NoSecrets).expect("a target").era_key();
    let one = key("https://tools.example/mcp");
    for same in ["https://user:pass@tools.example/mcp", "https://TOOLS.example:443/mcp?key=secret#x"] {
        assert_eq!(key(same), one, "{same}");
    }
    for other in ["http://tools.example/mcp", "https://tools.example:8443/mcp", "https://tools.example/other"]
    {
        assert_ne!(key(other), one, "{other}");
    }
}
