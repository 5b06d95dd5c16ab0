//! Calls in pooled sessions.

use async_trait::async_trait;
use pudu_app::ports::CallFault;
use tokio::time::Instant;

use super::*;
use crate::{Interceptor, Interceptors, Next, Request};

/// What the interceptors of these tests do, by their name.
#[derive(Clone, Copy)]
pub(super) enum Does {
    Signs,
    SetsIllegal,
    Fails,
}

impl Does {
    pub(super) fn all() -> Interceptors {
        let all = [("signs", Self::Signs), ("illegal", Self::SetsIllegal), ("fails", Self::Fails)];
        all.into_iter().fold(Interceptors::default(), |made, (name, does)| {
            made.with(name, move || {
                let link: Arc<dyn Interceptor> = Arc::new(does);
                Ok(Some(link))
            })
        })
    }
}

#[async_trait]
impl Interceptor for Does {
    async fn intercept(&self, mut request: Request<'_>, next: Next<'_>) -> Result<Value, CallError> {
        match self {
            Self::Signs => request.headers.set("X-Key", "canary-of-the-call".into()),
            Self::SetsIllegal => request.headers.set("X-Key", "canary-of-the-call\n".into()),
            Self::Fails => return Err(request.denied("not today")),
        }
        next.call(request).await
    }
}

#[tokio::test]
async fn a_session_is_kept_between_calls_and_belongs_to_one_user_and_thread() {
    let world = World::new();
    let server = world.peer();
    let first = world.pid(&server).await;
    assert_eq!(world.pid(&server).await, first);
    let mut pids = vec![first];
    for (user, thread) in [("local:u", "other"), ("local:v", "t")] {
        let result = world.call_as(&server, &caller(user, thread), "pid", LONG).await.expect("a result");
        pids.push(result["structuredContent"]["pid"].as_u64().expect("a number"));
    }
    pids.sort_unstable();
    pids.dedup();
    assert_eq!(pids.len(), 3, "vector 37");
}

#[tokio::test]
async fn vector_40_a_process_that_dies_in_a_call_is_replaced_for_the_next_one() {
    let world = World::new();
    let server = world.peer();
    let first = world.pid(&server).await;
    let error = world.call(&server, "die").await.expect_err("a failure");
    assert_eq!(error.fault, CallFault::Broken);
    assert!(error.message.contains("exit status 3"), "{error}");
    assert!(error.message.contains("leaking ***"), "{error}");
    assert_ne!(world.pid(&server).await, first);
    assert_eq!(world.log().iter().filter(|line| *line == "start").count(), 2, "nothing was tried twice");
}

#[tokio::test]
async fn vector_41_errors_and_time_outs_keep_the_session_and_a_time_out_is_told() {
    let world = World::new();
    let server = world.server(PEER, &json!({"tool_call_timeout": 0.2}));
    let first = world.pid(&server).await;
    let result = world.call(&server, "fail").await.expect("a result");
    assert_eq!(result["isError"], true);
    let began = Instant::now();
    let error = world.call(&server, "hang").await.expect_err("too long");
    assert_eq!(error.fault, CallFault::Timeout);
    assert!(began.elapsed() < LONG / 2, "the server's own limit counts");
    // It reads in order: once this is answered it has read the word before.
    assert_eq!(world.pid(&server).await, first);
    let log = world.log();
    assert!(log.iter().any(|line| line.contains("notifications/cancelled")), "{log:?}");
}

#[tokio::test]
async fn a_changed_entry_has_a_new_process() {
    let world = World::new();
    let first = world.pid(&world.peer()).await;
    let changed = world.server(PEER, &json!({"env": {"MORE": "1"}}));
    assert_ne!(world.pid(&changed).await, first);
}

#[tokio::test]
async fn files_that_a_call_made_are_shown_as_their_reader_knows_them() {
    let world = World::new();
    let page = "/mnt/user-data/workspace/deep/page.yml";
    assert_eq!(world.text(&world.peer(), "write").await, format!("wrote {page} and {page}"));
}

#[tokio::test]
async fn garbage_on_stdout_and_floods_on_stderr_disturb_nobody() {
    let world = World::new();
    let noise = r#"
printf 'Listening on stdio\n\n{"level":"info"}\n\377\376\n[1,2\n'
i=0; while [ $i -lt 3000 ]; do echo "a line of noise, number $i of three thousand, and quite long" >&2; i=$((i+1)); done
head -c 200000 /dev/zero | tr '\0' 'x' >&2
"#;
    let server = world.server(&format!("{noise}{PEER}"), &json!({}));
    let first = world.pid(&server).await;
    assert_eq!(world.pid(&server).await, first);
}

#[tokio::test]
async fn a_line_over_the_bound_ends_the_session_with_that_reason() {
    let world = World::new();
    let flood = PEER.replace(
        "*'\"name\":\"hang\"'*)",
        "*'\"name\":\"hang\"'*) head -c 9000000 /dev/zero | tr '\\0' 'x';",
    );
    let server = world.server(&flood, &json!({}));
    let first = world.pid(&server).await;
    let error = world.call(&server, "hang").await.expect_err("too much");
    assert_eq!(error.fault, CallFault::Protocol);
    assert!(error.message.contains("more than 8388608 bytes"), "{error}");
    assert_ne!(world.pid(&server).await, first);
}

#[tokio::test]
async fn a_change_of_the_tools_is_reported() {
    let world = World::new();
    let telling = PEER.replace(
        "*'\"name\":\"line\"'*)",
        "*'\"name\":\"line\"'*) printf '{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\\n';",
    );
    let server = world.server(&telling, &json!({}));
    let before = world.changes.mark(&server.digest);
    world.call(&server, "line").await.expect("a result");
    assert_ne!(world.changes.mark(&server.digest), before);
}

/// As the official server does: it would be asked for its list at every use.
#[tokio::test]
async fn a_server_that_starts_with_a_change_of_its_tools_voids_no_list() {
    let world = World::new();
    let change = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let starting = PEER.replace("printf 'start", &format!("printf '%s\\n' '{change}'\nprintf 'start"));
    let server = world.server(&starting, &json!({}));
    let before = world.changes.mark(&server.digest);
    world.client.list_tools(&server, LONG).await.expect("tools");
    world.pid(&server).await;
    assert_eq!(world.changes.mark(&server.digest), before);
}

#[tokio::test]
async fn headers_of_interceptors_travel_beside_the_call_and_nothing_travels_without() {
    let world = World::new();
    world.call(&world.peer(), "line").await.expect("a result");
    let signing = world.server(PEER, &json!({"interceptors": ["signs"]}));
    world.call(&signing, "line").await.expect("a result");
    let log = world.log();
    let lines: Vec<&String> = log.iter().filter(|line| line.contains("tools/call")).collect();
    assert_eq!(lines.len(), 2);
    assert!(!lines[0].contains("_meta"), "{}", lines[0]);
    let sent: Value = serde_json::from_str(lines[1]).expect("JSON");
    assert_eq!(sent["params"]["_meta"], json!({"headers": {"X-Key": "canary-of-the-call"}}));
}

#[tokio::test]
async fn vector_41_an_interceptor_that_fails_keeps_the_session_and_sends_nothing() {
    let world = World::new();
    let first = world.pid(&world.peer()).await;
    for (name, fault) in [("fails", CallFault::Denied), ("illegal", CallFault::Config)] {
        let server = world.server(PEER, &json!({"interceptors": [name]}));
        let error = world.call(&server, "line").await.expect_err("a failure");
        assert_eq!(error.fault, fault);
        assert!(!error.message.contains("canary"), "{error}");
    }
    assert_eq!(world.pid(&world.peer()).await, first);
    assert!(!world.log().iter().any(|line| line.contains("tools/call")));
}

#[tokio::test]
async fn what_a_call_brought_is_in_no_word_of_its_server() {
    let world = World::new();
    let echoing = PEER.replace("echo \"leaking $SECRET\"", "printf '%s\\n' \"$line\"");
    let server = world.server(&echoing, &json!({"interceptors": ["signs"]}));
    world.pid(&server).await;
    let error = world.call(&server, "die").await.expect_err("a failure");
    assert!(error.message.contains("\"X-Key\":\"***\""), "{error}");
}

/// The reference sends it the token of its `oauth` block (its ⚠ in 2.10).
#[tokio::test]
async fn no_token_of_an_oauth_block_reaches_a_process() {
    let world = World::new();
    let oauth = json!({"token_url": "http://127.0.0.1:1/token", "client_id": "c", "client_secret": "s"});
    let server = world.server(PEER, &json!({"oauth": oauth}));
    world.call(&server, "line").await.expect("nobody was asked for a token");
    let log = world.log();
    assert!(log.iter().any(|line| line.contains("tools/call") && !line.contains("_meta")), "{log:?}");
}
