//! How deep JSON of others may be. A state is written into rows and blobs as JSON, inside of other JSON, and readers stop at some depth:
//! what is let in too deep could be stored and never be read again.

use serde_json::Value;

/// How deep objects and arrays may lie in each other.
pub const MAX_DEPTH: usize = 64;

/// Whether a value is no deeper than that.
pub fn is_shallow(value: &Value) -> bool {
    within(value, MAX_DEPTH)
}

/// Bounded itself: it goes no deeper than `room`.
fn within(value: &Value, room: usize) -> bool {
    let inside = |value: &Value| room > 0 && within(value, room - 1);
    match value {
        Value::Array(elements) => room > 0 && elements.iter().all(inside),
        Value::Object(fields) => room > 0 && fields.values().all(inside),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_levels_are_let_in_and_no_more() {
        let deep = |levels: usize| (0..levels).fold(Value::Null, |value, _| Value::Array(vec![value]));
        assert!(is_shallow(&Value::Null) && is_shallow(&deep(MAX_DEPTH)));
        assert!(!is_shallow(&deep(MAX_DEPTH + 1)));
    }
}
