use serde_json::{Value, json};

use super::*;
use crate::key::Key;
use crate::row::{Row, Writer};
use crate::strategies::noise;

fn row(value: AttributeValue) -> Row {
    Writer::new(&Key::Pointer).value("b", value).row()
}

fn read(row: &Row) -> Result<Value, StoreError> {
    decode(Reader::new("thing", row).unwrap(), "b")
}

#[test]
fn an_ordinary_body_is_readable_json() {
    let value = json!({"a": [1, null, "ü"]});
    let stored = encode("thing", &value).unwrap();
    assert_eq!(stored, AttributeValue::S(value.to_string()));
    assert_eq!(read(&row(stored)).unwrap(), value);
}

/// A result, an artifact and a question at their limits: 256 + 64 + 64 KB.
#[test]
fn the_largest_legal_payload_fits_deflated() {
    let value = json!({"result": noise(262_000), "artifact": noise(65_000), "question": noise(65_000)});
    let stored = encode("thing", &value).unwrap();
    let AttributeValue::B(packed) = &stored else { panic!("not deflated") };
    assert!(packed.as_ref().len() <= MAX_BODY_BYTES);
    assert_eq!(read(&row(stored)).unwrap(), value);
}

#[test]
fn a_body_that_cannot_fit_is_refused_with_its_size() {
    let error = encode("thing", &json!(noise(900_000))).unwrap_err();
    assert!(matches!(error, EncodeError::TooLarge { item: "thing", limit: MAX_BODY_BYTES, .. }));
    let refused = error.refused("commit_task");
    assert!(matches!(refused, StoreError::Refused { operation: "commit_task", .. }));
}

#[test]
fn what_is_no_json_is_corrupt_and_not_repeated() {
    for bad in [
        AttributeValue::S("{secret".into()),
        AttributeValue::B(Blob::new([1, 2])),
        AttributeValue::Bool(true),
    ] {
        let error = read(&row(bad)).unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { attribute: "b", .. }));
        assert!(!error.to_string().contains("secret"));
    }
}
