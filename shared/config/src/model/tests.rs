use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value, json};

use super::*;
use crate::{Document, NONCE_BYTES, Problem, SealKey, Secrets};

struct Vars;

impl Secrets for Vars {
    fn get(&self, name: &str) -> Option<SecretString> {
        (name != "UNSET").then(|| SecretString::from(format!("value of {name}")))
    }
}

fn entry(more: Value) -> Value {
    let mut entry = json!({"name": "m", "use": "langchain_openai:ChatOpenAI", "model": "gpt"});
    let (Value::Object(all), Value::Object(more)) = (&mut entry, more) else { unreachable!() };
    all.extend(more);
    entry
}

fn parse(entries: &Value) -> Result<Document, Vec<Problem>> {
    Document::parse(json!({ "models": entries }))
}

fn one(more: Value) -> Model {
    parse(&json!([entry(more)])).unwrap().models()[0].clone()
}

fn problem(more: Value) -> String {
    parse(&json!([entry(more)])).unwrap_err()[0].to_string()
}

fn extras(more: Value, thinking: bool) -> Value {
    Value::Object(one(more).request_extras(thinking, &Vars).unwrap())
}

#[test]
fn what_is_not_given_has_the_defaults_of_the_reference() {
    let model = one(json!({}));
    assert_eq!(model.request_timeout.as_secs(), 600);
    assert_eq!(model.chunk_timeout.as_secs(), 240);
    assert_eq!((model.max_retries, model.at_once), (2, None));
    assert_eq!((model.display_name.as_str(), model.description), ("m", None));
    assert!(!model.supports_thinking && !model.supports_vision && !model.supports_reasoning_effort);
    assert!(parse(&json!(null)).unwrap().models().is_empty() && Document::empty().models().is_empty());
}

#[test]
fn both_names_of_the_address_are_the_same() {
    for key in ["base_url", "api_base"] {
        let model = one(json!({key: "https://llm.example/v1"}));
        let resolved = model.resolve(&Vars).unwrap();
        assert_eq!(resolved.base_url.unwrap().expose_secret(), "https://llm.example/v1");
    }
    assert!(problem(json!({"base_url": "llm.example"})).contains("models[0].base_url: must be an http"));
}

#[test]
fn the_class_says_how_it_is_spoken_with() {
    for (class, provider, url) in [
        ("langchain_openai:ChatOpenAI", Provider::OpenAi, None),
        ("langchain_anthropic:ChatAnthropic", Provider::Anthropic, None),
        ("deerflow.models.claude_provider:ClaudeChatModel", Provider::Anthropic, None),
        (
            "deerflow.models.patched_deepseek:PatchedChatDeepSeek",
            Provider::OpenAi,
            Some("https://api.deepseek.com"),
        ),
        ("deerflow.models.vllm_provider:VllmChatModel", Provider::OpenAi, None),
        ("langchain_ollama:ChatOllama", Provider::OpenAi, Some("http://localhost:11434/v1")),
        ("pudu:Scripted", Provider::Scripted, None),
    ] {
        let model = one(json!({ "use": class }));
        assert_eq!(model.provider, provider, "{class}");
        assert_eq!(model.base_url.as_ref().and_then(Setting::expose_literal), url, "{class}");
    }
    for (given, used) in
        [("http://gpu:11434/", "http://gpu:11434/v1"), ("http://gpu/ollama/v1", "http://gpu/ollama/v1")]
    {
        let ollama = one(json!({"use": "langchain_ollama:ChatOllama", "base_url": given}));
        assert_eq!(ollama.base_url.as_ref().and_then(Setting::expose_literal), Some(used));
    }
    let bedrock = json!({"use": "langchain_aws:ChatBedrockConverse"});
    assert!(problem(bedrock.clone()).contains("region_name: is needed"));
    let mut there = bedrock;
    there["region_name"] = "eu-central-1".into();
    let url = one(there).base_url.unwrap();
    assert_eq!(url.expose_literal(), Some("https://bedrock-runtime.eu-central-1.amazonaws.com"));
    assert!(
        problem(json!({"use": "os:system"})).contains("models[0].use: names a client that is not known here")
    );
    assert!(problem(json!({"use": "deerflow.models.openai_codex_provider:Codex"})).contains("use:"));
}

#[test]
fn every_mistake_says_where_it_is_and_no_value() {
    let problems = parse(&json!([
        {"name": "", "use": "langchain_openai:ChatOpenAI", "model": "gpt", "max_tokens": 0},
        entry(json!({"temperature": 9, "max_retries": 99, "api_key": "$A B", "context_window": "many"})),
        entry(json!({"default_headers": {"a b": "1", "x": "canary\n"}, "pricing": {"input_per_million": -1}})),
        "gpt",
    ]))
    .unwrap_err();
    let all = problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    for found in [
        "models[0].name: is required",
        "models[1].temperature: must be a number from 0 to 2",
        "models[1].max_retries: must be from 0 to 10",
        "models[1].api_key: the value begins with $",
        "models[1].context_window: must be a whole number",
        "models[2].default_headers: has a name",
        "models[2].default_headers: has a value",
        "models[2].pricing.input_per_million: must be a number",
        "models[2].name: is the name of another model too",
        "models[3]: must be an object",
    ] {
        assert!(all.contains(found), "{found} is not in\n{all}");
    }
    assert!(!all.contains("canary"));
}

#[test]
fn thinking_is_turned_on_by_its_block_and_by_its_shortcut() {
    let on = json!({
        "supports_thinking": true, "thinking": {"budget_tokens": 9}, "top_p": 0.5,
        "when_thinking_enabled": {"thinking": {"type": "enabled", "budget_tokens": 1}},
    });
    let wanted = json!({"top_p": 0.5, "thinking": {"type": "enabled", "budget_tokens": 9}});
    assert_eq!(extras(on.clone(), true), wanted);
    assert_eq!(extras(on, false), json!({"top_p": 0.5, "thinking": {"type": "disabled"}}));
}

#[test]
fn thinking_is_turned_off_by_the_first_rule_that_applies() {
    let body = json!({"extra_body": {"thinking": {"type": "enabled"}}});
    let rules = [
        (json!({"when_thinking_enabled": body, "when_thinking_disabled": {"a": 1}}), json!({"a": 1})),
        (json!({ "when_thinking_enabled": body }), json!({"thinking": {"type": "disabled"}})),
        (
            json!({ "when_thinking_enabled": body, "supports_reasoning_effort": true }),
            json!({"thinking": {"type": "disabled"}, "reasoning_effort": "minimal"}),
        ),
        (
            json!({"when_thinking_enabled": {"extra_body": {"chat_template_kwargs": {"enable_thinking": true, "x": 1}}}}),
            json!({"chat_template_kwargs": {"enable_thinking": false}}),
        ),
        (
            json!({"when_thinking_enabled": {"thinking": {"type": "enabled"}}}),
            json!({"thinking": {"type": "disabled"}}),
        ),
        (json!({}), json!({})),
    ];
    for (mut entry, wanted) in rules {
        assert_eq!(extras(entry.clone(), false), wanted, "{entry}");
        entry["supports_thinking"] = false.into();
        assert_eq!(extras(entry.clone(), true), wanted, "a model that cannot think never does: {entry}");
    }
}

#[test]
fn what_is_unknown_goes_into_the_request_and_no_credential_does() {
    let given = json!({
        "top_p": 0.9, "streaming": true, "output_version": "v1", "openai_api_key": "canary", "extra_body": {"user": "$WHO"},
        "model_kwargs": {"seed": 7}, "price": "$5",
    });
    let document = parse(&json!([entry(given.clone())])).unwrap();
    assert!(document.warnings().iter().any(|warning| warning.path == "models[0].openai_api_key"));
    let sent = json!({"top_p": 0.9, "user": "value of WHO", "seed": 7, "price": "$5"});
    assert_eq!(extras(given, true), sent);
    assert!(one(json!({"stop": "$UNSET"})).request_extras(true, &Vars).is_err());
}

#[test]
fn secrets_of_models_are_masked_sealed_and_never_shown() {
    let raw = json!([entry(json!({
        "api_key": "canary-1", "default_headers": {"x-org": "canary-2"}, "max_tokens": 5,
        "base_url": "https://me:canary-3@llm.example/v1", "when_thinking_enabled": {"api_token": "canary-4"},
    }))]);
    let document = parse(&raw).unwrap();
    let key = SealKey::new([7; 32]);
    let stored = key.seal_document(&document, &mut || [1; NONCE_BYTES]).unwrap();
    for shown in
        [document.masked().to_string(), stored.to_string(), format!("{document:?} {:?}", document.models())]
    {
        assert!(!shown.contains("canary"), "{shown}");
    }
    assert_eq!(stored["models"][0]["max_tokens"], 5);
    assert_eq!(key.open_document(stored).unwrap(), document);
    assert!(!document.response().to_string().contains("models"));
}

#[test]
fn a_key_is_not_kept_for_another_address() {
    let stored =
        parse(&json!([entry(json!({"api_key": "canary", "base_url": "https://llm.example/v1"}))])).unwrap();
    let put = |url: &str| {
        let entry = entry(json!({"api_key": "***", "base_url": url}));
        crate::merge(json!({"mcp_servers": {}, "models": [entry]}), Some(&stored))
    };
    let merged = put("https://llm.example/v1").unwrap();
    assert_eq!(merged["models"][0]["api_key"], "canary");
    assert!(put("https://evil.example/v1").is_err());
}

#[test]
fn variables_are_named_before_they_are_resolved() {
    let model = one(json!({
        "api_key": "$KEY", "base_url": "$URL", "default_headers": {"a": "$HEADER"}, "extra_body": {"x": ["$EXTRA"]},
    }));
    assert_eq!(model.references(), BTreeSet::from(["EXTRA", "HEADER", "KEY", "URL"].map(str::to_owned)));
    let resolved = model.resolve(&Vars).unwrap();
    assert_eq!(resolved.api_key.as_ref().unwrap().expose_secret(), "value of KEY");
    assert_eq!(resolved.headers[0].1.expose_secret(), "value of HEADER");
    assert!(!format!("{resolved:?}").contains("value of"));
    assert!(one(json!({"api_key": "$UNSET"})).resolve(&Vars).is_err());
    assert_eq!(one(json!({})).request_extras(true, &Vars).unwrap(), Map::new());
}
