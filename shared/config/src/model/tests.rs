mod tolerated;

use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value, json};

use super::*;
use crate::setting::ResolveError;
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

/// The address that a call goes to, if it is not the dialect's own.
fn url(more: Value) -> Result<Option<String>, EntryError> {
    let resolved = one(more).resolve(&Vars)?;
    Ok(resolved.base_url.map(|url| url.expose_secret().to_owned()))
}

/// The address that is said, or comes of it.
fn there(more: Value) -> String {
    url(more).unwrap().unwrap()
}

fn problem(more: Value) -> String {
    parse(&json!([entry(more)])).unwrap_err()[0].to_string()
}

fn extras(more: Value, thinking: bool) -> Value {
    Value::Object(one(more).request_extras(thinking, &Vars).unwrap().fields)
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
        assert_eq!(there(json!({key: "https://llm.example/v1"})), "https://llm.example/v1");
    }
    assert!(problem(json!({"base_url": "llm.example"})).contains("models[0].base_url: must be an http"));
}

/// The warnings about a single entry, as one text.
fn warnings(more: Value) -> String {
    let document = parse(&json!([entry(more)])).unwrap();
    document.warnings().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_key_of_the_table_is_taken() {
    let whole = json!({
        "display_name": "M", "description": "d", "api_key": "$KEY", "base_url": "https://llm.example/v1", "max_tokens": 5,
        "temperature": 0.2, "request_timeout": 30, "max_retries": 1, "context_window": 1000, "supports_thinking": true,
        "supports_vision": true, "supports_reasoning_effort": true, "stream_chunk_timeout": 7, "use_responses_api": false,
        "when_thinking_enabled": {"thinking": {"type": "enabled"}}, "when_thinking_disabled": {"thinking": {"type": "off"}},
        "pricing": {"currency": "EUR", "input_per_million": 1, "output_per_million": 2, "input_cache_hit_per_million": 0.5},
        "output_version": null, "default_headers": {"x-a": "b"}, "max_concurrent_calls": 3, "enable_prompt_caching": true,
    });
    assert_eq!(warnings(whole.clone()), "");
    let model = one(whole.clone());
    assert_eq!((model.display_name.as_str(), model.description.as_deref()), ("M", Some("d")));
    assert_eq!((model.max_tokens, model.temperature, model.max_retries), (Some(5), Some(0.2), 1));
    assert_eq!((model.request_timeout.as_secs(), model.chunk_timeout.as_secs()), (30, 7));
    assert_eq!(
        (model.context_window, model.at_once, model.prompt_caching),
        (Some(1000), Some(3), Some(true))
    );
    assert!(model.supports_thinking && model.supports_vision && model.supports_reasoning_effort);
    let price = model.pricing.unwrap();
    assert_eq!((price.currency.as_str(), price.input_cache_hit_per_million), ("EUR", Some(0.5)));
    assert_eq!(
        extras(whole.clone(), true),
        json!({"thinking": {"type": "enabled"}}),
        "and nothing else is passed on"
    );
    assert_eq!(extras(whole, false), json!({"thinking": {"type": "off"}}));
}

#[test]
fn what_is_not_done_is_said() {
    for (key, value) in [
        ("use_responses_api", json!(true)),
        ("output_version", json!("responses/v1")),
        ("timeout", json!([5, 10])),
        ("default_request_timeout", json!("long")),
        ("rate_limiter", json!({})),
        ("credentials_profile_name", json!("me")),
    ] {
        assert!(warnings(json!({key: value})).starts_with(&format!("models[0].{key}: ")), "{key}");
        assert_eq!(extras(json!({key: value}), true), json!({}), "{key}");
        assert_eq!(warnings(json!({key: null})), "");
    }
    assert_eq!(extras(json!({"stream_usage": false}), true), json!({"stream_options": null}));
    assert_eq!(extras(json!({"stream_usage": true}), true), json!({}));
}

#[test]
fn a_client_with_an_address_of_its_own_needs_none() {
    for (class, address) in [
        ("langchain_openrouter:ChatOpenRouter", "https://openrouter.ai/api/v1"),
        ("langchain_groq:ChatGroq", "https://api.groq.com/openai/v1"),
        ("langchain_mistralai:ChatMistralAI", "https://api.mistral.ai/v1"),
        ("langchain_xai:ChatXAI", "https://api.x.ai/v1"),
        (
            "langchain_google_genai:ChatGoogleGenerativeAI",
            "https://generativelanguage.googleapis.com/v1beta/openai",
        ),
    ] {
        assert_eq!(there(json!({ "use": class })), address);
        assert_eq!(warnings(json!({ "use": class })), "");
    }
    let own = json!({"use": "deerflow.models.patched_openai:PatchedChatOpenAI"});
    assert_eq!((warnings(own.clone()), url(own)), (String::new(), Ok(None)));
    let private = json!({"use": "langchain_aws:ChatBedrockConverse", "endpoint_url": "https://vpce.example"});
    assert_eq!(there(private), "https://vpce.example");
}

#[test]
fn a_key_does_not_go_to_somebody_else() {
    for (class, key) in [
        ("deerflow.models.vllm_provider:VllmChatModel", "base_url"),
        ("deerflow.models.mindie_provider:X", "base_url"),
        ("deerflow.models.patched_minimax:X", "base_url"),
        ("deerflow.models.patched_mimo:X", "base_url"),
        ("deerflow.models.patched_stepfun:X", "base_url"),
        ("langchain_openai:AzureChatOpenAI", "azure_endpoint"),
    ] {
        let entry = json!({"use": class, "api_key": "canary"});
        assert!(warnings(entry.clone()).contains(&format!("models[0].{key}: is needed by this client")));
        let refused = url(entry.clone()).unwrap_err();
        assert_eq!(refused, EntryError::NoAddress { key }, "{class}");
        assert!(refused.to_string().contains(key));
        for said in ["http://gpu:8000/v1", "$THERE"] {
            let mut there = entry.clone();
            there["base_url"] = said.into();
            assert_eq!(warnings(there.clone()), "");
            let wanted = if said == "$THERE" { "value of THERE" } else { said };
            assert_eq!(url(there), Ok(Some(wanted.to_owned())), "{class}");
        }
    }
}

#[test]
fn a_resource_on_azure_is_where_its_endpoint_says_or_its_variable() {
    struct Azure;
    impl Secrets for Azure {
        fn get(&self, name: &str) -> Option<SecretString> {
            (name == "AZURE_OPENAI_ENDPOINT").then(|| SecretString::from("https://mine.openai.azure.com/"))
        }
    }
    let azure = |endpoint: Value| json!({"use": "langchain_openai:AzureChatOpenAI", "azure_endpoint": endpoint, "api_version": "x"});
    for (endpoint, wanted) in [
        ("https://mine.openai.azure.com/", "https://mine.openai.azure.com/openai/v1"),
        ("$AZURE_OPENAI_ENDPOINT", "https://mine.openai.azure.com/openai/v1"),
        ("https://mine.openai.azure.com/openai/v1/", "https://mine.openai.azure.com/openai/v1/"),
        ("https://gate.example/azure", "https://gate.example/azure/openai/v1"),
    ] {
        let model = one(azure(endpoint.into()));
        assert_eq!(model.resolve(&Azure).unwrap().base_url.unwrap().expose_secret(), wanted);
        let entry = azure(endpoint.into());
        assert_eq!((warnings(entry.clone()), extras(entry, true)), (String::new(), json!({})));
    }
    let model = one(azure("$AZURE_OPENAI_ENDPOINT".into()));
    assert_eq!(model.references(), BTreeSet::from(["AZURE_OPENAI_ENDPOINT".to_owned()]));
    let unset = EntryError::Unresolved(ResolveError::Unset { name: "UNSET".into() });
    assert_eq!(url(azure("$UNSET".into())), Err(unset));
    for unread in [json!("mine"), json!("${AZURE_OPENAI_ENDPOINT}"), json!(7)] {
        for class in ["AzureChatOpenAI", "ChatOpenAI"] {
            let mut entry = azure(unread.clone());
            entry["use"] = format!("langchain_openai:{class}").into();
            assert!(warnings(entry.clone()).contains("no call of this model is made"), "{unread}");
            assert_eq!(url(entry), Err(EntryError::NoAddress { key: "azure_endpoint" }));
        }
    }
}

#[test]
fn a_stored_config_with_a_model_that_is_nowhere_is_still_read() {
    let raw = json!([entry(json!({"use": "deerflow.models.patched_minimax:X"}))]);
    let key = SealKey::new([7; 32]);
    let stored = key.seal_document(&parse(&raw).unwrap(), &mut || [1; NONCE_BYTES]).unwrap();
    let opened = key.open_document(stored).unwrap();
    assert!(opened.models()[0].resolve(&Vars).is_err());
}

#[test]
fn entries_of_the_references_example_file_work_as_they_are() {
    let gemini = json!({"use": "langchain_google_genai:ChatGoogleGenerativeAI", "gemini_api_key": "$GEMINI_API_KEY", "timeout": 500.0});
    let key = |model: &Model| model.resolve(&Vars).unwrap().api_key.map(|key| key.expose_secret().to_owned());
    let model = one(gemini.clone());
    assert_eq!(key(&model).as_deref(), Some("value of GEMINI_API_KEY"));
    assert_eq!(
        (model.request_timeout.as_secs(), warnings(gemini.clone()), extras(gemini, true)),
        (500, String::new(), json!({}))
    );
    let anthropic = json!({"use": "langchain_anthropic:ChatAnthropic", "default_request_timeout": 300.0, "anthropic_api_key": "k"});
    let model = one(anthropic.clone());
    assert_eq!(
        (model.request_timeout.as_secs(), key(&model).as_deref(), warnings(anthropic)),
        (300, Some("k"), String::new())
    );
    let elsewhere = json!({"use": "langchain_openai:ChatOpenAI", "anthropic_api_key": "k"});
    assert_eq!(
        key(&one(elsewhere.clone())),
        None,
        "a credential of another provider is not shown to this one"
    );
    assert!(warnings(elsewhere).contains("models[0].anthropic_api_key: is not passed on"));
    let ollama = |reasoning: Value| json!({"use": "langchain_ollama:ChatOllama", "num_predict": 8192, "reasoning": reasoning});
    for (reasoning, sent) in [
        (json!(true), json!({})),
        (json!(false), json!({"reasoning_effort": "none"})),
        (json!("low"), json!({"reasoning_effort": "low"})),
    ] {
        assert_eq!(extras(ollama(reasoning), true), sent);
    }
    assert_eq!(one(ollama(json!(true))).max_tokens, Some(8192));
    assert_eq!(one(json!({"num_predict": -1})).max_tokens, None, "no limit");
    let vllm = json!({"use": "deerflow.models.vllm_provider:VllmChatModel", "base_url": "http://gpu/v1", "cumulative_stream_usage": true});
    assert_eq!((extras(vllm.clone(), true), warnings(vllm)), (json!({}), String::new()));
    let mindie = json!({"use": "deerflow.models.mindie_provider:MindIEChatModel", "base_url": "http://gpu/v1", "read_timeout": 900.0, "connect_timeout": 30.0});
    let model = one(mindie.clone());
    assert_eq!(
        (model.request_timeout.as_secs(), model.chunk_timeout.as_secs(), extras(mindie, true)),
        (900, 900, json!({}))
    );
    let minimax = json!({"use": "deerflow.models.patched_minimax:PatchedChatMiniMax", "base_url": "https://api.minimax.io/v1"});
    assert_eq!(extras(minimax, true), json!({"reasoning_split": true}));
}

#[test]
fn betas_are_a_header_of_anthropic_s() {
    let betas =
        json!({"use": "langchain_anthropic:ChatAnthropic", "betas": ["a-1", "b-2"], "prompt_cache_size": 3});
    let sent = |entry: Value| one(entry).resolve(&Vars).unwrap().headers;
    let headers = sent(betas.clone());
    assert_eq!((headers[0].0.as_str(), headers[0].1.expose_secret()), ("anthropic-beta", "a-1,b-2"));
    assert_eq!(extras(betas.clone(), true), json!({}));
    let mut both = betas;
    both["default_headers"] = json!({"Anthropic-Beta": "mine"});
    assert_eq!(sent(both).len(), 1, "what is said as a header holds");
}

#[test]
fn the_class_says_how_it_is_spoken_with() {
    for (class, provider, address) in [
        ("langchain_openai:ChatOpenAI", Provider::OpenAi, None),
        ("langchain_anthropic:ChatAnthropic", Provider::Anthropic, None),
        ("deerflow.models.claude_provider:ClaudeChatModel", Provider::Anthropic, None),
        (
            "deerflow.models.patched_deepseek:PatchedChatDeepSeek",
            Provider::OpenAi,
            Some("https://api.deepseek.com"),
        ),
        ("langchain_ollama:ChatOllama", Provider::OpenAi, Some("http://localhost:11434/v1")),
        ("pudu:Scripted", Provider::Scripted, None),
    ] {
        assert_eq!(one(json!({ "use": class })).provider, provider, "{class}");
        assert_eq!(url(json!({ "use": class })).unwrap().as_deref(), address, "{class}");
    }
    for (given, used) in
        [("http://gpu:11434/", "http://gpu:11434/v1"), ("http://gpu/ollama/v1", "http://gpu/ollama/v1")]
    {
        assert_eq!(there(json!({"use": "langchain_ollama:ChatOllama", "base_url": given})), used);
    }
    let bedrock = json!({"use": "langchain_aws:ChatBedrockConverse"});
    assert!(problem(bedrock.clone()).contains("region_name: is needed"));
    let mut regional = bedrock;
    regional["region_name"] = "eu-central-1".into();
    assert_eq!(there(regional), "https://bedrock-runtime.eu-central-1.amazonaws.com");
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
        "top_p": 0.9, "streaming": true, "output_version": "v1", "other_api_key": "canary", "extra_body": {"user": "$WHO"},
        "model_kwargs": {"seed": 7}, "price": "$5",
    });
    let document = parse(&json!([entry(given.clone())])).unwrap();
    assert!(document.warnings().iter().any(|warning| warning.path == "models[0].other_api_key"));
    let sent = json!({"top_p": 0.9, "user": "value of WHO", "seed": 7, "price": "$5"});
    assert_eq!(extras(given.clone(), true), sent);
    let variables = one(given).request_extras(true, &Vars).unwrap().variables;
    let variables: Vec<&str> = variables.iter().map(ExposeSecret::expose_secret).collect();
    assert_eq!(variables, ["value of WHO"]);
    assert!(one(json!({"stop": "$UNSET"})).request_extras(true, &Vars).is_err());
}

#[test]
fn secrets_of_models_are_masked_sealed_and_never_shown() {
    let raw = json!([entry(json!({
        "api_key": "canary-1", "default_headers": {"x-org": "canary-2"}, "max_tokens": 5,
        "openai_api_key": "canary-5", "endpoint_url": "https://me:canary-6@llm.example/v1",
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
    assert_eq!(one(json!({})).request_extras(true, &Vars).unwrap().fields, Map::new());
}

#[test]
fn headers_have_three_names_and_are_no_part_of_a_request() {
    let model =
        one(json!({"headers": {"X-A": "$HEADER", "x-b": "2"}, "extra_headers": {"x-a": "3", "x-c": "4"}}));
    let resolved = model.resolve(&Vars).unwrap();
    let told: Vec<_> =
        resolved.headers.iter().map(|(name, value)| (name.as_str(), value.expose_secret())).collect();
    assert_eq!(told, [("X-A", "value of HEADER"), ("x-b", "2"), ("x-c", "4")]);
    assert_eq!(model.request_extras(false, &Vars).unwrap().fields, Map::new());
}
