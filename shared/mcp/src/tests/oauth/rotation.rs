//! Refresh tokens that exist nowhere but in the row: what must not lose them, or present one twice.

use super::*;

const SHORT: Duration = Duration::from_millis(100);

fn changed(host: &Host, tokens: &TokenServer) -> Server {
    server(
        host,
        tokens,
        &json!({
            "grant_type": "refresh_token", "refresh_token": "canary-refresh-0",
            "client_secret": "another", "scope": "more",
        }),
    )
}

#[tokio::test]
async fn a_new_client_secret_or_scope_goes_on_with_the_rotated_token() {
    let (host, tokens, shared) =
        (open().await, TokenServer::rotating("canary-refresh-0").await, Shared::new());
    let client = shared.process(1);
    call(&client, &rotating(&host, &tokens), LONG).await.expect("a result");
    call(&client, &changed(&host, &tokens), LONG).await.expect("a result");
    call(&shared.process(2), &changed(&host, &tokens), LONG).await.expect("a result");
    assert_eq!(tokens.presented(), ["canary-refresh-0", "canary-refresh-1"]);
    assert_eq!(
        tokens_of_calls(&host),
        ["Bearer canary-access-1", "Bearer canary-access-2", "Bearer canary-access-2"],
        "what was given under the old terms is not sent"
    );
}

#[tokio::test]
async fn a_changed_block_waits_for_whoever_renews_under_the_old_one() {
    let (host, tokens, shared) =
        (open().await, TokenServer::rotating("canary-refresh-0").await, Shared::new());
    let (before, after) = (shared.process(1), shared.process(2));
    let gate = tokens.hold();
    call(&before, &rotating(&host, &tokens), SHORT).await.expect_err("too short");
    tokens.arrived(1).await;
    call(&after, &changed(&host, &tokens), SHORT).await.expect_err("too short");
    gate.notify_one();
    call(&after, &changed(&host, &tokens), LONG).await.expect("a result");
    assert_eq!(tokens.presented(), ["canary-refresh-0", "canary-refresh-1"]);
}

#[tokio::test]
async fn who_stood_still_while_he_looked_for_the_token_server_does_not_present_a_token() {
    let (tokens, shared) = (TokenServer::rotating("canary-refresh-0").await, Shared::new());
    let (clock, frozen) = (Arc::clone(&shared.clock), Arc::new(AtomicBool::new(true)));
    let issuer = tokens.origin();
    let host = Host::scripted(move |seen| {
        if seen.path.starts_with("/.well-known/") && frozen.swap(false, Ordering::SeqCst) {
            clock.pass(Duration::from_secs(16));
        }
        let issuer = issuer.clone();
        async move {
            if seen.path.starts_with("/.well-known/") {
                let url = format!("http://{}/mcp", seen.headers["host"].to_str().expect("text"));
                let document = json!({"resource": url, "authorization_servers": [issuer]});
                return super::super::host::json_body(document.to_string());
            }
            result(&seen.message, json!({"supportedVersions": ["2026-07-28"], "content": []}))
        }
    })
    .await;
    let oauth = json!({"grant_type": "refresh_token", "refresh_token": "canary-refresh-0"});
    let server = entry(json!({"type": "http", "url": host.url, "oauth": oauth}));
    let client = shared.process(1);
    let error = call(&client, &server, LONG).await.expect_err("no token");
    assert!(error.fault == CallFault::NotSent && error.message.contains("stood still"), "{error}");
    assert_eq!(tokens.count(), 0);
    shared.pass(5);
    call(&client, &server, LONG).await.expect("a result");
    assert_eq!(tokens.count(), 1);
}

#[tokio::test]
async fn who_is_refused_because_another_was_faster_uses_what_that_one_brought() {
    let (host, tokens, shared) =
        (open().await, TokenServer::rotating("canary-refresh-0").await, Shared::new());
    let (server, first, second) = (rotating(&host, &tokens), shared.process(1), shared.process(2));
    let gate = tokens.hold();
    call(&first, &server, SHORT).await.expect_err("too short");
    tokens.arrived(1).await;
    // The first one's claim is over, and it lives.
    shared.pass(31);
    call(&second, &server, SHORT).await.expect_err("too short");
    tokens.arrived(2).await;
    gate.notify_one();
    first.close_all().await;
    gate.notify_one();
    call(&second, &server, LONG).await.expect("with the first one's token");
    assert_eq!((tokens.count(), tokens_of_calls(&host)), (2, vec!["Bearer canary-access-1".to_owned()]));
}

#[tokio::test]
async fn a_process_that_ends_waits_for_the_token_that_it_asked_for() {
    let (host, tokens, shared) =
        (open().await, TokenServer::rotating("canary-refresh-0").await, Shared::new());
    let (server, client) = (rotating(&host, &tokens), shared.process(1));
    let gate = tokens.hold();
    call(&client, &server, SHORT).await.expect_err("too short");
    tokens.arrived(1).await;
    tokio::join!(client.close_all(), async { gate.notify_one() });
    let rows = shared.table.tokens();
    let kept: Vec<_> = rows.values().map(|token| token.refresh.is_some()).collect();
    assert_eq!(kept, [true]);
}

#[tokio::test]
async fn a_token_that_lives_no_longer_than_its_skew_is_not_renewed_by_every_call() {
    let (host, tokens, shared) = (open().await, TokenServer::start().await, Shared::new());
    tokens.lifetime(60);
    let (server, client) = (server(&host, &tokens, &json!({})), shared.process(1));
    for (pass, fetched) in [(0, 1), (0, 1), (29, 1), (1, 2), (0, 2)] {
        shared.pass(pass);
        call(&client, &server, LONG).await.expect("a result");
        assert_eq!(tokens.count(), fetched, "after {pass} s more");
    }
}
