use http::HeaderValue;
use serde_json::json;

use super::*;

/// The era, or the code of the error and whether it names the revisions.
fn judged(method: &str, header: Option<&str>, meta: Option<Value>) -> Result<Era, (i64, bool)> {
    let mut headers = HeaderMap::new();
    headers.insert("mcp-method", HeaderValue::from_str(method).unwrap());
    if let Some(version) = header {
        headers.insert(HEADER, HeaderValue::from_str(version).unwrap());
    }
    let mut params = Map::new();
    params.extend(meta.map(|meta| ("_meta".to_owned(), meta)));
    let request = Request { id: json!(1), method: method.to_owned(), params };
    client(&headers, &request).map(|client| client.era).map_err(|error| {
        let error = serde_json::to_value(error).unwrap();
        (error["code"].as_i64().unwrap(), error["data"]["supported"][0] == STATELESS)
    })
}

fn meta(version: &str) -> Value {
    json!({VERSION: version, CAPABILITIES: {}})
}

#[test]
fn each_request_says_alone_in_which_era_it_speaks() {
    assert_eq!(judged("tools/list", Some(STATELESS), Some(meta(STATELESS))), Ok(Era::Stateless));
    for older in WITH_HANDSHAKE {
        assert_eq!(judged("tools/list", Some(older), None), Ok(Era::Handshake));
        assert_eq!(judged("tools/list", Some(older), Some(json!({"progressToken": 1}))), Ok(Era::Handshake));
        assert_eq!(judged("tools/list", Some(older), Some(meta(older))), Ok(Era::Handshake));
    }
    // The first revision had no header.
    assert_eq!(judged("tools/list", None, None), Ok(Era::Handshake));
    assert_eq!(judged("initialize", None, None), Ok(Era::Handshake));
}

#[test]
fn what_the_newest_revision_requires_is_required() {
    let malformed = Err((-32602, false));
    assert_eq!(judged("tools/list", Some(STATELESS), None), malformed);
    assert_eq!(judged("server/discover", None, None), malformed);
    assert_eq!(judged("tools/list", Some(STATELESS), Some(json!({VERSION: STATELESS}))), malformed);
    assert_eq!(judged("tools/list", Some(STATELESS), Some(json!({CAPABILITIES: {}}))), malformed);
    assert_eq!(judged("tools/list", Some(STATELESS), Some(json!({VERSION: 7, CAPABILITIES: {}}))), malformed);
    assert_eq!(
        judged("tools/list", Some(STATELESS), Some(json!({VERSION: STATELESS, CAPABILITIES: []}))),
        malformed
    );
}

#[test]
fn headers_and_body_must_agree_and_the_revision_must_be_known() {
    let mismatch = Err((-32020, false));
    assert_eq!(judged("tools/list", None, Some(meta(STATELESS))), mismatch);
    assert_eq!(judged("tools/list", Some("2025-11-25"), Some(meta(STATELESS))), mismatch);
    assert_eq!(judged("tools/list", Some(STATELESS), Some(meta("2025-11-25"))), mismatch);
    assert_eq!(judged("tools/list", Some("v9"), Some(meta("v8"))), mismatch);
    let unknown = Err((-32022, true));
    assert_eq!(judged("tools/list", Some("v9"), Some(meta("v9"))), unknown);
    assert_eq!(judged("tools/list", Some("v9"), None), unknown);
    assert_eq!(judged("tools/list", Some("2024-11-05"), None), unknown, "HTTP+SSE was another transport");
}
