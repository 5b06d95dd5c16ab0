//! The top of a schema: an object with properties, whatever it was.

use serde_json::{Map, Value, json};

/// `schema` as an object. A choice at the top, which most refuse there, becomes one object: properties of every alternative, and
/// of what they demand only what all of them do.
pub(super) fn object(schema: Value) -> Value {
    let Value::Object(mut map) = schema else { return json!({"type": "object", "properties": {}}) };
    if let Some(Value::Array(parts)) = map.shift_remove("allOf") {
        for part in parts {
            join(&mut map, part, true);
        }
    }
    for key in ["anyOf", "oneOf"] {
        let Some(Value::Array(choices)) = map.shift_remove(key) else { continue };
        let of_all = demanded_by_all(&choices);
        for choice in choices {
            join(&mut map, choice, false);
        }
        demand(&mut map, of_all);
    }
    map.shift_remove("enum");
    map.shift_remove("const");
    map.insert("type".to_owned(), "object".into());
    if !map.get("properties").is_some_and(Value::is_object) {
        map.insert("properties".to_owned(), json!({}));
    }
    Value::Object(map)
}

fn join(map: &mut Map<String, Value>, part: Value, demands: bool) {
    let Value::Object(mut part) = part else { return };
    if let Some(Value::Object(more)) = part.shift_remove("properties") {
        let all = map.entry("properties").or_insert_with(|| json!({}));
        for (name, property) in more {
            if let Value::Object(all) = &mut *all {
                all.entry(name).or_insert(property);
            }
        }
    }
    if demands {
        demand(map, names(&part));
    }
    // One alternative that forbids what another one has forbids nothing of the whole.
    if part.contains_key("additionalProperties") || !demands {
        map.shift_remove("additionalProperties");
    }
    if let Some(description) = part.shift_remove("description") {
        map.entry("description").or_insert(description);
    }
}

fn names(schema: &Map<String, Value>) -> Vec<Value> {
    schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default()
}

fn demanded_by_all(choices: &[Value]) -> Vec<Value> {
    let each: Vec<Vec<Value>> = choices.iter().filter_map(Value::as_object).map(names).collect();
    let Some((first, others)) = each.split_first() else { return Vec::new() };
    first.iter().filter(|name| others.iter().all(|other| other.contains(name))).cloned().collect()
}

fn demand(map: &mut Map<String, Value>, more: Vec<Value>) {
    if more.is_empty() {
        return;
    }
    if let Value::Array(all) = map.entry("required").or_insert_with(|| json!([])) {
        for name in more {
            if !all.contains(&name) {
                all.push(name);
            }
        }
    }
}
