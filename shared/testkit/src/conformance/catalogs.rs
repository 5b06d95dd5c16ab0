//! What servers listed: by server and digest, however large, until some time after it is over.

use std::time::Duration;

use pudu_app::ports::{LISTING_KEPT, RawTool, StoredListing, TaskProtocol};
use serde_json::{Value, json};

use super::life::fail;
use super::{Case, World, cases};
use crate::random::SeededRandom;

pub(super) const CASES: &[Case] = cases![
    an_empty_table_knows_no_list,
    a_list_is_read_as_it_was_written,
    lists_of_other_servers_and_digests_are_apart,
    a_list_that_was_asked_for_later_stays,
    a_list_is_kept_for_its_time_and_a_week,
    a_large_list_is_read_as_it_was_written,
    a_list_that_shrinks_or_grows_is_the_new_one,
    what_is_forgotten_is_gone_and_nothing_else_is,
];

fn tool(definition: Value) -> RawTool {
    let name = definition.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    RawTool { name, definition }
}

fn listing(world: &World, tools: Vec<RawTool>) -> StoredListing {
    let listed_at = world.now();
    StoredListing {
        tools,
        tasks: Some(TaskProtocol::Core),
        listed_at,
        fresh_until: listed_at + Duration::from_secs(600),
    }
}

async fn put(world: &World, server: &str, digest: &str, listing: &StoredListing) {
    world.catalogs.put(server, digest, listing).await.unwrap_or_else(|e| fail(&e));
}

async fn get(world: &World, server: &str, digest: &str) -> Option<StoredListing> {
    world.catalogs.get(server, digest).await.unwrap_or_else(|e| fail(&e))
}

/// Text that no table's compression makes small.
fn noise(characters: usize) -> String {
    let random = SeededRandom::new(7);
    (0..characters)
        .filter_map(|_| char::from_u32(u32::try_from(0x1_0000 + random.below(0x8_0000)).unwrap_or(0)))
        .collect()
}

async fn an_empty_table_knows_no_list(world: World) {
    assert_eq!(get(&world, "s", "d").await, None);
    world.catalogs.forget("s").await.unwrap_or_else(|e| fail(&e));
}

/// The definition is a stranger's and passes unchanged: key order, big numbers and odd names.
async fn a_list_is_read_as_it_was_written(world: World) {
    let odd = json!({"z": 1, "name": "odd\u{0} name\n", "a": {"": null, "n": [1e300, -0.0, u64::MAX]}, "$ref": "#"});
    let bare = json!({"name": "bare"});
    let kept = listing(&world, vec![tool(odd), tool(bare)]);
    put(&world, "s", "d", &kept).await;
    let read = get(&world, "s", "d").await;
    assert_eq!(read, Some(kept.clone()));
    let texts = |listing: &StoredListing| {
        listing.tools.iter().map(|tool| tool.definition.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(read.as_ref().map(texts), Some(texts(&kept)));
    let none = listing(&world, Vec::new());
    put(&world, "empty", "d", &none).await;
    assert_eq!(get(&world, "empty", "d").await, Some(none), "a server may have no tool");
}

async fn lists_of_other_servers_and_digests_are_apart(world: World) {
    let long = "ü".repeat(300);
    let places = [("a", "d"), ("a", "e"), ("a#d", "d"), ("", "d"), (long.as_str(), "d"), (&long[2..], "d")];
    let lists = places.map(|(server, digest)| {
        listing(&world, vec![tool(json!({"name": format!("{} of {digest}", server.len())}))])
    });
    for ((server, digest), listing) in places.into_iter().zip(&lists) {
        put(&world, server, digest, listing).await;
    }
    for ((server, digest), listing) in places.into_iter().zip(lists) {
        assert_eq!(get(&world, server, digest).await, Some(listing));
    }
    assert_eq!(get(&world, "a", "f").await, None);
}

async fn a_list_that_was_asked_for_later_stays(world: World) {
    let early = listing(&world, vec![tool(json!({"name": "early"}))]);
    world.at(5_000);
    let late = listing(&world, vec![tool(json!({"name": "late"}))]);
    put(&world, "s", "d", &late).await;
    put(&world, "s", "d", &early).await;
    assert_eq!(get(&world, "s", "d").await, Some(late), "a slow writer does not bring back what was");
}

async fn a_list_is_kept_for_its_time_and_a_week(world: World) {
    let kept = listing(&world, vec![tool(json!({"name": "t"}))]);
    put(&world, "s", "d", &kept).await;
    let end = kept.fresh_until + LISTING_KEPT;
    world.clock.set(pudu_domain::Timestamp::from_millis(end.as_millis() - 1000));
    assert_eq!(get(&world, "s", "d").await, Some(kept), "what is over can still be looked at");
    world.clock.set(end);
    assert_eq!(get(&world, "s", "d").await, None, "also when nothing has removed the row yet");
}

/// Two megabytes that do not compress: no single item of a table can hold them.
async fn a_large_list_is_read_as_it_was_written(world: World) {
    let tools = (0..4).map(|n| tool(json!({"name": format!("t{n}"), "description": noise(125_000)})));
    let large = listing(&world, tools.collect());
    put(&world, "s", "d", &large).await;
    let read = get(&world, "s", "d").await;
    assert!(read == Some(large), "the list came back different");
}

async fn a_list_that_shrinks_or_grows_is_the_new_one(world: World) {
    for (at, characters) in [(1, 10), (2, 200_000), (3, 150_000), (4, 10)] {
        world.at(at * 1000);
        let next = listing(&world, vec![tool(json!({"name": "t", "description": noise(characters)}))]);
        put(&world, "s", "d", &next).await;
        assert!(get(&world, "s", "d").await == Some(next), "list {at} came back different");
    }
}

async fn what_is_forgotten_is_gone_and_nothing_else_is(world: World) {
    let small = listing(&world, vec![tool(json!({"name": "t"}))]);
    let large = listing(&world, vec![tool(json!({"name": "t", "description": noise(200_000)}))]);
    for (server, digest, listing) in [("a", "1", &small), ("a", "2", &large), ("b", "1", &small)] {
        put(&world, server, digest, listing).await;
    }
    world.catalogs.forget("a").await.unwrap_or_else(|e| fail(&e));
    assert_eq!((get(&world, "a", "1").await, get(&world, "a", "2").await), (None, None));
    assert_eq!(get(&world, "b", "1").await, Some(small));
    put(&world, "a", "2", &large).await;
    assert!(get(&world, "a", "2").await == Some(large), "what was forgotten can be learnt again");
}
