use super::*;
use crate::Document;
use crate::setting::NoSecrets;

fn server(oauth: &Value) -> Server {
    let peer = json!({"type": "http", "url": "http://h/", "oauth": oauth});
    Document::parse(json!({"mcpServers": {"peer": peer}})).unwrap().server("peer").unwrap().clone()
}

fn block() -> Value {
    json!({"token_url": "http://h/token", "client_id": "me", "client_secret": "s1"})
}

fn identity(oauth: &Value, url: &str) -> String {
    let resolved = server(oauth).oauth(&NoSecrets).unwrap().unwrap();
    resolved.identity(&SealKey::new([7; 32]), &SecretString::from(url))
}

#[test]
fn another_value_anywhere_is_another_identity() {
    let mut seen = vec![identity(&block(), "http://h/")];
    for (field, value) in [
        ("token_url", json!("http://h/other")),
        ("client_id", json!("you")),
        ("client_secret", json!("s2")),
        ("refresh_token", json!("r")),
        ("scope", json!("a")),
        ("audience", json!("a")),
        ("token_field", json!("t")),
        ("token_type_field", json!("t")),
        ("expires_in_field", json!("t")),
        ("default_token_type", json!("t")),
        ("extra_token_params", json!({"a": "b"})),
        ("token_endpoint_auth_method", json!("client_secret_basic")),
        ("private_key", json!("k")),
        ("private_key_id", json!("k")),
        ("signing_algorithm", json!("ES256")),
    ] {
        let mut other = block();
        other[field] = value;
        seen.push(identity(&other, "http://h/"));
    }
    let count = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), count);
    assert!(seen.iter().all(|digest| digest.len() == 32));
}

/// What was rotated is in the row alone: the configured token is used up.
#[test]
fn a_refresh_grant_is_the_same_under_other_terms() {
    let grant = |more: Value| {
        let mut block = block();
        block["grant_type"] = json!("refresh_token");
        block["refresh_token"] = json!("r");
        block.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let resolved = server(&block).oauth(&NoSecrets).unwrap().unwrap();
        let (key, url) = (SealKey::new([7; 32]), SecretString::from("http://h/"));
        (resolved.identity(&key, &url), resolved.terms(&key, &url))
    };
    let first = grant(json!({}));
    for other in [json!({"client_secret": "s2"}), json!({"scope": "a"}), json!({"token_field": "t"})] {
        let (identity, terms) = grant(other);
        assert!(identity == first.0 && terms != first.1);
    }
    for other in
        [json!({"refresh_token": "r2"}), json!({"client_id": "you"}), json!({"token_url": "http://h/other"})]
    {
        assert_ne!(grant(other).0, first.0);
    }
}

#[test]
fn when_a_token_is_renewed_and_where_its_server_is_do_not_change_whose_it_is() {
    let mut other = block();
    other["refresh_skew_seconds"] = json!(5);
    assert_eq!(identity(&other, "http://h/"), identity(&block(), "http://elsewhere/"));
    let mut found = block();
    found.as_object_mut().unwrap().remove("token_url");
    assert_ne!(
        identity(&found, "http://h/"),
        identity(&found, "http://elsewhere/"),
        "found by the server's URL"
    );
}

#[test]
fn what_is_missing_is_named() {
    for (field, oauth) in [
        ("client_id", json!({"client_secret": "s"})),
        ("client_secret", json!({"client_id": "me", "client_secret": ""})),
        ("refresh_token", json!({"grant_type": "refresh_token"})),
        ("private_key", json!({"client_id": "me", "token_endpoint_auth_method": "private_key_jwt"})),
    ] {
        let error = server(&oauth).oauth(&NoSecrets).unwrap().unwrap_err();
        assert_eq!(error, ConnectError::Oauth { field }, "{oauth}");
    }
    assert!(
        server(&json!({"grant_type": "refresh_token", "refresh_token": "r"}))
            .oauth(&NoSecrets)
            .unwrap()
            .is_ok()
    );
    let unset = server(&json!({"client_id": "me", "client_secret": "$NOBODY"})).oauth(&NoSecrets).unwrap();
    assert!(unset.unwrap_err().to_string().contains("oauth.client_secret"));
}

#[test]
fn a_server_without_headers_or_with_a_block_that_is_off_has_none() {
    let mut off = block();
    off["enabled"] = json!(false);
    assert!(server(&off).oauth(&NoSecrets).is_none());
    let stdio = json!({"command": "x", "oauth": block()});
    let document = Document::parse(json!({"mcpServers": {"peer": stdio}})).unwrap();
    assert!(document.server("peer").unwrap().oauth(&NoSecrets).is_none());
    assert!(document.warnings().iter().any(|warning| warning.to_string().contains("oauth")));
}

#[test]
fn debug_shows_no_value() {
    let mut all = block();
    all["private_key"] = json!("hidden");
    all["extra_token_params"] = json!({"p": "hidden"});
    let resolved = server(&all).oauth(&NoSecrets).unwrap().unwrap();
    let shown = format!("{resolved:?}");
    assert!(!shown.contains("hidden") && !shown.contains("s1"), "{shown}");
    assert_eq!(resolved.secrets().len(), 3);
}
