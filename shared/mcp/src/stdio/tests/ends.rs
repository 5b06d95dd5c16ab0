//! How processes end: nothing is left of them, however they resist.

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
    world.client.close_server("sh").await;
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
