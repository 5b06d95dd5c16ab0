//! The catalogue of one caller: servers outside the own scope, and those that do not take the own user, are not there.

use pudu_app::catalog::NotFound;
use pudu_domain::{Principal, Scope, UserId};
use pudu_testkit::fixture;
use serde_json::json;

use super::shop::{Shop, server, with};

fn scoped(servers: &[&str]) -> Principal {
    let names = servers.iter().map(|name| (*name).to_owned());
    Principal { scope: Scope::Only(names.collect()), ..fixture::principal() }
}

fn user(id: &str) -> Principal {
    Principal { user: UserId::parse(id).unwrap(), ..fixture::principal() }
}

/// The tools and the servers that `who` sees.
async fn seen(shop: &Shop, who: &Principal) -> (Vec<String>, Vec<String>) {
    let catalogue = shop.now().await;
    let tools = catalogue.visible_to(who).map(|tool| tool.name.clone()).collect();
    (tools, catalogue.servers_of(who).map(|(name, _)| name.to_owned()).collect())
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_server_outside_the_scope_is_not_there() {
    let config = json!({"a": server(1), "b": server(2)});
    let shop = Shop::new(config, &[("a", Ok(vec!["t"])), ("b", Ok(vec!["t"]))]).await;
    assert_eq!(seen(&shop, &fixture::principal()).await, (texts(&["a_t", "b_t"]), texts(&["a", "b"])));
    assert_eq!(seen(&shop, &scoped(&["b", "c"])).await, (texts(&["b_t"]), texts(&["b"])));
    assert_eq!(seen(&shop, &scoped(&[])).await, (texts(&[]), texts(&[])));
    let find = async |name: &str| shop.catalog.find(&scoped(&["b"]), name, super::shop::LIMIT).await.unwrap();
    assert!(find("b_t").await.is_ok());
    for unknown in ["a_t", "a_other", "nobody_t"] {
        assert_eq!(find(unknown).await.unwrap_err(), NotFound::Unknown, "{unknown}");
    }
}

/// Reference 5.5: who would be denied at each call is not shown what there is to call.
#[tokio::test(start_paused = true)]
async fn a_server_that_denies_the_user_is_not_there() {
    let auth = |block: serde_json::Value| with(server(1), &json!({ "user_auth": block }));
    let users = json!({"key:alice": "$SECRET", "key:empty": ""});
    let config = json!({
        "deny": auth(json!({"users": users})),
        "lenient": auth(json!({"users": users, "on_missing": "passthrough"})),
        "off": auth(json!({"users": users, "enabled": false})),
    });
    let tools = ["deny", "lenient", "off"].map(|name| (name, Ok(vec!["t"])));
    let shop = Shop::new(config, &tools).await;
    let all = texts(&["deny", "lenient", "off"]);
    assert_eq!(seen(&shop, &user("key:alice")).await.1, all);
    for denied in ["key:empty", "key:bob", "key:Alice", "local:default"] {
        let (tools, servers) = seen(&shop, &user(denied)).await;
        assert_eq!(servers, texts(&["lenient", "off"]), "{denied}");
        assert_eq!(tools, texts(&["lenient_t", "off_t"]), "{denied}");
        let found = shop.now().await.find(&user(denied), "deny_t").cloned();
        assert_eq!(found.unwrap_err(), NotFound::Unknown);
    }
}

/// A server that is off, or down, is told of only to those who could use it.
#[tokio::test(start_paused = true)]
async fn why_a_hidden_server_has_no_tools_is_not_told() {
    let config = json!({
        "off": with(server(1), &json!({"enabled": false})),
        "down": server(2),
        "bare": with(server(3), &json!({"tool_name_prefix": false})),
    });
    let down = || Err("the connection broke");
    let shop = Shop::new(config, &[("down", down()), ("bare", down())]).await;
    let catalogue = shop.now().await;
    let (all, none) = (fixture::principal(), scoped(&["other"]));
    for name in ["off_t", "down_t", "anything"] {
        assert_ne!(catalogue.find(&all, name).unwrap_err(), NotFound::Unknown, "{name}");
        assert_eq!(catalogue.find(&none, name).unwrap_err(), NotFound::Unknown, "{name}");
        // What is hidden changes nothing of what is told of the rest.
        let told = catalogue.find(&scoped(&["bare"]), name).unwrap_err();
        assert!(matches!(told, NotFound::Down(error) if error.server == "bare"), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_makes_pudu_ask_a_server_that_he_may_not_use() {
    let config = json!({"a": server(1), "b": server(2)});
    let shop = Shop::new(config, &[("a", Ok(vec!["t"])), ("b", Ok(vec!["t"]))]).await;
    let found = shop.catalog.find(&scoped(&["b"]), "a_t", super::shop::LIMIT).await.unwrap();
    assert_eq!(found.unwrap_err(), NotFound::Unknown);
    assert!(shop.lists.asked.lock().unwrap().is_empty());
    // Also when it is known because somebody else has asked.
    assert!(shop.find("a_t").await.is_ok());
    let found = shop.catalog.find(&scoped(&["b"]), "a_t", super::shop::LIMIT).await.unwrap();
    assert_eq!(found.unwrap_err(), NotFound::Unknown);
}
