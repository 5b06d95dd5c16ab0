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
    for tasks in [false, true] {
        let meta = meta(tasks, None);
        for key in RequestMetaObject::DRAFT_REQUIRED_KEYS {
            assert!(meta.get(key).is_some(), "{key}");
        }
        assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "pudu");
    }
}

#[test]
fn tasks_and_their_questions_are_declared_only_by_a_request_that_takes_them() {
    assert_eq!(meta(false, None)[CAPABILITIES], json!({}));
    let declared = meta(true, None)[CAPABILITIES].clone();
    assert_eq!(declared["extensions"], json!({"io.modelcontextprotocol/tasks": {}}));
    assert!(declared["elicitation"].is_object(), "{declared}");
}

#[test]
fn what_a_callers_client_can_do_is_declared_for_it_but_not_that_it_takes_tasks() {
    let capabilities = json!({"sampling": {"x": 1}, "extensions": {"io.modelcontextprotocol/tasks": {}}});
    let Value::Object(capabilities) = capabilities else { panic!("an object") };
    let relayed = Relayed { capabilities, token: Some(json!(7)), ..Relayed::default() };
    let plain = meta(false, Some(&relayed));
    assert_eq!(plain[CAPABILITIES], json!({"sampling": {"x": 1}}));
    assert!(plain.get("progressToken").is_none(), "nobody hears");
    assert_eq!(
        meta(true, Some(&relayed))[CAPABILITIES],
        meta(true, None)[CAPABILITIES],
        "questions of a task come to us"
    );
}
