//! What is kept of lists: in the table for cold processes, and names for servers that are away.

use std::time::Duration;

use pudu_app::catalog::NotFound;
use pudu_app::configs::By;
use pudu_app::ports::{Clock, LISTING_KEPT};
use pudu_testkit::{Gate, Trace, fixture, gate};
use serde_json::{Value, json};

use super::shop::{Says, Shop, server, tools, with};

#[tokio::test(start_paused = true)]
async fn a_cold_process_knows_what_another_one_was_told() {
    let shop = Shop::new(json!({"s": server(1)}), &[("s", Ok(vec!["t"]))]).await;
    shop.now().await;
    let cold = shop.cold();
    let tool = cold.find("s_t").await.unwrap();
    assert_eq!((tool.raw(), &tool.definition()["x-own"]), ("t", &json!(1)));
    assert!(cold.now().await.tools.contains_key("s_t"));
    assert_eq!(shop.asked(), 1);
    shop.pass(600).await;
    assert!(shop.cold().find("s_t").await.is_ok());
    assert_eq!(shop.asked(), 2, "what is over is asked for again");
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_not_kept_for_others() {
    let shop = Shop::new(json!({"s": server(1)}), &[("s", Err("it broke"))]).await;
    assert!(matches!(shop.find("s_t").await, Err(NotFound::Down(_))));
    shop.says("s", tools(&["t"]));
    assert!(shop.cold().find("s_t").await.is_ok());
}

/// Another entry, another list: also in the table.
#[tokio::test(start_paused = true)]
async fn a_list_belongs_to_the_entry_that_it_was_asked_with() {
    let shop = Shop::new(json!({"s": server(1)}), &[("s", Ok(vec!["t"]))]).await;
    shop.now().await;
    shop.says("s", tools(&["u"]));
    shop.configs.put(&json!({"mcp_servers": {"s": server(2)}}), By::default()).await.unwrap();
    assert!(shop.find("s_u").await.is_ok());
    assert!(shop.cold().find("s_u").await.is_ok());
    assert_eq!(shop.asked(), 2);
    shop.configs.put(&json!({"mcp_servers": {"s": server(1)}}), By::default()).await.unwrap();
    assert!(shop.find("s_t").await.is_ok(), "the first entry's list still holds");
    assert_eq!(shop.asked(), 2);
}

/// The table is a help, not a need.
#[tokio::test(start_paused = true)]
async fn a_table_that_fails_costs_questions_and_no_answer() {
    let shop = Shop::new(json!({"s": server(1)}), &[("s", Ok(vec!["t"]))]).await;
    let broken = |call: gate::Call<'_>| {
        if call.op.starts_with("catalogs.") { gate::Fate::FailBefore } else { gate::Fate::Pass }
    };
    let process = shop.behind(Gate::new("p", std::sync::Arc::new(shop.clock), Trace::hashed(), broken));
    assert!(process.find("s_t").await.is_ok());
    assert!(process.find("s_t").await.is_ok());
    assert_eq!(shop.asked(), 1, "what the process knows it knows");
}

#[tokio::test(start_paused = true)]
async fn a_table_that_hangs_holds_up_nobody_for_long() {
    let shop = Shop::new(json!({"s": server(1)}), &[("s", Ok(vec!["t"]))]).await;
    let hangs = |call: gate::Call<'_>| {
        let an_hour = Duration::from_secs(3600);
        if call.op.starts_with("catalogs.") { gate::Fate::Delay(an_hour) } else { gate::Fate::Pass }
    };
    let process = shop.behind(Gate::new("p", std::sync::Arc::new(shop.clock), Trace::hashed(), hangs));
    process.answers(json!({"content": []}));
    let began = shop.clock.now();
    assert!(process.call("s", "t").await.is_ok());
    assert!(process.find("s_t").await.is_ok());
    assert!(shop.clock.now().since(began) < Duration::from_secs(7));
}

/// Writing a list down costs more than asking for it, so one that is over at once is written when it says something new.
#[tokio::test(start_paused = true)]
async fn a_short_lived_list_is_not_written_again_and_again() {
    let shop = Shop::new(json!({"s": server(1)}), &[]).await;
    let trace = Trace::kept();
    let gate = Gate::new("p", std::sync::Arc::new(shop.clock), trace.clone(), gate::Open);
    let process = shop.behind(gate);
    let short = |name: &str| Says::Tools(vec![json!({"name": name})], Some(Duration::from_secs(2)));
    shop.says("s", short("t"));
    for _ in 0..5 {
        process.now().await;
        shop.pass(3).await;
    }
    assert_eq!(shop.asked(), 5);
    let puts = || trace.lines().iter().filter(|line| line.contains("catalogs.put")).count();
    assert_eq!(puts(), 1);
    shop.says("s", short("u"));
    process.now().await;
    assert_eq!(puts(), 2);
    // Nor is one whose server says with every answer that it has changed.
    shop.says("s", tools(&["v"]));
    for _ in 0..5 {
        shop.pass(3).await;
        process.changes.changed(&process.server("s").await.digest);
        process.now().await;
    }
    assert_eq!((shop.asked(), puts()), (11, 3));
    shop.pass(60).await;
    process.changes.changed(&process.server("s").await.digest);
    process.now().await;
    assert_eq!(puts(), 4, "its time is longer now");
}

#[tokio::test(start_paused = true)]
async fn a_reset_forgets_everything_and_asks_again() {
    let config = json!({"s": server(1), "off": with(server(2), &json!({"enabled": false}))});
    let shop = Shop::new(config, &[("s", Ok(vec!["t"]))]).await;
    shop.now().await;
    shop.says("s", tools(&["u"]));
    shop.catalog.reset().await.unwrap();
    assert!(shop.cold().find("s_u").await.is_ok(), "the table has forgotten");
    assert!(shop.find("s_u").await.is_ok());
    assert!(shop.asked() >= 2);
}

/// A reset during a question voids its answer (reference 4.4).
#[tokio::test(start_paused = true)]
async fn a_reset_voids_what_is_being_asked() {
    let shop = Shop::new(json!({"s": server(1)}), &[("s", Ok(vec!["old"]))]).await;
    shop.lists_take(Duration::from_millis(100));
    let reset = async {
        shop.clock.sleep(Duration::from_millis(50)).await;
        shop.catalog.reset().await.unwrap();
        shop.clock.sleep(Duration::from_millis(80)).await;
        shop.says("s", tools(&["new"]));
    };
    let (catalogue, ()) = tokio::join!(shop.now(), reset);
    assert!(catalogue.tools.contains_key("s_new"), "{:?}", catalogue.tools.keys());
    assert!(shop.cold().find("s_new").await.is_ok());
}

/// A row of an entry that is gone is gone some time later.
#[tokio::test(start_paused = true)]
async fn a_list_is_kept_a_week_beyond_its_time_and_no_longer() {
    let shop = Shop::new(json!({"s": server(1)}), &[("s", Ok(vec!["t"]))]).await;
    shop.now().await;
    shop.answers(json!({"content": []}));
    shop.says("s", Says::Fails("it broke"));
    shop.clock.sleep(Duration::from_secs(599) + LISTING_KEPT).await;
    let declared = async |process: &Shop| {
        process.call("s", "t").await.unwrap();
        process.lists.calls.lock().unwrap().last().unwrap().definition.clone()
    };
    assert!(declared(&shop.cold()).await.is_some(), "an old list still tells a worker what a tool is");
    shop.pass(1).await;
    assert_eq!(declared(&shop.cold()).await, None);
    assert_eq!(shop.asked(), 1, "a worker asks no server");
}

/// Two servers without prefix have a tool of one name: both get a hash. It must stay when one of them is away, or a call
/// that is meant for it would reach the other.
#[tokio::test(start_paused = true)]
async fn names_do_not_depend_on_who_answers_today() {
    let bare = |port| with(server(port), &json!({"tool_name_prefix": false}));
    let config = json!({"a": bare(1), "b": bare(2), "c": server(3)});
    let lists = [("a", Ok(vec!["search"])), ("b", Ok(vec!["search", "own"])), ("c", Ok(vec!["x y"]))];
    let shop = Shop::new(config, &lists).await;
    let names = |catalogue: &pudu_app::catalog::Catalogue, server: &str| -> Vec<String> {
        let tools = catalogue.tools.values().filter(|tool| tool.server.name == server);
        tools.map(|tool| tool.name.clone()).collect()
    };
    let all = shop.now().await;
    assert!(!all.tools.contains_key("search") && all.tools.contains_key("own"));
    shop.says("a", Says::Fails("it broke"));
    shop.says("c", Says::Hangs);
    shop.pass(601).await;
    for process in [&shop, &shop.cold()] {
        let some = process.now().await;
        assert_eq!(names(&some, "b"), names(&all, "b"));
        assert_eq!(names(&some, "a"), Vec::<String>::new());
        assert!(process.find("search").await.is_err(), "nobody takes the plain name");
    }
    shop.says("a", tools(&["search"]));
    shop.says("c", tools(&["x y"]));
    shop.pass(16).await;
    let again = shop.now().await;
    assert_eq!(again.tools.keys().collect::<Vec<_>>(), all.tools.keys().collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn one_bad_tool_hides_no_other() {
    let shop = Shop::new(json!({"s": server(1)}), &[]).await;
    let bad = [
        json!({"name": "none", "inputSchema": 7}),
        json!({"name": "wrong", "inputSchema": {"type": "nothing", "properties": []}}),
        json!({"name": "fine", "inputSchema": {"type": "object"}}),
        json!({"name": "fine", "description": "again"}),
        json!({"name": "", "inputSchema": {"type": "object"}}),
    ];
    shop.says("s", Says::Tools(bad.to_vec(), None));
    let catalogue = shop.now().await;
    let names: Vec<&str> = catalogue.tools.values().map(|tool| tool.raw()).collect();
    assert_eq!(
        names,
        ["", "fine", "none", "wrong"].into_iter().filter(|n| names.contains(n)).collect::<Vec<_>>()
    );
    assert_eq!(
        catalogue.find(&fixture::principal(), "s_fine").unwrap().definition().get("description"),
        None::<&Value>,
        "the first counts"
    );
    for tool in catalogue.tools.values() {
        assert_eq!(tool.function().parameters["type"], "object", "a model can be shown every tool");
    }
}
