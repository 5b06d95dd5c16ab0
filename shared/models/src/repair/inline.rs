//! References replaced by what they stand for.

use serde_json::{Map, Value};

/// Most nodes that inlining may make: a schema can refer to itself in ways that double it at each step.
const MOST_NODES: usize = 5000;

/// `schema` without `$ref`. One that leads nowhere, outside, or back to where it stands becomes "anything".
pub(super) fn inlined(schema: &Value) -> Value {
    let mut inliner = Inliner { root: schema, on_the_way: Vec::new(), nodes: 0 };
    inliner.value(schema)
}

struct Inliner<'a> {
    root: &'a Value,
    on_the_way: Vec<&'a str>,
    nodes: usize,
}

impl<'a> Inliner<'a> {
    fn value(&mut self, value: &'a Value) -> Value {
        self.nodes += 1;
        match value {
            Value::Object(map) => match map.get("$ref").and_then(Value::as_str) {
                Some(reference) => self.reference(reference, map),
                None => Value::Object(self.fields(map)),
            },
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            other => other.clone(),
        }
    }

    fn fields(&mut self, map: &'a Map<String, Value>) -> Map<String, Value> {
        // They are copied to where they are used.
        let kept = map.iter().filter(|(key, _)| !matches!(key.as_str(), "$ref" | "$defs" | "definitions"));
        kept.map(|(key, value)| (key.clone(), self.value(value))).collect()
    }

    /// What stands beside a reference holds as well, as the newer drafts have it.
    fn reference(&mut self, reference: &'a str, map: &'a Map<String, Value>) -> Value {
        let beside = self.fields(map);
        let there = reference.strip_prefix('#').and_then(|path| self.root.pointer(path));
        let Some(there) = there.filter(|_| !self.on_the_way.contains(&reference) && self.nodes < MOST_NODES)
        else {
            return Value::Object(beside);
        };
        self.on_the_way.push(reference);
        let mut found = self.value(there);
        self.on_the_way.pop();
        if let Value::Object(found) = &mut found {
            found.extend(beside);
        }
        found
    }
}
