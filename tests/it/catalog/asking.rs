//! When servers are asked for their tools, and by how many (reference 4, vectors 14 and 15).

use std::sync::Arc;
use std::time::Duration;

use pudu_app::catalog::NotFound;
use pudu_app::ports::Clock;
use pudu_testkit::fixture;
use serde_json::json;
use tokio::task::JoinSet;

use super::shop::{Says, Shop, server, tools, with};

/// Eight at once: one question, and everybody has the answer.
#[tokio::test(start_paused = true)]
async fn vector_15_concurrent_first_uses_are_one_discovery() {
    let shop = Shop::new(json!({"s": server(1)}), &[("s", Ok(vec!["t"]))]).await;
    shop.lists_take(Duration::from_millis(100));
    let mut uses = JoinSet::new();
    for number in 0..8 {
        let catalog = Arc::clone(&shop.catalog);
        uses.spawn(async move {
            let limit = Duration::from_secs(45);
            match number % 2 {
                0 => catalog.now(limit).await.unwrap().tools.keys().cloned().collect(),
                _ => vec![
                    catalog.find(&fixture::principal(), "s_t", limit).await.unwrap().unwrap().name.clone(),
                ],
            }
        });
    }
    assert_eq!(uses.join_all().await, vec![["s_t"]; 8]);
    assert_eq!(shop.asked(), 1);
}

/// Whoever waits does not fail with the one it waits for.
#[tokio::test(start_paused = true)]
async fn when_the_asker_is_cancelled_a_waiter_asks() {
    let shop = Shop::new(json!({"s": server(1)}), &[("s", Ok(vec!["t"]))]).await;
    shop.lists_take(Duration::from_millis(100));
    let mut first = Box::pin(shop.find("s_t"));
    assert!(futures_pending(&mut first).await, "it has asked and waits");
    let mut second = Box::pin(shop.find("s_t"));
    assert!(futures_pending(&mut second).await, "it waits for the first");
    assert_eq!(shop.asked(), 1);
    drop(first);
    assert!(second.await.is_ok());
    assert_eq!(shop.asked(), 2);
}

/// Lets `future` run as far as it goes in ten milliseconds; whether it is not done then.
async fn futures_pending<F: Future + Unpin>(future: &mut F) -> bool {
    tokio::time::timeout(Duration::from_millis(10), future).await.is_err()
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_what_all_get_who_waited_for_it() {
    let shop = Shop::new(json!({"s": server(1)}), &[("s", Err("it broke"))]).await;
    shop.lists_take(Duration::from_millis(100));
    let (a, b) = tokio::join!(shop.find("s_t"), shop.find("s_t"));
    assert!(matches!((a, b), (Err(NotFound::Down(_)), Err(NotFound::Down(_)))));
    assert_eq!(shop.asked(), 1);
}

/// What was asked for before a change is not what is known after it.
#[tokio::test(start_paused = true)]
async fn vector_14_a_list_that_changes_while_it_is_asked_for_is_asked_for_again() {
    let shop = Shop::new(json!({"s": server(1)}), &[("s", Ok(vec!["old"]))]).await;
    shop.lists_take(Duration::from_millis(100));
    let digest = shop.server("s").await.digest.clone();
    let change = async {
        shop.clock.sleep(Duration::from_millis(50)).await;
        shop.changes.changed(&digest);
        shop.clock.sleep(Duration::from_millis(80)).await;
        shop.says("s", tools(&["new"]));
    };
    let (catalogue, ()) = tokio::join!(shop.now(), change);
    assert_eq!(catalogue.tools.keys().collect::<Vec<_>>(), ["s_new"]);
    assert_eq!(shop.asked(), 2);
    assert!(shop.find("s_new").await.is_ok());
    assert_eq!(shop.asked(), 2, "it is known now");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_changes_with_every_question_is_taken_as_it_is() {
    let shop = Shop::new(json!({"s": server(1)}), &[("s", Ok(vec!["t"]))]).await;
    shop.lists_take(Duration::from_millis(100));
    let digest = shop.server("s").await.digest.clone();
    let changing = async {
        loop {
            shop.clock.sleep(Duration::from_millis(30)).await;
            shop.changes.changed(&digest);
        }
    };
    tokio::select! {
        found = shop.find("s_t") => assert!(found.is_ok()),
        () = changing => {}
    }
    assert!(shop.asked() <= 3, "{}", shop.asked());
}

#[tokio::test(start_paused = true)]
async fn a_change_voids_what_is_known_of_that_server_and_of_no_other() {
    let config = json!({"a": server(1), "b": server(2)});
    let shop = Shop::new(config, &[("a", Ok(vec!["t"])), ("b", Ok(vec!["t"]))]).await;
    shop.now().await;
    shop.says("a", tools(&["u"]));
    shop.changes.changed(&shop.server("a").await.digest);
    assert!(shop.now().await.tools.contains_key("a_u"));
    assert_eq!(*shop.lists.asked.lock().unwrap(), ["a", "b", "a"]);
    // The table has a list from before the change as well, for a process that was not told.
    assert!(shop.cold().find("a_u").await.is_ok(), "and the new one is in the table");
}

/// The server's own word, within reason.
#[tokio::test(start_paused = true)]
async fn a_list_holds_as_long_as_its_server_says_within_a_second_and_a_day() {
    for (ttl, holds) in [(None, 600), (Some(0), 1), (Some(5_000), 5), (Some(u64::MAX), 86_400)] {
        let shop = Shop::new(json!({"s": server(1)}), &[]).await;
        let ttl = ttl.map(Duration::from_millis);
        shop.says("s", Says::Tools(vec![json!({"name": "t"})], ttl));
        shop.now().await;
        shop.clock.sleep(Duration::from_millis(holds * 1000 - 1)).await;
        shop.now().await;
        assert_eq!(shop.asked(), 1, "{ttl:?}");
        shop.clock.sleep(Duration::from_millis(1)).await;
        shop.now().await;
        assert_eq!(shop.asked(), 2, "{ttl:?}");
    }
}

/// A tool may be newer than what is known: its server is asked once more, but not for every wrong name.
#[tokio::test(start_paused = true)]
async fn a_name_that_is_not_in_an_older_list_is_asked_for_once_more() {
    let config = json!({"s": server(1), "other": server(2)});
    let shop = Shop::new(config, &[("s", Ok(vec!["t"])), ("other", Ok(vec!["t"]))]).await;
    shop.now().await;
    shop.says("s", tools(&["t", "new"]));
    shop.pass(14).await;
    assert_eq!(shop.find("s_new").await.unwrap_err(), NotFound::Unknown, "too young to be asked again");
    assert_eq!(shop.asked(), 2);
    shop.pass(1).await;
    assert_eq!(shop.find("s_new").await.unwrap().raw(), "new");
    for _ in 0..5 {
        assert_eq!(shop.find("s_gone").await.unwrap_err(), NotFound::Unknown);
    }
    assert_eq!(*shop.lists.asked.lock().unwrap(), ["other", "s", "s"]);
}

#[tokio::test(start_paused = true)]
async fn a_name_of_nobody_is_asked_of_servers_without_prefix() {
    let config = json!({"bare": with(server(1), &json!({"tool_name_prefix": false})), "s": server(2)});
    let shop = Shop::new(config, &[("bare", Ok(vec!["t"])), ("s", Ok(vec!["t"]))]).await;
    shop.now().await;
    shop.says("bare", tools(&["t", "new"]));
    shop.pass(15).await;
    assert_eq!(shop.find("new").await.unwrap().server.name, "bare");
    assert_eq!(*shop.lists.asked.lock().unwrap(), ["bare", "s", "bare"]);
}

/// Not even when everybody's time is over.
#[tokio::test(start_paused = true)]
async fn a_call_waits_for_no_other_server() {
    let config = json!({"fine": server(1), "slow": server(2)});
    let shop = Shop::new(config, &[("fine", Ok(vec!["t"])), ("slow", Ok(vec!["t"]))]).await;
    shop.now().await;
    shop.says("slow", Says::Hangs);
    shop.pass(601).await;
    let began = shop.clock.elapsed();
    assert!(shop.find("fine_t").await.is_ok());
    assert!(shop.clock.elapsed() < began + Duration::from_millis(100));
    assert_eq!(*shop.lists.asked.lock().unwrap(), ["fine", "slow", "fine"], "nor asks it");
}

/// A wait that its caller cut short says nothing of the server.
#[tokio::test(start_paused = true)]
async fn a_time_out_that_a_hurried_caller_makes_is_not_remembered() {
    let shop = Shop::new(json!({"s": server(1)}), &[("s", Ok(vec!["t"]))]).await;
    shop.lists_take(Duration::from_secs(3));
    let hurried = shop.catalog.find(&fixture::principal(), "s_t", Duration::from_secs(1)).await.unwrap();
    assert!(matches!(hurried, Err(NotFound::Down(_))), "{hurried:?}");
    assert!(shop.find("s_t").await.is_ok());
}
