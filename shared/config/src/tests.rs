//! The document as a whole, and the promise that no way out of this crate shows a secret.

mod canary;

use serde_json::{Value, json};

use crate::*;

fn paths(raw: Value) -> Vec<(String, Kind)> {
    let problems = Document::parse(raw).unwrap_err();
    problems.into_iter().map(|problem| (problem.path, problem.kind)).collect()
}

#[test]
fn the_alias_is_read_and_never_written() {
    let document = Document::parse(json!({"first": 1, "mcp_servers": {"a": {}}, "last": 2})).unwrap();
    assert_eq!(document.expose_raw().to_string(), r#"{"first":1,"mcpServers":{"a":{}},"last":2}"#);
    assert_eq!(document.servers().len(), 1);
    assert_eq!(Document::parse(json!({})).unwrap(), Document::empty());
}

#[test]
fn unknown_keys_survive_at_every_level() {
    let text = r#"{"zeta":[1,{"b":1.0}],"mcpServers":{"b":{"type":"http","url":"http://h","x":{"y":null}},"a":{}},"skills":{"s":{"enabled":false,"z":1}},"middlewares":["m:C"]}"#;
    let document = Document::parse(serde_json::from_str(text).unwrap()).unwrap();
    assert_eq!(document.expose_raw().to_string(), text);
    assert_eq!(document.masked().to_string(), text);
}

#[test]
fn every_problem_is_reported_at_once_with_its_place() {
    let raw = json!({
        "mcpServers": {"a": {"enabled": 7, "args": "x", "env": {"E": 1}}, "b": [], "c d": {"tools": null}},
        "skills": {"s": {"enabled": "?"}}, "middlewares": [1],
    });
    let mut found: Vec<_> = paths(raw).into_iter().map(|(path, _)| path).collect();
    found.sort();
    assert_eq!(
        found,
        [
            "mcpServers.a.args",
            "mcpServers.a.enabled",
            "mcpServers.a.env.E",
            "mcpServers.b",
            r#"mcpServers["c d"].tools"#,
            "middlewares[0]",
            "skills.s.enabled",
        ]
    );
}

#[test]
fn the_shape_of_the_top_is_checked() {
    for raw in [json!([]), json!(null), json!("x"), json!({"mcpServers": null}), json!({"mcpServers": []})] {
        assert_eq!(paths(raw.clone())[0].1, Kind::Shape, "{raw}");
    }
    let twice = json!({"mcpServers": {}, "mcp_servers": {}});
    assert_eq!(paths(twice), [("mcpServers".to_owned(), Kind::Shape)]);
}

#[test]
fn interceptors_of_another_type_are_a_warning() {
    for (value, warnings) in
        [(json!("m:b"), 0), (json!(["m:b"]), 0), (json!(null), 0), (json!(5), 1), (json!([5]), 1)]
    {
        let document = Document::parse(json!({"mcpInterceptors": value})).unwrap();
        assert_eq!(document.warnings().len(), warnings);
    }
}

#[test]
fn literals_that_look_like_our_own_forms_are_refused() {
    let with = |value: &str| json!({"mcpServers": {"a": {"type": "http", "url": "http://h", "headers": {"A": value}}}});
    assert_eq!(paths(with("***")), [("mcpServers.a.headers.A".to_owned(), Kind::Mask)]);
    assert_eq!(paths(with("sealed:v1:00")), [("mcpServers.a.headers.A".to_owned(), Kind::Rule)]);
    assert!(Document::parse(with("****")).is_ok());
    let url = json!({"mcpServers": {"a": {"type": "http", "url": "http://sealed:x@h"}}});
    assert_eq!(paths(url), [("mcpServers.a.url@userinfo".to_owned(), Kind::Rule)]);
}

#[test]
fn many_and_long_problems_stay_readable() {
    let long = "k".repeat(100_000);
    let servers: serde_json::Map<_, _> =
        (0..5_000).map(|at| (format!("{at}{long}"), json!(1))).take(200).collect();
    let problems = Document::parse(json!({"mcpServers": servers})).unwrap_err();
    assert_eq!(problems.len(), 101);
    assert!(problems[100].message.contains("100 more"));
    assert!(problems.iter().all(|problem| problem.to_string().len() < 1_000));
}

#[test]
fn the_api_takes_http_servers_only_and_says_so() {
    let document = Document::parse(json!({"mcpServers": {
        "ok": {"type": "http", "url": "http://h"}, "child": {"command": "npx"}, "old": {"type": "sse", "url": "http://h"},
        "shout": {"type": "STDIO"}, "no_url": {"type": "http"}, "other": {"type": "websocket"},
        "off": {"enabled": false, "command": "npx"},
    }}))
    .unwrap();
    let refused = api_screen(&document);
    let names: Vec<_> =
        refused.iter().map(|problem| problem.path.trim_start_matches("mcpServers.")).collect();
    assert_eq!(names, ["child", "old", "shout", "no_url", "off"]);
    assert!(refused.iter().all(|problem| problem.kind == Kind::Policy));
    assert!(refused[0].message.contains("stdio and sse servers are not accepted through the API yet"));
}

#[test]
fn canonical_json_is_sorted_compact_and_raw() {
    let value = json!({"b": [1, 2.5, "é\n\""], "a": {"z": null, "Z": true}});
    assert_eq!(canonical(&value), r#"{"a":{"Z":true,"z":null},"b":[1,2.5,"é\n\""]}"#);
    assert_eq!(sha256_hex(&json!({})), "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
}
