//! The document as a whole, and the promise that no way out of this crate shows a secret.

mod arguments;
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
fn references_are_found_at_every_place_and_nothing_else_is() {
    let raw = json!({
        "mcpServers": {
            "a": {
                "type": "http", "url": "$URL", "headers": {"Authorization": "$TOKEN", "X-Cost": "$$5", "X-Two": "x$NOT"},
                "oauth": {"token_url": "http://h/t", "client_secret": "$SECRET", "extra_token_params": {"p": "$PARAM"}},
                "user_auth": {"users": {"ann": "$ANN"}}, "x-extra": [{"deep": "$DEEP"}],
            },
            "b": {"enabled": false, "command": "x", "env": {"E": "$TOKEN"}, "args": ["$ARG"]},
        },
        "other": "$TOP",
    });
    let document = Document::parse(raw).unwrap();
    let names = ["ANN", "ARG", "DEEP", "PARAM", "SECRET", "TOKEN", "TOP", "URL"];
    assert_eq!(document.references().into_iter().collect::<Vec<_>>(), names);
    let of_b = document.server("b").unwrap().references();
    assert_eq!(of_b.into_iter().collect::<Vec<_>>(), ["ARG", "TOKEN"]);
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
fn interceptors_of_another_type_are_ignored_with_a_warning() {
    for (value, named, warned) in [
        (json!("m:b"), vec!["m:b"], None),
        (json!(["a", "b"]), vec!["a", "b"], None),
        (json!([]), vec![], None),
        (json!(null), vec![], None),
        (json!(5), vec![], Some("mcpInterceptors")),
        (json!({"a": "b"}), vec![], Some("mcpInterceptors")),
        (json!(["a", 5, "b"]), vec!["a", "b"], Some("mcpInterceptors[1]")),
    ] {
        let document =
            Document::parse(json!({"mcpInterceptors": value, "mcpServers": {"a": {}, "b": {}}})).unwrap();
        assert_eq!(document.interceptors(), named);
        assert!(document.servers().iter().all(|server| server.interceptors == named));
        let paths: Vec<_> = document.warnings().iter().map(|warning| warning.path.as_str()).collect();
        assert_eq!(paths, Vec::from_iter(warned));
        assert_eq!(document.expose_raw()["mcpInterceptors"], value, "it survives every write");
    }
}

#[test]
fn other_interceptors_are_another_digest_of_every_server() {
    let key = SealKey::new([1; 32]);
    let of = |interceptors: Value| {
        let raw = json!({"mcpServers": {"a": {}}, "mcpInterceptors": interceptors});
        key.digest(Document::parse(raw).unwrap().server("a").unwrap())
    };
    assert_eq!(of(json!(null)), of(json!([])));
    assert_eq!(of(json!("m:b")), of(json!(["m:b"])));
    assert_ne!(of(json!(["a", "b"])), of(json!(["b", "a"])));
    assert_ne!(of(json!("a")), of(json!(null)));
}

#[test]
fn tool_search_is_read_from_the_top_and_its_number_is_clamped() {
    for (block, enabled, top, warnings) in [
        (json!(null), false, 3, 0),
        (json!({}), false, 3, 0),
        (json!({"enabled": true}), true, 3, 0),
        (json!({"enabled": "yes", "auto_promote_top_k": 5, "other": 1}), true, 5, 0),
        (json!({"auto_promote_top_k": 0}), false, 1, 1),
        (json!({"auto_promote_top_k": 6}), false, 5, 1),
        (json!({"auto_promote_top_k": i64::MIN}), false, 1, 1),
    ] {
        let document = Document::parse(json!({"tool_search": block})).unwrap();
        assert_eq!(document.tool_search(), ToolSearch { enabled, auto_promote_top_k: top }, "{block}");
        assert_eq!(document.warnings().len(), warnings, "{block}");
    }
    assert_eq!(Document::parse(json!({})).unwrap().tool_search(), ToolSearch::default());
    let wrong = json!({"tool_search": {"enabled": 7, "auto_promote_top_k": 1.5}});
    assert_eq!(
        paths(wrong),
        [
            ("tool_search.enabled".to_owned(), Kind::Shape),
            ("tool_search.auto_promote_top_k".to_owned(), Kind::Shape)
        ]
    );
    assert_eq!(paths(json!({"tool_search": true}))[0].0, "tool_search");
}

#[test]
fn warnings_are_told_of_a_config_that_is_not_valid_too() {
    let examined = Document::examine(json!({"mcpInterceptors": 5, "mcpServers": {"a": {"enabled": 7}}}));
    assert_eq!(examined.document.unwrap_err()[0].path, "mcpServers.a.enabled");
    assert_eq!(examined.warnings[0].path, "mcpInterceptors");
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
fn values_that_mean_the_same_are_alike() {
    use crate::canonical::alike;
    for (left, right, same) in [
        (json!({"a": 1, "b": [60]}), json!({"b": [60.0], "a": 1.0}), true),
        (json!(9_007_199_254_740_993_u64), json!(9_007_199_254_740_992_u64), false),
        (json!([1, 2]), json!([1]), false),
        (json!({"a": null}), json!({}), false),
        (json!("1"), json!(1), false),
    ] {
        assert_eq!(alike(&left, &right), same, "{left} {right}");
        assert_eq!(alike(&right, &left), same, "{right} {left}");
    }
}

#[test]
fn canonical_json_is_sorted_compact_and_raw() {
    let value = json!({"b": [1, 2.5, "é\n\""], "a": {"z": null, "Z": true}});
    assert_eq!(canonical(&value), r#"{"a":{"Z":true,"z":null},"b":[1,2.5,"é\n\""]}"#);
    assert_eq!(sha256_hex(&json!({})), "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
}

#[test]
fn a_text_is_read_and_written_as_it_is() {
    let text =
        "{\n  \"z\": [],\n  \"mcpServers\": {\n    \"ü\": {\n      \"command\": \"$C\"\n    }\n  }\n}\n";
    for bytes in [text.as_bytes(), &[b"\xef\xbb\xbf", text.as_bytes()].concat()] {
        let document = Document::parse(parse_text(bytes).unwrap()).unwrap();
        assert_eq!(document.expose_text(), text);
    }
    for (bytes, place) in [
        (&b"{\"CANARY\": 1,\n  CANARY}"[..], "line 2, column 3"),
        (b"", "it ends too early"),
        (b"{\"a\": \"CANARY\xff\"}", "a syntax error"),
    ] {
        let problem = parse_text(bytes).unwrap_err();
        assert!(problem.message.contains(place) && !problem.message.contains("CANARY"), "{problem}");
    }
}
