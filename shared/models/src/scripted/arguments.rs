//! Arguments that a tool's schema demands, made of what the user wrote behind its name.

use serde_json::{Map, Value, json};

/// How deep a schema is followed; a stranger wrote it, and it may refer to itself.
const DEPTH: usize = 8;
/// Most elements of a list that is made.
const ELEMENTS: usize = 8;
/// What a text is of which nothing is known.
const TEXT: &str = "scripted";

/// The arguments for a call: a JSON object that follows the tool's name, else `name=value` pairs and, for what the schema
/// demands beside them, the least that it takes.
pub(super) fn for_tool(schema: &Value, told: &str) -> Map<String, Value> {
    if let Some(object) = object_in(told) {
        return object;
    }
    let maker = Maker { root: schema };
    let Value::Object(mut args) = maker.value(schema, 0) else { return Map::new() };
    let given = pairs(told);
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        if let Some((_, text)) = given.iter().find(|(given, _)| given == name) {
            args.insert(name.clone(), typed(property, text));
        }
    }
    args
}

/// The first JSON object of a text.
fn object_in(text: &str) -> Option<Map<String, Value>> {
    let rest = text.get(text.find('{')?..)?;
    serde_json::Deserializer::from_str(rest).into_iter::<Map<String, Value>>().next()?.ok()
}

/// Every `name=value` of a text; a value with spaces stands in double quotes.
fn pairs(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('=') {
        let name = before.rsplit(|c: char| c.is_whitespace() || c == ',').next().unwrap_or_default();
        let (value, left) = match after.strip_prefix('"').and_then(|quoted| quoted.split_once('"')) {
            Some((value, left)) => (value, left),
            None => after.find([' ', ',', '\n']).map_or((after, ""), |end| after.split_at(end)),
        };
        found.push((name.to_owned(), value.trim_end_matches(['.', ';']).to_owned()));
        rest = left;
    }
    found
}

/// A text as the schema wants it: a number stays a text where a text is wanted.
fn typed(schema: &Value, text: &str) -> Value {
    if kind(schema) == Some("string") {
        return text.into();
    }
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

/// The type of a schema; of several the first that is not null.
fn kind(schema: &Value) -> Option<&str> {
    match schema.get("type")? {
        Value::String(kind) => Some(kind),
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null"),
        _ => None,
    }
}

struct Maker<'a> {
    root: &'a Value,
}

impl Maker<'_> {
    /// The least value that `schema` takes.
    fn value(&self, schema: &Value, depth: usize) -> Value {
        if depth > DEPTH {
            return Value::Null;
        }
        if let Some(there) = schema
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|path| self.root.pointer(path.strip_prefix('#')?))
        {
            return self.value(there, depth + 1);
        }
        let first = |key: &str| schema.get(key).and_then(Value::as_array).and_then(|list| list.first());
        let told = schema
            .get("const")
            .or_else(|| schema.get("default"))
            .or_else(|| first("enum"))
            .or_else(|| first("examples"));
        if let Some(value) = told {
            return value.clone();
        }
        if let Some(choice) = first("anyOf").or_else(|| first("oneOf")).or_else(|| first("allOf")) {
            return self.value(choice, depth + 1);
        }
        let number = |key: &str| schema.get(key).and_then(Value::as_f64);
        match kind(schema) {
            Some("string") => text(schema).into(),
            Some("integer") => {
                let least =
                    number("minimum").or_else(|| number("exclusiveMinimum").map(|least| least.floor() + 1.0));
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "a bound of a schema; one that is no i64 is met by its end"
                )]
                let least = least.unwrap_or(1.0).ceil() as i64;
                let most = schema.get("maximum").and_then(Value::as_i64).unwrap_or(i64::MAX);
                least.min(most).into()
            }
            Some("number") => {
                let least = number("minimum").or_else(|| number("exclusiveMinimum").map(|least| least + 1.0));
                json!(least.unwrap_or(1.0).min(number("maximum").unwrap_or(f64::MAX)))
            }
            Some("boolean") => false.into(),
            Some("array") => {
                let least = schema
                    .get("minItems")
                    .and_then(Value::as_u64)
                    .and_then(|least| usize::try_from(least).ok());
                let item = schema.get("items").unwrap_or(&Value::Null);
                (0..least.unwrap_or(0).min(ELEMENTS)).map(|_| self.value(item, depth + 1)).collect()
            }
            Some("null") => Value::Null,
            _ => Value::Object(self.object(schema, depth)),
        }
    }

    fn object(&self, schema: &Value, depth: usize) -> Map<String, Value> {
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        let property =
            |name: &str| schema.get("properties").and_then(|all| all.get(name)).unwrap_or(&Value::Null);
        required
            .filter_map(Value::as_str)
            .map(|name| (name.to_owned(), self.value(property(name), depth + 1)))
            .collect()
    }
}

fn text(schema: &Value) -> String {
    let known = match schema.get("format").and_then(Value::as_str) {
        Some("date") => "2026-01-31",
        Some("date-time") => "2026-01-31T12:00:00Z",
        Some("time") => "12:00:00Z",
        Some("email") => "scripted@example.com",
        Some("uri" | "url") => "https://example.com/",
        Some("uuid") => "00000000-0000-4000-8000-000000000000",
        _ => TEXT,
    };
    let size =
        |key: &str| schema.get(key).and_then(Value::as_u64).and_then(|size| usize::try_from(size).ok());
    let padded = size("minLength").map_or(0, |least| least.min(1000).saturating_sub(known.chars().count()));
    let whole = format!("{known}{}", "x".repeat(padded));
    whole.chars().take(size("maxLength").unwrap_or(usize::MAX)).collect()
}
