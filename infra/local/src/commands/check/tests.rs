//! What is said about a file.

use std::fs;

use pudu_config::NoSecrets;
use serde_json::json;

use super::*;

fn file(content: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.json");
    fs::write(&path, content).unwrap();
    (folder, path)
}

#[test]
fn a_valid_file_is_told_its_warnings_and_is_no_error() {
    let toolset = json!({"name": "n", "submit_tool": "a", "status_tool": "b", "cancel_tool": "c"});
    let config = json!({"mcpInterceptors": 5, "mcpServers": {
        "web": {"type": "http", "url": "http://h", "headers": {"A": "$NOWHERE"}, "tool_call_timeout": 26, "task_toolsets": [toolset]},
        "empty": {}, "routed": {"command": "c", "routing": {"priority": 200}},
    }});
    let (_folder, path) = file(&config.to_string());
    let checked = judge(read(&path).unwrap(), &NoSecrets, LEASE);
    let places: Vec<_> = checked.lines.iter().map(|line| line.split(": ").nth(1).unwrap()).collect();
    assert_eq!(
        places,
        [
            "mcpInterceptors",
            "mcpServers.routed.routing.priority",
            "mcpServers.web.headers.A",
            "mcpServers.web.tool_call_timeout",
            "mcpServers.empty",
        ]
    );
    assert!(checked.lines.iter().all(|line| line.starts_with("warning: ")));
    assert!(checked.lines[3].contains("25 s"), "a lease of 30 s less 5 s: {}", checked.lines[3]);
    assert_eq!((checked.problems, checked.warnings), (0, 5));
    check(&path).unwrap();
}

#[test]
fn every_problem_is_told_with_its_place_and_is_an_error() {
    let (_folder, path) = file(
        r#"{"mcpInterceptors": 5, "mcpServers": {"a": {"enabled": 7, "url": "ftp://CANARY", "type": "http"}, "": {}}}"#,
    );
    let checked = judge(read(&path).unwrap(), &NoSecrets, LEASE);
    assert_eq!((checked.problems, checked.warnings, checked.document.is_none()), (3, 1, true));
    for place in
        ["problem: mcpServers.a.enabled: ", "problem: mcpServers.a.url: ", "problem: mcpServers[\"\"]: "]
    {
        assert_eq!(
            checked.lines.iter().filter(|line| line.starts_with(place)).count(),
            1,
            "{:?}",
            checked.lines
        );
    }
    assert!(!checked.lines.concat().contains("CANARY"));
    let error = check(&path).unwrap_err().to_string();
    assert!(error.ends_with("config.json is not valid: 3 problems"), "{error}");
}

#[test]
fn what_is_no_json_or_no_file_is_told() {
    let (folder, path) = file("{\n \"a\": CANARY}");
    let checked = judge(read(&path).unwrap(), &NoSecrets, LEASE);
    assert_eq!(checked.lines, ["problem: is not JSON: a syntax error at line 2, column 7"]);
    assert!(check(&path).is_err());
    let missing = check(&folder.path().join("none.json")).unwrap_err();
    assert!(missing.to_string().contains("none.json cannot be read"), "{missing}");
}

#[test]
fn what_a_file_says_twice_or_under_another_name_is_told() {
    let (_folder, path) =
        file(r#"{"mcpServers": {"a": {"command": "CANARY"}, "a": {"command": "c"}}, "servers": {"b": {}}}"#);
    let checked = judge(read(&path).unwrap(), &NoSecrets, LEASE);
    assert_eq!(
        checked.lines,
        ["warning: mcpServers.a: stands here more than once; only the last one counts"]
    );
    let (_folder, path) = file(r#"{"servers": {"b": {}}}"#);
    let checked = judge(read(&path).unwrap(), &NoSecrets, LEASE);
    assert!(
        checked.lines.len() == 1 && checked.lines[0].starts_with("warning: servers: is not read"),
        "{checked:?}"
    );
}

#[test]
fn a_file_that_is_too_large_is_not_read_to_its_end() {
    let (_folder, path) = file("{}");
    fs::File::options().write(true).open(&path).unwrap().set_len(1 << 34).unwrap();
    let error = check(&path).unwrap_err().to_string();
    assert!(error.ends_with("config.json is larger than 16 MiB, which no config may be"), "{error}");
}
