//! The rows of reference 9.5, 9.6 and 12 by number. Where the reference was measured to accept what runs code, this is the
//! right verdict; two of its accepted lines are such (93: `-C`, 99: `-c`), and `corpus` has what the launchers did with them.

use serde_json::{Value, json};

use super::{flag, npx, uvx, with};
use crate::{Document, Kind, LaunchPolicy, api_screen, merge};

const SHELL: &str = "touch /tmp/canary";

#[test]
fn vector_93_what_follows_the_package_is_the_servers() {
    for args in [
        &["-y", "@s/p", "-c", "f"][..],
        &["-y", "@s/p", "-e", "production"],
        &["-y", "@s/p", "--", "-c", "x"],
        &["--", "@s/p", "--eval", "f"],
        &["@s/p", "--call", "x"],
        &["--yes", "pkg", "--eval", "e"],
        &["--parseable", "pkg", "-c", "f"],
        &["--yes", "--package=@s/p", "bin"],
        &["-p", "@s/p", "bin"],
        &["-p", "@s/report", "report", "-c", "f"],
        &["-P", "pkg", "-c", "f"],
        &["-y", "pkg", "-name", "v"],
    ] {
        assert!(npx(args).is_ok(), "{args:?}");
    }
    // With arguments, a command that shares nothing with its package may be any program of the machine (measured with `sh`).
    assert!(npx(&["-p", "@s/p", "bin", "-c", "x"]).is_err());
    // The `.npmrc` of that folder names the shell that the package is started by.
    assert_eq!(flag(npx(&["-C", "/d", "pkg"])), "-C");
}

#[test]
fn vector_94_code_for_npx_is_refused() {
    for args in [
        &["-c", SHELL][..],
        &["--yes", "-c", SHELL],
        &["--call", SHELL],
        &["--call=x"],
        &["-c=x"],
        &["--yes", "--eval", "x"],
        &["-e", "x"],
        &["--print", "1"],
        &["--node-arg", "-e", "1"],
        &["--node-options=x"],
        &["--CALL", "x"],
        &["-p", "pkg", "-c", "x"],
        &["--package", "pkg", "--call", "x"],
        &["--registry", "u", "-c", "x"],
        &["-w", "ws", "--call", "x"],
        &["--loglevel", "silly", "-c", "x"],
        &["--unknown", "v", "--call", "x"],
    ] {
        assert!(npx(args).is_err(), "{args:?}");
    }
    assert_eq!(flag(npx(&["--loglevel", "silly", "-c", "x"])), "-c");
}

#[test]
fn vector_95_what_the_real_npx_runs_is_refused() {
    for args in [
        &["-yc", "x"][..],
        &["-qc", "x"],
        &["-dc", "x"],
        &["-dc=x"],
        &["-call", "x"],
        &["---call", "x"],
        &["--no-audit", "-c", "x"],
        &["--no-install", "-c", "x"],
        &["--no-color", "-c", "x"],
        &["--no-call", "-c", "x"],
        &["--anything-unknown", "-c", "x"],
        &["-n", "val", "-c", "x"],
        &["--script-shell", "p", "pkg"],
        &["--script-shell=p", "pkg"],
        &["-node-options=--require=f", "pkg"],
        &["--node-option=--require=f", "pkg"],
        &["--userconfig", "f"],
        &["-y", "node", "-e", "code"],
    ] {
        assert!(npx(args).is_err(), "{args:?}");
    }
    assert!(uvx(&["python", "-c", "code"]).is_err());
}

/// The rows of 9.5 that the reference refuses although the server gets the option.
#[test]
fn vector_96_valid_launches_are_not_refused() {
    for switch in ["--no-install", "--silent", "--quiet", "--color", "--always-spawn"] {
        let approved = npx(&[switch, "pkg", "-c", "f"]).unwrap();
        assert_eq!(approved.program_at, Some(1), "{switch}");
    }
}

#[test]
fn vector_97_names_that_run_code_at_start() {
    for name in [
        "NODE_OPTIONS",
        "node_options",
        "PYTHONPATH",
        "LD_PRELOAD",
        "BASH_ENV",
        "DYLD_INSERT_LIBRARIES",
        "ENV",
        "LD_AUDIT",
        "PERL5OPT",
        "PYTHONHOME",
        "PYTHONSTARTUP",
        "RUBYOPT",
        " NODE_OPTIONS ",
    ] {
        for command in ["npx", "uvx", "python"] {
            let refusal = with("python", command, &["mcp.py-server"], &["A", name]).unwrap_err().to_string();
            assert!(refusal.contains("environment variable") && refusal.contains(name.trim()), "{refusal}");
        }
    }
    assert!(with("", "npx", &["pkg"], &["NODE_PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"]).is_ok());
}

#[test]
fn vector_98_npm_is_not_configured_by_its_environment() {
    for name in [
        "npm_config_call",
        "NPM_CONFIG_SCRIPT_SHELL",
        "npm_config_node_options",
        "nPm_CoNfIg_x",
        "npm_config_registry",
    ] {
        assert!(with("", "npx", &["pkg"], &[name]).is_err(), "{name}");
    }
}

#[test]
fn vector_99_uvx() {
    // A constraint can give the package another source (measured), so this one is refused.
    assert_eq!(flag(uvx(&["-c", "constraints.txt", "tool"])), "-c");
    for args in [
        &["--from", "p-tool", "tool", "--print", "t"][..],
        &["mcp-server-x", "-e", "prod"],
        &["-p", "3.12", "tool"],
        &["mcp-server-git", "-repo", "/r"],
    ] {
        assert!(uvx(args).is_ok(), "{args:?}");
    }
    assert_eq!(flag(uvx(&["--eval", "x", "tool"])), "--eval");
}

#[test]
fn vector_100_interpreters_that_the_operator_added() {
    let node = |args: &[&str]| with("node,python,perl", "node", args, &[]);
    let python = |args: &[&str]| with("node,python,perl", "python", args, &[]);
    for (args, named) in
        [(&["-p", "x"][..], "-p"), (&["-p=1"], "-p"), (&["-pe", "1"], "-p"), (&["-ep", "1"], "-e")]
    {
        assert_eq!(flag(node(args)), named, "{args:?}");
    }
    assert_eq!(flag(python(&["-c", "x"])), "-c");
    assert_eq!(flag(python(&["-Ic", "x"])), "-c");
    assert!(python(&["-m", "mod"]).is_ok());
    assert_eq!(flag(with("node,python,perl", "perl", &["-we", "x"], &[])), "-e");
    // 9.6: what the reference refuses although nothing runs.
    assert!(node(&["server.js", "-verbose"]).is_ok());
    assert!(node(&["server.js", "-nope"]).is_ok());
    assert!(node(&["-C", "development", "server.js"]).is_ok());
    assert!(python(&["-m", "x", "-config"]).is_ok());
    assert!(python(&["-P", "server.py"]).is_ok());
    // An option that is not known may have a value, so what could be one does not end the options.
    for args in [
        &["--unknown", "value", "-e", "x"][..],
        &["--title", "a", "--import", "m", "s.js"],
        &["-r", "m", "s.js"],
        &["--env-file=f", "s.js"],
        &["--ENV_FILE=f", "s.js"],
        &["--inspect", "s.js"],
        &["-"],
        &[],
        &["--", "-"],
        &["--no-warnings"],
        &["/dev/stdin"],
    ] {
        assert!(node(args).is_err(), "{args:?}");
    }
    for args in [
        &["-W", "ignore", "-c", "x"][..],
        &["-X", "dev", "-c", "x"],
        &["-Wignore", "-c", "x"],
        &["-ic", "x"],
        &["-i", "s.py"],
        &["-u", "-"],
        &["-m", "pdb", "-c", "x"],
        &["-mtimeit", "x"],
        &["-W", "error::evil.Evil", "s.py"],
        &["-m"],
        &[],
        &["--help-all"],
    ] {
        assert!(python(args).is_err(), "{args:?}");
    }
}

#[test]
fn vector_101_a_command_is_one_name() {
    let policy = LaunchPolicy::default();
    for command in [
        Some("npx -y"),
        Some("/tmp/npx"),
        Some(" npx"),
        Some("npx "),
        Some("a;b"),
        Some("/bin/bash"),
        Some("./npx"),
        Some("npx\n"),
        Some("a|b"),
        Some("a&b"),
        Some("`a`"),
        Some("$a"),
        Some("a<b"),
        Some("a>b"),
        Some("a\\b"),
        Some("bash"),
        Some(""),
        Some(" "),
        None,
    ] {
        assert!(policy.judge(command, &["-y", "pkg"], &[]).is_err(), "{command:?}");
    }
    assert!(
        policy.judge(Some("npx -y"), &[], &[]).unwrap_err().to_string().contains("single executable name")
    );
    assert!(policy.judge(None, &[], &[]).unwrap_err().to_string().contains("requires a command"));
}

fn document(servers: &Value) -> Document {
    Document::parse(json!({ "mcpServers": servers })).unwrap()
}

/// Reference 9: every server of a body, enabled or not; the type is compared without case; what is no stdio server is not
/// screened.
#[test]
fn every_stdio_server_of_a_body_is_screened() {
    let document = document(&json!({
        "ok": {"type": "http", "url": "http://h", "command": "bash", "args": ["-c"], "env": {"LD_PRELOAD": "x"}},
        "good": {"command": "npx", "args": ["-y", "pkg"]}, "arg": {"command": "npx", "args": ["-y", "-c", "x"]},
        "none": {"type": "STDIO"}, "no_url": {"type": "http"}, "other": {"type": "websocket", "command": "bash"},
        "off": {"enabled": false, "command": "bash"}, "old_no_url": {"type": "sse", "url": ""}, "loud": {"type": "SSE"},
        "shout": {"type": "Stdio", "command": "uvx", "args": ["pkg"], "env": {"A": "1", "UV_PYTHON": "x"}},
        "equals": {"command": "npx", "args": ["pkg"], "env": {"NODE_OPTIONS=--require=/x": ""}},
    }));
    let policy = LaunchPolicy::default();
    let refused = api_screen(&document, Some(&Document::empty()), &policy);
    assert_eq!(refused, api_screen(&document, None, &policy));
    let places: Vec<_> =
        refused.iter().map(|problem| problem.path.trim_start_matches("mcpServers.")).collect();
    assert_eq!(
        places,
        [
            "arg.args[1]",
            "none.command",
            "no_url",
            "off.command",
            "old_no_url",
            "shout.env.UV_PYTHON",
            "equals.env"
        ]
    );
    assert!(refused.iter().all(|problem| problem.kind == Kind::Policy));
    let more = LaunchPolicy::parse("bash").unwrap();
    assert_eq!(api_screen(&document, None, &more).len(), refused.len() - 1);
}

/// Vector 103: what is stored may be what the API would not take, and goes through it unchanged only.
#[test]
fn vector_103_a_stored_server_is_no_hindrance_for_its_siblings() {
    let bad = json!({"command": "docker", "args": ["run"], "env": {"KEY": "secret", "REF": "$KEY"}, "tool_call_timeout": 90.0,
                     "x": {"token": "t"}, "enabled": false});
    let there = document(&json!({"bad": bad, "good": {"command": "npx", "args": ["pkg"], "enabled": false}}));
    let policy = LaunchPolicy::default();
    let put = |sent: Value| {
        let document = Document::parse(merge(sent, Some(&there)).unwrap()).unwrap();
        (api_screen(&document, Some(&there), &policy), document)
    };
    let (refused, same) = put(there.response());
    assert_eq!((refused, &same), (vec![], &there), "a GET sent back is the same config");
    let mut enabled = there.response();
    enabled["mcp_servers"]["good"]["enabled"] = json!(true);
    let (refused, document) = put(enabled);
    assert_eq!(refused, []);
    assert_eq!(document.expose_raw()["mcpServers"]["bad"], there.expose_raw()["mcpServers"]["bad"]);
    let mut whole_numbers = there.response();
    whole_numbers["mcp_servers"]["bad"]["session_init_timeout"] = json!(60);
    whole_numbers["mcp_servers"]["bad"]["tool_call_timeout"] = json!(90);
    assert_eq!(put(whole_numbers).0, [], "a browser writes 60.0 as 60");
    assert_eq!(put(json!({"mcp_servers": {}})).0, [], "it may be removed");
    for (key, value) in [
        ("command", json!("bash")),
        ("args", json!(["run", "other"])),
        ("env", json!({"KEY": "***", "REF": "$KEY", "NEW": "1"})),
        ("env", json!({"KEY": "***"})),
        ("enabled", json!(true)),
        ("type", json!("STDIO")),
        ("x", json!({"token": "other"})),
        ("cwd", json!("/tmp")),
        ("tool_call_timeout", json!(91)),
    ] {
        let mut sent = there.response();
        let bad_sent = &mut sent["mcp_servers"]["bad"];
        if ["command", "args", "cwd"].contains(&key) {
            // What was stored for another program is not restored.
            bad_sent["env"] = json!({"KEY": "secret", "REF": "$KEY"});
            bad_sent["x"] = json!({"token": "t"});
        }
        bad_sent[key] = value;
        let refused = put(sent).0;
        assert_eq!(refused.len(), 1, "{key}");
        assert_eq!(refused[0].path, "mcpServers.bad.command");
    }
    assert_eq!(put(json!({"mcp_servers": {"other": bad}})).0[0].path, "mcpServers.other.command");
}
