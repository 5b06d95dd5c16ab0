//! How processes end: nothing is left of them, however they resist.

use std::collections::BTreeSet;

use pudu_app::ports::CallFault;

use super::*;

/// Before the script: it will not listen to TERM, and its end of stdin means nothing to it.
fn stubborn() -> String {
    let deaf = "trap '' TERM\n";
    format!("{deaf}{PEER}exec 0</dev/null\nwhile :; do read -r _ <&9; done\n")
}

/// A grandchild that holds the named pipe and ignores TERM, in the background.
fn with_grandchild() -> String {
    PEER.replace(
        "printf 'start",
        "(trap '' TERM; exec 0</dev/null 1>/dev/null 2>&1; read -r _ <&9) &\nprintf 'start",
    )
}

#[tokio::test]
async fn a_closed_thread_leaves_no_process_and_other_threads_theirs() {
    let world = World::new();
    let server = world.peer();
    let other = caller("local:u", "other");
    world.pid(&server).await;
    let kept = world.call_as(&server, &other, "pid", LONG).await.expect("a result");
    world.client.close_thread(&caller("local:u", "t").thread).await;
    assert!(
        world.log().contains(&"end".to_owned()),
        "it was asked by the end of its stdin, and ended by itself"
    );
    assert_eq!(world.call_as(&server, &other, "pid", LONG).await.expect("a result"), kept);
    let life = world.life();
    world.client.keep_servers(&BTreeSet::from(["sh"]));
    assert_eq!(world.call_as(&server, &other, "pid", LONG).await.expect("a result"), kept);
    world.client.keep_servers(&BTreeSet::new());
    life.over().await;
}

#[tokio::test]
async fn who_ignores_the_end_of_stdin_and_term_is_killed() {
    let world = World::new();
    let server = world.server(&stubborn(), &json!({}));
    world.pid(&server).await;
    let life = world.life();
    world.client.close_all().await;
    life.over().await;
}

#[tokio::test]
async fn what_a_process_started_ends_with_it() {
    let world = World::new();
    let server = world.server(&with_grandchild(), &json!({}));
    world.pid(&server).await;
    let life = world.life();
    world.client.close_all().await;
    life.over().await;
}

#[tokio::test]
async fn what_a_process_started_ends_when_that_dies_in_a_call() {
    let world = World::new();
    let server = world.server(&with_grandchild(), &json!({}));
    world.pid(&server).await;
    let life = world.life();
    world.call(&server, "die").await.expect_err("a failure");
    life.over().await;
}

/// Its output is still open, so nothing on its pipes says that it has ended.
#[tokio::test]
async fn a_process_that_dies_is_missed_also_when_what_it_started_holds_its_output() {
    let world = World::new();
    let holding = PEER.replace("printf 'start", "(trap '' TERM; read -r _ <&9) &\nprintf 'start");
    let server = world.server(&holding, &json!({}));
    let first = world.pid(&server).await;
    let life = world.life();
    let error = world.call(&server, "die").await.expect_err("a failure");
    assert_eq!(error.fault, CallFault::Broken);
    assert!(error.message.contains("exit status 3"), "{error}");
    assert_ne!(world.pid(&server).await, first);
    world.client.close_all().await;
    life.over().await;
}

#[tokio::test]
async fn who_closes_its_stdin_and_goes_on_is_replaced() {
    let world = World::new();
    let closing = PEER.replace(
        "*'\"name\":\"fail\"'*)",
        "*'\"name\":\"fail\"'*) exec 0<&-; text gone; while read -r _ <&9; do :; done;",
    );
    let server = world.server(&closing, &json!({}));
    let first = world.pid(&server).await;
    world.call(&server, "fail").await.expect("an answer");
    let error = world.call(&server, "pid").await.expect_err("nobody reads it");
    assert_eq!(error.fault, CallFault::NotSent);
    assert!(error.message.contains("takes no more input"), "{error}");
    let life = world.life();
    // The session is closed as soon as that is known to it; until then the same is said.
    let next = async {
        loop {
            match world.call(&server, "pid").await {
                Ok(result) => return result["structuredContent"]["pid"].as_u64(),
                Err(error) => assert_eq!(error.fault, CallFault::NotSent, "{error}"),
            }
        }
    };
    assert_ne!(timeout(LONG, next).await.expect("a fresh session"), Some(first));
    world.client.close_all().await;
    life.over().await;
}

#[tokio::test]
async fn what_waits_for_a_process_that_does_not_read_is_bounded() {
    let world = World::new();
    let deaf = PEER.replace("*'\"name\":\"hang\"'*)", "*'\"name\":\"hang\"'*) read -r _ <&9;");
    let server = world.server(&deaf, &json!({"tool_call_timeout": 0.05}));
    world.pid(&server).await;
    world.call(&server, "hang").await.expect_err("too long");
    let filling = "x".repeat(8 * 1024 * 1024);
    let mut said = Vec::new();
    for _ in 0..6 {
        let call = ToolCall {
            tool: "pid".to_owned(),
            arguments: Map::from_iter([("text".to_owned(), filling.clone().into())]),
            definition: None,
            tasks: None,
        };
        let caller = caller("local:u", "t");
        said.push(world.client.call_tool(&server, &caller, call, LONG).await.expect_err("nobody reads"));
    }
    let refused = said.last().expect("an error");
    assert_eq!(refused.fault, CallFault::NotSent, "{said:?}");
    assert!(refused.message.contains("does not read its input"), "{refused}");
    assert_eq!(said[0].fault, CallFault::Timeout, "it may still read what it was sent");
}

#[tokio::test]
async fn a_client_that_is_dropped_takes_all_its_processes_along() {
    let World { folder, client, changes } = World::new();
    let world = World { folder, client, changes };
    for script in [stubborn(), with_grandchild()] {
        world.pid(&world.server(&script, &json!({}))).await;
    }
    let life = world.life();
    let World { folder, client, .. } = world;
    drop(client);
    life.over().await;
    drop(folder);
}

#[tokio::test]
async fn a_process_of_discovery_is_gone_after_it_also_when_it_never_answers() {
    let world = World::new();
    let silent =
        "exec 9<>\"$LIFE\"\nprintf 'start\\n' >> \"$LOG\"\ntrap '' TERM\nwhile :; do read -r _ <&9; done\n";
    let server = world.server(silent, &json!({}));
    let listing = world.client.list_tools(&server, Duration::from_millis(500));
    let started = async {
        while world.log().is_empty() {
            tokio::task::yield_now().await;
        }
        world.life()
    };
    let (listed, life) = tokio::join!(listing, started);
    assert_eq!(listed.expect_err("too long").fault, CallFault::NotSent);
    life.over().await;
}

#[tokio::test]
async fn who_does_not_read_its_stdin_holds_up_nobody_but_its_caller() {
    let world = World::new();
    let deaf = PEER.replace("*'\"name\":\"hang\"'*)", "*'\"name\":\"hang\"'*) read -r _ <&9;");
    let server = world.server(&deaf, &json!({"tool_call_timeout": 0.3}));
    world.pid(&server).await;
    let life = world.life();
    world.call(&server, "hang").await.expect_err("too long");
    // More than a pipe takes: it cannot be written.
    let filling = "x".repeat(1024 * 1024);
    let call = ToolCall {
        tool: "pid".to_owned(),
        arguments: Map::from_iter([("text".to_owned(), filling.into())]),
        definition: None,
        tasks: None,
    };
    let caller = caller("local:u", "t");
    let error = world.client.call_tool(&server, &caller, call, LONG).await.expect_err("too long");
    assert_eq!(error.fault, CallFault::Timeout);
    world.client.close_all().await;
    life.over().await;
}

#[tokio::test]
async fn a_creator_that_goes_away_leaves_no_process() {
    let world = World::new();
    let silent = "exec 9<>\"$LIFE\"\nprintf 'start\\n' >> \"$LOG\"\nwhile :; do read -r _ <&9; done\n";
    let server = world.server(silent, &json!({}));
    let started = async {
        while world.log().is_empty() {
            tokio::task::yield_now().await;
        }
        world.life()
    };
    let life = tokio::select! {
        biased;
        answer = world.call(&server, "pid") => panic!("nobody answers: {answer:?}"),
        life = started => life,
    };
    life.over().await;
}
