use jsonschema::validator_for;

use super::*;

const ALL: [Dialect; 3] = [Dialect::OpenAi, Dialect::Anthropic, Dialect::Bedrock];

fn of(given: &Value) -> Value {
    let [first, ..] = ALL.map(|dialect| schema(dialect, given));
    first
}

/// Every object in a schema, as far down as it goes.
fn nodes(schema: &Value) -> Vec<&Value> {
    let below = match schema {
        Value::Object(map) => map.values().flat_map(nodes).collect(),
        Value::Array(items) => items.iter().flat_map(nodes).collect(),
        _ => Vec::new(),
    };
    std::iter::once(schema).filter(|node| node.is_object()).chain(below).collect()
}

#[test]
fn what_every_dialect_takes_stays_as_it_is() {
    let plain = json!({"type": "object", "description": "d", "properties": {
        "a": {"type": "string", "enum": ["x", "y"], "description": "one", "format": "date"},
        "b": {"type": "array", "items": {"type": "integer", "minimum": 1}, "maxItems": 3},
        "c": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null},
    }, "required": ["a"], "additionalProperties": false});
    for dialect in ALL {
        assert_eq!(schema(dialect, &plain), plain);
    }
}

#[test]
fn references_are_replaced_by_what_they_stand_for() {
    let given = json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
        "properties": {"a": {"$ref": "#/$defs/x", "description": "mine"}, "b": {"$ref": "https://elsewhere/x"}},
        "$defs": {"x": {"type": "string", "description": "theirs"}}});
    let wanted =
        json!({"type": "object", "properties": {"a": {"type": "string", "description": "mine"}, "b": {}}});
    assert_eq!(of(&given), wanted);
}

#[test]
fn a_schema_that_refers_to_itself_ends() {
    let tree = json!({"type": "object", "properties": {"child": {"$ref": "#"}, "list": {"type": "array", "items": {"$ref": "#/properties/child"}}}});
    assert!(!of(&tree).to_string().contains("$ref"));
    let names: Vec<String> = (0..40).map(|at| format!("d{at}")).collect();
    let doubling: Map<String, Value> = names
        .iter()
        .enumerate()
        .map(|(at, name)| {
            let next = format!("#/$defs/d{}", at + 1);
            (
                name.clone(),
                json!({"type": "object", "properties": {"l": {"$ref": next}, "r": {"$ref": next}}}),
            )
        })
        .collect();
    let big = json!({"$ref": "#/$defs/d0", "$defs": doubling});
    assert!(of(&big).to_string().len() < 1_000_000);
}

#[test]
fn the_top_is_an_object_whatever_it_was() {
    let empty = json!({"type": "object", "properties": {}});
    for given in [
        json!(null),
        json!(true),
        json!({}),
        json!("x"),
        json!({"type": "object"}),
        json!({"type": ["object", "null"]}),
    ] {
        let repaired = of(&given);
        assert_eq!(
            (&repaired["type"], &repaired["properties"]),
            (&empty["type"], &empty["properties"]),
            "{given}"
        );
    }
}

#[test]
fn a_choice_at_the_top_becomes_one_object() {
    let of_two = |key: &str| {
        json!({key: [
            {"type": "object", "properties": {"a": {"type": "string"}, "k": {"const": "x"}}, "required": ["a", "k"], "additionalProperties": false},
            {"type": "object", "properties": {"b": {"type": "integer"}, "k": {"const": "y"}}, "required": ["b", "k"]},
        ]})
    };
    for key in ["anyOf", "oneOf"] {
        let one = of(&of_two(key));
        assert_eq!(one["required"], json!(["k"]), "{one}");
        let properties: Vec<&String> = one["properties"].as_object().unwrap().keys().collect();
        assert_eq!(properties, ["a", "k", "b"]);
        assert!(one.get(key).is_none() && one.get("additionalProperties").is_none());
    }
    assert_eq!(of(&of_two("allOf"))["required"], json!(["a", "k", "b"]));
}

#[test]
fn several_types_become_a_choice_and_each_keeps_what_is_its_own() {
    let given = json!({"type": "object", "properties": {"a": {"type": ["string", "array"], "minLength": 2, "items": {"type": "string"}, "description": "d"},
        "b": {"type": ["integer"]}}});
    let wanted = json!({"type": "object", "properties": {
        "a": {"description": "d", "anyOf": [{"type": "string", "minLength": 2}, {"type": "array", "items": {"type": "string"}}]},
        "b": {"type": "integer"}}});
    assert_eq!(of(&given), wanted);
}

#[test]
fn keywords_formats_and_expressions_that_are_refused_go() {
    let given = json!({"type": "object", "properties": {
        "a": {"type": "string", "format": "phone", "pattern": "(?i)x", "contentEncoding": "base64", "examples": ["q"]},
        "b": {"type": "number", "minimum": 1, "exclusiveMinimum": true, "maximum": 9, "exclusiveMaximum": false},
        "c": {"type": "array", "prefixItems": [{"type": "string"}]}, "d": {"type": "array", "items": [{"type": "string"}]},
        "e": true,
    }, "patternProperties": {"^x": {}}, "if": {}, "then": {}, "not": {}, "required": ["a", "gone"], "dependencies": {}});
    let wanted = json!({"type": "object", "properties": {
        "a": {"type": "string"},
        "b": {"type": "number", "exclusiveMinimum": 1, "maximum": 9},
        "c": {"type": "array", "items": {}}, "d": {"type": "array", "items": {}}, "e": {},
    }, "required": ["a"]});
    assert_eq!(of(&given), wanted);
}

#[test]
fn properties_whose_names_are_not_taken_go_where_they_are_not() {
    let long = "x".repeat(65);
    let given = json!({"type": "object", "properties": {"a": {}, "ü": {}, "b c": {}, long.clone(): {}}, "required": ["a", "ü"]});
    assert_eq!(schema(Dialect::OpenAi, &given)["properties"].as_object().unwrap().len(), 4);
    for dialect in [Dialect::Anthropic, Dialect::Bedrock] {
        let repaired = schema(dialect, &given);
        assert_eq!(repaired["properties"], json!({"a": {}}));
        assert_eq!(repaired["required"], json!(["a"]));
    }
}

#[test]
fn what_fits_a_schema_fits_the_repaired_one() {
    let cases = [
        (
            json!({"oneOf": [{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}, {"type": "object", "properties": {"b": {"type": "null"}}, "additionalProperties": false}]}),
            vec![json!({"a": "x"}), json!({"b": null}), json!({})],
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": ["string", "null"], "minLength": 1}}, "additionalProperties": {"type": "integer", "not": {"const": 4}}}),
            vec![json!({"a": null, "n": 3}), json!({"a": "x"})],
        ),
        (
            json!({"$ref": "#/definitions/t", "definitions": {"t": {"type": "object", "properties": {"t": {"$ref": "#/definitions/t"}}}}}),
            vec![json!({"t": {"t": {}}})],
        ),
    ];
    for (given, values) in cases {
        for dialect in ALL {
            let repaired = schema(dialect, &given);
            for value in &values {
                assert!(validator_for(&given).unwrap().is_valid(value), "{given} {value}");
                assert!(validator_for(&repaired).unwrap().is_valid(value), "{repaired} {value}");
            }
            assert!(nodes(&repaired).iter().all(|node| node.get("$ref").is_none()));
        }
    }
}
