use proptest::prelude::*;
use serde_json::{Map, json};

use super::*;

fn with_result(result: Value) -> Payload {
    let snapshot = Snapshot { result: Some(result), ..Snapshot::bare(Status::Completed) };
    Payload::bounded(snapshot, &Policy::default()).unwrap()
}

#[test]
fn vector_73_a_result_over_the_limit_becomes_a_preview() {
    let whole = with_result(json!("x".repeat(65_534)));
    assert!(whole.result.is_some() && !whole.result_truncated && whole.result_preview.is_none());
    let cut = with_result(json!("x".repeat(65_535)));
    assert_eq!(cut.result, None);
    assert!(cut.result_truncated);
    assert_eq!(cut.result_preview, Some("x".repeat(2000)));
}

#[test]
fn a_preview_never_breaks_a_character() {
    let cut = with_result(json!("ü".repeat(40_000)));
    assert_eq!(cut.result_preview, Some("ü".repeat(2000)));
}

#[test]
fn vector_74_questions_and_artifacts_have_a_hard_limit() {
    let ask = |n: usize| {
        let question = json!({ "p": "x".repeat(n) });
        let snapshot = Snapshot { input_required: Some(question), ..Snapshot::bare(Status::InputRequired) };
        Payload::bounded(snapshot, &Policy::default())
    };
    assert!(ask(65_528).is_ok());
    assert_eq!(ask(65_529), Err(PayloadError::TooLarge { part: "input_required" }));
    let artifact = Artifact { uri: "u".repeat(70_000), mime_type: "a/b".into() };
    let snapshot = Snapshot { artifact: Some(artifact), ..Snapshot::bare(Status::Completed) };
    assert_eq!(
        Payload::bounded(snapshot, &Policy::default()),
        Err(PayloadError::TooLarge { part: "result_artifact" })
    );
}

#[test]
fn a_question_needs_its_text_but_may_be_empty() {
    let bare = Snapshot::bare(Status::InputRequired);
    assert_eq!(Payload::bounded(bare.clone(), &Policy::default()), Err(PayloadError::NoQuestion));
    let empty = Snapshot { input_required: Some(json!({})), ..bare };
    assert!(Payload::bounded(empty, &Policy::default()).is_ok());
}

#[test]
fn an_empty_payload_has_no_digest() {
    assert_eq!(Payload::default().digest(), None);
    assert_eq!(Payload::of_error("x").digest().map(|d| d.len()), Some(16));
}

/// Text of every width, with what JSON escapes.
fn text(most: usize) -> impl Strategy<Value = String> {
    let character = prop_oneof![
        4 => proptest::char::range('a', 'z'),
        1 => Just('"'),
        1 => Just('\u{0}'),
        1 => Just('ü'),
        1 => any::<char>(),
    ];
    proptest::collection::vec(character, 0..most).prop_map(|characters| characters.into_iter().collect())
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<f64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        text(40).prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::vec((text(9), inner), 0..5)
                .prop_map(|members| Value::Object(Map::from_iter(members))),
        ]
    })
}

fn some<T: std::fmt::Debug>(strategy: impl Strategy<Value = T>) -> impl Strategy<Value = Option<T>> {
    proptest::option::of(strategy)
}

proptest! {
    /// Reference 6.8, whatever a server says: what is kept is valid JSON within its bounds, and a beginning is one.
    #[test]
    fn whatever_is_kept_is_whole_and_within_bounds(
        (result, error, question) in (some(json_value()), some(text(9000)), some(json_value())),
        (uri, bytes, chars) in (some(text(60)), 0..200_usize, 0..50_usize),
    ) {
        let policy = Policy { max_result_bytes: bytes, result_preview_chars: chars, ..Policy::default() };
        let snapshot = Snapshot {
            result: result.clone(),
            error: error.clone(),
            input_required: question.clone(),
            artifact: uri.map(|uri| Artifact { uri, mime_type: "text/plain".to_owned() }),
            ..Snapshot::bare(Status::Completed)
        };
        let kept = Payload::bounded(snapshot, &policy).unwrap();
        let stored = serde_json::to_string(&kept).unwrap();
        let read: Value = serde_json::from_str(&stored).unwrap();
        prop_assert_eq!(read["result_truncated"] == json!(true), kept.result_truncated);

        prop_assert_eq!(&kept.input_required, &question);
        let whole = error.unwrap_or_default();
        let told = kept.error.clone().unwrap_or_default();
        prop_assert!(whole.starts_with(&told) && told.chars().count() == whole.chars().count().min(ERROR_CHARS));

        let compact = result.as_ref().map(Value::to_string).unwrap_or_default();
        prop_assert_eq!(kept.result_truncated, compact.len() > bytes);
        if kept.result_truncated {
            let text = result.as_ref().and_then(Value::as_str).unwrap_or(&compact);
            let preview = kept.result_preview.clone().unwrap_or_default();
            prop_assert!(kept.result.is_none() && text.starts_with(&preview));
            prop_assert_eq!(preview.chars().count(), text.chars().count().min(chars));
        } else {
            prop_assert_eq!((&kept.result, &kept.result_preview), (&result, &None));
        }
    }
}

/// Vector 74: what is no number in JSON cannot be in a value, so it never gets this far.
#[test]
fn vector_74_a_result_that_is_no_number_is_no_json() {
    assert!(serde_json::from_str::<Value>(r#"{"result": NaN}"#).is_err());
    assert!(serde_json::from_str::<Value>(r#"{"result": 1e999}"#).is_err());
    assert_eq!(json!(f64::INFINITY), Value::Null);
}
