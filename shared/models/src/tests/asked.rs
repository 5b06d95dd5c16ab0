//! What servers were seen to refuse, or to need, in a request.

use pudu_app::ports::{Dialect, ModelCall};
use pudu_domain::chat::{Message, Speaker, ToolCall, ToolStatus};
use serde_json::{Map, Value, json};

use super::call;
use super::rules::body;
use crate::dialect::Tongue;

fn human(text: &str) -> Message {
    Message::new(Speaker::Human, "h", text)
}

fn extra(value: &Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

/// A conversation with a call of `weather` by the model of that call, and its answer.
fn called(dialect: Dialect, url: &str) -> ModelCall {
    let made = ToolCall::new("call_abc", "weather", Map::new());
    let mut call = call(dialect, url, Vec::new());
    let mut asks = Message::new(Speaker::Ai, "a", "");
    asks.tool_calls.push(made.clone());
    asks.response_metadata.insert("model_name".into(), call.entry.model.clone().into());
    call.messages = vec![human("hi"), asks, Message::tool(&made, ToolStatus::Success, "rain"), human("and?")];
    call
}

#[test]
fn the_names_of_the_limit_and_of_ids_are_those_of_the_server() {
    for (url, limit, other) in [
        ("https://api.openai.com/v1", "max_completion_tokens", "max_tokens"),
        ("https://mine.openai.azure.com/openai/v1", "max_completion_tokens", "max_tokens"),
        ("https://api.mistral.ai/v1", "max_tokens", "max_completion_tokens"),
        ("https://llm.example/v1", "max_tokens", "max_completion_tokens"),
    ] {
        let sent = body(&called(Dialect::OpenAi, url));
        assert_eq!((&sent[limit], &sent[other]), (&json!(1000), &Value::Null), "{url}");
        let (made, answered) =
            (&sent["messages"][1]["tool_calls"][0]["id"], &sent["messages"][2]["tool_call_id"]);
        assert_eq!(made, answered);
        let is_mistral = url.contains("mistral");
        assert_eq!(sent.get("stream_options").is_none(), is_mistral, "{url}");
        let id = made.as_str().unwrap();
        if is_mistral {
            assert!(id.len() == 9 && id.chars().all(|c| c.is_ascii_alphanumeric()), "{id}");
        } else {
            assert_eq!(id, "call_abc");
        }
    }
    let mut unasked = called(Dialect::OpenAi, "https://llm.example/v1");
    unasked.entry.extra = extra(&json!({"stream_options": null, "temperature": null}));
    let sent = body(&unasked);
    assert!(sent.get("stream_options").is_none() && sent.get("temperature").is_none(), "{sent}");
}

#[test]
fn a_description_that_the_provider_itself_refuses_is_cut() {
    let sent = |url: &str, long: usize| {
        let mut call = called(Dialect::OpenAi, url);
        call.tools[0].description = "ü".repeat(long);
        body(&call)["tools"][0]["function"]["description"].as_str().unwrap().to_owned()
    };
    assert_eq!(sent("https://api.openai.com/v1", 1024), "ü".repeat(1024));
    assert_eq!(sent("https://api.openai.com/v1", 1025), format!("{}…", "ü".repeat(1023)));
    assert_eq!(sent("https://llm.example/v1", 1025), "ü".repeat(1025));
}

#[test]
fn thoughts_go_back_in_the_field_in_which_they_came() {
    let sent = |kwargs: Value, field: Option<&str>| {
        let mut call = called(Dialect::OpenAi, "https://llm.example/v1");
        let said = &mut call.messages[1];
        said.content = "wait".into();
        said.additional_kwargs = extra(&kwargs);
        if let Some(field) = field {
            said.response_metadata.insert("reasoning_field".into(), field.into());
        }
        let whole = body(&call)["messages"][1].clone();
        // Another model is told nothing of it.
        call.entry.model = "other".into();
        assert!(!body(&call).to_string().contains("hm"));
        whole
    };
    let thought = json!({"reasoning_content": "hm"});
    let plain = sent(thought.clone(), None);
    assert_eq!((&plain["reasoning_content"], &plain["content"]), (&json!("hm"), &json!("wait")));
    let other = sent(thought.clone(), Some("reasoning"));
    assert_eq!((&other["reasoning"], other.get("reasoning_content")), (&json!("hm"), None));
    let blocks = sent(thought, Some("content"));
    let wanted = json!([{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "wait"}]);
    assert_eq!((&blocks["content"], blocks.get("reasoning_content")), (&wanted, None));
    let parts = json!([{"type": "reasoning.text", "text": "hm", "signature": "s", "index": 0}]);
    let detailed = sent(json!({"reasoning_content": "hm", "reasoning_details": parts}), Some("reasoning"));
    assert_eq!((&detailed["reasoning_details"], detailed.get("reasoning")), (&parts, None));
}

#[test]
fn a_signature_names_its_call_as_it_is_called_now() {
    let mut call = called(Dialect::OpenAi, "https://llm.example/v1");
    let said = &mut call.messages[1];
    said.tool_calls[0].id = "tool_weather-0f1e2d3c".into();
    let part = |id: Value| json!({"type": "reasoning.encrypted", "data": "b3BhcXVl", "id": id, "index": 0});
    let parts = [part(json!("tool_weather")), part(json!("tool_w")), part(Value::Null)];
    said.additional_kwargs.insert("reasoning_details".into(), json!(parts));
    let wanted = json!([part(json!("tool_weather-0f1e2d3c")), part(json!("tool_w")), part(Value::Null)]);
    assert_eq!(body(&call)["messages"][1]["reasoning_details"], wanted);
}

#[test]
fn signatures_of_calls_go_back_to_the_model_that_made_them() {
    let mut call = called(Dialect::OpenAi, "https://llm.example/v1");
    let signed = json!({"google": {"thought_signature": "c2ln"}});
    call.messages[1].tool_calls[0].extra_content = Some(signed.clone());
    call.messages[1].additional_kwargs.insert("extra_content".into(), signed.clone());
    let said = body(&call)["messages"][1].clone();
    assert_eq!((&said["extra_content"], &said["tool_calls"][0]["extra_content"]), (&signed, &signed));
    call.entry.model = "other".into();
    assert!(!body(&call).to_string().contains("c2ln"));
    call.entry.dialect = Dialect::Anthropic;
    assert!(!body(&call).to_string().contains("c2ln"));
}

#[test]
fn a_conversation_with_calls_names_tools_even_without_any() {
    for (dialect, path) in [(Dialect::Anthropic, "/tools"), (Dialect::Bedrock, "/toolConfig/tools")] {
        let mut call = called(dialect, "https://llm.example");
        call.tools = Vec::new();
        let sent = body(&call);
        let schema = json!({"type": "object", "properties": {}});
        let wanted = match dialect {
            Dialect::Anthropic => json!([{"name": "weather", "input_schema": schema}]),
            _ => json!([{"toolSpec": {"name": "weather", "inputSchema": {"json": schema}}}]),
        };
        assert_eq!(sent.pointer(path), Some(&wanted), "{sent}");
        call.messages = vec![human("hi")];
        assert_eq!(body(&call).pointer(path), None);
    }
    let mut call = called(Dialect::Anthropic, "https://llm.example");
    assert_eq!(body(&call).get("tool_choice"), None);
    call.tools = Vec::new();
    assert_eq!(body(&call)["tool_choice"], json!({"type": "none"}));
}

#[test]
fn what_is_thought_has_room_in_the_answer() {
    let sent = |thinking: Value, most: Option<u32>| {
        let mut call = called(Dialect::Anthropic, "https://llm.example");
        call.entry.max_tokens = most;
        call.entry.extra = extra(&json!({"thinking": thinking}));
        let sent = body(&call);
        (sent["max_tokens"].as_u64().unwrap(), sent["thinking"].clone(), sent.get("temperature").cloned())
    };
    let with = |budget: u64| json!({"type": "enabled", "budget_tokens": budget});
    assert_eq!(sent(with(10_000), None), (14_096, with(10_000), None));
    assert_eq!(sent(with(2000), Some(3000)), (3000, with(2000), None));
    assert_eq!(sent(json!({"type": "enabled"}), Some(10_000)), (10_000, with(8000), None));
    let on = json!({"type": "enabled"});
    for most in [1, 1000, 1024, 1279] {
        let whole = u64::from(most) + 1024;
        assert_eq!(sent(on.clone(), Some(most)), (whole, with(1024), None), "the least, beside the answer");
    }
    assert_eq!(sent(on, Some(1280)), (1280, with(1024), None));
    assert_eq!(sent(with(2000), Some(2000)), (4000, with(2000), None), "else it is refused");
    assert_eq!(sent(with(2000), Some(2001)), (2001, with(2000), None));
    assert_eq!(sent(json!({"type": "adaptive"}), None), (4096, json!({"type": "adaptive"}), None));
    let off = json!({"type": "disabled"});
    assert_eq!(sent(off.clone(), None), (4096, off, Some(json!(0.5))));
    let mut bedrock = called(Dialect::Bedrock, "https://llm.example");
    bedrock.entry.extra = extra(&json!({"thinking": with(2000)}));
    assert_eq!(body(&bedrock)["inferenceConfig"], json!({"maxTokens": 1000}));
}

#[test]
fn a_stable_beginning_is_marked_to_be_kept() {
    let mark = json!({"type": "ephemeral"});
    let mut call = called(Dialect::Anthropic, "https://llm.example");
    call.messages.insert(0, Message::new(Speaker::System, "s", "Be brief."));
    let marks = |call: &ModelCall| body(call).to_string().matches("cache_control").count();
    let sent = body(&call);
    assert_eq!(sent["system"][0]["cache_control"], mark);
    assert_eq!(sent["messages"][0]["content"][0]["cache_control"], mark, "the last call ended here");
    assert_eq!(sent["messages"][2]["content"][1]["cache_control"], mark);
    assert_eq!(marks(&call), 3);
    call.entry.caches = Some(false);
    assert_eq!(marks(&call), 0);
    call.entry.caches = None;
    call.entry.extra = extra(&json!({"cache_control": mark}));
    assert_eq!(marks(&call), 1, "an entry that has its own way is left alone");
    call.entry.extra = Map::new();
    call.tools = Vec::new();
    assert_eq!(marks(&call), 0, "what is asked once is not kept");
    let mut bedrock = called(Dialect::Bedrock, "https://llm.example");
    assert!(!body(&bedrock).to_string().contains("cachePoint"));
    bedrock.entry.caches = Some(true);
    bedrock.messages.insert(0, Message::new(Speaker::System, "s", "Be brief."));
    let sent = body(&bedrock);
    let point = json!({"cachePoint": {"type": "default"}});
    assert_eq!((&sent["system"][1], &sent["messages"][2]["content"][2]), (&point, &point));
}

#[test]
fn keys_of_an_entry_go_where_converse_has_them() {
    let mut call = called(Dialect::Bedrock, "https://llm.example");
    let guard = json!({"guardrailIdentifier": "g", "guardrailVersion": "1"});
    call.entry.extra = extra(&json!({
        "guardrail_config": guard, "performanceConfig": {"latency": "optimized"}, "top_p": 0.9, "stop_sequences": ["x"],
        "additional_model_request_fields": {"inferenceConfig": {"topK": 5}}, "top_k": 9, "nothing": null,
    }));
    let sent = body(&call);
    assert_eq!(
        (&sent["guardrailConfig"], &sent["performanceConfig"]),
        (&guard, &json!({"latency": "optimized"}))
    );
    let inference = json!({"maxTokens": 1000, "topP": 0.9, "stopSequences": ["x"], "temperature": 0.5});
    assert_eq!(sent["inferenceConfig"], inference);
    assert_eq!(sent["additionalModelRequestFields"], json!({"top_k": 9, "inferenceConfig": {"topK": 5}}));
    call.entry.extra = extra(&json!({"top_p": null, "stopSequences": null, "guardrail_config": null}));
    let sent = body(&call);
    assert_eq!(sent["inferenceConfig"], json!({"maxTokens": 1000, "temperature": 0.5}));
    assert_eq!(sent.get("guardrailConfig"), None, "{sent}");
}

#[test]
fn how_hard_to_think_is_said_in_the_words_of_the_model() {
    for (model, wanted) in [
        ("us.anthropic.claude-sonnet-5", json!({"output_config": {"effort": "high"}})),
        (
            "us.amazon.nova-2-lite-v1:0",
            json!({"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "high"}}),
        ),
        ("qwen.qwen3-32b-v1:0", json!({"reasoning_config": "high"})),
        ("openai.gpt-oss-120b-1:0", json!({"reasoning_effort": "high"})),
    ] {
        let mut call = called(Dialect::Bedrock, "https://llm.example");
        model.clone_into(&mut call.entry.model);
        call.reasoning_effort = Some("high".into());
        assert_eq!(body(&call)["additionalModelRequestFields"], wanted, "{model}");
    }
}

#[test]
fn a_token_of_somebody_who_logged_in_says_what_it_is() {
    let mut call = called(Dialect::Anthropic, "https://llm.example");
    call.entry.api_key = Some("sk-ant-oat01-canary".to_owned().into());
    let headers = Tongue::of(&call).unwrap().request.headers;
    assert_eq!(
        (&headers["authorization"], &headers["anthropic-beta"]),
        (&"Bearer sk-ant-oat01-canary".parse().unwrap(), &"oauth-2025-04-20".parse().unwrap())
    );
    assert!(!headers.contains_key("x-api-key"));
    call.entry.headers = vec![("Anthropic-Beta".into(), "files-api-2025-04-14".to_owned().into())];
    let headers = Tongue::of(&call).unwrap().request.headers;
    assert_eq!(headers["anthropic-beta"], "files-api-2025-04-14,oauth-2025-04-20");
}

#[test]
fn a_picture_has_a_name_that_providers_know() {
    let picture = json!({"type": "image_url", "image_url": {"url": "data:image/jpg;base64,AAAA"}});
    let mut said = human("");
    said.content = pudu_domain::chat::Content::Blocks(vec![picture]);
    let of = |dialect| body(&call(dialect, "https://llm.example", vec![said.clone()]));
    assert_eq!(of(Dialect::Anthropic)["messages"][0]["content"][0]["source"]["media_type"], "image/jpeg");
    assert_eq!(of(Dialect::Bedrock)["messages"][0]["content"][0]["image"]["format"], "jpeg");
}
