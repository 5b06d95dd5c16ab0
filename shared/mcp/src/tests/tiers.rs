//! The tiers of credentials over each other: what reaches the server, and what is refused before anything is sent.

use pudu_app::ports::{CallFault, RequestSecrets, TaskDriver};
use pudu_config::Secrets;
use pudu_domain::RemoteTaskId;
use secrecy::SecretString;

use super::host::{Host, Seen, refused, result};
use super::*;
use crate::OrdinaryTools;

struct Vars;

impl Secrets for Vars {
    fn get(&self, name: &str) -> Option<SecretString> {
        let value = match name {
            "LEGAL" => "Bearer from-a-variable",
            "ILLEGAL" => "canary\nx",
            "EMPTY" => "",
            _ => return None,
        };
        Some(SecretString::from(value))
    }
}

async fn host() -> Host {
    Host::of_era(Era::Stateless, |seen| async move { result(&seen.message, json!({"content": []})) }).await
}

fn with_secrets(secrets: &[(&str, &str)]) -> Caller {
    let given = secrets.iter().map(|(key, value)| ((*key).to_owned(), SecretString::from(*value)));
    Caller { secrets: RequestSecrets::Given(given.collect()), ..caller() }
}

/// Calls at a server with these fields; what the server saw of the call, or the error when it saw nothing at all.
async fn reach(mut fields: Value, caller: &Caller) -> Result<Seen, CallError> {
    let host = host().await;
    fields["type"] = json!("http");
    fields["url"] = json!(host.url);
    let client = Client::new(Arc::new(Vars), Egress::machine(), token_ports()).expect("a client");
    let answer = client.call_tool(&entry(fields), caller, tool("echo", json!({})), LONG).await;
    match answer {
        Ok(_) => Ok(host.seen().into_iter().find(|seen| seen.what() == "tools/call").expect("the call")),
        Err(error) => {
            assert!(host.seen().is_empty(), "a refused call was sent: {:?}", host.asked());
            Err(error)
        }
    }
}

fn values<'a>(seen: &'a Seen, name: &str) -> Vec<&'a str> {
    seen.headers.get_all(name).iter().map(|value| value.to_str().expect("text")).collect()
}

#[tokio::test]
async fn vector_53_the_latest_source_wins_with_one_header() {
    let user = json!({"users": {"local:default": "user"}});
    let context = json!({"headers": {"AUTHORIZATION": "KEY"}});
    let brings = with_secrets(&[("KEY", "request")]);
    for (user_auth, from_context, expected) in [
        (Value::Null, Value::Null, "static"),
        (user.clone(), Value::Null, "user"),
        (Value::Null, context.clone(), "request"),
        (user, context, "request"),
    ] {
        let fields = json!({
            "headers": {"authorization": "static", "X-Other": "stays"},
            "user_auth": user_auth, "headers_from_context": from_context,
        });
        let seen = reach(fields, &brings).await.expect("a call");
        assert_eq!(values(&seen, "authorization"), [expected]);
        assert_eq!(values(&seen, "x-other"), ["stays"]);
    }
}

#[tokio::test]
async fn vector_55_a_user_without_a_credential_is_denied_before_anything_is_sent() {
    for users in [
        json!({}),
        json!({"key:else": "x"}),
        json!({"local:default": ""}),
        json!({"local:default": "$EMPTY"}),
    ] {
        let fields = json!({"headers": {"Authorization": "static"}, "user_auth": {"users": users}});
        let error = reach(fields.clone(), &caller()).await.expect_err("denied");
        assert_eq!(error.fault, CallFault::Denied);
        let text = error.to_string();
        assert!(
            text.contains("No credential is configured") && text.contains("user id 'local:default'"),
            "{text}"
        );
        assert!(text.contains("server 'peer'"), "{text}");

        let mut lenient = fields;
        lenient["user_auth"]["on_missing"] = json!("passthrough");
        let seen = reach(lenient, &caller()).await.expect("passed through");
        assert_eq!(values(&seen, "authorization"), ["static"]);
    }
}

#[tokio::test]
async fn a_users_value_may_be_a_variable_and_goes_into_the_header_that_is_named() {
    let user_auth = json!({"header": "X-User-Key", "users": {"local:default": "$LEGAL"}});
    let seen = reach(json!({"user_auth": user_auth}), &caller()).await.expect("a call");
    assert_eq!(values(&seen, "x-user-key"), ["Bearer from-a-variable"]);
}

#[tokio::test]
async fn a_user_whose_credential_has_no_value_is_never_let_through_without_it() {
    for on_missing in ["deny", "passthrough"] {
        let user_auth = json!({"users": {"local:default": "$NOBODY"}, "on_missing": on_missing});
        let error = reach(json!({"user_auth": user_auth}), &caller()).await.expect_err("denied");
        assert_eq!(error.fault, CallFault::Denied);
        assert!(error.message.contains("NOBODY"), "{error}");
    }
}

#[tokio::test]
async fn vector_56_only_the_missing_keys_are_named_and_what_is_there_is_applied() {
    let mut context = json!({"headers": {"X-A": "KEY_A", "X-C": "KEY_C", "X-B": "KEY_B"}});
    for brings in
        [with_secrets(&[("KEY_A", "hidden-a")]), with_secrets(&[("KEY_A", "hidden-a"), ("KEY_B", "")])]
    {
        let error = reach(json!({"headers_from_context": context}), &brings).await.expect_err("denied");
        assert_eq!(error.fault, CallFault::Denied);
        let text = error.to_string();
        assert!(
            text.contains("needs request-scoped credential(s)") && text.contains(": KEY_B, KEY_C;"),
            "{text}"
        );
        assert!(
            text.contains("server 'peer'") && !text.contains("KEY_A") && !text.contains("hidden"),
            "{text}"
        );
    }
    context["on_missing"] = json!("passthrough");
    let one = with_secrets(&[("KEY_A", "a"), ("UNUSED", "u")]);
    let seen = reach(json!({"headers_from_context": context}), &one).await.expect("passed through");
    assert_eq!(values(&seen, "x-a"), ["a"]);
    assert!(values(&seen, "x-b").is_empty());
    let seen = reach(json!({"headers_from_context": context}), &caller()).await.expect("passed through");
    assert!(values(&seen, "x-a").is_empty());
}

#[tokio::test]
async fn vector_51_an_illegal_value_is_refused_whatever_on_missing_says() {
    let reasons = [("\u{e9}hidden", "outside ASCII"), ("hidden\n", "line break"), (" hidden", "whitespace")];
    for on_missing in ["deny", "passthrough"] {
        for (value, reason) in reasons {
            let context = json!({"headers": {"X-A": "KEY_A"}, "on_missing": on_missing});
            let brings = with_secrets(&[("KEY_A", value)]);
            let error = reach(json!({"headers_from_context": context}), &brings).await.expect_err("refused");
            let text = error.to_string();
            assert_eq!(error.fault, CallFault::Denied);
            assert!(text.contains(reason) && text.contains("KEY_A") && !text.contains("hidden"), "{text}");
        }
        let user_auth = json!({"users": {"local:default": "$ILLEGAL"}, "on_missing": on_missing});
        let error = reach(json!({"user_auth": user_auth}), &caller()).await.expect_err("refused");
        let text = error.to_string();
        assert_eq!(error.fault, CallFault::Denied);
        assert!(
            text.contains("line break") && text.contains("Authorization") && !text.contains("canary"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_block_that_is_switched_off_does_nothing() {
    let fields = json!({
        "user_auth": {"enabled": false, "users": {}},
        "headers_from_context": {"enabled": false, "headers": {"X-A": "KEY_A"}},
    });
    let seen = reach(fields, &caller()).await.expect("a call");
    assert!(values(&seen, "authorization").is_empty());
}

#[tokio::test]
async fn a_worker_uses_the_owners_credential_and_no_requests() {
    let fields = json!({
        "user_auth": {"users": {"local:default": "owner"}},
        "headers_from_context": {"headers": {"X-A": "KEY_A"}},
    });
    let worker = Caller::background(caller().thread);
    let seen = reach(fields.clone(), &worker).await.expect("a call");
    assert_eq!(values(&seen, "authorization"), ["owner"]);
    let user = UserId::parse("key:else").expect("a user");
    let other = Caller::background(ThreadKey { user, ..caller().thread });
    let error = reach(fields, &other).await.expect_err("denied");
    assert!(error.message.contains("user id 'key:else'"), "{error}");
}

#[tokio::test]
async fn vector_57_a_submit_carries_the_requests_credential_and_a_status_does_not() {
    let host = Host::of_era(Era::Stateless, |seen| async move {
        let asked = seen.message["params"]["name"] == "status";
        let status = if asked { "completed" } else { "running" };
        let content = json!({"task_id": "r-1", "status": status});
        result(&seen.message, json!({"content": [], "structuredContent": content}))
    })
    .await;
    let server = entry(json!({
        "type": "http", "url": host.url,
        "user_auth": {"users": {"local:default": "owner"}},
        "headers_from_context": {"headers": {"X-A": "KEY_A"}},
    }));
    let driver = OrdinaryTools::new(
        Arc::new(Client::new(Arc::new(Vars), Egress::machine(), token_ports()).expect("a client")),
        Arc::new(Vars),
    );
    let data = json!({"submit_tool": "submit", "status_tool": "status", "cancel_tool": "cancel"});
    let remote = RemoteTaskId::parse("r-1").expect("a handle");
    let asking = with_secrets(&[("KEY_A", "of-the-request")]);
    driver.submit(&server, &asking, &data, Map::new(), LONG).await.expect("submitted");
    let worker = Caller::background(asking.thread.clone());
    driver.status(&server, &worker, &data, &remote, LONG).await.expect("a status");
    let calls: Vec<_> = host.seen().into_iter().filter(|seen| seen.what() == "tools/call").collect();
    assert_eq!(values(&calls[0], "x-a"), ["of-the-request"]);
    assert!(values(&calls[1], "x-a").is_empty());
    for call in &calls {
        assert_eq!(values(call, "authorization"), ["owner"]);
    }
    let without = driver.submit(&server, &caller(), &data, Map::new(), LONG).await.expect_err("denied");
    assert!(
        matches!(&without, pudu_app::ports::SubmitError::Denied(error) if error.message.contains("KEY_A"))
    );
}

/// Also a secret that no header uses, and the user's own, in the server's error and in a tool's.
#[tokio::test]
async fn no_text_repeats_what_a_user_or_a_request_brought() {
    let all = "canary-user1 canary-used2 canary-unused3";
    let host = Host::of_era(Era::Stateless, move |seen| async move {
        if seen.message["params"]["name"] == "echo" {
            return refused(&seen.message, -32000, all);
        }
        let said = json!([{"type": "text", "text": all}]);
        result(&seen.message, json!({"content": said, "isError": true}))
    })
    .await;
    let server = entry(json!({
        "type": "http", "url": host.url,
        "user_auth": {"header": "X-User", "users": {"local:default": "Bearer canary-user1"}},
        "headers_from_context": {"headers": {"X-A": "KEY_A"}},
    }));
    let client = Arc::new(Client::new(Arc::new(Vars), Egress::machine(), token_ports()).expect("a client"));
    let brings = with_secrets(&[("KEY_A", "canary-used2"), ("KEY_B", "canary-unused3")]);
    let error = client.call_tool(&server, &brings, tool("echo", json!({})), LONG).await.expect_err("refused");
    let driver = OrdinaryTools::new(client, Arc::new(Vars));
    let data = json!({"submit_tool": "submit", "status_tool": "status", "cancel_tool": "cancel"});
    let failed = driver.submit(&server, &brings, &data, Map::new(), LONG).await.expect_err("an error");
    for text in [format!("{error} {error:?}"), format!("{failed} {failed:?}"), format!("{brings:?}")] {
        assert!(!text.contains("canary"), "{text}");
    }
    assert!(error.message.contains("*** *** ***"), "{error}");
}

#[tokio::test]
async fn a_listing_asks_with_the_servers_own_credentials_only() {
    let host =
        Host::of_era(Era::Stateless, |seen| async move { result(&seen.message, json!({"tools": []})) }).await;
    let server = entry(json!({
        "type": "http", "url": host.url, "headers": {"Authorization": "static"},
        "user_auth": {"users": {"local:default": "user"}},
        "headers_from_context": {"headers": {"X-A": "KEY_A"}},
    }));
    client().list_tools(&server, LONG).await.expect("a list");
    for seen in host.seen() {
        assert_eq!(values(&seen, "authorization"), ["static"], "{}", seen.what());
    }
}

#[test]
fn a_callers_secrets_are_known_whether_used_or_not() {
    let server = http("http://localhost/");
    let brings = with_secrets(&[("KEY_A", "topsecret")]);
    let shown = crate::Redactor::of_call(&server, &brings, &Vars).text("a topsecret b");
    assert_eq!(shown, "a *** b");
}

#[tokio::test]
async fn secrets_that_are_gone_are_not_the_same_as_none() {
    let gone = Caller { secrets: RequestSecrets::Gone, ..caller() };
    for on_missing in ["deny", "passthrough"] {
        let context = json!({"headers": {"X-Key": "KEY"}, "on_missing": on_missing});
        let error = reach(json!({"headers_from_context": context}), &gone).await.unwrap_err();
        assert!(error.to_string().contains("not kept any more"), "{error}");
    }
    reach(json!({}), &gone).await.expect("a server that is sent none of them");
}
