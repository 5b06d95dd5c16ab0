//! One byte form per JSON value, for every digest: keys sorted, compact, non-ASCII characters as they are.
//! `serde_json` keeps insertion order in this build, so equal objects would otherwise hash differently.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// The canonical text of `value`: object keys in byte order, no spaces, only what JSON requires escaped.
pub fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

/// The lower-case hex SHA-256 of the canonical text of `value` (64 characters).
pub fn sha256_hex(value: &Value) -> String {
    hex::encode(Sha256::digest(canonical(value).as_bytes()))
}

/// Whether two values mean the same: `1` and `1.0` do, and the order of keys tells nothing. Clients whose numbers have
/// one type send the first for the second.
pub(crate) fn alike(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            // Two whole numbers are never compared as floats: beyond 2^53 they would be taken for each other.
            left == right || ((left.is_f64() || right.is_f64()) && left.as_f64() == right.as_f64())
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| alike(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, value)| right.get(key).is_some_and(|other| alike(value, other)))
        }
        _ => left == right,
    }
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            out.push('{');
            for (at, (key, item)) in entries.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                scalar(&Value::String(key.clone()), out);
                out.push(':');
                write(item, out);
            }
            out.push('}');
        }
        other => scalar(other, out),
    }
}

fn scalar(value: &Value, out: &mut String) {
    out.push_str(&value.to_string());
}
