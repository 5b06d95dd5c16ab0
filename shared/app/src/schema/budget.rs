//! What a check may take, estimated without doing it: how many subschemas a schema has when its references are followed,
//! times how many values there are to check. Pure.

use serde_json::Value;

/// Most subschemas, references followed. Ordinary tools have tens; doubling by `allOf` and `$ref` has millions.
const SUBSCHEMAS: usize = 2_000;
/// Most checks of one subschema on one value.
const CHECKS: usize = 500_000;
/// Deepest nesting that is followed.
const DEPTH: usize = 64;

/// How many subschemas `schema` has; none when they are too many or cannot be followed.
pub(super) fn weight(schema: &Value) -> Option<usize> {
    let mut left = SUBSCHEMAS;
    count(schema, schema, DEPTH, &mut left)?;
    Some(SUBSCHEMAS - left)
}

/// Whether checking `instance` against a schema of this weight stays within bounds.
pub(super) fn allows(weight: usize, instance: &Value) -> bool {
    weight.saturating_mul(size(instance)) <= CHECKS
}

/// Takes the subschemas of `node` from what is `left`; none when that, or the depth, is not enough, or a reference leads
/// where it cannot be followed.
fn count(root: &Value, node: &Value, depth: usize, left: &mut usize) -> Option<()> {
    let depth = depth.checked_sub(1)?;
    match node {
        Value::Object(fields) => {
            *left = left.checked_sub(1)?;
            for (key, value) in fields {
                match (key.as_str(), value) {
                    ("$ref", Value::String(to)) => {
                        let target = to.strip_prefix('#').and_then(|pointer| root.pointer(pointer))?;
                        count(root, target, depth, left)?;
                    }
                    ("$dynamicRef" | "$recursiveRef", _) => return None,
                    // Counted where they are referred to.
                    ("$defs" | "definitions", Value::Object(_)) => {}
                    _ => count(root, value, depth, left)?,
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                count(root, item, depth, left)?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    Some(())
}

fn size(value: &Value) -> usize {
    match value {
        Value::Object(fields) => 1 + fields.values().map(size).sum::<usize>(),
        Value::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    fn passes(schema: &Value) -> bool {
        weight(schema).is_some_and(|weight| allows(weight, &json!({"x": 1})))
    }

    #[test]
    fn an_ordinary_schema_is_checked() {
        assert!(passes(&json!({
            "type": "object",
            "properties": {"x": {"$ref": "#/$defs/n"}, "y": {"type": "array", "items": {"$ref": "#/$defs/n"}}},
            "required": ["x"],
            "$defs": {"n": {"type": "integer", "minimum": 0}},
        })));
        assert!(passes(&json!(true)));
    }

    /// Twenty-eight definitions that each name the next one twice: 2^28 subschemas in two kilobytes.
    #[test]
    fn a_schema_that_doubles_is_not() {
        let mut defs = Map::new();
        for number in 0..28 {
            let next = json!({"$ref": format!("#/$defs/d{}", number + 1)});
            defs.insert(format!("d{number}"), json!({"allOf": [next.clone(), next]}));
        }
        defs.insert("d28".to_owned(), json!({"type": "integer"}));
        assert!(!passes(&json!({"$ref": "#/$defs/d0", "$defs": defs})));
    }

    #[test]
    fn a_schema_without_end_or_of_many_parts_is_not() {
        assert!(!passes(&json!({"$ref": "#"})));
        assert!(!passes(&json!({"$ref": "http://127.0.0.1:1/schema"})));
        let many: Map<String, Value> =
            (0..60_000).map(|n| (format!("p{n}"), json!({"pattern": "a+"}))).collect();
        assert!(!passes(&json!({"properties": many})));
    }

    #[test]
    fn many_values_are_weighed_against_many_rules() {
        let rules: Map<String, Value> =
            (0..1000).map(|n| (format!("p{n}"), json!({"type": "string"}))).collect();
        let values = json!({"x": vec![1; 100_000]});
        assert!(!allows(weight(&json!({ "properties": rules })).unwrap(), &values));
        assert!(allows(weight(&json!({"type": "object"})).unwrap(), &values));
    }
}
