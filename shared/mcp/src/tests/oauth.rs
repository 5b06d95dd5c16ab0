//! OAuth against a token server that counts, rotates refresh tokens and notices when one is presented twice.

mod rotation;
mod token_server;

use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use futures_util::future::join_all;
use pudu_app::ports::{CallFault, Clock, TaskDriver, TokenKey, TokenPorts};
use pudu_domain::Timestamp;
use pudu_testkit::{FakeTable, FixedKeys, Gate, ManualClock, SeededRandom};

use super::host::{Host, Seen, refused, result};
use super::*;
use crate::OrdinaryTools;
use token_server::TokenServer;

/// A table that several processes share, and their clock.
struct Shared {
    table: FakeTable,
    clock: Arc<ManualClock>,
}

/// Shows a time that stands still. Who waits lets the others run and looks again: what it waits for is a token server's
/// answer, which comes when it comes.
struct StillClock(Arc<ManualClock>);

#[async_trait]
impl Clock for StillClock {
    fn now(&self) -> Timestamp {
        self.0.now()
    }

    async fn sleep(&self, _: Duration) {
        tokio::task::yield_now().await;
    }
}

impl Shared {
    fn new() -> Self {
        Self { table: FakeTable::new(), clock: Arc::new(ManualClock::start()) }
    }

    fn process(&self, seed: u64) -> Arc<Client> {
        let clock: Arc<dyn Clock> = Arc::new(StillClock(self.clock.clone()));
        let tokens = TokenPorts {
            store: Arc::new(self.table.store(Arc::clone(&clock), Gate::open())),
            keys: Arc::new(FixedKeys),
            clock,
            random: Arc::new(SeededRandom::new(seed)),
        };
        Arc::new(Client::new(Arc::new(NoSecrets), Egress::machine(), tokens).expect("a client"))
    }

    fn pass(&self, seconds: u64) {
        self.clock.pass(Duration::from_secs(seconds));
    }
}

/// An MCP server that lets only the tokens in that `accepts` says.
async fn guarded(accepts: impl Fn(&str) -> bool + Clone + Send + Sync + 'static) -> Host {
    Host::scripted(move |seen| {
        let token = sent(&seen);
        let let_in = accepts(&token);
        async move {
            if !let_in {
                let text = format!("who is {token}?");
                return (StatusCode::UNAUTHORIZED, refused(&seen.message, -32001, &text)).into_response();
            }
            match seen.what().as_str() {
                "server/discover" => result(&seen.message, json!({"supportedVersions": ["2026-07-28"]})),
                "tools/list" => result(&seen.message, json!({"tools": []})),
                _ => result(&seen.message, json!({"content": [], "structuredContent": {"token": token}})),
            }
        }
    })
    .await
}

async fn open() -> Host {
    guarded(|_| true).await
}

fn sent(seen: &Seen) -> String {
    seen.headers.get("authorization").map_or("", |value| value.to_str().expect("text")).to_owned()
}

fn server(host: &Host, tokens: &TokenServer, fields: &Value) -> Server {
    let mut oauth =
        json!({"token_url": tokens.url, "client_id": "me", "client_secret": "canary-client-secret"});
    for (key, value) in fields.as_object().expect("fields") {
        oauth[key] = value.clone();
    }
    entry(json!({"type": "http", "url": host.url, "headers": {"authorization": "static"}, "oauth": oauth}))
}

fn rotating(host: &Host, tokens: &TokenServer) -> Server {
    server(host, tokens, &json!({"grant_type": "refresh_token", "refresh_token": "canary-refresh-0"}))
}

fn tokens_of_calls(host: &Host) -> Vec<String> {
    host.seen().iter().filter(|seen| seen.what() == "tools/call").map(sent).collect()
}

#[tokio::test]
async fn vector_47_one_token_serves_every_call_within_its_lifetime_of_every_process() {
    let (host, tokens, shared) = (open().await, TokenServer::start().await, Shared::new());
    let server = server(&host, &tokens, &json!({}));
    let first = shared.process(1);
    for _ in 0..2 {
        call(&first, &server, LONG).await.expect("a result");
    }
    call(&shared.process(2), &server, LONG).await.expect("a result");
    assert_eq!(tokens.count(), 1);
    assert_eq!(tokens_of_calls(&host), ["Bearer canary-access-1"; 3]);
}

#[tokio::test]
async fn vector_47_callers_that_come_at_once_share_one_fetch() {
    let (host, tokens, shared) = (open().await, TokenServer::start().await, Shared::new());
    let server = server(&host, &tokens, &json!({}));
    let client = shared.process(1);
    for answer in join_all((0..16).map(|_| call(&client, &server, LONG))).await {
        answer.expect("a result");
    }
    assert_eq!(tokens.count(), 1);
}

#[tokio::test]
async fn a_token_is_renewed_early_by_its_skew_and_not_before() {
    let (host, tokens, shared) = (open().await, TokenServer::start().await, Shared::new());
    tokens.lifetime(100);
    let server = server(&host, &tokens, &json!({"refresh_skew_seconds": 30}));
    let client = shared.process(1);
    for (pass, fetched) in [(0, 1), (69, 1), (1, 2), (69, 2), (1, 3)] {
        shared.pass(pass);
        call(&client, &server, LONG).await.expect("a result");
        assert_eq!(tokens.count(), fetched, "after {pass} s more");
    }
}

#[tokio::test]
async fn vector_49_the_form_is_ours_over_the_extra_parameters() {
    let (host, tokens, shared) = (open().await, TokenServer::start().await, Shared::new());
    let extra =
        json!({"extra_token_params": {"grant_type": "password", "tenant": "t"}, "scope": "read write"});
    call(&shared.process(1), &server(&host, &tokens, &extra), LONG).await.expect("a result");
    let form = tokens.forms().remove(0);
    let expected = [
        ("client_id", "me"),
        ("client_secret", "canary-client-secret"),
        ("grant_type", "client_credentials"),
        ("scope", "read write"),
        ("tenant", "t"),
    ];
    assert_eq!(form, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

#[tokio::test]
async fn vector_50_a_rotated_refresh_token_serves_the_next_process() {
    let (host, tokens, shared) =
        (open().await, TokenServer::rotating("canary-refresh-0").await, Shared::new());
    let server = rotating(&host, &tokens);
    for seed in 1..=4 {
        call(&shared.process(seed), &server, LONG).await.expect("a result");
        shared.pass(3600);
    }
    let presented: Vec<String> = tokens.presented();
    assert_eq!(presented, ["canary-refresh-0", "canary-refresh-1", "canary-refresh-2", "canary-refresh-3"]);
    assert_eq!(tokens.reused(), 0);
}

#[tokio::test]
async fn processes_that_renew_at_once_never_present_a_refresh_token_twice() {
    let (host, tokens, shared) =
        (open().await, TokenServer::rotating("canary-refresh-0").await, Shared::new());
    let server = rotating(&host, &tokens);
    for round in 0..10 {
        let processes: Vec<_> = (0..6).map(|n| shared.process(round * 10 + n)).collect();
        let calls =
            processes.iter().flat_map(|client| [call(client, &server, LONG), call(client, &server, LONG)]);
        for answer in join_all(calls).await {
            answer.expect("a result");
        }
        shared.pass(3600);
    }
    assert_eq!(
        (tokens.reused(), tokens.count()),
        (0, 10),
        "one renewal per lifetime, each with the newest token"
    );
}

#[tokio::test]
async fn a_changed_block_starts_anew() {
    let (host, tokens, shared) = (open().await, TokenServer::start().await, Shared::new());
    let client = shared.process(1);
    for fields in [json!({}), json!({"client_secret": "another"}), json!({})] {
        call(&client, &server(&host, &tokens, &fields), LONG).await.expect("a result");
    }
    assert_eq!(tokens.count(), 2);
}

#[tokio::test]
async fn a_token_that_the_server_refuses_is_replaced_once_and_the_call_sent_again() {
    let host = guarded(|token| token != "Bearer canary-access-1").await;
    let (tokens, shared) = (TokenServer::start().await, Shared::new());
    let server = server(&host, &tokens, &json!({}));
    let client = shared.process(1);
    let result = call(&client, &server, LONG).await.expect("a result");
    assert_eq!(result["structuredContent"]["token"], "Bearer canary-access-2");
    assert_eq!(tokens.count(), 2);
    let listed = client.list_tools(&server, LONG).await.expect("a list");
    assert!(listed.tools.is_empty() && tokens.count() == 2);
}

#[tokio::test]
async fn a_listing_gets_another_token_too() {
    let host = guarded(|token| token == "Bearer canary-access-2").await;
    let (tokens, shared) = (TokenServer::start().await, Shared::new());
    shared.process(1).list_tools(&server(&host, &tokens, &json!({})), LONG).await.expect("a list");
    assert_eq!(tokens.count(), 2);
}

#[tokio::test]
async fn a_server_that_refuses_every_token_does_not_make_us_ask_for_each_call() {
    let host = guarded(|_| false).await;
    let (tokens, shared) = (TokenServer::start().await, Shared::new());
    let server = server(&host, &tokens, &json!({}));
    let client = shared.process(1);
    for _ in 0..5 {
        let error = call(&client, &server, LONG).await.expect_err("refused");
        assert_eq!(error.fault, CallFault::Refused);
        assert!(!format!("{error:?}").contains("canary"), "{error:?}");
    }
    assert_eq!(tokens.count(), 2, "the second one was rejected moments after it came");
}

#[tokio::test]
async fn a_401_for_a_users_own_credential_costs_no_token() {
    let host = guarded(|token| token != "Bearer of-the-user").await;
    let (tokens, shared) = (TokenServer::start().await, Shared::new());
    let mut fields = json!({"type": "http", "url": host.url, "user_auth": {"users": {"local:default": "Bearer of-the-user"}}});
    fields["oauth"] = json!({"token_url": tokens.url, "client_id": "me", "client_secret": "s"});
    call(&shared.process(1), &entry(fields), LONG).await.expect_err("refused");
    assert_eq!(tokens.count(), 1);
}

#[tokio::test]
async fn invalid_grant_is_the_end_and_says_so_in_a_listing_too() {
    let (host, tokens, shared) = (open().await, TokenServer::rotating("another").await, Shared::new());
    let server = rotating(&host, &tokens);
    for seed in 1..=3 {
        let client = shared.process(seed);
        let errors = [
            call(&client, &server, LONG).await.expect_err("refused"),
            client.list_tools(&server, LONG).await.expect_err("refused"),
        ];
        for error in errors {
            assert_eq!(error.fault, CallFault::Denied);
            assert!(error.message.contains("invalid_grant") && !error.message.contains("canary"), "{error}");
        }
        shared.pass(100_000);
    }
    assert_eq!(tokens.count(), 1, "it is asked once and never again");
    assert!(host.seen().is_empty(), "nothing is sent without a token");
}

#[tokio::test]
async fn a_failing_token_server_is_left_alone_for_longer_each_time() {
    let (host, tokens, shared) = (open().await, TokenServer::start().await, Shared::new());
    tokens.fail(StatusCode::SERVICE_UNAVAILABLE);
    let server = server(&host, &tokens, &json!({}));
    let clients = [shared.process(1), shared.process(2)];
    for (pass, asked) in [(0, 1), (4, 1), (1, 2), (9, 2), (1, 3)] {
        shared.pass(pass);
        for client in &clients {
            let error = call(client, &server, LONG).await.expect_err("no token");
            assert_eq!(error.fault, CallFault::NotSent);
            assert!(error.message.contains("HTTP 503"), "{error}");
        }
        assert_eq!(tokens.count(), asked, "after {pass} s more");
    }
    assert!(host.seen().is_empty());
}

#[tokio::test]
async fn a_token_that_is_still_valid_is_used_while_no_new_one_can_be_had() {
    let (host, tokens, shared) = (open().await, TokenServer::start().await, Shared::new());
    tokens.lifetime(100);
    let server = server(&host, &tokens, &json!({"refresh_skew_seconds": 60}));
    let client = shared.process(1);
    call(&client, &server, LONG).await.expect("a result");
    tokens.fail(StatusCode::INTERNAL_SERVER_ERROR);
    for _ in 0..3 {
        shared.pass(15);
        call(&client, &server, LONG).await.expect("with the old one");
    }
    shared.pass(54);
    call(&client, &server, LONG).await.expect("to its last second");
    shared.pass(1);
    call(&client, &server, LONG).await.expect_err("it is over");
}

#[tokio::test]
async fn a_caller_who_leaves_does_not_take_the_renewal_with_him() {
    let (host, tokens, shared) =
        (open().await, TokenServer::rotating("canary-refresh-0").await, Shared::new());
    let (server, client) = (rotating(&host, &tokens), shared.process(1));
    let gate = tokens.hold();
    let left = call(&client, &server, Duration::from_millis(100)).await.expect_err("too short");
    assert_eq!(left.fault, CallFault::NotSent, "{left}");
    gate.notify_one();
    call(&client, &server, LONG).await.expect("with what the first one asked for");
    assert_eq!((tokens.count(), tokens.reused()), (1, 0));
}

#[tokio::test]
async fn vector_52_a_token_that_cannot_be_sent_is_refused_and_named_by_its_server_only() {
    let (host, tokens, shared) = (open().await, TokenServer::start().await, Shared::new());
    tokens.answer(json!({"access_token": "canary-illegal\n"}));
    let error =
        call(&shared.process(1), &server(&host, &tokens, &json!({})), LONG).await.expect_err("refused");
    assert!(error.to_string().contains("'peer'") && error.message.contains("line break"), "{error}");
    assert!(!error.message.contains("canary") && host.seen().is_empty(), "{error}");
    tokens.answer(json!({"access_token": " abc"}));
    call(&Shared::new().process(1), &server(&host, &tokens, &json!({})), LONG).await.expect("a result");
    assert_eq!(tokens_of_calls(&host), ["Bearer  abc"]);
}

#[tokio::test]
async fn vector_53_a_token_overrides_the_static_header_and_a_user_overrides_the_token() {
    let (host, tokens, shared) = (open().await, TokenServer::start().await, Shared::new());
    let (client, mut both) = (shared.process(1), server(&host, &tokens, &json!({})));
    call(&client, &both, LONG).await.expect("a result");
    let user =
        entry(json!({"type": "http", "url": host.url, "user_auth": {"users": {"local:default": "user"}}}));
    both.user_auth = user.user_auth;
    call(&client, &both, LONG).await.expect("a result");
    assert_eq!(tokens_of_calls(&host), ["Bearer canary-access-1", "user"]);
    for seen in host.seen() {
        assert_eq!(seen.headers.get_all("authorization").iter().count(), 1);
    }
}

#[tokio::test]
async fn the_client_says_who_it_is_as_the_block_wants() {
    let (host, tokens) = (open().await, TokenServer::start().await);
    let key = include_str!("../credentials/oauth/assertion/ec.pem");
    let by_key = json!({
        "token_endpoint_auth_method": "private_key_jwt", "private_key": key, "signing_algorithm": "ES256", "client_secret": null,
    });
    call(&Shared::new().process(1), &server(&host, &tokens, &by_key), LONG).await.expect("a result");
    let basic = json!({"token_endpoint_auth_method": "client_secret_basic"});
    call(&Shared::new().process(1), &server(&host, &tokens, &basic), LONG).await.expect("a result");
    let forms = tokens.forms();
    let names = |at: usize| forms[at].iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>();
    assert_eq!(names(0), ["client_assertion", "client_assertion_type", "client_id", "grant_type"]);
    assert_eq!(names(1), ["grant_type"]);
    assert_eq!(tokens.authorization(1).as_deref(), Some("Basic bWU6Y2FuYXJ5LWNsaWVudC1zZWNyZXQ="));
}

#[tokio::test]
async fn a_token_endpoint_is_found_by_the_servers_own_metadata() {
    let (tokens, shared) = (TokenServer::start().await, Shared::new());
    let issuer = tokens.origin();
    let host = {
        let issuer = issuer.clone();
        Host::scripted(move |seen| {
            let issuer = issuer.clone();
            async move {
                if seen.path == "/.well-known/oauth-protected-resource/mcp" {
                    let host = seen.headers["host"].to_str().expect("text").to_owned();
                    let document = json!({
                        "resource": format!("http://{host}/mcp"), "authorization_servers": [issuer], "scopes_supported": ["a", "b"],
                    });
                    return super::host::json_body(document.to_string());
                }
                result(&seen.message, json!({"supportedVersions": ["2026-07-28"], "content": []}))
            }
        })
        .await
    };
    let oauth = json!({"client_id": "me", "client_secret": "s"});
    let server = entry(json!({"type": "http", "url": host.url, "oauth": oauth}));
    call(&shared.process(1), &server, LONG).await.expect("a result");
    let form = tokens.forms().remove(0);
    let has = |name: &str, value: &str| form.contains(&(name.to_owned(), value.to_owned()));
    assert!(has("resource", &host.url) && has("scope", "a b"), "{form:?}");
    assert!(tokens.authorization(0).is_some(), "its metadata does not name the form, so the header is used");
    tokens.issuer("http://elsewhere.example");
    let error = call(&Shared::new().process(1), &server, LONG).await.expect_err("another issuer");
    assert!(error.message.contains("another issuer"), "{error}");
}

#[tokio::test]
async fn nothing_of_oauth_is_in_any_text_or_in_the_clear_in_the_table() {
    let failing = Arc::new(AtomicBool::new(false));
    let fails = Arc::clone(&failing);
    let host = Host::scripted(move |seen| {
        let fails = fails.load(Ordering::SeqCst);
        async move {
            if seen.what() != "tools/call" {
                return result(&seen.message, json!({"supportedVersions": ["2026-07-28"]}));
            }
            let text = format!("{} canary-client-secret canary-refresh-0", sent(&seen));
            if fails {
                return refused(&seen.message, -32000, &text);
            }
            result(&seen.message, json!({"content": [{"type": "text", "text": text}], "isError": true}))
        }
    })
    .await;
    let (tokens, shared) = (TokenServer::rotating("canary-refresh-0").await, Shared::new());
    let server = rotating(&host, &tokens);
    let client = shared.process(1);
    let driver = OrdinaryTools::new(client.clone(), client.clone());
    let data = json!({"submit_tool": "submit", "status_tool": "status", "cancel_tool": "cancel"});
    let failed =
        driver.submit(&server, &caller(), &data, Map::new(), LONG).await.expect_err("the tool failed");
    failing.store(true, Ordering::SeqCst);
    let refused = call(&client, &server, LONG).await.expect_err("refused");
    assert!(refused.message.contains("***"), "{refused}");
    for text in [format!("{failed:?}"), format!("{refused:?}"), format!("{server:?}")] {
        assert!(!text.contains("canary"), "{text}");
    }
    let rows = shared.table.tokens();
    assert_eq!(rows.len(), 1);
    for (key, token) in rows {
        let TokenKey { server, identity } = key;
        let sealed =
            [token.access.map(|access| access.sealed), token.refresh].map(|sealed| sealed.expect("sealed"));
        for text in
            sealed.iter().map(pudu_domain::token::Sealed::as_str).chain([server.as_str(), identity.as_str()])
        {
            assert!(!text.contains("canary"), "{text}");
        }
        assert!(token.lease.is_none() && token.generation.number() == 1);
    }
}
