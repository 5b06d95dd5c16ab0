use serde_json::json;

use super::*;
use crate::{LaunchPolicy, api_screen};

const STORED: &str = r#"{"own":[1],"mcpServers":{"good":{"transport":"http","url":"https://h/mcp","headers":{"A":"secret","B":"$TOK"},"x":{"token":"t"}},"bad":{"command":"/bin/sh","args":["-c","x"],"env":{"K":"$V"}},"off":{"type":"http","url":"https://o","enabled":false,"oauth":{"client_secret":"","client_id":"c"}}},"skills":{"s":{"enabled":false,"z":1}}}"#;

fn stored() -> Document {
    Document::parse(serde_json::from_str(STORED).unwrap()).unwrap()
}

/// The stored text with one place replaced.
fn with(old: &str, new: &str) -> String {
    assert_eq!(STORED.matches(old).count(), 1);
    STORED.replace(old, new)
}

#[test]
fn vector_103_a_patch_changes_one_boolean_and_not_its_siblings() {
    let there = stored();
    let off = enable_server("good", false, &there).unwrap();
    let expected = with(r#""x":{"token":"t"}}"#, r#""x":{"token":"t"},"enabled":false}"#);
    assert_eq!(off.to_string(), expected);
    let on = enable_server("off", true, &there).unwrap();
    assert_eq!(on.to_string(), with(r#""enabled":false,"oauth""#, r#""enabled":true,"oauth""#));
    // The sibling that no API would take is not looked at.
    let on = Document::parse(on).unwrap();
    assert_eq!(api_screen(&on.only(&["off".to_owned()]), Some(&there), &LaunchPolicy::default()), []);
    assert_eq!(enable_server("nobody", true, &there), Err(Refused::Unknown { name: "nobody".into() }));
}

#[test]
fn a_server_is_replaced_and_nothing_beside_it() {
    let there = stored();
    let sent = json!({"transport": "http", "url": "https://h/mcp", "headers": {"A": "***", "B": "new"}, "enabled": true});
    let new = replace_server("good", &sent, &there).unwrap();
    assert_eq!(new.to_string(), with(r#""B":"$TOK""#, r#""B":"new""#));
    assert_eq!(replace_server("GOOD", &sent, &there), Err(Refused::Unknown { name: "GOOD".into() }));
    let Err(Refused::Problems(problems)) = replace_server("good", &json!({"headers": {"C": "***"}}), &there)
    else {
        panic!("a mask of nothing was taken");
    };
    assert_eq!(problems[0].path, "mcpServers.good.headers.C");
    let shapeless = replace_server("good", &json!([]), &there).unwrap();
    assert_eq!(Document::parse(shapeless).unwrap_err()[0].kind, Kind::Shape);
}

#[test]
fn servers_are_created_behind_the_others_and_never_over_one() {
    let there = stored();
    let sent = json!({"mcp_servers": {"new": {"type": "http", "url": "https://n"}, "newer": {}}, "skills": {}, "own": 2});
    let new = create_servers(&sent, &there).unwrap();
    let expected = with(
        r#""client_id":"c"}}}"#,
        r#""client_id":"c"}},"new":{"type":"http","url":"https://n"},"newer":{}}"#,
    );
    assert_eq!(new.to_string(), expected);
    let taken = create_servers(&json!({"mcpServers": {"new": {}, "good": {}}}), &there);
    assert_eq!(taken, Err(Refused::Exists { name: "good".into() }));
    for (nothing, kind) in [
        (json!({}), Kind::Shape),
        (json!({"mcp_servers": {}}), Kind::Shape),
        (json!(5), Kind::Shape),
        (json!({"mcp_servers": {"new": {"headers": {"A": "***"}}}}), Kind::Mask),
        (json!({"mcp_servers": {"new": {"args": ["--token", "***"]}}}), Kind::Mask),
        (json!({"mcp_servers": {"new": {"args": ["***"]}}}), Kind::Mask),
    ] {
        let Err(Refused::Problems(problems)) = create_servers(&nothing, &there) else { panic!("{nothing}") };
        assert_eq!(problems[0].kind, kind, "{nothing}");
    }
    for shapeless in [json!({"mcp_servers": null}), json!({"mcp_servers": {"new": 5}})] {
        let raw = create_servers(&shapeless, &there).unwrap();
        assert_eq!(Document::parse(raw).unwrap_err()[0].kind, Kind::Shape);
    }
}

#[test]
fn a_server_is_removed_and_the_others_stay_where_they_were() {
    let there = stored();
    let text = remove_server("good", &there).unwrap().to_string();
    let begin = STORED.find(r#""good""#).unwrap();
    let end = STORED.find(r#""bad""#).unwrap();
    assert_eq!(text, format!("{}{}", &STORED[..begin], &STORED[end..]));
    assert_eq!(remove_server("", &there), Err(Refused::Unknown { name: String::new() }));
}

#[test]
fn a_put_takes_nothing_but_the_servers() {
    let there = stored();
    let sent = json!({"mcp_servers": {}, "skills": {"s": {"enabled": true}}, "own": null, "other": 1});
    let raw = put_servers(&sent, &there).unwrap();
    assert_eq!(raw, json!({"own": [1], "mcpServers": {}, "skills": {"s": {"enabled": false, "z": 1}}}));
    assert!(matches!(put_servers(&json!({"skills": {}}), &there), Err(Refused::Problems(_))));
}

#[test]
fn a_long_name_is_told_in_part() {
    let long = "n".repeat(10_000);
    assert!(remove_server(&long, &stored()).unwrap_err().to_string().len() < 400);
}
