//! Rows as earlier versions of this program wrote them, letter by letter: they must read for ever.

use aws_sdk_dynamodb::types::AttributeValue;
use pudu_domain::note::State;
use pudu_domain::{Note, Status};
use serde_json::json;

use super::*;

const ID: &str = "mcp-task-01a1939d1c0001010101010101010101";
const EVENT: &str = r#"{"task_id":"mcp-task-01a1939d1c0001010101010101010101","task_name":"report","status":"completed","result":{"pages":3},"result_preview":null,"result_truncated":false,"result_artifact":null,"error":null,"input_required":null,"tracking_degraded":false,"last_poll_error":null}"#;

fn row(attributes: &[(&str, AttributeValue)]) -> Row {
    attributes.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}

fn digits(value: u64) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

/// A dead letter of format 1, with the event in its row.
fn note_1() -> Row {
    row(&[
        ("pk", text("thread#local%3Adefault#t-1")),
        ("sk", text(&format!("note#{ID}#0000000002"))),
        ("v", digits(1)),
        ("st", text("dead_letter")),
        ("dl", text("event")),
        ("event", text(EVENT)),
        ("tries", digits(5)),
        ("er", text("no answer")),
        ("ct", digits(1_793_491_200_000)),
        ("due_pk", text("dead#03")),
        ("due_at", digits(1_793_491_300_000)),
        ("gen", digits(7)),
        ("wake", digits(0)),
    ])
}

/// A delivered event of format 1.
fn event_1() -> Row {
    row(&[
        ("pk", text("thread#local%3Adefault#t-1")),
        ("sk", text(&format!("event#{ID}#0000000002"))),
        ("v", digits(1)),
        ("at", digits(1_793_491_300_000)),
        ("event", text(EVENT)),
    ])
}

/// What the old note becomes, also after it was written again.
#[test]
fn a_note_that_carries_its_event_keeps_it() {
    let read = note::decode(&note_1()).unwrap();
    assert_eq!((read.status, read.dispatch, read.attempts), (Status::Completed, 0, 5));
    assert_eq!((&read.state, read.version), (&State::Dead, 2));
    let carried = read.carried.clone().unwrap();
    assert_eq!(carried.result, Some(json!({"pages": 3})));
    let again = note::encode(&read, None).unwrap();
    assert_eq!(again["v"], digits(2));
    assert_eq!(note::decode(&again).unwrap(), read);
    let delivered = Note { state: State::Delivered { at: NOW }, ..read };
    assert_eq!(note::decode(&note::encode(&delivered, Some(NOW)).unwrap()).unwrap(), delivered);
}

#[test]
fn a_delivered_event_that_is_in_its_row_reads() {
    let read = event::decode(&event_1()).unwrap();
    assert_eq!((read.key.version, read.delivered_at), (2, Timestamp::from_millis(1_793_491_300_000)));
    assert_eq!(read.carried.as_ref().map(|event| event.status), Some(Status::Completed));
    // The same row is written for a note that carries its event; only its end is new.
    let mut again = event::encode(&read, Some(NOW)).unwrap();
    assert!(again.remove(TTL).is_some());
    assert_eq!(again["v"], digits(1));
    assert_eq!(event::decode(&again).unwrap(), read);
}

/// The head of a revision from before authors were kept.
fn revision_1() -> Row {
    row(&[
        ("pk", text("config")),
        ("sk", text("rev#00000000000000000007")),
        ("v", digits(1)),
        ("at", digits(1_793_491_200_000)),
        ("writer", text("0101010101010101")),
        ("digest", text("00")),
        ("parts", digits(2)),
    ])
}

#[test]
fn a_revision_without_an_author_reads() {
    let made = revision::decode_made(&revision_1()).unwrap();
    assert_eq!((made.number, made.at, made.author), (7, Timestamp::from_millis(1_793_491_200_000), None));
    let mut half = revision_1();
    half.insert("by".to_owned(), text("local:default"));
    assert!(matches!(revision::decode_made(&half), Err(StoreError::Corrupt { attribute: "tag", .. })));
}

#[test]
fn a_format_that_comes_later_is_not_guessed_at() {
    for (mut row, decode) in [
        (note_1(), (|row: &Row| note::decode(row).map(drop)) as fn(&Row) -> Result<(), StoreError>),
        (event_1(), |row| event::decode(row).map(drop)),
        (revision_1(), |row| revision::decode_made(row).map(drop)),
    ] {
        row.insert("v".to_owned(), digits(3));
        assert!(matches!(decode(&row), Err(StoreError::Corrupt { attribute: "v", .. })));
    }
}

/// The row of today, letter by letter: what changes here is a change of the stored format.
#[test]
fn a_note_of_today_is_small_and_has_these_attributes() {
    let read = note::decode(&note_1()).unwrap();
    let today = note::encode(&Note { carried: None, ..read }, Some(NOW)).unwrap();
    let mut names: Vec<&str> = today.keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "ct", "da", "dl", "due_at", "due_pk", "er", "gen", "pk", "sk", "st", "tries", "ts", "ttl", "v",
            "wake"
        ]
    );
    assert!(size(&today) < 512, "{}", size(&today));
}
