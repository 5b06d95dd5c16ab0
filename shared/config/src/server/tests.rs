#![expect(clippy::needless_pass_by_value, reason = "json!(…) as an argument reads better without a borrow")]

use std::collections::BTreeMap;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use crate::*;

fn parse(name: &str, entry: Value) -> Result<Document, Vec<Problem>> {
    Document::parse(json!({"mcpServers": {name: entry}}))
}

fn server(entry: Value) -> Server {
    parse("web", entry).unwrap().server("web").unwrap().clone()
}

/// The one problem of an entry, as `(path, message)`.
fn problem(name: &str, entry: Value) -> (String, String) {
    let problems = parse(name, entry).unwrap_err();
    assert_eq!(problems.len(), 1, "{problems:?}");
    (problems[0].path.clone(), problems[0].message.clone())
}

struct Map(BTreeMap<&'static str, &'static str>);

impl Secrets for Map {
    fn get(&self, name: &str) -> Option<SecretString> {
        self.0.get(name).map(|value| SecretString::from(*value))
    }
}

fn secrets(pairs: &[(&'static str, &'static str)]) -> Map {
    Map(pairs.iter().copied().collect())
}

fn toolset(name: &str, tools: [&str; 3]) -> Value {
    json!({"name": name, "submit_tool": tools[0], "status_tool": tools[1], "cancel_tool": tools[2]})
}

#[test]
fn vector_3_type_and_transport() {
    for (entry, expected) in [
        (json!({"transport": "sse", "url": "http://h"}), "sse"),
        (json!({"type": "http", "transport": "sse", "url": "http://h"}), "http"),
        (json!({"type": "", "transport": "sse", "url": "http://h"}), "sse"),
        (json!({"type": null, "transport": "http", "url": "http://h"}), "http"),
        (json!({}), "stdio"),
        (json!({"type": "HTTP"}), "HTTP"),
    ] {
        assert_eq!(server(entry.clone()).transport.name(), expected, "{entry}");
    }
    for (entry, expected) in [
        (json!({"transport": false}), "stdio"),
        (json!({"type": "http", "url": "http://h", "transport": 5}), "http"),
        (json!({"type": 0, "transport": "http", "url": "http://h"}), "http"),
    ] {
        assert_eq!(server(entry.clone()).transport.name(), expected, "{entry}");
    }
    for wrong in [json!({"type": null}), json!({"type": 5}), json!({"type": ["http"], "transport": "sse"})] {
        assert_eq!(problem("web", wrong).0, "mcpServers.web.type");
    }
    assert_eq!(problem("web", json!({"transport": 5})).0, "mcpServers.web.transport");
}

#[test]
fn vector_2_variables_stand_at_any_depth_and_nothing_else_is_one() {
    let entry = json!({
        "type": "http", "url": "$V", "args": ["$V", "x$V"], "env": {"$V": "$V"}, "headers": {"A": "$V", "B": "$$V"},
        "oauth": {"token_url": "$V", "extra_token_params": {"p": "$V"}}, "user_auth": {"users": {"$V": "$V"}},
        "tool_call_timeout": 5, "enabled": true, "deep": [[{"$V": ["$V", 1, true, null]}]], "cwd": "$V",
    });
    let parsed = server(entry.clone());
    assert_eq!(parsed.effective_entry()["deep"], entry["deep"], "nothing is replaced in what is kept");
    let Transport::Http(remote) = &parsed.transport else { panic!() };
    let named = |setting: &Setting| setting.reference().map(str::to_owned);
    assert_eq!(named(remote.url.as_ref().unwrap()), Some("V".into()));
    let headers: Vec<_> = remote.headers.iter().map(|(name, value)| (name.as_str(), named(value))).collect();
    assert_eq!(headers, [("A", Some("V".into())), ("B", None)]);
    let oauth = parsed.oauth.unwrap();
    assert_eq!(named(&oauth.extra_token_params[0].1), Some("V".into()));
    assert_eq!(parsed.user_auth.unwrap().users[0].0, "$V", "a key is never a variable");
    let mut stdio = entry;
    stdio["type"] = json!("stdio");
    let Transport::Stdio(command) = server(stdio).transport else { panic!() };
    assert_eq!(command.args.iter().map(named).collect::<Vec<_>>(), [Some("V".into()), None]);
    assert_eq!((command.env[0].0.as_str(), named(&command.env[0].1)), ("$V", Some("V".into())));
    assert_eq!(named(&command.cwd.unwrap()), Some("V".into()));
}

#[test]
fn names_that_no_tool_could_be_called_by_are_refused() {
    for (name, why) in [("", "blank"), (" \t", "blank"), ("a\nb", "control"), ("\u{0}", "control")] {
        let (path, message) = problem(name, json!({}));
        assert!(message.contains(why) && path.starts_with("mcpServers["), "{path}: {message}");
    }
    for name in ["a b", "ü", "a.b/c", "***", "$V"] {
        assert!(parse(name, json!({})).is_ok(), "{name}");
    }
}

#[test]
fn a_working_directory_is_a_text_or_nothing() {
    let cwd = |value: Value| match server(json!({"command": "c", "cwd": value})).transport {
        Transport::Stdio(command) => command.cwd,
        _ => panic!(),
    };
    assert_eq!(cwd(json!("/srv")), Some(Setting::new("/srv")));
    assert_eq!((cwd(json!("")), cwd(json!(null))), (None, None));
    assert_eq!(problem("web", json!({"cwd": 5})).0, "mcpServers.web.cwd");
    assert_eq!(problem("web", json!({"cwd": "$AWS_DIR"})).0, "mcpServers.web.cwd");
}

#[test]
fn vectors_4_and_5_what_cannot_be_connected_parses_and_says_why() {
    let why = |entry: Value| server(entry).identity(&NoSecrets).unwrap_err().to_string();
    assert!(why(json!({"type": "websocket"})).contains("unsupported transport type"));
    assert!(why(json!({})).contains("requires 'command'"));
    assert!(why(json!({"command": ""})).contains("requires 'command'"));
    for entry in
        [json!({"type": "http"}), json!({"type": "sse", "url": null}), json!({"type": "http", "url": ""})]
    {
        assert!(why(entry).contains("requires 'url'"));
    }
}

#[test]
fn vector_7_only_given_fields_override_the_routing() {
    let prefer = json!({"mode": "prefer", "priority": 20, "keywords": ["a"]});
    let entry = json!({"routing": prefer, "tools": {"t": {"routing": {"priority": 100}}, "u": {"note": 1}}});
    let server_ = server(entry);
    let routing = server_.effective_routing("t");
    assert_eq!(routing, Routing { mode: Mode::Prefer, priority: 100, keywords: vec!["a".into()] });
    assert_eq!(server_.effective_routing("u"), server_.routing);
    let off = server(json!({"tools": {"t": {"routing": {"priority": 5, "keywords": ["k"]}}}}));
    assert_eq!(off.effective_routing("t").mode, Mode::Off);
}

#[test]
fn priorities_are_clamped_with_a_warning() {
    for (given, expected, warnings) in [
        (json!(200), 100, 1),
        (json!(-1), 0, 1),
        (json!("7"), 7, 0),
        (json!(7.0), 7, 0),
        (json!(u64::MAX), 100, 1),
    ] {
        let document = parse("web", json!({"routing": {"priority": given}})).unwrap();
        assert_eq!(document.servers()[0].routing.priority, expected);
        assert_eq!(document.warnings().len(), warnings, "{given}");
    }
    let document = parse("web", json!({"routing": {"priority": 101}})).unwrap();
    assert_eq!(document.warnings()[0].path, "mcpServers.web.routing.priority");
    assert_eq!(problem("web", json!({"routing": {"priority": 1.5}})).0, "mcpServers.web.routing.priority");
    assert_eq!(problem("web", json!({"routing": {"mode": "on"}})).0, "mcpServers.web.routing.mode");
    assert_eq!(problem("web", json!({"routing": {"other": 1}})).0, "mcpServers.web.routing.other");
}

#[test]
fn vector_9_a_tool_has_one_role() {
    let twice = json!({"task_toolsets": [toolset("n", ["a", "a", "c"])]});
    let (path, message) = problem("web", twice);
    assert_eq!(path, "mcpServers.web.task_toolsets[0].status_tool");
    assert!(message.contains("'a' must be unique across task_toolsets"), "{message}");
    assert!(message.contains("task_toolsets[0].submit_tool and task_toolsets[0].status_tool"), "{message}");
    let across = json!({"task_toolsets": [toolset("n", ["a", "b", "c"]), toolset("m", ["d", "e", "a"])]});
    let (path, message) = problem("web", across);
    assert_eq!(path, "mcpServers.web.task_toolsets[1].cancel_tool");
    assert!(message.contains("task_toolsets[0].submit_tool"), "{message}");
}

#[test]
fn vector_10_names_around_toolsets() {
    let entry = |name: &str| json!({"enabled": false, "task_toolsets": [toolset(name, ["a", "b", "c"])]});
    assert!(problem("   ", entry("n")).1.contains("blank"));
    assert!(problem(&"x".repeat(129), entry("n")).1.contains("128"));
    assert!(parse(&"é".repeat(128), entry("n")).is_ok());
    assert!(parse(&"x".repeat(129), json!({})).is_ok());
    let (path, message) = problem("web", entry("  "));
    assert_eq!(path, "mcpServers.web.task_toolsets[0].name");
    assert!(message.contains("task toolset name must not be empty"));
    assert!(problem("web", entry(&"x".repeat(256))).1.contains("255"));
    assert!(parse("web", entry(&"é".repeat(255))).is_ok());
}

#[test]
fn a_toolset_may_have_a_tool_that_takes_answers() {
    let with = |input: Value| {
        let mut set = toolset("n", ["a", "b", "c"]);
        set["input_tool"] = input;
        json!({"task_toolsets": [set, toolset("m", ["x", "y", "z"])]})
    };
    let read = |input: Value| {
        let server = server(with(input));
        let set = &server.task_toolsets[0];
        (set.input_tool.clone(), set.tools().map(str::to_owned).collect::<Vec<_>>().join(" "))
    };
    assert_eq!(read(json!("d")), (Some("d".to_owned()), "a b c d".to_owned()));
    assert_eq!(read(Value::Null), (None, "a b c".to_owned()));
    for (wrong, message) in [(json!("a"), "both claim it"), (json!(""), "empty"), (json!(7), "string")] {
        let (path, found) = problem("web", with(wrong));
        assert_eq!(path, "mcpServers.web.task_toolsets[0].input_tool");
        assert!(found.contains(message), "{found}");
    }
    let (path, message) = problem("web", with(json!("y")));
    assert_eq!(path, "mcpServers.web.task_toolsets[1].status_tool", "{message}");
}

#[test]
fn toolsets_have_these_fields_and_no_other() {
    let mut extra = toolset("n", ["a", "b", "c"]);
    extra["undo_tool"] = json!("d");
    assert_eq!(
        problem("web", json!({"task_toolsets": [extra]})).0,
        "mcpServers.web.task_toolsets[0].undo_tool"
    );
    let mut missing = toolset("n", ["a", "b", "c"]);
    missing.as_object_mut().unwrap().remove("status_tool");
    assert_eq!(
        problem("web", json!({"task_toolsets": [missing]})).0,
        "mcpServers.web.task_toolsets[0].status_tool"
    );
    let empty = toolset("n", ["a", "", "c"]);
    assert_eq!(
        problem("web", json!({"task_toolsets": [empty]})).0,
        "mcpServers.web.task_toolsets[0].status_tool"
    );
}

#[test]
fn booleans_are_read_laxly() {
    for (given, expected) in
        [(json!("false"), false), (json!("ON"), true), (json!(0), false), (json!(1.0), true)]
    {
        assert_eq!(server(json!({"enabled": given})).enabled, expected);
    }
    for given in [json!("maybe"), json!(null), json!(2), json!([])] {
        assert_eq!(problem("web", json!({"enabled": given})).0, "mcpServers.web.enabled");
    }
}

#[test]
fn timeouts_null_zero_and_negative_mean_the_default() {
    for given in [json!(null), json!(0), json!(0.0), json!(-3), json!("0")] {
        let server = server(json!({"tool_call_timeout": given, "session_init_timeout": given}));
        assert_eq!(
            (server.call_timeout(), server.init_timeout()),
            (DEFAULT_TIMEOUT, DEFAULT_TIMEOUT),
            "{given}"
        );
    }
    let given = server(json!({"tool_call_timeout": 0.5, "session_init_timeout": "90"}));
    assert_eq!(
        (given.call_timeout(), given.init_timeout()),
        (Duration::from_millis(500), Duration::from_secs(90))
    );
    for given in [json!(1e300), json!("inf"), json!("soon"), json!([1])] {
        assert_eq!(problem("web", json!({"tool_call_timeout": given})).0, "mcpServers.web.tool_call_timeout");
    }
}

#[test]
fn urls_are_http_and_shown_by_place_only() {
    let entry = |url: &str| json!({"type": "http", "url": url});
    for url in [
        "ftp://CANARY",
        "CANARY",
        "https://CANARY:pw@",
        "https:CANARY",
        "https://h/ CANARY",
        "file:///CANARY",
    ] {
        let (path, message) = problem("web", entry(url));
        assert_eq!(path, "mcpServers.web.url");
        assert!(!message.contains("CANARY"), "{message}");
    }
    for url in ["http://127.0.0.1:8081/mcp", "HTTPS://u:p@host/?q=1#f", "$URL", "http://[::1]/"] {
        assert!(parse("web", entry(url)).is_ok(), "{url}");
    }
}

#[test]
fn headers_are_checked_before_they_are_stored() {
    let entry = |headers: Value| json!({"type": "http", "url": "http://h", "headers": headers});
    for (value, reason) in
        [("CANARY\n", "line break"), (" CANARY", "whitespace"), ("CANARYé", "outside ASCII")]
    {
        let (path, message) = problem("web", entry(json!({"A": value})));
        assert_eq!(path, "mcpServers.web.headers.A");
        assert!(message.contains(reason) && !message.contains("CANARY"), "{message}");
    }
    let (path, message) = problem("web", entry(json!({"Authorization": "a", "authorization": "b"})));
    assert_eq!(path, "mcpServers.web.headers");
    assert!(message.contains("two spellings"), "{message}");
    let (path, message) = problem("web", entry(json!({"A": "x", "Authorization: CANARY": ""})));
    assert!(path == "mcpServers.web.headers" && message.contains("name 2") && !message.contains("CANARY"));
    assert!(parse("web", entry(json!({"A": "", "B": "a\tb", "C": "$VAR"}))).is_ok());
}

#[test]
fn per_user_and_per_request_blocks_are_checked() {
    let entry = |key: &str, block: Value| json!({"type": "http", "url": "http://h", key: block});
    let bad_user = json!({"users": {"u": "CANARY\r"}});
    assert_eq!(problem("web", entry("user_auth", bad_user)).0, "mcpServers.web.user_auth.users.u");
    for (key, block, place) in [
        ("user_auth", json!({"header": " "}), "user_auth.header"),
        ("user_auth", json!({"on_missing": "ask"}), "user_auth.on_missing"),
        ("headers_from_context", json!({"headers": {"A": " "}}), "headers_from_context.headers.A"),
        ("headers_from_context", json!({"headers": {" ": "k"}}), "headers_from_context.headers"),
        ("headers_from_context", json!({"headers": {"A": "k", "a": "l"}}), "headers_from_context.headers"),
        ("oauth", json!({"token_endpoint_auth_method": "none"}), "oauth.token_endpoint_auth_method"),
        ("oauth", json!({"signing_algorithm": "HS256"}), "oauth.signing_algorithm"),
        ("oauth", json!({"token_url": "x", "grant_type": "password"}), "oauth.grant_type"),
    ] {
        assert_eq!(problem("web", entry(key, block)).0, format!("mcpServers.web.{place}"));
    }
    let document =
        parse("web", json!({"user_auth": {}, "headers_from_context": {"headers": {"A": "k"}}})).unwrap();
    assert_eq!(document.warnings().len(), 2);
}

#[test]
fn oauth_defaults_are_those_of_the_reference() {
    let oauth = server(json!({"oauth": {"token_url": "$URL", "refresh_skew_seconds": -5}})).oauth.unwrap();
    assert_eq!(oauth.grant_type, GrantType::ClientCredentials);
    assert_eq!((oauth.token_field.as_str(), oauth.default_token_type.as_str()), ("access_token", "Bearer"));
    assert_eq!(oauth.refresh_skew, Duration::ZERO);
    assert!(oauth.enabled && oauth.client_secret.is_none());
}

#[test]
fn reserved_and_malformed_variables_are_problems_wherever_they_would_be_used() {
    for raw in ["$AWS_SECRET", "$LAMBDA_X", "$PUDU_KEY", "$_HANDLER", "${CANARY}", "$", "$CANARY!"] {
        for (entry, place) in [
            (json!({"type": "http", "url": raw}), "url"),
            (json!({"headers": {"A": raw}}), "headers.A"),
            (json!({"env": {"A": raw}}), "env.A"),
            (json!({"command": raw}), "command"),
            (json!({"args": ["x", raw]}), "args[1]"),
            (json!({"user_auth": {"users": {"u": raw}}}), "user_auth.users.u"),
            (json!({"oauth": {"token_url": "x", "client_secret": raw}}), "oauth.client_secret"),
        ] {
            let (path, message) = problem("web", entry);
            assert_eq!(path, format!("mcpServers.web.{place}"));
            assert!(!message.contains("CANARY"), "{message}");
        }
    }
    assert_eq!(problem("web", json!({"deep": [{"x": "$AWS_KEY"}]})).0, "mcpServers.web.deep[0].x");
    assert!(parse("web", json!({"description": "$5 a call", "note": "$5"})).is_ok());
}

#[test]
fn identity_is_transport_and_origin_and_nothing_else() {
    let of = |entry: Value| server(entry).identity(&secrets(&[("URL", "https://u:p@HOST/x")])).unwrap();
    let base = of(json!({"type": "http", "url": "https://host/mcp"}));
    assert_eq!(base.len(), 32);
    for same in ["https://host:443/other?x=1", "https://user:pw@host/", "$URL"] {
        assert_eq!(of(json!({"type": "http", "url": same, "headers": {"A": "b"}})), base, "{same}");
    }
    for other in ["http://host/mcp", "https://host:8443/mcp", "https://other/mcp"] {
        assert_ne!(of(json!({"type": "http", "url": other})), base);
    }
    assert_ne!(of(json!({"type": "sse", "url": "https://host/mcp"})), base);
    assert_eq!(of(json!({"command": "npx", "args": ["a"]})), of(json!({"command": "npx", "args": ["b"]})));
    assert_ne!(of(json!({"command": "npx"})), of(json!({"command": "uvx"})));
}

#[test]
fn a_remote_is_resolved_and_checked_again_at_use() {
    let entry = json!({"type": "http", "url": "$URL", "headers": {"authorization": "$TOK", "X": "$$1"}});
    let resolve = |pairs: &[(&'static str, &'static str)]| server(entry.clone()).remote(&secrets(pairs));
    let ready = resolve(&[("URL", "http://h/"), ("TOK", "Bearer x")]).unwrap();
    let headers: Vec<_> =
        ready.headers.iter().map(|(name, value)| (name.as_str(), value.expose_secret())).collect();
    assert_eq!(headers, [("authorization", "Bearer x"), ("X", "$1")]);
    assert!(!format!("{ready:?}").contains("Bearer"));
    let unset = resolve(&[("URL", "http://h/")]).unwrap_err();
    assert_eq!(
        unset,
        ConnectError::Setting {
            field: "headers.authorization".into(),
            source: ResolveError::Unset { name: "TOK".into() }
        }
    );
    for (url, token) in [("CANARY", "x"), ("ftp://CANARY", "x"), ("http://h", "CANARY\n")] {
        let error = resolve(&[("URL", url), ("TOK", token)]).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("CANARY"), "{error:?}");
    }
}

/// Reference 5.5: `deny` is the default, and the block means nothing to a child process.
#[test]
fn a_server_admits_whom_its_user_auth_does_not_deny() {
    let users = json!({"key:a": "$SECRET", "key:empty": ""});
    let http = |block: Value| server(json!({"type": "http", "url": "http://h", "user_auth": block}));
    let deny = http(json!({ "users": users }));
    assert!(deny.admits("key:a"));
    for denied in ["key:empty", "key:b", "KEY:A", ""] {
        assert!(!deny.admits(denied), "{denied}");
        assert!(http(json!({"users": users, "on_missing": "passthrough"})).admits(denied), "{denied}");
        assert!(http(json!({"users": users, "enabled": false})).admits(denied), "{denied}");
        let child = server(json!({"type": "stdio", "command": "x", "user_auth": {"users": users}}));
        assert!(child.admits(denied), "{denied}");
    }
}
