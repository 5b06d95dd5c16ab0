#![expect(clippy::needless_pass_by_value, reason = "json!(…) as an argument reads better without a borrow")]

use serde_json::json;

use super::*;
use crate::Document;

fn adopted(entry: Value) -> (Value, Vec<String>) {
    let (raw, notes) = adopt(json!({"mcpServers": {"a": entry}})).unwrap();
    (raw["mcpServers"]["a"].clone(), notes.iter().map(|note| note.path.clone()).collect())
}

#[test]
fn a_url_without_a_type_means_http() {
    let (entry, notes) = adopted(json!({"url": "https://h/mcp"}));
    assert_eq!(entry, json!({"url": "https://h/mcp", "type": "http"}));
    assert_eq!(notes, ["mcpServers.a.type"]);
    for empty in [json!(null), json!("")] {
        assert_eq!(adopted(json!({"url": "https://h", "type": empty})).0["type"], "http");
    }
}

#[test]
fn what_says_its_type_or_has_a_command_is_left_alone() {
    for entry in [
        json!({"command": "npx", "args": ["-y", "server"]}),
        json!({"command": "npx", "url": "https://h"}),
        json!({"type": "sse", "url": "https://h"}),
        json!({"transport": "sse", "url": "https://h"}),
        json!({"type": "http", "url": "https://h", "disabled": false}),
        json!({"type": "http", "url": "https://h", "disabled": true, "enabled": true}),
        json!({"url": null}),
        json!(5),
    ] {
        assert_eq!(adopted(entry.clone()), (entry, vec![]));
    }
}

#[test]
fn other_words_of_other_clients_become_ours() {
    for word in HTTP {
        let (entry, notes) = adopted(json!({"type": word, "url": "https://h"}));
        assert_eq!((&entry["type"], notes), (&json!("http"), vec!["mcpServers.a.type".to_owned()]));
    }
    let (entry, notes) = adopted(json!({"command": "c", "disabled": true}));
    assert_eq!(entry, json!({"command": "c", "disabled": true, "enabled": false}));
    assert_eq!(notes, ["mcpServers.a.enabled"]);
    let (entry, notes) = adopted(json!({
        "command": "c", "env": {"A": "${TOKEN}", "B": "x ${TOKEN}", "C": "${TOKEN", "D": "${input:x}", "E": "${AWS_X}", "F": "${env:KEY}"},
        "args": ["${DIR}"], "headers": {"H": "${KEY}"}, "note": "${N}",
    }));
    assert_eq!(
        entry["env"],
        json!({"A": "$TOKEN", "B": "x ${TOKEN}", "C": "${TOKEN", "D": "${input:x}", "E": "${AWS_X}", "F": "$KEY"})
    );
    assert_eq!((&entry["args"][0], &entry["headers"]["H"]), (&json!("$DIR"), &json!("$KEY")));
    assert_eq!(entry["note"], "${N}");
    assert_eq!(
        notes,
        ["mcpServers.a.args[0]", "mcpServers.a.env.A", "mcpServers.a.env.F", "mcpServers.a.headers.H"]
    );
}

#[test]
fn a_file_without_servers_is_refused_and_the_alias_is_taken() {
    for raw in [
        json!({}),
        json!({"servers": []}),
        json!({"server": {}}),
        json!([]),
        json!({"mcpServers": {}, "mcp_servers": {}}),
    ] {
        assert_eq!(adopt(raw).unwrap_err().kind, Kind::Shape);
    }
    let (raw, notes) = adopt(json!({"mcp_servers": {"a": {"url": "https://h"}}, "x": 1})).unwrap();
    assert_eq!(raw, json!({"mcpServers": {"a": {"url": "https://h", "type": "http"}}, "x": 1}));
    assert_eq!(notes.len(), 1);
}

#[test]
fn vector_8_what_is_pudus_own_is_imported_as_it_is() {
    let raw = json!({"mcpServers": {"a": {"type": "http", "url": "https://h",
        "routing": {"mode": "prefer", "priority": 20, "keywords": ["a"]}, "tools": {"t": {"routing": {"priority": 100}}}}},
        "mcpInterceptors": "m:b", "skills": {"s": {"enabled": false}}});
    let (adopted, notes) = adopt(raw.clone()).unwrap();
    assert_eq!((adopted.to_string(), notes), (raw.to_string(), vec![]));
    let routing = Document::parse(adopted).unwrap().server("a").unwrap().effective_routing("t");
    assert_eq!((routing.priority, routing.keywords), (100, vec!["a".to_owned()]));
}

#[test]
fn an_editor_that_calls_its_servers_servers_is_understood() {
    let (raw, notes) =
        adopt(json!({"inputs": [], "servers": {"a": {"type": "http", "url": "https://h"}}, "x": 1})).unwrap();
    let expected = json!({"inputs": [], "mcpServers": {"a": {"type": "http", "url": "https://h"}}, "x": 1});
    assert_eq!(raw.to_string(), expected.to_string());
    assert_eq!(notes.iter().map(|note| note.path.as_str()).collect::<Vec<_>>(), ["servers"]);
    // Beside our own name it is an extra like any other.
    let own = json!({"mcpServers": {}, "servers": {"a": {"url": "https://h"}}});
    assert_eq!(adopt(own.clone()).unwrap(), (own, vec![]));
}
