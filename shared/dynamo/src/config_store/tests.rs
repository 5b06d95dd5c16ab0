//! The pointer's move over scripted answers.

use pudu_domain::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::scripted::{Script, Step, cancelled, done, wire};
use crate::strategies::noise;

const NOW: Timestamp = Timestamp::from_millis(1_793_491_200_000);
/// What the scripted randomness gives first.
const OUR_NONCE: &str = "0101010101010101";

fn revision(number: u64, sealed: Value) -> Revision {
    Revision { made: Made { number, at: NOW, author: None }, sealed }
}

fn refused_by(writer: &str, revision: &Revision) -> Step {
    let head = revision::encode(revision, writer).unwrap().head;
    cancelled([("ConditionalCheckFailed", Some(&head)), ("ConditionalCheckFailed", None)])
}

#[tokio::test]
async fn the_head_and_the_pointer_move_together() {
    let script = Script::new([done(), done()]);
    let table = script.table(NOW);
    assert_eq!(table.append(&revision(1, json!({}))).await.unwrap(), Moved::Done);
    assert_eq!(table.append(&revision(2, json!({}))).await.unwrap(), Moved::Done);
    let conditions: Vec<Vec<Value>> = script
        .asked()
        .iter()
        .map(|request| {
            let elements = request["TransactItems"].as_array().unwrap();
            elements.iter().map(|element| element["Put"]["ConditionExpression"].clone()).collect()
        })
        .collect();
    assert_eq!(conditions[0], ["attribute_not_exists(#pk)", "attribute_not_exists(#pk)"]);
    assert_eq!(conditions[1], ["attribute_not_exists(#pk)", "#num = :num"]);
}

#[tokio::test]
async fn an_append_whose_answer_was_lost_recognises_its_head() {
    let mine = revision(3, json!({"a": 1}));
    let append = |steps: Vec<Step>| {
        let table = Script::new(steps).table(NOW);
        let mine = mine.clone();
        async move { table.append(&mine).await.unwrap() }
    };
    assert_eq!(append(vec![Step::Silence, refused_by(OUR_NONCE, &mine)]).await, Moved::Done);
    // The same content by somebody else is a conflict all the same: the caller did not write it.
    assert_eq!(append(vec![Step::Silence, refused_by("other", &mine)]).await, Moved::Conflict);
    assert_eq!(append(vec![refused_by("other", &mine)]).await, Moved::Conflict);
}

#[tokio::test]
async fn a_large_revision_is_written_part_by_part_before_its_head_and_read_back() {
    let large = revision(1, json!({"x": noise(900_000)}));
    let rows = revision::encode(&large, OUR_NONCE).unwrap();
    assert_eq!(rows.parts.len(), 2);
    let script = Script::new((0..3).map(|_| done()));
    assert_eq!(script.table(NOW).append(&large).await.unwrap(), Moved::Done);
    let asked = script.asked();
    assert!(asked[0].get("Item").is_some() && asked[1].get("Item").is_some());
    assert!(asked[2].get("TransactItems").is_some());
    let answers = [&rows.head, &rows.parts[0], &rows.parts[1]];
    let script = Script::new(answers.map(|row| Step::Answer(200, json!({"Item": wire(row)}))));
    assert_eq!(script.table(NOW).revision(1).await.unwrap(), Some(large));
}

#[tokio::test]
async fn revisions_count_from_one() {
    let refused = Script::new([]).table(NOW).append(&revision(0, json!({}))).await.unwrap_err();
    assert!(matches!(refused, StoreError::Refused { .. }));
}
