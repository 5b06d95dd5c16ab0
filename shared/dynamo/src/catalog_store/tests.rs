//! Lists over scripted answers: what the engines of the conformance suite do not show.

use std::time::Duration;

use pudu_app::ports::{LISTING_KEPT, RawTool};
use pudu_domain::Timestamp;
use serde_json::json;

use super::*;
use crate::scripted::{Script, Step, condition_failed, done, wire};
use crate::strategies::noise;

const NOW: Timestamp = Timestamp::from_millis(1_793_491_200_000);

fn listing(description: &str) -> StoredListing {
    let definition = json!({"name": "t", "description": description});
    let tools = vec![RawTool { name: "t".to_owned(), definition }];
    StoredListing { tools, tasks: None, listed_at: NOW, fresh_until: NOW + Duration::from_millis(500) }
}

#[tokio::test]
async fn the_parts_of_a_large_list_are_written_before_its_head_and_all_end_together() {
    let large = listing(&noise(900_000));
    let script = Script::new((0..3).map(|_| done()));
    script.table(NOW).put("s", "d", &large).await.unwrap();
    let asked = script.asked();
    let keys: Vec<&str> = asked.iter().map(|put| put["Item"]["sk"]["S"].as_str().unwrap()).collect();
    assert!(
        keys[0].starts_with("d#") && keys[0].ends_with("#0000") && keys[1].ends_with("#0001"),
        "{keys:?}"
    );
    assert_eq!(keys[2], "d");
    // Half a second is rounded up: what can still be read is not removed.
    let end = ((NOW + LISTING_KEPT).as_millis() / 1000 + 1).to_string();
    assert!(asked.iter().all(|put| put["Item"]["ttl"]["N"] == *end), "{end}");
}

#[tokio::test]
async fn a_list_that_was_asked_for_earlier_is_dropped_without_an_error() {
    let script = Script::new([condition_failed(None)]);
    script.table(NOW).put("s", "d", &listing("")).await.unwrap();
    let asked = script.asked();
    assert_eq!(asked[0]["ConditionExpression"], "attribute_not_exists(#pk) OR #lt <= :lt");
    assert_eq!(asked.len(), 1, "nobody insists");
}

/// A reader may hold a head whose parts the table has removed already.
#[tokio::test]
async fn a_list_without_its_parts_is_corrupt_and_not_short() {
    let rows = catalogue::encode("s", "d", &listing(&noise(900_000))).unwrap();
    let steps = [json!({"Item": wire(&rows.head)}), json!({"Item": wire(&rows.parts[0])}), json!({})];
    let script = Script::new(steps.map(|answer| Step::Answer(200, answer)));
    let read = CatalogStore::get(&script.table(NOW), "s", "d").await;
    assert!(matches!(read, Err(StoreError::Corrupt { attribute: "digest", .. })), "{read:?}");
}

/// A server's lists may be many megabytes: more than a transaction takes.
#[tokio::test]
async fn what_is_forgotten_goes_row_by_row_and_a_head_before_its_parts() {
    let rows = catalogue::encode("s", "d", &listing(&noise(900_000))).unwrap();
    let keys = |row: &crate::row::Row| {
        let mut row = row.clone();
        row.retain(|name, _| name == attr::PK || name == "sk");
        wire(&row)
    };
    let found = json!({"Items": [keys(&rows.head), keys(&rows.parts[0]), keys(&rows.parts[1])]});
    let script = Script::new([Step::Answer(200, found), done(), done(), done()]);
    script.table(NOW).forget("s").await.unwrap();
    let asked = script.asked();
    assert!(asked.iter().all(|request| request.get("TransactItems").is_none()));
    let gone: Vec<&str> =
        asked[1..].iter().map(|delete| delete["Key"]["sk"]["S"].as_str().unwrap()).collect();
    assert_eq!(gone[0], "d");
    assert!(gone[1].ends_with("#0000") && gone[2].ends_with("#0001"), "{gone:?}");
}
