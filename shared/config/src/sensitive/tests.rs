use super::url_parts::{Part, UrlParts};
use super::*;

#[test]
fn keys_of_the_reference_are_judged_as_measured() {
    for key in [
        "apiKey",
        "APIKey",
        "refreshToken",
        "token_url",
        "AWS_ACCESS_KEY_ID",
        "private.key",
        "client secret",
        "X-API-Key",
        "oauth2Token",
        "Authorization",
        "password",
    ] {
        assert!(is_sensitive_key(key), "{key}");
    }
    for key in [
        "tokens",
        "secretary",
        "privatekey",
        "pass",
        "passphrase",
        "ssh_key",
        "auth",
        "cookie",
        "jwt",
        "session_id",
        "token2",
        "",
        "cwd",
    ] {
        assert!(!is_sensitive_key(key), "{key}");
    }
}

fn secrets(url: &str) -> Vec<String> {
    let parts = UrlParts::of(url);
    let found = parts.secrets().map(|(_, value)| value.to_owned()).collect();
    assert_eq!(parts.joined(), url);
    found
}

#[test]
fn a_url_is_cut_at_its_secrets_and_nowhere_else() {
    for (url, expected) in [
        ("https://host/path?q=1", vec![]),
        ("https://user:pw@host/", vec!["user:pw"]),
        ("https://user:p@w@host/", vec!["user:p@w"]),
        ("https:user:pw@host", vec!["user:pw"]),
        (r"https:\\user:pw@host\x", vec!["user:pw"]),
        ("https://host/a@b?email=a@b", vec![]),
        ("https://h?apiKey=k1&page=2&access_token=k2#token=k3", vec!["k1", "k2", "k3"]),
        ("https://h?api%5Fkey=k1&password=&token&x=token", vec!["k1", ""]),
        ("https://h?token=a;b?c&x=1;secret=d;e", vec!["a;b?c", "d;e"]),
        ("https://h?a=b=c&secret=x=y", vec!["x=y"]),
        ("https://h?x=1?token=k", vec!["k"]),
        ("$VAR", vec![]),
        ("", vec![]),
    ] {
        assert_eq!(secrets(url), expected, "{url}");
    }
}

#[test]
fn keys_and_signatures_of_an_address_are_secrets() {
    let secrets = |url: &str| -> Vec<String> {
        UrlParts::of(url).secrets().map(|(_, secret)| secret.to_owned()).collect()
    };
    for name in ["key", "code", "sig", "signature", "auth", "subscription-key", "X-Amz-Signature", "api_key"]
    {
        assert_eq!(secrets(&format!("https://h/mcp?{name}=s&x=1")), ["s"], "{name}");
    }
    assert_eq!(secrets("https://h/mcp?keyword=a&codec=b&sign=c&path=d"), [] as [String; 0]);
}

#[test]
fn a_parameter_is_known_by_position_and_decoded_name() {
    let parts = UrlParts::of("https://h?x=1&api%5Fkey=k");
    let found: Vec<_> = parts.secrets().map(|(part, _)| part.clone()).collect();
    assert_eq!(found, [Part::Query { at: 2, key: "api_key".into() }]);
}

#[test]
fn places_have_texts_that_cannot_meet() {
    let mut document = serde_json::json!({"mcpServers": {
        "a.b": {"url": "https://u@h?token=1", "headers": {"x\"]": "1"}, "extra": {"secret": [["1"], "2"]}},
        "a": {"b": {"url": "https://u@h?token=1"}},
    }});
    let mut texts = Vec::new();
    walk_document(&mut document, &mut |place, _| {
        texts.push(place.to_string());
        Ok::<_, Infallible>(Edit::Keep)
    })
    .unwrap();
    assert_eq!(
        texts,
        [
            r#"mcpServers["a.b"].url@userinfo"#,
            r#"mcpServers["a.b"].url?[1]token"#,
            r#"mcpServers["a.b"].headers["x\"]"]"#,
            r#"mcpServers["a.b"].extra.secret[0][0]"#,
            r#"mcpServers["a.b"].extra.secret[1]"#,
            "mcpServers.a.b.url@userinfo",
            "mcpServers.a.b.url?[1]token",
        ]
    );
}

#[test]
fn what_is_passed_on_to_a_provider_tells_its_secrets() {
    let fields = serde_json::json!({
        "tools": [{"type": "mcp", "headers": {"X-E": "s6"}, "server_url": "https://u:s5@h/x?token=s4&page=2"}],
        "metadata": {"token": ["s3", {"deep": 12345}], "tokens": "plain", "is": true},
        "extra_headers": {"a": "s2"},
        "api_key": "s1",
        "user": "plain",
    });
    let mut found = passed_on_secrets(fields.as_object().unwrap());
    found.sort();
    assert_eq!(found, ["12345", "s1", "s2", "s3", "s4", "s5", "s6", "u", "u:s5"]);
}
