use pudu_config::{Document, NoSecrets};
use serde_json::{Value, json};

use super::*;

fn oauth(mut block: Value) -> ResolvedOauth {
    block["token_url"] = json!("http://h/token");
    let peer = json!({"type": "http", "url": "http://h/", "oauth": block});
    let document = Document::parse(json!({"mcpServers": {"peer": peer}})).unwrap();
    document.server("peer").unwrap().oauth(&NoSecrets).unwrap().unwrap()
}

fn asked(method: AuthMethod) -> Asked<'static> {
    Asked { method, refresh: None, resource: None, scope: None, assertion: None }
}

fn shown(request: &TokenRequest) -> Vec<(&str, &str)> {
    let mut shown: Vec<_> =
        request.fields.iter().map(|(name, value)| (name.as_str(), value.expose_secret())).collect();
    shown.sort_unstable();
    shown
}

#[test]
fn vector_49_what_is_ours_replaces_an_extra_parameter_and_the_others_pass() {
    let oauth = oauth(json!({
        "client_id": "me", "client_secret": "s", "scope": "read",
        "extra_token_params": {"grant_type": "password", "scope": "all", "client_secret": "x", "tenant": "t", "audience": "a"},
    }));
    let request = TokenRequest::new(&oauth, asked(AuthMethod::ClientSecretPost));
    let expected = [
        ("audience", "a"),
        ("client_id", "me"),
        ("client_secret", "s"),
        ("grant_type", "client_credentials"),
        ("scope", "read"),
        ("tenant", "t"),
    ];
    assert_eq!(shown(&request), expected);
    assert!(request.authorization.is_none());
}

#[test]
fn a_refresh_sends_the_newest_refresh_token_and_what_there_is_of_id_and_secret() {
    let public = oauth(json!({"grant_type": "refresh_token", "refresh_token": "first"}));
    let request = TokenRequest::new(&public, asked(AuthMethod::ClientSecretPost));
    assert_eq!(shown(&request), [("grant_type", "refresh_token"), ("refresh_token", "first")]);
    let rotated = SecretString::from("second");
    let known = oauth(json!({"grant_type": "refresh_token", "refresh_token": "first", "client_id": "me"}));
    let request =
        TokenRequest::new(&known, Asked { refresh: Some(&rotated), ..asked(AuthMethod::ClientSecretPost) });
    assert_eq!(
        shown(&request),
        [("client_id", "me"), ("grant_type", "refresh_token"), ("refresh_token", "second")]
    );
}

/// The example of RFC 6749 section 2.3.1 needs no encoding; ours does.
#[test]
fn basic_authentication_encodes_both_halves_and_keeps_them_out_of_the_form() {
    let oauth = oauth(json!({"client_id": "me:too", "client_secret": "p w%"}));
    let request = TokenRequest::new(&oauth, asked(AuthMethod::ClientSecretBasic));
    assert_eq!(shown(&request), [("grant_type", "client_credentials")]);
    let header = request.authorization.unwrap();
    let pair = BASE64_STANDARD.decode(header.expose_secret().strip_prefix("Basic ").unwrap()).unwrap();
    assert_eq!(String::from_utf8(pair).unwrap(), "me%3Atoo:p%20w%25");
}

#[test]
fn an_assertion_takes_the_place_of_the_secret() {
    let oauth = oauth(json!({"client_id": "me", "client_secret": "s"}));
    let assertion = Some(SecretString::from("a.b.c"));
    let request = TokenRequest::new(&oauth, Asked { assertion, ..asked(AuthMethod::PrivateKeyJwt) });
    let expected = [
        ("client_assertion", "a.b.c"),
        ("client_assertion_type", ASSERTION_TYPE),
        ("client_id", "me"),
        ("grant_type", "client_credentials"),
    ];
    assert_eq!(shown(&request), expected);
}

#[test]
fn the_servers_scope_is_asked_for_where_the_block_has_none() {
    for (block, scope) in [(json!(null), "theirs"), (json!("ours"), "ours")] {
        let oauth = oauth(json!({"client_id": "me", "client_secret": "s", "scope": block}));
        let found = Asked {
            scope: Some("theirs"),
            resource: Some("http://h/"),
            ..asked(AuthMethod::ClientSecretPost)
        };
        let request = TokenRequest::new(&oauth, found);
        assert!(
            shown(&request).contains(&("scope", scope))
                && shown(&request).contains(&("resource", "http://h/"))
        );
    }
}
