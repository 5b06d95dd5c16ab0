//! How processes are started: what they get, and what is said when they cannot be.

use pudu_app::ports::CallFault;

use super::*;

#[tokio::test]
async fn a_process_inherits_six_variables_and_gets_what_is_configured() {
    let world = World::with(|name| {
        Some(match name {
            "PATH" => "/usr/bin:/bin".to_owned(),
            "HOME" => "/home/of-the-operator".to_owned(),
            "SHELL" => "() { :; }".to_owned(),
            other => format!("ours-{other}"),
        })
    });
    let server = world.server(PEER, &json!({"env": {"TERM": "configured", "EMPTY": "", "WORD": "$$x"}}));
    let env = world.text(&server, "env").await;
    for part in ["HOME=/home/of-the-operator ", "TERM=configured ", "WORD=$x ", "EMPTY= ", "USER=ours-USER "]
    {
        assert!(env.contains(part), "{part} in {env}");
    }
    assert!(env.contains("SECRET=canary-secret"), "a variable of the config is resolved");
    assert!(!env.contains("SHELL=()"), "a function of an old shell is code");
    let known = [
        "EMPTY",
        "HOME",
        "LIFE",
        "LOG",
        "LOGNAME",
        "OLDPWD",
        "PATH",
        "PWD",
        "SECRET",
        "SHLVL",
        "TEMP",
        "TERM",
        "TMP",
        "TMPDIR",
        "USER",
        "WORD",
        "_",
        "npm_config_location",
        "npm_config_prefix",
    ];
    for pair in env.split_whitespace() {
        let name = pair.split('=').next().expect("a name");
        assert!(known.contains(&name), "{pair}");
    }
}

#[tokio::test]
async fn a_process_works_in_its_threads_workspace_with_its_own_temporary_folder() {
    let world = World::new();
    let server = world.peer();
    // A folder is no file, so it is shown as it is.
    let cwd = world.text(&server, "cwd").await;
    let base = world.at("data").canonicalize().expect("a folder");
    assert_eq!(cwd, base.join("users/local%3Au/threads/t/user-data/workspace").to_str().expect("text"));
    let env = world.text(&server, "env").await;
    for name in ["TMPDIR", "TMP", "TEMP"] {
        let temporary = world.at("data/users/local%3Au/threads/t/user-data/workspace/.mcp/tmp");
        assert!(env.contains(&format!("{name}={} ", temporary.display())), "{name} in {env}");
    }
}

#[tokio::test]
async fn vector_38_what_the_operator_set_stays_and_the_rest_is_still_pinned() {
    let world = World::new();
    let elsewhere = world.at("elsewhere");
    fs::create_dir(&elsewhere).expect("a folder");
    let server = world.server(PEER, &json!({"env": {"TMPDIR": "/operators"}, "cwd": elsewhere}));
    assert_eq!(world.text(&server, "cwd").await, elsewhere.canonicalize().unwrap().to_str().unwrap());
    let env = world.text(&server, "env").await;
    assert!(env.contains("TMPDIR=/operators "), "{env}");
    let pinned = world.at("data/users/local%3Au/threads/t/user-data/workspace/.mcp/tmp");
    for name in ["TMP", "TEMP"] {
        assert!(env.contains(&format!("{name}={} ", pinned.display())), "{name} in {env}");
    }
}

/// An `.npmrc` among a thread's files would name what `npx` runs.
#[tokio::test]
async fn npm_is_not_configured_by_a_threads_files_unless_the_operator_says_where_it_works() {
    let world = World::new();
    let env = world.text(&world.peer(), "env").await;
    assert!(env.contains("npm_config_location=global "), "{env}");
    let given = world.server(PEER, &json!({"env": {"NPM_CONFIG_LOCATION": "project"}}));
    let env = world.text(&given, "env").await;
    assert!(env.contains("NPM_CONFIG_LOCATION=project ") && !env.contains("=global "), "{env}");
    let elsewhere = world.server(PEER, &json!({"cwd": world.folder.path()}));
    assert!(!world.text(&elsewhere, "env").await.contains("npm_config_location"));
}

/// `npx NAME` would run a program of this machine by that name.
#[tokio::test]
async fn npx_finds_no_program_of_this_machine_unless_the_operator_says_where() {
    let world = World::new();
    let elsewhere = world.server(PEER, &json!({"cwd": world.folder.path()}));
    for server in [world.peer(), elsewhere] {
        let env = world.text(&server, "env").await;
        assert!(env.contains("npm_config_prefix=/proc/none "), "{env}");
    }
    let given = world.server(PEER, &json!({"env": {"NPM_CONFIG_PREFIX": "/opt/node"}}));
    let env = world.text(&given, "env").await;
    assert!(env.contains("NPM_CONFIG_PREFIX=/opt/node ") && !env.contains("/proc/none"), "{env}");
}

#[tokio::test]
async fn discovery_has_a_process_of_its_own_that_ends_and_no_threads_folder() {
    let world = World::new();
    let server = world.peer();
    let tools = world.client.list_tools(&server, LONG).await.expect("tools").tools;
    assert_eq!(tools.len(), 1);
    assert_eq!(tools[0].definition["x-new"], 1, "definitions come through unchanged");
    assert!(!world.at("data").exists());
    let first = world.pid(&server).await;
    world.client.list_tools(&server, LONG).await.expect("tools");
    assert_eq!(world.pid(&server).await, first);
    assert_eq!(world.log().iter().filter(|line| *line == "start").count(), 3);
}

/// Vector 5 for stdio, and everything else that an entry can lack.
#[tokio::test]
async fn vector_5_an_entry_that_cannot_be_started_is_a_config_fault_that_names_the_place() {
    let world = World::new();
    let cases = [
        (json!({"command": ""}), "requires 'command' field"),
        (json!({"command": "$MISSING"}), "'command' has no value: the variable MISSING is not set"),
        (json!({"args": ["a", "$MISSING"]}), "'args[1]' has no value"),
        (json!({"env": {"KEY": "$MISSING"}}), "'env.KEY' has no value"),
        (json!({"cwd": "/no/such/folder"}), "'cwd' is not a folder"),
        (json!({"command": "/no/such/command"}), "cannot be started"),
        (json!({"command": world.folder.path()}), "may be executed"),
        (json!({"args": ["a\u{0}b"]}), "zero byte"),
    ];
    for (fields, said) in cases {
        let server = world.server(PEER, &fields);
        for error in [
            world.call(&server, "pid").await.expect_err("a refusal"),
            world.client.list_tools(&server, LONG).await.expect_err("a refusal"),
        ] {
            assert_eq!(error.fault, CallFault::Config, "{fields}: {error}");
            assert!(error.message.contains(said), "{fields}: {error}");
        }
    }
}

#[tokio::test]
async fn without_a_launcher_stdio_is_off_and_says_so() {
    let world = World::new();
    let bare = Client::new(
        Arc::new(pudu_config::NoSecrets),
        Egress::machine(),
        pudu_testkit::fixture::token_ports(),
    )
    .expect("a client");
    let error = bare.list_tools(&world.peer(), LONG).await.expect_err("a refusal");
    assert_eq!(error.fault, CallFault::Config);
    assert!(error.message.contains("starting processes is off here"), "{error}");
    assert!(bare.task_obstacle(&world.peer()).is_some_and(|why| why.contains("in one process")));
    assert_eq!(world.client.task_obstacle(&world.peer()), None);
}

#[tokio::test]
async fn a_process_that_exits_at_once_is_told_with_its_status_and_its_last_words_but_no_secret() {
    let world = World::new();
    let server =
        world.server("echo first >&2; echo \"licence of $SECRET is missing\" >&2; exit 7", &json!({}));
    for error in [
        world.call(&server, "pid").await.expect_err("a failure"),
        world.client.list_tools(&server, LONG).await.expect_err("a failure"),
    ] {
        assert_eq!(error.fault, CallFault::NotSent, "{error}");
        assert!(error.message.contains("exit status 7"), "{error}");
        assert!(error.message.contains("licence of *** is missing"), "{error}");
    }
}

#[tokio::test]
async fn a_folder_that_cannot_be_prepared_is_an_error_for_tasks_only() {
    let world = World::new();
    let toolsets = json!([{"name": "n", "submit_tool": "pid", "status_tool": "cwd", "cancel_tool": "fail"}]);
    let server = world.server(PEER, &json!({"task_toolsets": toolsets}));
    world.call(&server, "env").await.expect("folders");
    let ours = world.at("data/users/local%3Au/threads/t/user-data/workspace/.mcp");
    fs::remove_dir_all(&ours).expect("removed");
    fs::write(&ours, "in the way").expect("a file");
    world.call(&server, "env").await.expect("a warning and no more");
    for tool in ["pid", "cwd", "fail"] {
        let error = world.call(&server, tool).await.expect_err("a failure");
        assert_eq!(error.fault, CallFault::NotSent);
        assert!(error.message.contains("'workspace/.mcp/tmp'"), "{error}");
    }
}

/// What is printed of a secret need not be the whole of it, nor all on one line.
#[tokio::test]
async fn a_secret_of_many_lines_or_of_great_length_is_in_no_word_of_its_server() {
    let world = World::new();
    let lines = "-----BEGIN KEY-----\ncanary/first/line\ncanary/second/line\n-----END KEY-----";
    let long = format!("canary{}", "abcdefgh".repeat(5000));
    for (secret, print) in [
        (lines, r#"printf '%s\n' "$SECRET" | head -n 3 >&2"#),
        (lines, r#"printf '%s' "$SECRET" | tr '\n' '~' | sed 's/~/\\n/g' >&2"#),
        (long.as_str(), r#"printf 'not accepted: %s\n' "$SECRET" >&2"#),
    ] {
        let server = world.server(&format!("{print}; exit 7"), &json!({"env": {"SECRET": secret}}));
        let error = world.call(&server, "pid").await.expect_err("a failure");
        assert!(error.message.contains("exit status 7; the last line"), "{error}");
        assert!(!error.message.contains("canary"), "{error}");
    }
}

#[tokio::test]
async fn a_secret_among_the_arguments_is_in_no_word_of_its_server_and_other_arguments_are() {
    let world = World::new();
    let print = world.at("script.sh");
    let args = json!([
        print,
        "--api-key",
        "canary-a",
        "--token=canary-b",
        "--verbose",
        "wanted",
        "postgres://joe:canary-c@db/x",
        "--from=https://canary-d@git/x",
        "$TOKEN",
    ]);
    let server = world.server("echo \"$*\" >&2; exit 7", &json!({"args": args}));
    let error = world.call(&server, "pid").await.expect_err("a failure");
    assert!(!error.message.contains("canary"), "{error}");
    assert!(
        error.message.contains("--api-key *** --token=*** --verbose wanted postgres://joe:***@db/x"),
        "{error}"
    );
}
