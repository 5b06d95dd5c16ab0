mod providers;

use serde_json::json;

use super::*;

fn tools() -> Vec<ToolDefinition> {
    let tool = |name: &str, property: &str| ToolDefinition {
        name: name.to_owned(),
        description: String::new(),
        schema: json!({"type": "object", "properties": {property: {"type": "string"}}}),
        server: None,
    };
    vec![tool("weather", "place"), tool("weather_at", "place"), tool("time", "zoneName")]
}

fn of(status: u16, body: &str) -> ModelFault {
    of_answer(Some(status), body, &tools())
}

fn schema(tool: Option<&str>, path: Option<&str>) -> ModelFault {
    ModelFault::Schema { tool: tool.map(str::to_owned), path: path.map(str::to_owned) }
}

#[test]
fn an_account_with_nothing_left_comes_first() {
    for (status, body) in [
        (
            429,
            r#"{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","code":"insufficient_quota"}}"#,
        ),
        (400, r#"{"error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}"#),
        (402, r#"{"error":{"message":"Insufficient Balance"}}"#),
        (402, ""),
        (403, "账户余额不足"),
    ] {
        assert_eq!(of(status, body), ModelFault::Quota, "{body}");
    }
    let by_the_minute = r#"[{"error":{"code":429,"message":"You exceeded your current quota: GenerateRequestsPerMinutePerProject","status":"RESOURCE_EXHAUSTED"}}]"#;
    assert_eq!(of(429, by_the_minute), ModelFault::Transient);
}

#[test]
fn a_credential_that_is_not_taken_comes_second() {
    for (status, body) in [
        (401, ""),
        (403, "nothing to say"),
        (400, r#"{"error":{"message":"API key not valid. Please pass a valid API key."}}"#),
        (400, r#"{"__type":"UnrecognizedClientException","message":"The security token is invalid"}"#),
        (500, r#"{"error":{"type":"authentication_error","message":"x"}}"#),
    ] {
        assert_eq!(of(status, body), ModelFault::Auth, "{body}");
    }
}

#[test]
fn speed_outages_and_load_come_in_this_order() {
    assert_eq!(
        of(429, r#"{"error":{"code":"limit_burst_rate","message":"Request rate increased too quickly"}}"#),
        ModelFault::Burst
    );
    assert_eq!(of(429, r#"{"error":{"message":"TPM limit"}}"#), ModelFault::Burst);
    assert_eq!(of(429, r#"{"error":{"message":"cptpms are out"}}"#), ModelFault::Transient);
    for status in [408, 409, 425, 429, 500, 502, 503, 504, 529] {
        assert_eq!(of(status, ""), ModelFault::Transient, "{status}");
    }
    assert_eq!(of(400, "server busy, try again later"), ModelFault::Busy);
    assert_eq!(of(400, "该模型当前负载较高"), ModelFault::Busy);
    assert_eq!(of(404, r#"{"error":{"message":"no such model"}}"#), ModelFault::Other);
    assert_eq!(
        of_answer(None, r#"{"error":{"type":"api_error","message":"Internal server error"}}"#, &tools()),
        ModelFault::Transient
    );
}

#[test]
fn a_schema_that_is_not_taken_names_tool_and_place_where_the_provider_does() {
    for (body, wanted) in [
        (
            r#"{"error":{"message":"Invalid schema for function 'weather_at': In context=('properties', 'at', 'items'), array schema missing items","param":"tools[1].function.parameters"}}"#,
            schema(Some("weather_at"), Some("$.properties.at.items")),
        ),
        (
            r#"{"error":{"message":"tools.2.custom.input_schema.properties.zone.type: Input should be 'string'"}}"#,
            schema(Some("time"), Some("$.properties.zone.type")),
        ),
        (
            r#"{"message":"The value at toolConfig.tools.0.toolSpec.inputSchema.json.type must be one of the following: object."}"#,
            schema(Some("weather"), Some("$.type")),
        ),
        (
            r#"{"error":{"message":"Invalid JSON schema of tool weather: access denied is no type"}}"#,
            schema(Some("weather"), None),
        ),
        (r#"{"error":{"message":"A function's schema is invalid"}}"#, schema(None, None)),
        (
            r#"{"error":{"message":"Invalid JSON schema: unsupported 'zoneName'"}}"#,
            schema(Some("time"), None),
        ),
        (r#"{"error":{"message":"Invalid JSON schema: unsupported 'place'"}}"#, schema(None, None)),
    ] {
        assert_eq!(of(400, body), wanted, "{body}");
    }
    assert_eq!(of(400, r#"{"error":{"message":"Too many tools are not supported"}}"#), ModelFault::Other);
    assert_eq!(of_answer(Some(400), "Invalid schema", &[]), ModelFault::Other, "nothing was offered");
}

#[test]
fn what_is_shown_is_what_the_provider_says() {
    assert_eq!(words_of(r#"{"error":{"message":"no","type":"bad","code":"worse"}}"#), "worse: no");
    assert_eq!(words_of(r#"[{"error":{"message":"no"}}]"#), "no");
    assert_eq!(words_of(r#"{"detail":"no"}"#), "no");
    assert_eq!(words_of(r#"{"error":"no"}"#), "no");
    assert_eq!(words_of("plain"), "plain");
    assert_eq!(words_of(" <!doctype html>"), "");
}
