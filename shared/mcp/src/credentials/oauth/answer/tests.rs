use pudu_config::{Document, NoSecrets};
use secrecy::ExposeSecret;
use serde_json::json;

use super::*;

fn oauth(fields: &Value) -> ResolvedOauth {
    let mut block = json!({"token_url": "http://h/t", "client_id": "me", "client_secret": "s"});
    for (key, value) in fields.as_object().unwrap() {
        block[key] = value.clone();
    }
    let peer = json!({"type": "http", "url": "http://h/", "oauth": block});
    let document = Document::parse(json!({"mcpServers": {"peer": peer}})).unwrap();
    document.server("peer").unwrap().oauth(&NoSecrets).unwrap().unwrap()
}

fn granted(fields: &Value, body: &Value) -> (String, Option<String>, u64) {
    match read(&oauth(fields), StatusCode::OK, body.to_string().as_bytes()) {
        Answer::Granted { header, refresh, lifetime } => (
            header.expose_secret().to_owned(),
            refresh.map(|refresh| refresh.expose_secret().to_owned()),
            lifetime.as_secs(),
        ),
        Answer::Refused(why) | Answer::Failed(why) => panic!("{why}"),
    }
}

fn failed(status: u16, body: &str) -> (bool, String) {
    match read(&oauth(&json!({})), StatusCode::from_u16(status).unwrap(), body.as_bytes()) {
        Answer::Granted { .. } => panic!("granted"),
        Answer::Refused(why) => (true, why),
        Answer::Failed(why) => (false, why),
    }
}

#[test]
fn fields_types_and_lifetimes_are_read_as_the_block_says() {
    let usual = json!({});
    let named = json!({"token_field": "t", "token_type_field": "k", "expires_in_field": "e", "default_token_type": "MAC"});
    for (fields, body, header, lifetime) in [
        (&usual, json!({"access_token": "a"}), "Bearer a", 3600),
        (&usual, json!({"access_token": "a", "token_type": "", "expires_in": 60}), "Bearer a", 60),
        (&usual, json!({"access_token": "a", "token_type": "bearer", "expires_in": "90"}), "Bearer a", 90),
        (&usual, json!({"access_token": "a", "token_type": "DPoP", "expires_in": 1.5}), "DPoP a", 3600),
        (&usual, json!({"access_token": "a", "expires_in": 0}), "Bearer a", 1),
        (&usual, json!({"access_token": "a", "expires_in": -5}), "Bearer a", 1),
        (&usual, json!({"access_token": "a", "expires_in": "soon"}), "Bearer a", 3600),
        (&usual, json!({"access_token": "a", "expires_in": 1e300}), "Bearer a", 3600),
        (&usual, json!({"access_token": "a", "expires_in": i64::MAX}), "Bearer a", LONGEST_LIFETIME),
        (&named, json!({"t": "a", "e": 5}), "MAC a", 5),
        (&named, json!({"t": "a", "k": "X"}), "X a", 3600),
    ] {
        assert_eq!(granted(fields, &body), (header.to_owned(), None, lifetime), "{body}");
    }
}

#[test]
fn vector_52_the_rendered_value_is_what_must_be_legal() {
    assert_eq!(granted(&json!({}), &json!({"access_token": " abc"})).0, "Bearer  abc");
    for (token, reason) in
        [("canary\n", "line break"), ("canary ", "whitespace"), ("canary\u{e9}", "outside ASCII")]
    {
        let (terminal, why) = failed(200, &json!({ "access_token": token }).to_string());
        assert!(!terminal && why.contains(reason) && !why.contains("canary"), "{why}");
    }
}

#[test]
fn vector_50_only_the_refresh_grant_takes_a_new_refresh_token() {
    let refresh = json!({"grant_type": "refresh_token", "refresh_token": "first"});
    for (fields, given, taken) in [
        (&refresh, json!("second"), Some("second")),
        (&refresh, json!(""), None),
        (&refresh, json!(7), None),
        (&json!({}), json!("second"), None),
    ] {
        let body = json!({"access_token": "a", "refresh_token": given});
        assert_eq!(granted(fields, &body).1.as_deref(), taken);
    }
}

#[test]
fn a_token_that_is_too_long_to_be_kept_is_none() {
    let long = "x".repeat(MAX_TOKEN_BYTES);
    let (terminal, why) = failed(200, &json!({ "access_token": long }).to_string());
    assert!(!terminal && why.contains("longer than 32768 bytes"), "{why}");
    let fits = &long[..MAX_TOKEN_BYTES - "Bearer ".len()];
    assert_eq!(granted(&json!({}), &json!({ "access_token": fits })).0.len(), MAX_TOKEN_BYTES);
}

#[test]
fn a_missing_token_names_its_field() {
    for body in
        [json!({}), json!({"access_token": ""}), json!({"access_token": 7}), json!({"access_token": null})]
    {
        let (terminal, why) = failed(200, &body.to_string());
        assert!(!terminal && why.contains("'access_token'"), "{why}");
    }
    for body in ["", "[]", "<html>", "null"] {
        assert!(!failed(200, body).0);
    }
}

#[test]
fn only_invalid_grant_is_the_end_and_no_word_of_the_servers_own_is_told() {
    let error =
        |name: &str| json!({"error": name, "error_description": "canary", "hint": "canary"}).to_string();
    for (status, body, terminal, part) in [
        (400, error("invalid_grant"), true, "invalid_grant"),
        (401, error("invalid_grant"), true, "invalid_grant"),
        (200, error("invalid_grant"), true, "invalid_grant"),
        (200, error("invalid_client"), false, "invalid_client"),
        (200, error("canary_error"), false, "HTTP 200"),
        (401, error("invalid_client"), false, "invalid_client"),
        (400, error("canary_error"), false, "HTTP 400"),
        (500, "canary".to_owned(), false, "HTTP 500"),
        (302, String::new(), false, "HTTP 302"),
        (503, error("temporarily_unavailable"), false, "temporarily_unavailable"),
    ] {
        let (end, why) = failed(status, &body);
        assert!(end == terminal && why.contains(part) && !why.contains("canary"), "{why}");
    }
}
