use super::*;

#[test]
fn names_travel_plain_where_they_can() {
    for (name, header) in [
        ("echo", "echo"),
        ("two words", "two words"),
        ("écho", "=?base64?w6ljaG8=?="),
        (" edge", "=?base64?IGVkZ2U=?="),
        ("=?base64?x?=", "=?base64?PT9iYXNlNjQ/eD89?="),
    ] {
        assert_eq!(header_text(name), header);
    }
}

#[test]
fn every_request_carries_what_replaces_the_handshake() {
    let meta = meta();
    for key in RequestMetaObject::DRAFT_REQUIRED_KEYS {
        assert!(meta.get(key).is_some(), "{key}");
    }
    assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "pudu");
}
