//! Carrying raw results through the SDK's typed union.
//!
//! The union is tried variant by variant and drops what the first match does not know; only what matches nothing stays
//! raw. So a result travels as the one member of an object that no variant matches, and is taken out behind the SDK.

use serde_json::{Map, Value};

const MEMBER: &str = "pudu/raw";

/// `result` in a form that the SDK leaves alone.
pub(crate) fn wrap(result: Value) -> Value {
    Value::Object(Map::from_iter([(MEMBER.to_owned(), result)]))
}

/// What was wrapped; `None` for anything else.
pub(crate) fn open(sealed: Value) -> Option<Value> {
    match sealed {
        Value::Object(mut members) => members.remove(MEMBER),
        _ => None,
    }
}
