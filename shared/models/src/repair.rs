//! A tool's schema as a dialect takes it. What a provider would refuse is said in another way, or left out: a schema that asks
//! for less still gets the tool called, and the server that has the tool judges the arguments by its own schema as it always does.
//!
//! Everywhere: `$ref` is replaced by what it stands for, because not everybody follows it, and what says how a schema is to be
//! read (`$schema`, `$id`, …) goes. The top is always an object with properties; a choice at the top becomes one object with
//! the properties of all. What remains is each dialect's own.

mod inline;
mod top;

use pudu_app::ports::Dialect;
use serde_json::{Map, Value, json};

/// Keywords that no dialect needs: they speak of the schema and not of a value.
const ABOUT: &[&str] = &[
    "$schema",
    "$id",
    "$anchor",
    "$comment",
    "$vocabulary",
    "$dynamicAnchor",
    "$dynamicRef",
    "$defs",
    "definitions",
    "examples",
    "readOnly",
    "writeOnly",
    "deprecated",
];
/// Keywords that some compatible servers refuse or cannot turn into a grammar.
const HARD: &[&str] = &[
    "patternProperties",
    "unevaluatedProperties",
    "unevaluatedItems",
    "propertyNames",
    "dependentSchemas",
    "dependentRequired",
    "dependencies",
    "if",
    "then",
    "else",
    "not",
    "contains",
    "minContains",
    "maxContains",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "prefixItems",
];
/// Formats that every dialect knows.
const FORMATS: &[&str] =
    &["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];
/// Longest name of a property at Anthropic and Bedrock, which also know no other characters than letters, digits, `_`, `.`, `-`.
const MAX_PROPERTY: usize = 64;
/// How deep a schema may be; deeper, anything is taken.
const DEPTH: usize = 24;

/// The schema that is sent to a provider of `dialect`.
pub(crate) fn schema(dialect: Dialect, schema: &Value) -> Value {
    let mut whole = inline::inlined(schema);
    tidy(dialect, &mut whole, 0);
    top::object(whole)
}

fn tidy(dialect: Dialect, schema: &mut Value, depth: usize) {
    let Value::Object(map) = schema else {
        // `true` and `false` are schemas too, which few know.
        if schema.is_boolean() {
            *schema = json!({});
        }
        return;
    };
    if depth > DEPTH {
        map.clear();
        return;
    }
    map.retain(|key, _| !ABOUT.contains(&key.as_str()) && !HARD.contains(&key.as_str()));
    // Draft 4 says `exclusiveMinimum: true` beside `minimum`.
    for (exclusive, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        match map.get(exclusive) {
            Some(Value::Bool(true)) => match map.shift_remove(bound) {
                Some(limit) => drop(map.insert(exclusive.to_owned(), limit)),
                None => drop(map.shift_remove(exclusive)),
            },
            Some(Value::Bool(false)) => drop(map.shift_remove(exclusive)),
            _ => {}
        }
    }
    if map
        .get("format")
        .is_some_and(|format| !format.as_str().is_some_and(|format| FORMATS.contains(&format)))
    {
        map.shift_remove("format");
    }
    // An expression that is no JavaScript fails the whole call; a tool's server checks it anyway.
    if map.get("pattern").and_then(Value::as_str).is_some_and(|pattern| pattern.contains("(?")) {
        map.shift_remove("pattern");
    }
    unite(map);
    properties(dialect, map, depth);
    for key in ["items", "additionalProperties"] {
        match map.get_mut(key) {
            // A list of schemas by place, as older drafts have it.
            Some(items @ Value::Array(_)) => *items = json!({}),
            Some(flag) if flag.is_boolean() && key == "additionalProperties" => {}
            Some(inner) => tidy(dialect, inner, depth + 1),
            None => {}
        }
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        let choices = map.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten();
        choices.for_each(|choice| tidy(dialect, choice, depth + 1));
    }
    // A list says of what.
    if map.get("type").and_then(Value::as_str) == Some("array") && !map.contains_key("items") {
        map.insert("items".to_owned(), json!({}));
    }
}

/// Several types become a choice, which everybody knows.
fn unite(map: &mut Map<String, Value>) {
    let Some(Value::Array(kinds)) = map.get("type").cloned() else { return };
    if let [kind] = kinds.as_slice() {
        map.insert("type".to_owned(), kind.clone());
        return;
    }
    map.shift_remove("type");
    if !map.contains_key("anyOf") {
        let of = |kind: &Value| -> Value {
            // What belongs to a type stays with it.
            let own: &[&str] = match kind.as_str() {
                Some("object") => &["properties", "required", "additionalProperties"],
                Some("array") => &["items", "minItems", "maxItems", "uniqueItems"],
                Some("string") => &["minLength", "maxLength", "pattern", "format"],
                Some("number" | "integer") => {
                    &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]
                }
                _ => &[],
            };
            let mut choice = Map::from_iter([("type".to_owned(), kind.clone())]);
            choice.extend(own.iter().filter_map(|key| Some(((*key).to_owned(), map.get(*key)?.clone()))));
            Value::Object(choice)
        };
        let choices: Value = kinds.iter().map(of).collect();
        map.retain(|key, _| {
            matches!(key.as_str(), "description" | "title" | "default" | "enum" | "const" | "oneOf" | "allOf")
        });
        map.insert("anyOf".to_owned(), choices);
    }
}

fn properties(dialect: Dialect, map: &mut Map<String, Value>, depth: usize) {
    if let Some(Value::Object(properties)) = map.get_mut("properties") {
        if matches!(dialect, Dialect::Anthropic | Dialect::Bedrock) {
            let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
            properties
                .retain(|name, _| !name.is_empty() && name.len() <= MAX_PROPERTY && name.chars().all(legal));
        }
        properties.values_mut().for_each(|property| tidy(dialect, property, depth + 1));
    }
    // What is demanded has to be there.
    let names: Option<Vec<String>> =
        map.get("properties").and_then(Value::as_object).map(|all| all.keys().cloned().collect());
    match map.get_mut("required") {
        Some(Value::Array(required)) => {
            required.retain(|name| {
                names
                    .as_ref()
                    .is_some_and(|all| name.as_str().is_some_and(|name| all.iter().any(|one| one == name)))
            });
        }
        // Draft 3 says it of the property.
        Some(_) => drop(map.shift_remove("required")),
        None => {}
    }
}

#[cfg(test)]
mod tests;
