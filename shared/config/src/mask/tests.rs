#![expect(clippy::needless_pass_by_value, reason = "json!(…) as an argument reads better without a borrow")]

use serde_json::json;

use crate::Document;

fn masked(entry: serde_json::Value) -> serde_json::Value {
    let document = Document::parse(json!({"mcpServers": {"web": entry}})).unwrap();
    document.masked()["mcpServers"]["web"].clone()
}

#[test]
fn vector_58_what_is_hidden_and_how() {
    let shown = masked(json!({
        "type": "http", "url": "https://h/mcp", "cwd": "/srv",
        "env": {"A": "s1"}, "headers": {"B": "s2", "C": "$TOK"},
        "oauth": {"token_url": "https://idp", "client_id": "id", "client_secret": "s3", "refresh_token": "s4",
                  "extra_token_params": {"p": "s5"}, "token_field": "access_token", "myPassword": "s6"},
        "apiKey": "s7", "nested": {"refreshToken": "s8", "port": 1}, "list": [{"secret": [true, 5, null, "s9"]}],
        "user_auth": {"users": {"u": "s10", "v": "$U"}, "header": "X-Token", "sharedSecret": "s11"},
        "headers_from_context": {"headers": {"Authorization": "key_name"}, "token": "s12"},
        "tools": {"get_token": {"routing": {"priority": 1}, "api_key": "s13", "note": "plain"}},
    }));
    assert_eq!(
        shown,
        json!({
            "type": "http", "url": "https://h/mcp", "cwd": "/srv",
            "env": {"A": "***"}, "headers": {"B": "***", "C": "$TOK"},
            "oauth": {"token_url": "https://idp", "client_id": "id", "client_secret": null, "refresh_token": null,
                      "extra_token_params": {"p": "***"}, "token_field": "access_token", "myPassword": "***"},
            "apiKey": "***", "nested": {"refreshToken": "***", "port": 1},
            "list": [{"secret": [true, "***", null, "***"]}],
            "user_auth": {"users": {"u": "***", "v": "$U"}, "header": "X-Token", "sharedSecret": "***"},
            "headers_from_context": {"headers": {"Authorization": "key_name"}, "token": "***"},
            "tools": {"get_token": {"routing": {"priority": 1}, "api_key": "***", "note": "plain"}},
        })
    );
}

#[test]
fn secrets_inside_urls_are_hidden_inside_them() {
    let shown = masked(json!({
        "type": "http", "url": "https://u:p@h/mcp?api_key=k&x=1",
        "args": ["--db", "postgres://me:pw@db/x"], "proxy": "http://a:b@proxy:1",
        "oauth": {"token_url": "https://c:d@idp/t"},
    }));
    assert_eq!(shown["url"], "https://***@h/mcp?api_key=***&x=1");
    assert_eq!(shown["args"], json!(["--db", "postgres://***@db/x"]));
    assert_eq!(shown["proxy"], "http://***@proxy:1");
    assert_eq!(shown["oauth"]["token_url"], "https://***@idp/t");
}

#[test]
fn secrets_inside_arguments_are_hidden_and_variables_stay() {
    let shown = masked(json!({
        "command": "npx",
        "args": ["-y", "pkg", "--token", "s1", "--token", "$TOK", "--key=$TOK", "-H", "X-Own: s2", "API_KEY=s3",
                 "--db=postgres://u:s4@h/x", "--config", r#"{"password":"s5"}"#],
    }));
    assert_eq!(
        shown["args"],
        json!([
            "-y",
            "pkg",
            "--token",
            "***",
            "--token",
            "$TOK",
            "--key=***",
            "-H",
            "X-Own: ***",
            "API_KEY=***",
            "--db=postgres://***@h/x",
            "--config",
            "{***"
        ])
    );
}

#[test]
fn a_dollar_in_a_part_of_a_url_is_no_reference() {
    assert_eq!(masked(json!({"type": "http", "url": "https://$PW@h"}))["url"], "https://***@h");
}

#[test]
fn the_response_has_defaults_and_no_secret() {
    let raw = json!({"mcpServers": {"web": {"transport": "http", "url": "https://h", "headers": {"A": "s"}}},
                     "topSecret": {"token": "t"}});
    let response = Document::parse(raw).unwrap().response();
    assert_eq!(
        response,
        json!({"mcp_servers": {"web": {
            "transport": "http", "url": "https://h", "headers": {"A": "***"}, "type": "http", "enabled": true,
            "command": null, "args": [], "env": {}, "oauth": null, "user_auth": null, "headers_from_context": null,
            "description": "", "routing": {"mode": "off", "priority": 0, "keywords": []}, "tools": {},
            "tool_name_prefix": true, "tool_call_timeout": null, "session_init_timeout": 60.0, "task_toolsets": [],
        }}})
    );
}

/// What is passed on to a provider may hold credentials for others: headers of tools that it calls, keys of a gateway before it.
#[test]
fn headers_of_a_model_are_hidden_wherever_they_stand() {
    let model = json!({
        "name": "m", "use": "langchain_openai:ChatOpenAI", "model": "m", "api_key": "s1",
        "default_headers": {"X-A": "s2"}, "headers": {"X-B": "s3", "X-C": "$TOK"}, "extra_headers": {"X-D": "s4"},
        "extra_body": {"top_k": 5, "tools": [{"type": "mcp", "server_url": "https://u:s5@h/mcp", "headers": {"X-E": "s6"}}]},
        "model_kwargs": {"extra_headers": {"X-F": "s7"}, "auth": {"token": "s8", "kind": "plain"}},
        "when_thinking_enabled": {"extra_body": {"headers": {"X-G": "s9"}}},
    });
    let document = Document::parse(json!({"models": [model]})).unwrap();
    let shown = document.masked()["models"][0].clone();
    let text = shown.to_string();
    for secret in 1..=9 {
        assert!(!text.contains(&format!("s{secret}")), "s{secret} is in {text}");
    }
    assert_eq!((&shown["headers"]["X-C"], &shown["extra_body"]["top_k"]), (&json!("$TOK"), &json!(5)));
    assert_eq!(shown["model_kwargs"]["auth"]["kind"], "plain");
    assert!(!format!("{:?}", document.models()).contains("s3"));
}
