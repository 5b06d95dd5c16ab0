use http::{HeaderName, HeaderValue};
use serde_json::json;

use super::*;

fn headers(given: &[(&str, &str)]) -> HeaderMap {
    let pair = |(name, value): &(&str, &str)| {
        (HeaderName::try_from(*name).unwrap(), HeaderValue::from_str(value).unwrap())
    };
    let mut headers = HeaderMap::new();
    for (name, value) in given.iter().map(pair) {
        headers.append(name, value);
    }
    headers
}

fn request(method: &str, params: Value) -> Request {
    let Value::Object(params) = params else { panic!("params are an object") };
    Request { id: json!(1), method: method.to_owned(), params }
}

#[test]
fn the_method_and_the_name_must_be_those_of_the_body() {
    let call = request("tools/call", json!({"name": "größer"}));
    let wrapped = format!("=?base64?{}?=", BASE64_STANDARD.encode("größer"));
    assert_eq!(check(&headers(&[(METHOD, "tools/call"), (NAME, &wrapped)]), &call), Ok(()));
    let plain = request("tools/call", json!({"name": "echo"}));
    assert_eq!(check(&headers(&[(METHOD, "tools/call"), (NAME, " echo ")]), &plain), Ok(()));
    for wrong in [
        vec![],
        vec![(NAME, "echo")],
        vec![(METHOD, "tools/call")],
        vec![(METHOD, "TOOLS/CALL"), (NAME, "echo")],
        vec![(METHOD, "tools/list"), (NAME, "echo")],
        vec![(METHOD, "tools/call"), (NAME, "Echo")],
        vec![(METHOD, "tools/call"), (NAME, "echo"), (NAME, "echo")],
        vec![(METHOD, "tools/call"), (NAME, "=?base64?!!!?=")],
    ] {
        assert!(check(&headers(&wrong), &plain).is_err(), "{wrong:?}");
    }
    assert_eq!(
        check(&headers(&[(METHOD, "tasks/get"), (NAME, "t")]), &request("tasks/get", json!({"taskId": "t"}))),
        Ok(())
    );
    assert!(
        check(&headers(&[(METHOD, "tasks/get"), (NAME, "u")]), &request("tasks/get", json!({"taskId": "t"})))
            .is_err()
    );
    // Only there it may be left out.
    assert_eq!(
        check(&headers(&[(METHOD, "tasks/get")]), &request("tasks/get", json!({"taskId": "t"}))),
        Ok(())
    );
    assert_eq!(check(&headers(&[(METHOD, "tools/list")]), &request("tools/list", json!({}))), Ok(()));
}

#[test]
fn marked_arguments_travel_as_headers_and_only_with_their_argument() {
    let definition = json!({"inputSchema": {"properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "where": {"properties": {"zone": {"type": "integer", "x-mcp-header": "Zone"}}},
        "odd": {"type": "string", "x-mcp-header": "no header"},
        "items": {"items": {"properties": {"deep": {"x-mcp-header": "Deep"}}}},
    }}});
    let given = |arguments: Value, sent: &[(&str, &str)]| {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        check_arguments(&headers(sent), &definition, &arguments)
    };
    let both = json!({"region": "eu", "where": {"zone": 7}, "odd": "x"});
    assert_eq!(given(both.clone(), &[("mcp-param-region", "eu"), ("mcp-param-zone", "7")]), Ok(()));
    assert_eq!(given(json!({"region": "SGVsbG8="}), &[("mcp-param-region", "SGVsbG8=")]), Ok(()));
    assert_eq!(given(json!({"region": "Hello"}), &[("mcp-param-region", "=?base64?SGVsbG8=?=")]), Ok(()));
    assert_eq!(given(json!({"region": null}), &[]), Ok(()));
    assert!(given(both.clone(), &[("mcp-param-region", "eu")]).is_err(), "one is missing");
    assert!(given(both, &[("mcp-param-region", "us"), ("mcp-param-zone", "7")]).is_err());
    assert!(given(json!({}), &[("mcp-param-region", "eu")]).is_err(), "a header without its argument");
    assert!(
        given(json!({"region": "Hello"}), &[("mcp-param-region", "=?base64?SGVsbG8?=")]).is_err(),
        "padding"
    );
}
