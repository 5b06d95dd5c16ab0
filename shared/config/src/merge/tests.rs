#![expect(clippy::needless_pass_by_value, reason = "json!(…) as an argument reads better without a borrow")]

use serde_json::json;

use super::*;

fn stored(entry: Value) -> Document {
    Document::parse(json!({"mcpServers": {"web": entry}, "skills": {"s": {"enabled": false}}, "extra": 1}))
        .unwrap()
}

/// The entry that sending `sent` gives, which must be valid.
fn put(old: Value, sent: Value) -> Result<Value, Vec<Problem>> {
    let merged = merge(json!({"mcp_servers": {"web": sent}}), Some(&stored(old)))?;
    let document = Document::parse(merged)?;
    Ok(document.expose_raw()["mcpServers"]["web"].clone())
}

fn refused(old: Value, sent: Value) -> Problem {
    let problems = put(old, sent).unwrap_err();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(problems[0].kind, Kind::Mask);
    problems[0].clone()
}

fn http(extra: Value) -> Value {
    let mut entry = json!({"type": "http", "url": "https://h/mcp"});
    entry.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    entry
}

#[test]
fn vector_59_a_mask_restores_the_stored_value_also_a_reference() {
    let old = http(json!({"headers": {"A": "secret", "B": "$TOK", "C": "gone"}}));
    let new = put(old, http(json!({"headers": {"A": "***", "B": "***", "D": "new"}}))).unwrap();
    assert_eq!(new["headers"], json!({"A": "secret", "B": "$TOK", "D": "new"}));
}

#[test]
fn vector_59_a_mask_for_an_unknown_key_is_refused_by_name() {
    let problem =
        refused(http(json!({"headers": {"A": "s"}})), http(json!({"headers": {"A": "***", "New": "***"}})));
    assert_eq!(problem.path, "mcpServers.web.headers.New");
    let problem = refused(http(json!({"headers": {"A": "s"}})), http(json!({"headers": {"a": "***"}})));
    assert_eq!(problem.path, "mcpServers.web.headers.a");
}

#[test]
fn vector_59_oauth_null_keeps_and_empty_clears() {
    let old =
        http(json!({"oauth": {"token_url": "https://idp", "client_secret": "one", "refresh_token": "two"}}));
    let send = |secrets: Value| {
        let mut oauth = json!({"token_url": "https://idp"});
        oauth.as_object_mut().unwrap().extend(secrets.as_object().unwrap().clone());
        put(old.clone(), http(json!({"oauth": oauth}))).unwrap()["oauth"].clone()
    };
    let kept = send(json!({"client_secret": null}));
    assert_eq!((&kept["client_secret"], &kept["refresh_token"]), (&json!("one"), &json!("two")));
    assert_eq!(send(json!({"client_secret": "***"}))["client_secret"], "one");
    assert_eq!(send(json!({"client_secret": ""}))["client_secret"], Value::Null);
    assert_eq!(send(json!({"client_secret": "new"}))["client_secret"], "new");
}

#[test]
fn a_new_server_cannot_store_the_placeholder() {
    let body = json!({"mcp_servers": {"other": http(json!({"headers": {"A": "***"}}))}});
    for there in [None, Some(&stored(http(json!({"headers": {"A": "s"}}))))] {
        let problems = merge(body.clone(), there).unwrap_err();
        assert_eq!(problems[0].path, "mcpServers.other.headers.A");
        assert_eq!(problems[0].kind, Kind::Mask);
    }
}

#[test]
fn user_credentials_and_masked_extras_are_restored() {
    let old = http(
        json!({"user_auth": {"users": {"u": "cred", "v": "$V"}, "x_token": "t"}, "nested": {"apiKey": 5}}),
    );
    let sent = http(
        json!({"user_auth": {"users": {"u": "***"}, "x_token": "***"}, "nested": {"apiKey": "***", "more": 1}}),
    );
    let new = put(old, sent).unwrap();
    assert_eq!(new["user_auth"], json!({"users": {"u": "cred"}, "x_token": "t"}));
    assert_eq!(new["nested"], json!({"apiKey": 5, "more": 1}));
}

#[test]
fn what_is_not_sent_is_kept_and_null_resets() {
    let old = http(json!({
        "description": "d", "extra": {"token": "t"}, "tool_call_timeout": 5, "headers": {"A": "s"},
        "task_toolsets": [{"name": "n", "submit_tool": "a", "status_tool": "b", "cancel_tool": "c"}],
        "oauth": {"token_url": "https://idp", "custom": 1},
    }));
    let mut expected = old.clone();
    expected["tool_call_timeout"] = Value::Null;
    let new = put(old, json!({"tool_call_timeout": null, "oauth": {"token_url": "https://idp"}})).unwrap();
    assert_eq!(new, expected);
}

#[test]
fn servers_not_sent_are_deleted_and_other_keys_kept() {
    let there = stored(http(json!({})));
    let merged = merge(json!({"mcpServers": {}}), Some(&there)).unwrap();
    assert_eq!(merged, json!({"mcpServers": {}, "skills": {"s": {"enabled": false}}, "extra": 1}));
    let merged = merge(json!({"mcp_servers": {}, "extra": 2}), Some(&there)).unwrap();
    assert_eq!(merged["extra"], 2);
}

#[test]
fn credentials_do_not_follow_silently_to_another_endpoint() {
    let old = http(json!({"headers": {"A": "s"}, "user_auth": {"users": {"u": "c"}}, "description": "d"}));
    let new = put(old.clone(), json!({"url": "https://other/mcp"})).unwrap();
    assert_eq!(new, json!({"type": "http", "url": "https://other/mcp", "description": "d"}));
    let new = put(old, json!({"url": "https://h/other"})).unwrap();
    assert_eq!(new["headers"], json!({"A": "s"}));
}

#[test]
fn no_mask_and_no_half_a_block_brings_a_credential_to_another_endpoint() {
    let old = http(json!({
        "headers": {"A": "s"}, "env": {"TOKEN": "s"}, "user_auth": {"users": {"u": "c"}},
        "oauth": {"token_url": "https://idp/t", "client_id": "i", "client_secret": "s"},
        "peers": [{"token": "s"}],
    }));
    for moved in [json!({"url": "https://other/mcp"}), json!({"url": "https://h/mcp", "type": "sse"})] {
        for block in [
            json!({"headers": {"A": "***"}}),
            json!({"env": {"TOKEN": "***"}}),
            json!({"user_auth": {"users": {"u": "***"}}}),
            json!({"oauth": {"token_url": "https://idp/t", "client_secret": "***"}}),
            json!({"peers": [{"token": "***"}]}),
        ] {
            let mut sent = http(block.clone());
            sent.as_object_mut().unwrap().extend(moved.as_object().unwrap().clone());
            assert_eq!(refused(old.clone(), sent).kind, Kind::Mask, "{moved} {block}");
        }
        for block in ["user_auth", "oauth"] {
            let mut sent = moved.clone();
            sent[block] = json!({});
            let new = put(old.clone(), sent).unwrap();
            assert_eq!(new[block], json!({}), "{block}");
        }
    }
}

#[test]
fn an_oauth_secret_stays_with_its_token_server() {
    let old = http(json!({"oauth": {"token_url": "https://idp/t", "client_id": "i", "client_secret": "s"}}));
    let to = |url: &str, secret: &Value| http(json!({"oauth": {"token_url": url, "client_secret": secret}}));
    assert_eq!(refused(old.clone(), to("https://other/t", &json!("***"))).kind, Kind::Mask);
    let new = put(old.clone(), to("https://other/t", &Value::Null)).unwrap();
    assert_eq!(new["oauth"]["client_secret"], Value::Null);
    for kept in [json!("***"), Value::Null] {
        assert_eq!(put(old.clone(), to("https://idp/other", &kept)).unwrap()["oauth"]["client_secret"], "s");
    }
}

#[test]
fn a_secret_of_a_program_stays_with_its_program() {
    let line = |command: &str, args: &[&str]| json!({"type": "stdio", "command": command, "args": args, "env": {"TOKEN": "***"}});
    let mut old = line("npx", &["-y", "@s/server", "/data"]);
    old["env"] = json!({"TOKEN": "s"});
    let kept = put(old.clone(), line("npx", &["-y", "@s/server", "/other", "--flag"])).unwrap();
    assert_eq!(kept["env"]["TOKEN"], "s", "its own arguments");
    assert_eq!(refused(old.clone(), line("npx", &["-y", "@evil/server", "/data"])).kind, Kind::Mask);
    let without = json!({"type": "stdio", "command": "npx", "args": ["-y", "@evil/server"]});
    assert_eq!(put(old.clone(), without).unwrap().get("env"), None, "nor silently");
    let mut other = line("docker", &["run", "a"]);
    other["env"] = json!({"TOKEN": "s"});
    assert_eq!(refused(other, line("docker", &["run", "b"])).kind, Kind::Mask);
}

#[test]
fn a_sent_transport_wins_over_a_stored_type() {
    let new = put(http(json!({})), json!({"transport": "sse", "url": "https://h/mcp"})).unwrap();
    assert_eq!(new, json!({"transport": "sse", "url": "https://h/mcp"}));
}

#[test]
fn a_reordered_list_keeps_each_secret_with_its_element() {
    let old = http(json!({"peers": [{"name": "a", "token": "1"}, {"name": "b", "token": "2"}]}));
    let look = |name: &str| json!({"name": name, "token": "***"});
    let new = put(old.clone(), http(json!({"peers": [look("b"), look("a")]}))).unwrap();
    assert_eq!(new["peers"], json!([{"name": "b", "token": "2"}, {"name": "a", "token": "1"}]));
    let new = put(old.clone(), http(json!({"peers": [look("b")]}))).unwrap();
    assert_eq!(new["peers"], json!([{"name": "b", "token": "2"}]));
    let problem = refused(old, http(json!({"peers": [look("a"), look("c")]})));
    assert_eq!(problem.path, "mcpServers.web.peers[1].token");
}

#[test]
fn elements_that_look_alike_are_kept_untouched_or_refused() {
    let old = http(json!({"secret": ["1", "2"]}));
    assert_eq!(
        put(old.clone(), http(json!({"secret": ["***", "***"]}))).unwrap()["secret"],
        json!(["1", "2"])
    );
    assert_eq!(refused(old.clone(), http(json!({"secret": ["***"]}))).path, "mcpServers.web.secret[0]");
    assert_eq!(refused(old, http(json!({"secret": ["new", "***"]}))).path, "mcpServers.web.secret[1]");
}

#[test]
fn masks_inside_urls_are_restored_for_the_same_origin_only() {
    let old = json!({"type": "http", "url": "https://u:p@h/mcp?api_key=k&x=1"});
    let url = |url: &str| json!({"type": "http", "url": url});
    let new = put(old.clone(), url("https://***@h/new?x=2&api_key=***")).unwrap();
    assert_eq!(new["url"], "https://u:p@h/new?x=2&api_key=k");
    let new = put(old.clone(), url("https://v:q@h/mcp?api_key=***")).unwrap();
    assert_eq!(new["url"], "https://v:q@h/mcp?api_key=k");
    assert_eq!(refused(old.clone(), url("https://***@evil/mcp")).path, "mcpServers.web.url@userinfo");
    assert_eq!(refused(old.clone(), url("https://h/?token=***")).path, "mcpServers.web.url?[1]token");
    assert_eq!(refused(old, url("https://u:***@h/")).path, "mcpServers.web.url@userinfo");
}

fn child(args: Value) -> Value {
    json!({"command": "npx", "args": args})
}

#[test]
fn an_argument_is_restored_by_its_flag_wherever_it_stands_now() {
    let old = child(json!([
        "-y",
        "pkg",
        "--token",
        "s1",
        "--api-key=s2",
        "-H",
        "Authorization: Bearer s3",
        "https://u:s4@h",
        r#"{"apiKey":"s5"}"#
    ]));
    let shown = json!([
        "-y",
        "pkg",
        "--token",
        "***",
        "--api-key=***",
        "-H",
        "Authorization: ***",
        "https://***@h",
        "{***"
    ]);
    let masked = stored(old.clone()).masked()["mcpServers"]["web"]["args"].clone();
    assert_eq!(masked, shown);
    let sent = |args: Value| put(old.clone(), child(args));
    assert_eq!(sent(shown).unwrap(), old);
    let moved = json!(["-y", "pkg", "--verbose", "https://***@h", "--api-key=***", "--token", "***"]);
    assert_eq!(
        sent(moved).unwrap()["args"],
        json!(["-y", "pkg", "--verbose", "https://u:s4@h", "--api-key=s2", "--token", "s1"])
    );
    let changed = json!(["-y", "pkg", "--token", "new", "-H", "Authorization: ***"]);
    let restored = json!(["-y", "pkg", "--token", "new", "-H", "Authorization: Bearer s3"]);
    assert_eq!(sent(changed).unwrap()["args"], restored);
}

#[test]
fn a_masked_argument_that_lost_its_flag_or_name_is_refused_with_its_place() {
    let old = child(json!(["--token", "s1", "--secret", "s2", "K_TOKEN=s3", "-H", "X-Own: s4"]));
    for (args, place) in [
        (json!(["***"]), "[0]"),
        (json!(["--name", "***"]), "[1]"),
        (json!(["--password", "***"]), "[1]"),
        (json!(["--token=***"]), "[0]=--token"),
        (json!(["K_NAME=***"]), "[0]"),
        (json!(["x", "X-Own: ***"]), "[1]"),
        (json!(["--token", "***", "--token", "***"]), "[1]"),
    ] {
        let problems = put(old.clone(), child(args.clone())).unwrap_err();
        assert!(problems.iter().all(|problem| problem.kind == Kind::Mask), "{args}: {problems:?}");
        assert_eq!(problems[0].path, format!("mcpServers.web.args{place}"), "{args}");
        assert!(!format!("{problems:?}").contains("s1"));
    }
    // A literal of the operator's own that only looks like a mask is no mask.
    let glob = child(json!(["***", "--glob=***"]));
    assert_eq!(put(glob.clone(), glob.clone()).unwrap(), glob);
}

#[test]
fn flags_that_stand_twice_are_kept_untouched_or_refused() {
    let line = |rest: Value| {
        let mut args = vec![json!("pkg")];
        args.extend(rest.as_array().unwrap().clone());
        child(Value::Array(args))
    };
    let old = line(json!(["--token", "s1", "--token", "s2"]));
    let more = line(json!(["x", "--token", "***", "--token", "***"]));
    assert_eq!(put(old.clone(), more).unwrap()["args"][5], "s2");
    assert_eq!(refused(old.clone(), line(json!(["--token", "***"]))).path, "mcpServers.web.args[2]");
    let other = line(json!(["--token", "***", "--token", "new"]));
    assert_eq!(refused(old, other).path, "mcpServers.web.args[2]");
}

#[test]
fn arguments_do_not_follow_silently_to_another_command() {
    let old = child(json!(["--token", "s1"]));
    assert_eq!(put(old.clone(), json!({"command": "uvx"})).unwrap(), json!({"command": "uvx"}));
    assert_eq!(put(old.clone(), json!({"command": "npx"})).unwrap(), old);
}

/// A scheme that browsers do not know has a host all the same.
#[test]
fn a_secret_of_a_database_does_not_follow_to_another_host() {
    let old = json!({"command": "c", "db": "postgres://u:p@h:5/x", "args": ["--db=postgres://u:p@h"]});
    let sent = |db: &str| json!({"command": "c", "db": db, "args": ["--db=postgres://***@h"]});
    assert_eq!(put(old.clone(), sent("postgres://***@h:5/x")).unwrap(), old);
    assert_eq!(put(old.clone(), sent("postgres://***@h:5/y")).unwrap()["db"], "postgres://u:p@h:5/y");
    for other in ["postgres://***@evil:5/x", "postgres://***@h:6/x", "mysql://***@h:5/x"] {
        assert_eq!(refused(old.clone(), sent(other)).path, "mcpServers.web.db@userinfo", "{other}");
    }
}

#[test]
fn the_shape_of_the_body_is_checked() {
    for body in [
        json!(null),
        json!([]),
        json!({}),
        json!({"servers": {}}),
        json!({"mcpServers": {}, "mcp_servers": {}}),
    ] {
        assert_eq!(merge(body, None).unwrap_err()[0].kind, Kind::Shape);
    }
    for body in [json!({"mcp_servers": null}), json!({"mcp_servers": []}), json!({"mcp_servers": {"a": 1}})] {
        let merged = merge(body, None).unwrap();
        assert_eq!(Document::parse(merged).unwrap_err()[0].kind, Kind::Shape);
    }
}

/// The skill's toggle is sent as a whole config; the stored token is a reference and stays one.
#[test]
fn vector_19_a_change_elsewhere_leaves_references_as_they_are() {
    let there = stored(http(json!({"headers": {"Authorization": "$GH"}, "env": {"TOKEN": "$GH"}})));
    let mut sent = there.masked();
    sent["skills"]["s"]["enabled"] = json!(true);
    let merged = merge(sent, Some(&there)).unwrap();
    let mut expected = there.expose_raw().clone();
    expected["skills"]["s"]["enabled"] = json!(true);
    assert_eq!(merged.to_string(), expected.to_string());
}

#[test]
fn defaults_that_a_get_filled_in_are_not_written_down() {
    for old in [
        json!({"transport": "http", "url": "https://h/mcp"}),
        json!({"command": "npx"}),
        json!({"type": "http", "url": "https://h/mcp", "routing": {"priority": 5}, "enabled": true, "oauth": null}),
        json!({"type": "", "transport": "sse", "url": "https://h/mcp", "tools": {"t": {"routing": {"mode": "off"}}}}),
    ] {
        let there = stored(old.clone());
        let sent = there.response()["mcp_servers"]["web"].clone();
        assert_eq!(put(old.clone(), sent.clone()).unwrap().to_string(), old.to_string());
        let mut changed = sent;
        changed["tool_call_timeout"] = json!(5);
        changed["enabled"] = json!(false);
        let new = put(old, changed).unwrap();
        assert_eq!((&new["tool_call_timeout"], &new["enabled"]), (&json!(5), &json!(false)));
    }
}

#[test]
fn what_was_there_stays_where_it_was() {
    let text = r#"{"z":1,"mcpServers":{"b":{"url":"https://h","type":"http","x":{"d":1,"c":2}},"a":{"command":"c"}},"y":2}"#;
    let there = Document::parse(serde_json::from_str(text).unwrap()).unwrap();
    let sent = json!({"mcp_servers": {
        "new": {"type": "http", "url": "https://h"}, "a": {"args": [], "cwd": "/", "command": "c"},
        "b": {"x": {"c": 2, "d": 3, "e": 4}, "type": "http", "url": "https://h"},
    }});
    assert_eq!(
        merge(sent, Some(&there)).unwrap().to_string(),
        r#"{"z":1,"mcpServers":{"b":{"url":"https://h","type":"http","x":{"d":3,"c":2,"e":4}},"a":{"command":"c","cwd":"/"},"new":{"type":"http","url":"https://h"}},"y":2}"#
    );
}

#[test]
fn a_type_that_is_spelled_out_is_the_same_endpoint() {
    let new = put(json!({"command": "npx", "env": {"A": "s"}}), json!({"type": "stdio", "command": "npx"}));
    assert_eq!(new.unwrap(), json!({"command": "npx", "env": {"A": "s"}}));
}

#[test]
fn vector_8_and_61_a_cycle_changes_nothing_and_a_bad_change_is_refused() {
    let old = http(json!({"routing": {"mode": "prefer", "priority": 20, "keywords": ["a"]},
                          "tools": {"t": {"routing": {"priority": 100}}}}));
    let there = stored(old);
    let again = Document::parse(merge(there.response(), Some(&there)).unwrap()).unwrap();
    let routing = again.server("web").unwrap().effective_routing("t");
    assert_eq!((routing.priority, routing.keywords), (100, vec!["a".to_owned()]));
    assert_eq!(routing.mode, crate::Mode::Prefer);
    let roles = json!([{"name": "n", "submit_tool": "a", "status_tool": "a", "cancel_tool": "c"}]);
    let merged = merge(json!({"mcp_servers": {"web": {"task_toolsets": roles}}}), Some(&there)).unwrap();
    assert_eq!(Document::parse(merged).unwrap_err()[0].kind, Kind::Rule);
}
