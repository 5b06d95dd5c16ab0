use serde_json::json;

use super::*;

fn tool(properties: Value) -> Value {
    let mut schema = json!({"type": "object"});
    schema["properties"] = properties;
    json!({"name": "deploy", "inputSchema": schema})
}

fn sent(definition: &Value, arguments: Value) -> Vec<(String, String)> {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    let headers = headers(definition, &arguments).unwrap();
    headers.iter().map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned())).collect()
}

#[test]
fn a_marked_argument_is_a_header_too() {
    let tool = tool(json!({
        "region": {"type": "string", "x-mcp-header": "Region"},
        "size": {"type": "integer", "x-mcp-header": "Size"},
        "dry": {"type": "boolean", "x-mcp-header": "Dry-Run"},
        "other": {"type": "string"},
        "where": {"type": "object", "properties": {"zone": {"type": "string", "x-mcp-header": "Zone"}}},
    }));
    assert_eq!(problem(&tool), None);
    let arguments = json!({
        "region": "eu-central-1", "size": -7, "dry": true, "other": "x", "where": {"zone": "a"}, "zone": "no",
    });
    let expected = [
        ("mcp-param-region", "eu-central-1"),
        ("mcp-param-size", "-7"),
        ("mcp-param-dry-run", "true"),
        ("mcp-param-zone", "a"),
    ];
    assert_eq!(sent(&tool, arguments), expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

#[test]
fn what_is_not_there_has_no_header() {
    let tool = tool(json!({
        "region": {"type": "string", "x-mcp-header": "Region"},
        "where": {"type": "object", "properties": {"zone": {"type": "string", "x-mcp-header": "Zone"}}},
    }));
    for arguments in [
        json!({}),
        json!({"region": null}),
        json!({"region": {"a": 1}, "where": "x"}),
        json!({"region": ["a"], "where": {"zone": null}}),
        json!({"zone": "a"}),
    ] {
        assert_eq!(sent(&tool, arguments.clone()), [], "{arguments}");
    }
}

#[test]
fn a_value_that_no_header_can_carry_is_wrapped() {
    let tool = tool(json!({"v": {"type": "string", "x-mcp-header": "V"}}));
    for (value, header) in [
        ("plain text", "plain text"),
        ("", ""),
        ("ü", "=?base64?w7w=?="),
        (" edge", "=?base64?IGVkZ2U=?="),
        ("a\nb", "=?base64?YQpi?="),
        ("a\tb", "=?base64?YQli?="),
        ("=?base64?x?=", "=?base64?PT9iYXNlNjQ/eD89?="),
    ] {
        assert_eq!(sent(&tool, json!({"v": value})), [("mcp-param-v".to_owned(), header.to_owned())]);
    }
}

#[test]
fn wrong_marks_are_a_problem_of_their_tool() {
    let string = |mark: Value| json!({"type": "string", "x-mcp-header": mark});
    for (schema, what) in [
        (json!({"properties": {"a": string(json!(""))}}), "no header's name"),
        (json!({"properties": {"a": string(json!("a b"))}}), "no header's name"),
        (json!({"properties": {"a": string(json!("a:b"))}}), "no header's name"),
        (json!({"properties": {"a": string(json!("ü"))}}), "no header's name"),
        (json!({"properties": {"a": string(json!(7))}}), "no text"),
        (json!({"properties": {"a": string(json!("X")), "b": string(json!("x"))}}), "two arguments"),
        (json!({"properties": {"a": {"type": "number", "x-mcp-header": "A"}}}), "neither"),
        (json!({"properties": {"a": {"type": "object", "x-mcp-header": "A"}}}), "neither"),
        (json!({"properties": {"a": {"x-mcp-header": "A"}}}), "neither"),
        (json!({"x-mcp-header": "A"}), "no argument"),
        (json!({"properties": {"a": {"items": string(json!("A"))}}}), "no argument"),
        (json!({"anyOf": [{"properties": {"a": string(json!("A"))}}]}), "no argument"),
        (json!({"$defs": {"t": {"properties": {"a": string(json!("A"))}}}}), "no argument"),
        (json!({"dependentSchemas": {"t": {"properties": {"a": string(json!("A"))}}}}), "no argument"),
    ] {
        let tool = json!({"name": "t", "inputSchema": schema});
        assert!(problem(&tool).is_some_and(|said| said.contains(what)), "{tool}: {:?}", problem(&tool));
    }
}

#[test]
fn what_only_looks_like_a_mark_is_none() {
    for schema in [
        json!({"properties": {"x-mcp-header": {"type": "string"}}}),
        json!({"properties": {"a": {"default": {"x-mcp-header": "A"}, "enum": [{"x-mcp-header": "A"}]}}}),
        json!({"dependentRequired": {"x-mcp-header": ["a"]}}),
        json!({"dependencies": {"x-mcp-header": ["a"]}}),
        json!({"type": "object"}),
    ] {
        assert_eq!(problem(&json!({"name": "t", "inputSchema": schema})), None, "{schema}");
    }
    assert_eq!(problem(&json!({"name": "t"})), None);
}

/// As deep as JSON is read.
#[test]
fn a_schema_is_looked_through_to_some_depth_and_no_further() {
    let mut schema = json!({"type": "string", "x-mcp-header": "A"});
    for _ in 0..100 {
        schema = json!({"properties": {"a": schema}});
    }
    let tool = json!({"name": "t", "inputSchema": schema});
    assert_eq!((problem(&tool), sent(&tool, json!({"a": 1})).len()), (None, 0));
}
