use secrecy::SecretString;
use serde_json::json;

use super::*;

/// Only `SET` is set.
struct One;

impl Secrets for One {
    fn get(&self, name: &str) -> Option<SecretString> {
        (name == "SET").then(|| SecretString::from("value"))
    }
}

fn advice(entry: &Value) -> Vec<(String, String)> {
    let document = Document::parse(json!({"mcpServers": {"a": entry}})).unwrap();
    let advice = advise(&document, &One, Duration::from_secs(25));
    assert!(advice.iter().all(|warning| warning.kind == Kind::Warning));
    advice.into_iter().map(|warning| (warning.path, warning.message)).collect()
}

#[test]
fn servers_that_cannot_be_connected_to_are_named() {
    for (entry, why) in [
        (json!({"type": "http"}), "no url"),
        (json!({"type": "sse", "url": ""}), "no url"),
        (json!({}), "no command"),
        (json!({"type": "websocket"}), "not supported"),
    ] {
        let told = advice(&entry);
        assert!(told.len() == 1 && told[0].0 == "mcpServers.a" && told[0].1.contains(why), "{told:?}");
        let mut off = entry;
        off["enabled"] = json!(false);
        assert_eq!(advice(&off), [], "a disabled server is not used");
    }
}

#[test]
fn unset_variables_are_named_where_they_are_used() {
    let told = advice(&json!({
        "type": "http", "url": "$URL", "headers": {"A": "$SET", "B": "$NOT_B"}, "description": "$5 or $WORDS",
        "oauth": {"token_url": "https://idp", "client_secret": "$NOT_C"}, "user_auth": {"users": {"u": "$NOT_D"}},
        "extra": "$NOT_E",
    }));
    let paths: Vec<_> = told.iter().map(|(path, _)| path.trim_start_matches("mcpServers.a.")).collect();
    assert_eq!(paths, ["url", "headers.B", "oauth.client_secret", "user_auth.users.u"]);
    assert!(told[1].1.contains("NOT_B is not set here"));
}

#[test]
fn braces_inside_a_value_are_told_without_the_value() {
    let told = advice(
        &json!({"command": "c", "args": ["--key=${CANARY}"], "env": {"A": "CANARY ${X}", "B": "$$x"}}),
    );
    assert_eq!(
        told.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>(),
        ["mcpServers.a.args[0]", "mcpServers.a.env.A"]
    );
    assert!(told.iter().all(|(_, message)| !message.contains("CANARY")));
}

#[test]
fn a_limit_longer_than_a_lease_is_told_for_servers_with_tasks() {
    let toolsets = json!([{"name": "n", "submit_tool": "a", "status_tool": "b", "cancel_tool": "c"}]);
    let entry = |call: u64, init: u64| json!({"command": "c", "task_toolsets": toolsets, "tool_call_timeout": call, "session_init_timeout": init});
    assert_eq!(advice(&entry(25, 25)), []);
    let told = advice(&entry(26, 0));
    assert_eq!(told[0].0, "mcpServers.a.tool_call_timeout");
    assert!(told.len() == 1 && told[0].1.contains("25 s"), "{told:?}");
    assert_eq!(advice(&entry(1, 300))[0].0, "mcpServers.a.session_init_timeout");
    assert_eq!(advice(&json!({"command": "c", "tool_call_timeout": 300})), []);
}

#[test]
fn models_that_are_not_there_are_named() {
    let document = Document::parse(json!({
        "models": [{"name": "big", "use": "langchain_openai:ChatOpenAI", "model": "x"}],
        "subagents": {"custom_agents": {"a": {"model": "big"}, "b": {"model": "none"}}, "agents": {"bash": {"model": "gone"}}},
        "summarization": {"model_name": "big"},
        "title": {"model_name": "small"},
        "memory": {"model_name": "tiny"},
    }))
    .unwrap();
    let told = advise(&document, &One, Duration::from_secs(25));
    let paths: Vec<_> = told.iter().map(|warning| warning.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "subagents.custom_agents.b.model",
            "subagents.agents.bash.model",
            "title.model_name",
            "memory.model_name"
        ]
    );
}

#[test]
fn unset_variables_of_models_are_named() {
    let model = json!({"name": "m", "use": "langchain_openai:ChatOpenAI", "model": "gpt", "api_key": "$NOT_A", "base_url": "$SET",
        "default_headers": {"x": "$NOT_B"}, "description": "$NOT_C", "metadata": {"team": "$NOT_D"},
        "supports_thinking": true, "when_thinking_enabled": {"thinking": {"budget": "$NOT_E"}}});
    let document = Document::parse(json!({ "models": [model] })).unwrap();
    let told = advise(&document, &One, Duration::from_secs(25));
    let paths: Vec<_> = told.iter().map(|warning| warning.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "models[0].api_key",
            "models[0].when_thinking_enabled.thinking.budget",
            "models[0].default_headers.x",
            "models[0].metadata.team"
        ]
    );
}

#[test]
fn a_variable_is_told_by_the_name_that_its_client_has_for_the_key() {
    for (class, key) in [
        ("langchain_openai:ChatOpenAI", "openai_api_key"),
        ("langchain_anthropic:ChatAnthropic", "anthropic_api_key"),
        ("langchain_google_genai:ChatGoogleGenerativeAI", "gemini_api_key"),
        ("langchain_groq:ChatGroq", "groq_api_key"),
        ("langchain_mistralai:ChatMistralAI", "mistral_api_key"),
        ("langchain_openrouter:ChatOpenRouter", "openrouter_api_key"),
        ("langchain_xai:ChatXAI", "xai_api_key"),
    ] {
        let model =
            json!({"name": "m", "use": class, "model": "x", key: "$NOT_SET", "endpoint_url": "$NOT_THERE"});
        let document = Document::parse(json!({ "models": [model] })).unwrap();
        let told = advise(&document, &One, Duration::from_secs(25));
        let paths: Vec<_> = told.iter().map(|warning| warning.path.clone()).collect();
        assert_eq!(paths, [format!("models[0].{key}"), "models[0].endpoint_url".to_owned()], "{class}");
    }
}
