use serde_json::json;

use super::*;

fn key(byte: u8) -> SealKey {
    SealKey::new([byte; 32])
}

fn counter() -> impl FnMut() -> [u8; NONCE_BYTES] {
    let mut next = 0;
    move || {
        next += 1;
        [next; NONCE_BYTES]
    }
}

fn document() -> Document {
    Document::parse(json!({
        "mcpServers": {"web": {
            "type": "http",
            "url": "https://user:CANARY-1@host/mcp?apiKey=CANARY-2&page=3",
            "headers": {"Authorization": "Bearer CANARY-3", "X-Ref": "$TOK", "X-Dollar": "$$CANARY-4"},
            "oauth": {"token_url": "https://idp/token", "client_secret": "CANARY-5", "refresh_token": "$RT",
                      "extra_token_params": {"assertion": "CANARY-6"}},
            "password": 987_654_321,
        }},
        "skills": {"one": {"enabled": false}},
    }))
    .unwrap()
}

/// A URL without a scheme is refused where it is used, but it is stored, and what is stored comes back.
#[test]
fn user_info_without_a_scheme_comes_back_as_it_was() {
    for url in [
        "CANARY@host/mcp",
        "CANARY@host:80/?token=CANARY",
        "user:CANARY@host",
        "//CANARY@host",
        "http:CANARY@host",
    ] {
        let oauth = json!({"token_url": url, "client_id": "me", "client_secret": "$SECRET"});
        let config =
            json!({"mcpServers": {"web": {"type": "http", "url": "http://host/mcp", "oauth": oauth}}});
        let document = Document::parse(config).unwrap();
        let stored = key(1).seal_document(&document, &mut counter()).unwrap();
        assert!(!stored.to_string().contains("CANARY"), "{stored}");
        assert_eq!(key(1).open_document(stored).unwrap().expose_raw(), document.expose_raw(), "{url}");
        assert!(!document.masked().to_string().contains("CANARY"), "{url}");
    }
}

/// It is a URL to us only because of what its secret holds, and it is one still when that is sealed or masked.
#[test]
fn a_text_whose_secret_makes_it_a_url_comes_back_as_it_was() {
    let entry = json!({"command": "x", "home": "/page?token=CANARY://x"});
    let document = Document::parse(json!({"mcpServers": {"web": entry}})).unwrap();
    let stored = key(1).seal_document(&document, &mut counter()).unwrap();
    assert!(!stored.to_string().contains("CANARY"), "{stored}");
    assert_eq!(key(1).open_document(stored).unwrap().expose_raw(), document.expose_raw());
    let shown = document.response();
    assert_eq!(shown["mcp_servers"]["web"]["home"], "/page?token=***");
    assert_eq!(crate::merge(shown.clone(), Some(&document)).unwrap(), *document.expose_raw());
    // It has no origin to which the secret would belong: in another text it is asked for again, and `***` is never stored.
    let mut changed = shown;
    changed["mcp_servers"]["web"]["home"] = json!("/other?token=***");
    let problems = crate::merge(changed, Some(&document)).unwrap_err();
    assert_eq!(problems[0].path, "mcpServers.web.home?[1]token");
}

#[test]
fn stored_form_hides_literals_and_keeps_references_and_everything_else() {
    let stored = key(1).seal_document(&document(), &mut counter()).unwrap();
    let text = stored.to_string();
    assert!(!text.contains("CANARY") && !text.contains("987654321"), "{text}");
    let web = &stored["mcpServers"]["web"];
    assert_eq!(web["headers"]["X-Ref"], "$TOK");
    assert_eq!(web["oauth"]["refresh_token"], "$RT");
    assert!(web["headers"]["X-Dollar"].as_str().unwrap().starts_with("sealed:v1:"));
    let url = web["url"].as_str().unwrap();
    assert!(url.starts_with("https://sealed:v1:") && url.contains("@host/mcp?apiKey=sealed:v1:"), "{url}");
    assert!(url.ends_with("&page=3"));
    assert_eq!(stored["skills"], document().expose_raw()["skills"]);
}

#[test]
fn opening_gives_back_the_document_byte_for_byte() {
    let stored = key(1).seal_document(&document(), &mut counter()).unwrap();
    let opened = key(1).open_document(stored).unwrap();
    assert_eq!(opened.expose_raw().to_string(), document().expose_raw().to_string());
}

#[test]
fn another_key_is_refused_with_the_place_and_no_bytes() {
    let stored = key(1).seal_document(&document(), &mut counter()).unwrap();
    let error = key(2).open_document(stored.clone()).unwrap_err();
    assert_eq!(error, OpenError::Rejected { path: "mcpServers.web.url@userinfo".into() });
    let sealed = stored["mcpServers"]["web"]["oauth"]["client_secret"].as_str().unwrap();
    assert!(!format!("{error} {error:?}").contains(sealed.get(10..20).unwrap()));
}

#[test]
fn a_sealed_value_opens_only_where_it_was_sealed() {
    let mut stored = key(1).seal_document(&document(), &mut counter()).unwrap();
    let moved = stored["mcpServers"]["web"]["headers"]["Authorization"].clone();
    stored["mcpServers"]["web"]["headers"]["X-Dollar"] = moved;
    let error = key(1).open_document(stored).unwrap_err();
    assert_eq!(error, OpenError::Rejected { path: "mcpServers.web.headers.X-Dollar".into() });
}

#[test]
fn altered_and_cut_values_are_refused() {
    let sealed = key(1).seal("place", "text", [7; NONCE_BYTES]).unwrap();
    assert_eq!(key(1).open("place", &sealed).unwrap().expose_secret(), "text");
    let altered = if sealed.ends_with('0') { "1" } else { "0" };
    let altered = format!("{}{altered}", &sealed[..sealed.len() - 1]);
    for wrong in
        [altered.as_str(), &sealed[..sealed.len() - 2], "sealed:v1:", "sealed:v1:zz", "sealed:v2:00", ""]
    {
        assert!(key(1).open("place", wrong).is_err(), "{wrong}");
    }
}

#[test]
fn every_value_takes_a_nonce_of_its_own() {
    let mut drawn = 0;
    let mut next = counter();
    key(1)
        .seal_document(&document(), &mut || {
            drawn += 1;
            next()
        })
        .unwrap();
    assert_eq!(drawn, 7);
}

#[test]
fn literals_of_an_older_version_without_a_seal_still_open() {
    let raw = json!({"mcpServers": {"web": {"type": "http", "url": "https://h", "headers": {"A": "old"}}}});
    assert_eq!(key(1).open_document(raw.clone()).unwrap().expose_raw(), &raw);
}

#[test]
fn a_stored_config_that_is_not_valid_says_where() {
    let error = key(1).open_document(json!({"mcpServers": {"web": {"enabled": "maybe"}}})).unwrap_err();
    assert!(error.to_string().contains("mcpServers.web.enabled"), "{error}");
}

/// Earlier releases kept these keys and did not read them, so anything may be stored there.
#[test]
fn a_stored_config_with_a_wrong_value_that_was_never_read_opens() {
    let mut wrong: Vec<(Value, String)> = Vec::new();
    for (block, keys) in [
        ("loop_detection", vec!["enabled", "window_size", "warn_threshold", "tool_freq_overrides"]),
        ("token_budget", vec!["enabled", "max_tokens", "warn_threshold", "hard_stop_threshold"]),
        ("tool_output", vec!["enabled", "externalize_min_chars", "preview_head_chars", "exempt_tools"]),
        ("memory", vec!["enabled", "mode", "model_name", "max_facts", "fact_confidence_threshold"]),
    ] {
        wrong.push((json!({ block: [] }), block.to_owned()));
        wrong.extend(keys.iter().map(|key| (json!({ block: {*key: [[]]} }), format!("{block}.{key}"))));
    }
    for (block, told) in [
        (json!({"loop_detection": {"warn_threshold": 6}}), "loop_detection.hard_limit"),
        (
            json!({"loop_detection": {"tool_freq_overrides": {"a": 1}}}),
            "loop_detection.tool_freq_overrides.a",
        ),
        (json!({"token_budget": {"hard_stop_threshold": 0.1}}), "token_budget.hard_stop_threshold"),
        (json!({"tool_output": {"externalize_min_chars": 2000}}), "tool_output.externalize_min_chars"),
        (json!({"tool_output": {"fallback_max_chars": 9000}}), "tool_output.fallback_max_chars"),
        (json!({"memory": {"mode": "both"}}), "memory.mode"),
        (json!({"memory": {"fact_confidence_threshold": 7}}), "memory.fact_confidence_threshold"),
    ] {
        wrong.push((block, told.to_owned()));
    }
    for (more, told) in [
        (json!({"headers": {"X": 5}}), "headers.X"),
        (json!({"headers": "X: 5"}), "headers"),
        (json!({"extra_headers": {"a b": "1"}}), "extra_headers"),
        (json!({"extra_headers": {"X": "a\nb"}}), "extra_headers"),
        (json!({"extra_headers": {"X": "$A B"}}), "extra_headers.X"),
        (json!({"endpoint_url": 5}), "endpoint_url"),
        (json!({"endpoint_url": "llm.example"}), "endpoint_url"),
        (json!({"azure_endpoint": "llm.example"}), "azure_endpoint"),
        (json!({"openai_api_key": 5}), "openai_api_key"),
        (json!({"openai_api_key": "$A B"}), "openai_api_key"),
    ] {
        let mut model = json!({"name": "m", "use": "langchain_openai:ChatOpenAI", "model": "gpt"});
        model.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        wrong.push((json!({ "models": [model] }), format!("models[0].{told}")));
    }
    for (raw, told) in wrong {
        let opened = key(1).open_document(raw.clone()).unwrap_or_else(|error| panic!("{raw}: {error}"));
        let told_of: Vec<_> = opened.warnings().iter().map(|warning| warning.path.as_str()).collect();
        assert!(told_of.iter().any(|path| path.starts_with(&told)), "{raw}: {told_of:?}");
        let stored = key(1).seal_document(&opened, &mut counter()).unwrap();
        let again = key(1).open_document(stored).unwrap();
        assert_eq!(again.expose_raw(), opened.expose_raw(), "{told}");
    }
}

#[test]
fn the_key_is_not_shown() {
    assert_eq!(format!("{:?}", key(0xab)), "SealKey(***)");
}

#[test]
fn etags_follow_content_and_key_and_not_the_order_of_fields() {
    let parse = |text: &str| Document::parse(serde_json::from_str(text).unwrap()).unwrap();
    let one = parse(r#"{"mcpServers":{"a":{"type":"http","url":"https://h","headers":{"A":"x"}}}}"#);
    let same = parse(r#"{"mcpServers":{"a":{"headers":{"A":"x"},"url":"https://h","type":"http"}}}"#);
    let other = parse(r#"{"mcpServers":{"a":{"headers":{"A":"y"},"url":"https://h","type":"http"}}}"#);
    assert_eq!(key(1).etag(&one), key(1).etag(&same));
    assert_ne!(key(1).etag(&one), key(1).etag(&other));
    assert_ne!(key(1).etag(&one), key(2).etag(&one));
    assert_eq!(key(1).etag(&one).len(), 32);
}

#[test]
fn server_digests_see_secrets_and_not_spelled_out_defaults() {
    let of = |entry: Value| {
        let document = Document::parse(json!({"mcpServers": {"a": entry}})).unwrap();
        key(1).digest(document.server("a").unwrap())
    };
    let plain = of(json!({"transport": "http", "url": "https://h"}));
    let spelled =
        json!({"transport": "http", "type": "http", "url": "https://h", "headers": {}, "enabled": true});
    assert_eq!(plain, of(spelled));
    assert_ne!(plain, of(json!({"transport": "http", "url": "https://h", "headers": {"A": "1"}})));
}
