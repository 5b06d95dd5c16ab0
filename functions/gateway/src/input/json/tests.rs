//! What is JSON here, and what is only JSON elsewhere.

use proptest::collection::{hash_map, vec};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{MAX_DEPTH, parse};

fn nested(open: &str, inner: &str, close: &str, depth: usize) -> String {
    format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
}

fn why(text: &str) -> String {
    parse(text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn sixty_four_levels_are_read_and_the_next_is_refused_where_it_begins() {
    for (open, inner, close) in [("[", "", "]"), ("{\"a\":", "1", "}"), ("[{\"a\":", "null", "}]")] {
        let levels = open.matches(['[', '{']).count();
        assert!(parse(nested(open, inner, close, MAX_DEPTH / levels).as_bytes()).is_ok());
        let more = format!("[{}]", nested(open, inner, close, MAX_DEPTH / levels));
        assert!(why(&more).starts_with("more than 64 objects and arrays"), "{}", why(&more));
    }
    // What is behind it is not looked at: it need not even end.
    assert_eq!(
        why(&"[".repeat(100_000)),
        "more than 64 objects and arrays in each other at line 1, column 65"
    );
    // Brackets in a text are no levels, and neighbours are none either.
    assert!(parse(json!(["[".repeat(1000), "\\\"[{"]).to_string().as_bytes()).is_ok());
    assert!(parse(format!("[{}[]]", "[],".repeat(1000)).as_bytes()).is_ok());
}

#[test]
fn a_key_twice_in_one_object_is_refused_and_in_two_is_not() {
    for text in [r#"{"a":1,"a":1}"#, r#"{"a":1,"b":2,"\u0061":3}"#, r#"[{"x":{"":0,"":1}}]"#] {
        assert!(why(text).starts_with("a key stands twice in one object at line 1"), "{}", why(text));
    }
    assert!(parse(br#"{"a":{"a":[{"a":1},{"a":2}]},"A":1}"#).is_ok());
}

#[test]
fn what_is_broken_says_where_and_repeats_nothing() {
    assert_eq!(why("{\n \"s3cret\": nul"), "it ends too early at line 2, column 14");
    assert_eq!(why("{\"s3cret\"; 1}"), "a syntax error at line 1, column 10");
    for text in ["", " ", "[1", "\"s3cret"] {
        assert!(why(text).starts_with("it ends too early"), "{}", why(text));
    }
    for text in ["{} {}", "[1,]", "1e999", "\"\\ud800\"", "NaN", "{1:2}", "01", "'s3cret'", "\u{feff}{}"] {
        assert!(why(text).starts_with("a syntax error"), "{text}: {}", why(text));
        assert!(!why(text).contains("s3cret"));
    }
    assert!(parse(b"\"\xff\"").is_err());
    assert!(parse(b"{\"\xc3\x28\": 1}").is_err());
}

fn document() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        proptest::num::f64::NORMAL.prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(8, 64, 8, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..8).prop_map(Value::Array),
            hash_map(any::<String>(), inner, 0..8)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_serde_json_reads_is_read_alike(value in document(), pretty: bool) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        prop_assert_eq!(parse(text.as_bytes()).unwrap(), value);
    }

    #[test]
    fn bytes_are_never_read_otherwise_than_by_serde_json(bytes in vec(any::<u8>(), 0..64)) {
        if let Ok(value) = parse(&bytes) {
            prop_assert_eq!(serde_json::from_slice::<Value>(&bytes).unwrap(), value);
        }
    }
}
